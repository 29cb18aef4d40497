//! The end of the process while it has a link.
//!
//! A launcher notices that a process has ended without ending the library; but MPICH's then ends
//! the others and reports success if the process had.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The links of this process.
static LINKS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn count_link() {
    // ORDERING: Relaxed: a count.
    LINKS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_end() {
    // ORDERING: Relaxed: a count.
    LINKS.fetch_sub(1, Ordering::Relaxed);
}

/// From now on, a process that reports success fails if it has a link. Other systems than Linux
/// with glibc leave that to the launcher.
pub(crate) fn watch() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    gnu::watch();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod gnu {
    use super::LINKS;
    use std::ffi::{c_int, c_void};
    use std::io::{self, Write};
    use std::process;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering;

    unsafe extern "C" {
        fn on_exit(act: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
        fn _exit(status: c_int) -> !;
    }

    /// The id of the watched process. A child of `fork` inherits the handler and the links, but is
    /// no rank.
    static WATCHED: OnceLock<u32> = OnceLock::new();

    pub(super) fn watch() {
        WATCHED.get_or_init(|| {
            // SAFETY: `fail` may be called at any time, does not unwind, and does not use its
            // argument. If memory is short, the end is left to the launcher.
            unsafe { on_exit(fail, ptr::null_mut()) };
            process::id()
        });
    }

    extern "C" fn fail(status: c_int, _: *mut c_void) {
        let is_watched = WATCHED.get() == Some(&process::id());
        // ORDERING: Relaxed: a count.
        if status != 0 || !is_watched || LINKS.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Not `eprintln!`, which panics if the line cannot be printed.
        _ = writeln!(
            io::stderr(),
            "tautline: this process ends while it is a rank: the job fails; drop the world first, with its communicators and requests"
        );
        // SAFETY: it ends the process at once, whatever other threads do.
        unsafe { _exit(1) }
    }
}
