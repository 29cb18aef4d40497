//! A value of which one thread at a time runs turns, also for threads that find it taken.
//!
//! # Algorithm
//! A thread that finds the value taken sets a flag and tries once more; the holder runs a further
//! turn while the flag is set after it has released the value. So no thread blocks, and what a
//! thread has prepared before it calls is processed by a turn that begins later: a combining lock
//! (Hendler 2010, flat combining) whose requests are elsewhere.
//!
//! # Words
//! `is_missed`: set by a thread that has found the value taken, cleared by the holder before a
//! turn. `value`: under its lock, whose `try_lock` fails only while a thread holds it. `moves`:
//! counts the turns that have moved something, written by the holder.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | CB1 | `try_again` sets `is_missed` | `run` clears it | what each thread that found the value taken has prepared | `comm_missed*` in `verify/tests/comm/turns.rs` |
//! | CB2 | `try_again` sets `is_missed`, then fences and tries the lock | `run` releases the lock, then fences and loads `is_missed` | that thread gets the lock, or its flag is observed | the same |
#![forbid(unsafe_code)]

use crate::port::Relax;
use crate::sync::{AtomicBool, AtomicUsize, Guard, Lock, Ordering, full_fence};

/// A value of which one thread at a time runs turns, also for threads that find it taken.
///
/// ```
/// use tautline_core::comm::Combiner;
///
/// let turns = Combiner::new(0);
/// assert!(turns.run(|turns| {
///     *turns += 1;
///     true
/// }));
/// assert_eq!(turns.try_with(|turns| *turns), Some(1));
/// ```
#[derive(Debug)]
pub struct Combiner<T> {
    value: Lock<T>,
    is_missed: AtomicBool,
    moves: AtomicUsize,
}

impl<T> Combiner<T> {
    /// Creates one around `value`.
    pub fn new(value: T) -> Self {
        Self {
            value: Lock::new(value),
            is_missed: AtomicBool::new(false),
            moves: AtomicUsize::new(0),
        }
    }

    /// Returns the number of turns that have returned true, as a hint: while it is the same, no
    /// turn has moved anything, so that a thread that polls need not take the value. Changes by
    /// [`with`](Self::with) and [`try_with`](Self::try_with), and by a turn that panics, do not
    /// count.
    #[inline]
    pub fn moves(&self) -> usize {
        // ORDERING: Relaxed: a hint; the lock carries the value.
        self.moves.load(Ordering::Relaxed)
    }

    /// Calls `turn` until no thread has found the value taken since. If another thread has the
    /// value, that one runs a further turn instead. Returns whether a call here has returned true.
    /// Does not block.
    ///
    /// After a turn that panics, a thread that found the value taken during the turn is served by
    /// the next call.
    pub fn run(&self, mut turn: impl FnMut(&mut T) -> bool) -> bool {
        let mut moved = false;
        while let Some(mut value) = self.value.try_lock().or_else(|| self.try_again()) {
            // ORDERING: Acquire, pairs with Release in try_again (CB1): what these threads have
            // prepared is visible to the turn. A thread that finds the value taken from here on
            // sets the flag again.
            self.is_missed.swap(false, Ordering::Acquire);
            if turn(&mut value) {
                moved = true;
                // ORDERING: Relaxed on both: written under the lock, and a hint to others.
                let moves = self.moves.load(Ordering::Relaxed).wrapping_add(1);
                // ORDERING: Relaxed: as above.
                self.moves.store(moves, Ordering::Relaxed);
            }
            drop(value);
            // ORDERING: SeqCst, pairs with the fence of try_again (CB2).
            full_fence();
            // ORDERING: Relaxed: the fence above orders it.
            if !self.is_missed.load(Ordering::Relaxed) {
                break;
            }
        }
        moved
    }

    /// Makes the holder run a further turn, or takes the value.
    fn try_again(&self) -> Option<Guard<'_, T>> {
        // ORDERING: Release, pairs with Acquire in run (CB1). A swap, not a store: the holder then
        // also observes what other threads have prepared that have set the flag before.
        self.is_missed.swap(true, Ordering::Release);
        // ORDERING: SeqCst, pairs with the fence of run (CB2).
        full_fence();
        self.value.try_lock()
    }

    /// Calls `f` with the value; returns `None` if another thread has it. Does not block.
    ///
    /// The caller must ensure that a call of [`run`](Self::run) follows: a thread that finds the
    /// value taken by this call leaves its turn to it.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.value.try_lock().map(|mut value| f(&mut value))
    }

    /// Calls `f` with the value once no other thread has it; waits by `relax` until then.
    ///
    /// The caller must ensure that a call of [`run`](Self::run) follows, as after
    /// [`try_with`](Self::try_with).
    pub fn with<R>(&self, relax: &impl Relax, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.value.lock(relax))
    }
}
