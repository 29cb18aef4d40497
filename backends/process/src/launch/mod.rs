//! Starting a program as several ranks, and watching them.

#[cfg(target_os = "linux")]
mod lines;
#[cfg(target_os = "linux")]
mod rank;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod watch;

use crate::Error;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// The longest time for which a rank may be stopped, by default: enough to continue one that was
/// stopped by mistake.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// The exit code of a rank that was killed, as that of a shell.
const KILLED: u8 = 128 + 9;

/// A program that is to run as several ranks.
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use tautline_process::Launch;
///
/// let ended = Launch::new("true", 2).run()?;
/// assert_eq!(ended.code(), 0);
/// # }
/// # Ok::<(), tautline_process::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing starts before `run`"]
pub struct Launch {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    ranks: u32,
    ring_bytes: Option<usize>,
    processors: Vec<Vec<usize>>,
    stop_limit: Duration,
    is_ignored: fn(i32) -> bool,
    output: Output,
}

/// The end of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// By itself, with this exit code.
    Code(u8),
    /// By the signal of this number.
    Signal(u8),
    /// The launcher killed it, as it had not ended within 1.5 s of the failure of another rank.
    Killed,
    /// The launcher killed it, as it was stopped for longer than the [limit](Launch::stop_limit).
    Stopped,
}

/// The standard output of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The output of rank 0 is that of the launcher; that of the others is discarded.
    #[default]
    Home,
    /// Each line of each rank is passed on with the rank in front. A reader that stops reading
    /// stops the launcher, and so the ranks.
    All,
}

/// The ends of the ranks of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// By rank.
    pub ranks: Vec<End>,
}

impl Ended {
    /// Returns the exit code of the launch: the highest of the ranks', where a signal counts as 128
    /// and its number, and a rank that was killed because another one had failed does not count.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use tautline_process::Launch;
    ///
    /// let ended = Launch::new("sh", 2).args(["-c", "exit $TAUTLINE_RANK"]).run()?;
    /// assert_eq!(ended.code(), 1);
    /// # }
    /// # Ok::<(), tautline_process::Error>(())
    /// ```
    pub fn code(&self) -> u8 {
        let code = |end: &End| match *end {
            End::Code(code) => code,
            End::Signal(signal) => signal.saturating_add(128),
            End::Killed => 0,
            End::Stopped => KILLED,
        };
        self.ranks.iter().map(code).max().unwrap_or_default()
    }
}

impl Launch {
    /// Launches `program`, a path or a name that is looked up in `PATH`, as `ranks` ranks: from 1
    /// to 256.
    pub fn new(program: impl AsRef<OsStr>, ranks: u32) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            ranks,
            ring_bytes: None,
            processors: Vec::new(),
            stop_limit: STOP_LIMIT,
            is_ignored: |_| false,
            output: Output::Home,
        }
    }

    /// Adds arguments of the program.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let arguments = arguments.into_iter();
        self.arguments
            .extend(arguments.map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable of the ranks, in addition to those of this process.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let variable = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.variables.push(variable);
        self
    }

    /// Sets the bytes of a ring, of which each pair of ranks has two: a power of two from 64 (with
    /// words of 32 bits, 32) to 2^26. Default: 131072, and less with more than 90 ranks. Memory is
    /// taken when it is first used. What does not fit into a ring waits at its sender.
    pub fn ring_bytes(mut self, bytes: usize) -> Self {
        self.ring_bytes = Some(bytes);
        self
    }

    /// Restricts each rank to the processors of this list that has its number; ranks without one
    /// may use those of this process.
    pub fn processors(mut self, lists: Vec<Vec<usize>>) -> Self {
        self.processors = lists;
        self
    }

    /// Sets the time for which a rank may be stopped, as by `SIGSTOP`, before it is killed: the
    /// others wait for it. Default: 10 s. If a terminal stops and continues the launcher, that time
    /// starts again; processes that a rank has started are not watched.
    pub fn stop_limit(mut self, limit: Duration) -> Self {
        self.stop_limit = limit;
        self
    }

    /// Leaves the signals alone for which `is_ignored` returns true: they are not passed on, and
    /// the launcher ignores them as it did before. For what the process was started to ignore, as
    /// by `nohup`; its ranks ignore that, too. Default: none.
    pub fn ignoring(mut self, is_ignored: fn(i32) -> bool) -> Self {
        self.is_ignored = is_ignored;
        self
    }

    /// Sets which ranks have a standard output. Default: rank 0 alone.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use tautline_process::{Launch, Output};
    ///
    /// // Prints `rank 0: hello` and `rank 1: hello`, in any order.
    /// Launch::new("echo", 2).args(["hello"]).output(Output::All).run()?;
    /// # }
    /// # Ok::<(), tautline_process::Error>(())
    /// ```
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Starts the ranks, and returns when all have ended.
    ///
    /// Rank 0 has the standard output of this process, unless [`output`](Self::output) sets another
    /// one for all, and its standard input unless that is a terminal; the others have none. Each
    /// line of standard error is passed on with the rank in front. Interrupts (`SIGINT`, `SIGTERM`,
    /// `SIGHUP`, `SIGQUIT`), `SIGUSR1`, `SIGUSR2`, and the signals by which a terminal stops and
    /// continues programs are passed on to the ranks; for that the calling thread blocks them until
    /// then, so no other thread of the process should be running.
    ///
    /// A rank that fails (by a signal, or with another exit code than 0 before its link was
    /// dropped) leaves the others 1.5 s to end; then they are killed. The ranks are also killed
    /// when the calling thread ends, by whatever, as when this process is killed. What a rank has
    /// started in its process group ends with it.
    ///
    /// # Errors
    /// A setting out of bounds, a program that cannot be started, or what the system refuses; then
    /// no rank is left. Lines that could not be passed on, once all ranks have ended. Always on
    /// other systems than Linux.
    pub fn run(&self) -> Result<Ended, Error> {
        #[cfg(target_os = "linux")]
        return watch::run(self);
        #[cfg(not(target_os = "linux"))]
        Err(Error::Unsupported {
            what: format!("{} ranks of {}", self.ranks, self.program.to_string_lossy()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_the_worst() {
        for (ranks, code) in [
            (vec![End::Code(0)], 0),
            (vec![End::Code(0), End::Code(2), End::Code(1)], 2),
            (vec![End::Code(101), End::Signal(9), End::Code(4)], 137),
            (vec![End::Killed, End::Code(101)], 101),
        ] {
            assert_eq!(Ended { ranks }.code(), code);
        }
    }
}
