//! Signals to the launcher, read from a descriptor instead of interrupting it.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::{fs, mem, ptr};

/// The signals that are passed on to the ranks, unless this process ignores them.
const PASSED_ON: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// The calling thread blocks these signals until this is dropped, on that thread. Until then the
/// process does not ignore the ends of its children, as it may have been started: else the system
/// would not keep how they ended.
pub(super) struct Signals {
    file: fs::File,
    before: libc::sigset_t,
    /// The previous action at the end of a child.
    of_children: libc::sigaction,
}

impl Signals {
    /// Blocks the news of a child, and what is passed on unless `is_ignored`: a blocked signal is
    /// not ignored, but waits to be read.
    pub(super) fn block(is_ignored: fn(i32) -> bool) -> io::Result<Self> {
        let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let mut of_children = MaybeUninit::uninit();
        // SAFETY: the calls write the sets, of which `set` is initialised by the first of them, and
        // `before` and `of_children` by the last ones. An action of zeros is the default one,
        // without flags.
        let (descriptor, before, of_children) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
            for signal in PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal)) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let descriptor = libc::signalfd(-1, set.as_ptr(), flags);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            let default: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGCHLD, &raw const default, of_children.as_mut_ptr());
            (descriptor, before.assume_init(), of_children.assume_init())
        };
        // SAFETY: it was opened above, for this owner alone.
        let file = unsafe { fs::File::from_raw_fd(descriptor) };
        Ok(Self {
            file,
            before,
            of_children,
        })
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

    /// Returns a signal that has come since; [`SIGCHLD`](libc::SIGCHLD) if a rank was stopped, was
    /// continued, or has ended.
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
        // SAFETY: the mask and the action were returned by the calls that have set the present
        // ones.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
            libc::sigaction(libc::SIGCHLD, &raw const self.of_children, ptr::null_mut());
        };
    }
}
