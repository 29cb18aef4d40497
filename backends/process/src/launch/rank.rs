//! A rank as a child process.

use super::lines::Lines;
use super::{End, Launch, Output};
use crate::Error;
use crate::descriptor::descriptor_of;
use crate::variables::{RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE};
use std::io::{self, IsTerminal};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr;
use std::time::{Duration, Instant};

/// A child process, which is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// Readable once the process has ended; `None` before Linux 5.3, where the ends of children are
    /// signals alone.
    descriptor: Option<OwnedFd>,
    /// Of standard error.
    pub(super) lines: Lines,
    /// Of standard output, if the launcher passes it on.
    pub(super) output: Option<Lines>,
    pub(super) end: Option<End>,
    /// Its end if the launcher has killed it.
    killed: Option<End>,
    /// Since when it is stopped.
    stopped: Option<Instant>,
}

impl Running {
    /// Starts `rank`, which inherits the file `segment` and begins with the signal mask `mask`.
    pub(super) fn start(
        launch: &Launch,
        rank: u32,
        segment: RawFd,
        mask: libc::sigset_t,
    ) -> Result<Self, Error> {
        let is_home = rank == 0;
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.arguments)
            .envs(launch.variables.iter().map(|(name, value)| (name, value)))
            .env(RANK_VARIABLE, rank.to_string())
            .env(RANKS_VARIABLE, launch.ranks.to_string())
            .env(SEGMENT_VARIABLE, segment.to_string())
            // An interrupt from the terminal reaches the launcher alone, which passes it on once.
            .process_group(0)
            .stderr(Stdio::piped());
        if !is_home || io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        match (launch.output, is_home) {
            (Output::All, _) => _ = command.stdout(Stdio::piped()),
            (Output::Home, false) => _ = command.stdout(Stdio::null()),
            (Output::Home, true) => {}
        }
        let processors = launch
            .processors
            .get(rank as usize)
            .map(|list| set_of(list));
        let launcher = std::process::id();
        let prepare = move || prepare(launcher, segment, &mask, processors.as_ref());
        // SAFETY: the closure calls system calls alone, which allocate nothing and take no lock.
        unsafe { command.pre_exec(prepare) };
        let program = |source| Error::Program {
            program: launch.program.to_string_lossy().escape_debug().to_string(),
            source,
        };
        let spawned = command.spawn();
        let mut child = spawned.map_err(|source| refused([rank, launch.ranks], source, program))?;
        let watched = Self::watched(rank, &mut child);
        match watched {
            Ok((descriptor, lines, output)) => Ok(Self {
                child,
                descriptor,
                lines,
                output,
                end: None,
                killed: None,
                stopped: None,
            }),
            Err(source) => {
                let _ = child.kill().and_then(|()| child.wait());
                let doing = "watch a rank";
                let other = |source| Error::System { doing, source };
                Err(refused([rank, launch.ranks], source, other))
            }
        }
    }

    fn watched(
        rank: u32,
        child: &mut Child,
    ) -> io::Result<(Option<OwnedFd>, Lines, Option<Lines>)> {
        // The child was not waited for, so its number is not that of another process.
        let descriptor = descriptor_of(child.id())?;
        let pipe = child.stderr.take().expect("standard error is piped");
        let output = child.stdout.take();
        let output = output.map(|pipe| Lines::new(rank, pipe)).transpose()?;
        Ok((descriptor, Lines::new(rank, pipe)?, output))
    }

    /// Returns the descriptors to be polled: of the end, of standard error and of standard output.
    pub(super) fn descriptors(&self) -> [Option<RawFd>; 3] {
        let descriptor = self.descriptor.as_ref().filter(|_| self.end.is_none());
        let pipe = |lines: &Lines| lines.pipe.as_ref().map(AsRawFd::as_raw_fd);
        [
            descriptor.map(AsRawFd::as_raw_fd),
            pipe(&self.lines),
            self.output.as_ref().and_then(pipe),
        ]
    }

    /// Whether the process runs, and only a signal reports its end.
    pub(super) fn is_unwatched(&self) -> bool {
        self.end.is_none() && self.descriptor.is_none()
    }

    /// Whether lines of standard output could not be passed on.
    pub(super) fn is_unread(&self) -> bool {
        self.output
            .as_ref()
            .is_some_and(|output| output.failure.is_some())
    }

    /// Passes on the lines that have come.
    pub(super) fn pump(&mut self) {
        // Without a standard error there is nothing to report a failure to.
        self.lines.pump(&mut io::stderr());
        if let Some(output) = &mut self.output {
            output.pump(&mut io::stdout());
            if output.failure.is_some() {
                // The rank then sees that its output is closed, as if it had no launcher.
                output.pipe = None;
            }
        }
    }

    /// Passes on the remaining output when the process has ended, though what it has started may
    /// hold the other ends of the pipes.
    pub(super) fn finish(&mut self) {
        self.pump();
        self.lines.finish(&mut io::stderr());
        if let Some(output) = &mut self.output {
            output.finish(&mut io::stdout());
        }
    }

    /// Checks whether the process has ended, and kills the processes that it has left; true once.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.end.is_some() || !self.is_over() {
            return false;
        }
        self.signal(libc::SIGKILL);
        let status = self.child.wait().unwrap_or_default();
        self.end = Some(self.killed.unwrap_or_else(|| end_of(status)));
        true
    }

    /// Returns the time for which the process has been stopped, as far as this was called whenever
    /// a signal reported a change.
    pub(super) fn stopped(&mut self) -> Option<Duration> {
        if self.end.is_some() || self.killed.is_some() {
            return None;
        }
        while let Some(is_stopped) = self.change() {
            self.stopped = is_stopped.then(Instant::now);
        }
        self.stopped.map(|since| since.elapsed())
    }

    /// Returns the next change: whether the process was stopped, or was continued.
    fn change(&self) -> Option<bool> {
        let mut change = MaybeUninit::<libc::siginfo_t>::zeroed();
        let kinds = libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG;
        // SAFETY: the call writes to `change`, of which zeros are a value: none. The child was not
        // waited for, so its number is not that of another process.
        let change = unsafe {
            let status = libc::waitid(libc::P_PID, self.child.id(), change.as_mut_ptr(), kinds);
            (status == 0).then(|| change.assume_init())?
        };
        match change.si_code {
            libc::CLD_STOPPED => Some(true),
            libc::CLD_CONTINUED => Some(false),
            _ => None,
        }
    }

    /// Whether the process has ended; its number is not free for others yet.
    fn is_over(&self) -> bool {
        let mut ended = MaybeUninit::<libc::siginfo_t>::zeroed();
        let kinds = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the call writes to `ended`, of which zeros are a value: none. The child was not
        // waited for, so its number is not that of another process.
        unsafe {
            let status = libc::waitid(libc::P_PID, self.child.id(), ended.as_mut_ptr(), kinds);
            status == 0 && ended.assume_init().si_signo == libc::SIGCHLD
        }
    }

    /// Passes a signal on to the process and what it has started, unless it has ended.
    pub(super) fn signal(&self, signal: libc::c_int) {
        if self.end.is_none() {
            // SAFETY: the call takes numbers alone. The child was not waited for, so the number is
            // that of its group.
            unsafe { libc::kill(-(self.child.id() as libc::pid_t), signal) };
        }
    }

    /// Kills the process, which then ends as `end`, if it has not ended. Returns whether it has
    /// not.
    pub(super) fn kill(&mut self, end: End) -> bool {
        let runs = self.end.is_none() && self.killed.is_none();
        if runs {
            self.signal(libc::SIGKILL);
            self.killed = Some(end);
        }
        runs
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.kill(End::Killed) {
            let _ = self.child.wait();
        }
    }
}

