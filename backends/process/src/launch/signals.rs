//! Signals to the launcher, read from a descriptor instead of interrupting it.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::{fs, ptr};

/// What is passed on to the ranks.
const PASSED: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// The calling thread blocks these signals until this is dropped, on that thread.
pub(super) struct Signals {
    file: fs::File,
    before: libc::sigset_t,
}

impl Signals {
    pub(super) fn block() -> io::Result<Self> {
        let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the calls write the sets, of which `set` is initialised by the first of them, and `before` by the last.
        let (descriptor, before) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in PASSED {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let descriptor = libc::signalfd(-1, set.as_ptr(), flags);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            (descriptor, before.assume_init())
        };
        // SAFETY: it was opened above, for this owner alone.
        let file = unsafe { fs::File::from_raw_fd(descriptor) };
        Ok(Self { file, before })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Returns the mask that the ranks begin with: that of this thread before.
    pub(super) fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Stops this process, as a terminal would have, until it is continued.
    pub(super) fn stop() {
        // SAFETY: the call takes a number alone.
        unsafe { libc::raise(libc::SIGSTOP) };
    }

    /// Returns a signal that has come since.
    pub(super) fn next(&mut self) -> Option<libc::c_int> {
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        let read = self.file.read(&mut record).ok()?;
        // The first field of the record is the number of the signal.
        let number = record[..read].first_chunk().copied();
        number.map(|bytes| u32::from_ne_bytes(bytes) as libc::c_int)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the mask was returned by the call that has set the present one.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut())
        };
    }
}
