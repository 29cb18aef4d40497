//! The end of the launcher, which ends its ranks.
//!
//! The system kills the launcher's children with it, but not theirs: a rank that a script started
//! is one of these.

use crate::descriptor::descriptor_of;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

/// The interval at which a launcher is polled that has no descriptor.
const POLL: Duration = Duration::from_millis(100);

/// Kills this process when the process `launcher` has ended.
pub(super) fn end_with(launcher: usize) -> io::Result<()> {
    let number = u32::try_from(launcher).map_err(io::Error::other)?;
    let launcher = match descriptor_of(number)? {
        Some(descriptor) => Launcher::Descriptor(descriptor),
        None => Launcher::State(File::open(format!("/proc/{number}/stat"))?),
    };
    let watch = move || {
        launcher.wait();
        // SAFETY: the calls take numbers alone.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    };
    let named = thread::Builder::new().name("tautline-launcher".into());
    named.spawn(watch).map(|_| ())
}

/// The indicator of the end of a process.
#[derive(Debug)]
enum Launcher {
    /// Readable then.
    Descriptor(OwnedFd),
    /// The file of its state, which is not that of a later process of the same number.
    State(File),
}

impl Launcher {
    /// Waits until the process has ended.
    fn wait(self) {
        match self {
            Self::Descriptor(descriptor) => {
                let mut ended = libc::pollfd {
                    fd: descriptor.as_raw_fd(),
                    events: libc::POLLIN,
                    revents: 0,
                };
                // SAFETY: the kernel writes to this element, while the call runs.
                while unsafe { libc::poll(&raw mut ended, 1, -1) } != 1 {}
            }
            Self::State(mut file) => {
                while runs(&mut file) {
                    // A sleep, since this system reports the end to the parent alone.
                    thread::sleep(POLL);
                }
            }
        }
    }
}

/// Whether the process runs that has this file of its state.
fn runs(stat: &mut File) -> bool {
    let mut text = Vec::new();
    let read = stat.rewind().and_then(|()| stat.read_to_end(&mut text));
    // The name may contain anything; the state follows it.
    let end = text.windows(2).rposition(|pair| pair == b") ");
    let state = end.and_then(|end| text.get(end + 2));
    // One that has ended has none, or waits for its parent.
    read.is_ok() && state.is_some_and(|state| !b"ZX".contains(state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_end_of_a_process_is_seen_by_either_means() {
        for has_descriptor in [true, false] {
            let mut cat = Command::new("cat");
            cat.stdin(Stdio::piped());
            let mut child = cat.spawn().expect("it starts");
            let stat = File::open(format!("/proc/{}/stat", child.id()));
            let mut stat = stat.expect("Linux has it");
            assert!(runs(&mut stat));
            let launcher = match has_descriptor {
                true => descriptor_of(child.id())
                    .expect("a child")
                    .map(Launcher::Descriptor),
                false => stat.try_clone().ok().map(Launcher::State),
            };
            let watch = thread::spawn(move || launcher.expect("a descriptor").wait());
            assert!(!watch.is_finished());
            drop(child.stdin.take());
            watch.join().expect("it only waits");
            assert!(!runs(&mut stat), "it was not waited for");
            assert!(child.wait().expect("a child").success());
            assert!(!runs(&mut stat));
        }
    }
}
