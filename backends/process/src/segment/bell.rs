//! A sticky signal in shared memory, on which threads of any process sleep.
//!
//! # Words
//! One word: [`SILENT`], [`RUNG`], or [`AWAITED`] while a thread sleeps. Other values, which a faulty peer may write, count as
//! silent.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | SB1 | `ring` and `ring_all` set the word | `wait` takes it | what the ringing process wrote before | none: the kernel takes part |

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

const SILENT: u32 = 0;
const RUNG: u32 = 1;
const AWAITED: u32 = 2;

/// Ends the present or the next wait for `bell`.
pub(super) fn ring(bell: &AtomicU32) {
    // ORDERING: Release, pairs with Acquire in wait (SB1); no mutant: no model runs processes.
    if bell.swap(RUNG, Ordering::Release) == AWAITED {
        wake(bell);
    }
}

/// As [`ring`], also where a process was killed that had set the word but not woken the thread.
pub(super) fn ring_again(bell: &AtomicU32) {
    // ORDERING: Release, pairs with Acquire in wait (SB1); no mutant: as there.
    bell.store(RUNG, Ordering::Release);
    wake(bell);
}

/// Waits until `bell` was rung since the last wait, or `ns` nanoseconds are over; may return at any time.
pub(super) fn wait(bell: &AtomicU32, ns: u64) {
    // ORDERING: Acquire, pairs with Release in ring (SB1); no mutant: as there.
    if bell.swap(AWAITED, Ordering::Acquire) != RUNG {
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the word is valid for as long as the reference, and the kernel only reads `limit`. Without
        // FUTEX_PRIVATE_FLAG the word is that of all processes that map it.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                bell.as_ptr(),
                libc::FUTEX_WAIT,
                AWAITED,
                &raw const limit,
            );
        }
    }
    // ORDERING: Acquire, pairs with Release in ring (SB1): it may have rung since; no mutant: as there.
    bell.swap(SILENT, Ordering::Acquire);
}

fn wake(bell: &AtomicU32) {
    let all = libc::c_int::MAX;
    // SAFETY: the word is valid for as long as the reference; the kernel uses its address alone.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            bell.as_ptr(),
            libc::FUTEX_WAKE,
            all,
            ptr::null::<u8>(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    const FOR_EVER: u64 = u64::MAX >> 8;

    #[test]
    fn a_bell_is_sticky_and_rung_once() {
        let bell = AtomicU32::new(SILENT);
        ring(&bell);
        ring(&bell);
        wait(&bell, FOR_EVER);
        assert_eq!(bell.load(Ordering::Relaxed), SILENT);
        // Without a ring, the time ends it.
        wait(&bell, 1_000_000);
    }

    /// Starts a thread that waits, and returns once it sleeps.
    fn asleep(bell: &Arc<AtomicU32>) -> mpsc::Receiver<()> {
        let (named, name) = mpsc::channel();
        let (done, ended) = mpsc::channel();
        let bell = Arc::clone(bell);
        thread::spawn(move || {
            // SAFETY: the call takes nothing.
            named.send(unsafe { libc::gettid() }).expect("awaited");
            wait(&bell, FOR_EVER);
            done.send(()).expect("awaited");
        });
        let thread = name.recv().expect("a thread");
        let sleeps = || {
            let path = format!("/proc/self/task/{thread}/syscall");
            let call = fs::read_to_string(path).expect("it waits");
            call.starts_with(&format!("{} ", libc::SYS_futex))
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
        let bell = Arc::new(AtomicU32::new(SILENT));
        let ended = asleep(&bell);
        ring(&bell);
        ends(&ended);
    }

    /// A process was killed between the two steps of a ring: others would not wake the thread, the launcher does.
    #[test]
    fn half_a_ring_is_completed() {
        let bell = Arc::new(AtomicU32::new(SILENT));
        let ended = asleep(&bell);
        bell.store(RUNG, Ordering::Relaxed);
        ring(&bell);
        assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        ring_again(&bell);
        ends(&ended);
    }

    #[test]
    fn any_other_word_counts_as_silent() {
        let bell = Arc::new(AtomicU32::new(99));
        let ended = asleep(&bell);
        ring(&bell);
        ends(&ended);
    }
}
