//! Processes as file descriptors.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Returns a descriptor that is readable once the process of this number has ended; `None` before
/// Linux 5.3, which has none.
pub(crate) fn descriptor_of(process: u32) -> io::Result<Option<OwnedFd>> {
    // SAFETY: the call takes numbers alone.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    if descriptor >= 0 {
        // SAFETY: it was opened above, for this owner alone.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) }));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOSYS) => Ok(None),
        _ => Err(error),
    }
}