/// Returns the error of a rank that could not be started: that the system has no room for it, or
/// `other`.
fn refused(
    [rank, ranks]: [u32; 2],
    source: io::Error,
    other: impl FnOnce(io::Error) -> Error,
) -> Error {
    match limit(&source) {
        Some(limit) => Error::Rank {
            rank,
            ranks,
            limit,
            source,
        },
        None => other(source),
    }
}

/// Returns which limit of the system an error is about; `None` if it is about something else.
fn limit(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::EAGAIN => Some("ulimit -u is the most processes of a user"),
        libc::EMFILE => Some("ulimit -n is the most open files of a process, three a rank"),
        libc::ENFILE => Some("/proc/sys/fs/file-max is the most open files"),
        libc::ENOMEM => Some("there is no memory left"),
        _ => None,
    }
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code as u8),
        (None, signal) => End::Signal(signal.unwrap_or_default() as u8),
    }
}

/// Returns the processors as the kernel's set.
fn set_of(processors: &[usize]) -> Vec<usize> {
    let width = usize::BITS as usize;
    let words = processors.iter().max().map_or(1, |last| last / width + 1);
    let mut set = vec![0; words];
    for cpu in processors {
        set[cpu / width] |= 1 << (cpu % width);
    }
    set
}

/// Runs in the child, before the program.
fn prepare(
    launcher: u32,
    segment: RawFd,
    mask: &libc::sigset_t,
    processors: Option<&Vec<usize>>,
) -> io::Result<()> {
    let check = |status: libc::c_int| match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the calls read the mask and the set while they run, and take numbers else.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() as u32 != launcher {
            // It ended before the request above.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        check(libc::pthread_sigmask(
            libc::SIG_SETMASK,
            mask,
            ptr::null_mut(),
        ))?;
        check(libc::fcntl(segment, libc::F_SETFD, 0))?;
        if let Some(set) = processors {
            // A refusal is not an error: the rank then uses any allowed processor.
            libc::sched_setaffinity(0, size_of_val(set.as_slice()), set.as_ptr().cast());
        }
    }
    Ok(())
}
