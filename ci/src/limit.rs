//! Ends a command that does not end by itself, with all that it started, and names what still ran.

use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Twice what the slowest command of the default jobs takes: a hang ends with its name in the log,
/// and the jobs after it still run within the time that a server gives.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// A thread that waits beside a child process.
pub(crate) struct Watch {
    ended: Sender<()>,
    thread: JoinHandle<Option<String>>,
}

impl Watch {
    /// Watches a process that has been started just now, and has not been waited for; without a
    /// limit, until it ends.
    pub(crate) fn over(process: u32, limited: bool) -> Self {
        Self::within(process, limited.then_some(LIMIT))
    }

    fn within(process: u32, limit: Option<Duration>) -> Self {
        let (ended, end) = mpsc::channel();
        let thread = thread::spawn(move || {
            let waited = match limit {
                Some(limit) => end.recv_timeout(limit),
                None => end.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match waited {
                Err(RecvTimeoutError::Timeout) => Some(kill(process, limit.unwrap_or_default())),
                _ => None,
            }
        });
        Self { ended, thread }
    }

    /// Ends the watch after the process. Returns what ran at its limit, if it reached that.
    pub(crate) fn end(self) -> Option<String> {
        drop(self.ended);
        self.thread.join().expect("a watch does not panic")
    }
}

/// Kills a process and all below it; returns a line for each.
fn kill(process: u32, limit: Duration) -> String {
    let mut said = format!("did not end within {} s; killed:", limit.as_secs());
    let all = below(process);
    for process in &all {
        said += &format!("\n{process} {}", words_of(*process));
    }
    // From the top, so that nothing reacts to the end of what it started.
    let ids = all.iter().map(u32::to_string);
    // Those that ended meanwhile are an error of `kill` and none here.
    _ = Command::new("kill").arg("-KILL").args(ids).status();
    said
}

/// A process, and what it started, directly or not. Only itself where there is no `/proc`.
fn below(process: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((id, parent_of(id)?))
        })
        .collect();
    let mut all = vec![process];
    let mut next = 0;
    while next < all.len() {
        let parent = all[next];
        all.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(id, _)| id),
        );
        next += 1;
    }
    all
}

/// The second field behind the name, which is in parentheses and may contain anything.
fn parent_of(process: u32) -> Option<u32> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = line.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

/// The command line of a process, as far as it can be read.
fn words_of(process: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.replace('\0', " ").trim_end().to_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Watch;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    fn shell(program: &str) -> std::process::Child {
        let mut command = Command::new("sh");
        command.args(["-c", program]).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    #[test]
    fn what_does_not_end_is_killed_and_named_with_all_that_it_started() {
        let child = shell("sh -c 'sleep 301; true' & sleep 302; true");
        let watch = Watch::within(child.id(), Some(Duration::from_millis(300)));
        // The pipe is closed when the last of them has ended.
        let output = child.wait_with_output().unwrap();
        let said = watch.end().unwrap();
        assert_eq!(output.status.signal(), Some(9));
        assert_eq!(said.lines().count(), 5, "{said}");
        assert!(
            said.contains(" sleep 301") && said.contains(" sleep 302"),
            "{said}"
        );
    }

    #[test]
    fn what_ends_in_time_is_not_mentioned() {
        for limit in [Some(Duration::from_secs(60)), None] {
            let mut child = shell("exit 3");
            let watch = Watch::within(child.id(), limit);
            assert_eq!(child.wait().unwrap().code(), Some(3));
            assert_eq!(watch.end(), None);
        }
    }
}
