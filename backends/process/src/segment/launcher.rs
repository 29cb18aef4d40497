//! The end of the launcher, which ends its ranks.
//!
//! The system kills the launcher's children with it, but not theirs: a rank that a script started is one of these.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;

/// Kills this process when the process `launcher` has ended.
pub(super) fn end_with(launcher: usize) -> io::Result<()> {
    let number = libc::pid_t::try_from(launcher).map_err(io::Error::other)?;
    // SAFETY: the call takes numbers alone.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was opened above, for this owner alone.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) };
    let watch = move || {
        let mut ended = libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: the kernel writes to this element, while the call runs.
        while unsafe { libc::poll(&raw mut ended, 1, -1) } != 1 {}
        // SAFETY: the calls take numbers alone.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    };
    let named = thread::Builder::new().name("tautline-launcher".into());
    named.spawn(watch).map(|_| ())
}
