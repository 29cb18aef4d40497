//! A sticky signal on one word, for which a rank sleeps.
//!
//! # Algorithm
//! A futex (Franke, Russell and Kirkwood 2002): the system blocks a thread while a word has
//! the value that the thread expects. So a thread that gives the signal enters the system only if
//! another one sleeps.
//!
//! # Words
//! The word of the futex: [`SILENT`], [`GIVEN`], or [`AWAITED`] while a thread sleeps. Other
//! values, which a faulty peer may write, count as silent.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | SB1 | `give` and `give_again` set the word | `wait` takes it | what each thread that has given the signal since had written | `channel_signal*` in `verify/tests/channel.rs` |

use crate::sync::{AtomicU32, Ordering};

const SILENT: u32 = 0;
const GIVEN: u32 = 1;
const AWAITED: u32 = 2;

/// A word for which threads sleep, of this process or of any that shares the memory.
///
/// ```
/// use std::sync::atomic::AtomicU32;
/// use tautline_core::channel::Futex;
///
/// /// Yields the processor where a system would block the thread, as a sleep may end at any time.
/// struct Yield(AtomicU32);
///
/// impl Futex for Yield {
///     fn word(&self) -> &AtomicU32 {
///         &self.0
///     }
///
///     fn sleep(&self, _: u32, _: u64) {
///         std::thread::yield_now();
///     }
///
///     fn wake(&self) {}
/// }
/// ```
pub trait Futex {
    /// Returns the word, 0 at first.
    fn word(&self) -> &AtomicU32;

    /// Blocks until [`wake`](Self::wake), or until `ticks` of the machine's clock are over, if the
    /// word is `expected`. It may return at any time. The comparison and the begin of the sleep are
    /// atomic with respect to `wake`.
    fn sleep(&self, expected: u32, ticks: u64);

    /// Ends the sleep of all threads.
    fn wake(&self);
}

/// A sticky signal, for which one thread at a time waits.
///
/// ```
/// use tautline_core::channel::{Futex, Signal};
///
/// /// Wakes a thread that may wait for `signal`.
/// fn notify<F: Futex>(signal: &Signal<F>) {
///     signal.give();
/// }
///
/// /// Waits until `is_done` returns true, which another thread brings about before it calls `notify`.
/// fn wait<F: Futex>(signal: &Signal<F>, is_done: impl Fn() -> bool) {
///     while !is_done() {
///         signal.wait(u64::MAX);
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Signal<F>(pub F);

impl<F: Futex> Signal<F> {
    /// Ends the present or the next wait. Called from any thread.
    ///
    /// A process that is killed within this call may leave a signal that wakes no thread: see
    /// [`give_again`](Self::give_again).
    pub fn give(&self) {
        if self.set() == AWAITED {
            self.0.wake();
        }
    }

    /// As [`give`](Self::give), also if a process was killed that had set the word, but had not
    /// woken the thread.
    pub fn give_again(&self) {
        self.set();
        self.0.wake();
    }

    fn set(&self) -> u32 {
        // ORDERING: Release, pairs with Acquire in wait (SB1). A swap also where the previous value
        // is ignored: the waiting thread then observes what precedes the earlier calls that this
        // one covers, too.
        self.0.word().swap(GIVEN, Ordering::Release)
    }

    /// Waits until the signal was given since the last wait, or `ticks` are over. It may return at
    /// any time.
    pub fn wait(&self, ticks: u64) {
        let word = self.0.word();
        // ORDERING: Relaxed: a signal that this takes is acquired below, by a swap in the same
        // release sequence (SB1).
        if word.swap(AWAITED, Ordering::Relaxed) != GIVEN {
            self.0.sleep(AWAITED, ticks);
        }
        // ORDERING: Acquire, pairs with Release in set (SB1): also of a signal that was given
        // since.
        word.swap(SILENT, Ordering::Acquire);
    }
}
