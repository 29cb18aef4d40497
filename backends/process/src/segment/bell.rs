//! The kernel's futexes, on which threads of any process sleep.

use std::ptr;
use std::sync::atomic::AtomicU32;
use tautline_core::channel::Futex;

/// A word that processes share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'a>(pub(super) &'a AtomicU32);

impl Futex for Shared<'_> {
    fn word(&self) -> &AtomicU32 {
        self.0
    }

    fn sleep(&self, expected: u32, ns: u64) {
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the word is valid while the reference is, and the kernel only reads `limit`.
        // Without FUTEX_PRIVATE_FLAG the word is that of all processes that map it.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                libc::FUTEX_WAIT,
                expected,
                &raw const limit,
            );
        }
    }

    fn wake(&self) {
        let all = libc::c_int::MAX;
        // SAFETY: the word is valid while the reference is; the kernel uses its address alone.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                libc::FUTEX_WAKE,
                all,
                ptr::null::<u8>(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shared;
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;
    use tautline_core::channel::{Futex, Signal};

    const FOR_EVER: u64 = u64::MAX >> 8;

    #[test]
    fn a_signal_is_sticky_and_taken_once() {
        let bell = AtomicU32::new(0);
        let signal = Signal(Shared(&bell));
        signal.give();
        signal.give();
        signal.wait(FOR_EVER);
        assert_eq!(bell.load(Ordering::Relaxed), 0);
        // Without a signal, the time ends it.
        signal.wait(1_000_000);
    }

    /// Starts a thread that waits, and returns once it sleeps.
    fn asleep(bell: &Arc<AtomicU32>) -> mpsc::Receiver<()> {
        let (named, name) = mpsc::channel();
        let (done, ended) = mpsc::channel();
        let bell = Arc::clone(bell);
        thread::spawn(move || {
            // SAFETY: the call takes nothing.
            named.send(unsafe { libc::gettid() }).expect("awaited");
            Signal(Shared(&bell)).wait(FOR_EVER);
            done.send(()).expect("awaited");
        });
        let thread = name.recv().expect("a thread");
        // The state and not the call: under emulation, calls have the numbers of the host.
        let sleeps = || {
            let path = format!("/proc/self/task/{thread}/stat");
            let stat = fs::read_to_string(path).expect("it waits");
            let state = stat.rsplit_once(") ").map(|(_, state)| state);
            state.is_some_and(|state| state.starts_with('S'))
        };
        while !sleeps() {
            thread::yield_now();
        }
        ended
    }

    fn ends(ended: &mpsc::Receiver<()>) {
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn a_sleeping_thread_is_woken() {
        let bell = Arc::new(AtomicU32::new(0));
        let ended = asleep(&bell);
        Signal(Shared(&bell)).give();
        ends(&ended);
    }

    /// The word, for a process that is killed before it has woken the thread.
    struct Killed<'a>(&'a AtomicU32);

    impl Futex for Killed<'_> {
        fn word(&self) -> &AtomicU32 {
            self.0
        }

        fn sleep(&self, _: u32, _: u64) {}

        fn wake(&self) {}
    }

    /// A process was killed between the two steps of a signal: others would not wake the thread,
    /// the launcher does.
    #[test]
    fn half_a_signal_is_completed() {
        let bell = Arc::new(AtomicU32::new(0));
        let ended = asleep(&bell);
        Signal(Killed(&bell)).give();
        Signal(Shared(&bell)).give();
        assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        Signal(Shared(&bell)).give_again();
        ends(&ended);
    }

    #[test]
    fn any_other_word_counts_as_silent() {
        let bell = Arc::new(AtomicU32::new(99));
        let ended = asleep(&bell);
        Signal(Shared(&bell)).give();
        ends(&ended);
    }
}
