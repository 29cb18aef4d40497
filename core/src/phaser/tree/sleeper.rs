//! Whom to wake when a phase is over.
//!
//! # Words
//! `state`: the task goes from awake to asleep; from asleep, the task or a waker goes through busy to awake. `waker`: whoever made
//! the state busy, or the task while it is awake.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | W1 | `sleep`, `wake`, `rise` | `sleep`, `wake`, `rise` | the waker as the other side left it | `parked_2` |

use crate::port::Relax;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use core::task::Waker;

const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const BUSY: usize = 2;

/// A task's bed: its waker, while it wants to be woken.
#[derive(Debug)]
pub(in crate::phaser) struct Sleeper {
    state: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the waker is touched only as the head says, by one thread at a time.
unsafe impl Sync for Sleeper {}

impl Sleeper {
    pub fn new() -> Self {
        Self {
            state: AtomicUsize::new(AWAKE),
            waker: UnsafeCell::new(None),
        }
    }

    /// Wants `waker` to be woken from now on. The task only.
    pub fn sleep(&self, waker: &Waker, relax: &impl Relax) {
        let waker = Some(waker.clone());
        let old = self.take(relax);
        // SAFETY: awake, or made busy by `take`.
        self.waker.with_mut(|w| unsafe { *w = waker });
        // ORDERING: Release, pairs with Acquire in try_busy (W1).
        self.state.store(ASLEEP, Ordering::Release);
        drop(old);
    }

    /// Does not want to be woken any more. The task only.
    pub fn rise(&self, relax: &impl Relax) {
        let old = self.take(relax);
        // ORDERING: Release, pairs with Acquire in take (W1), by a later task of this slot.
        self.state.store(AWAKE, Ordering::Release);
        drop(old);
    }

    /// Wakes the task, if it sleeps. Any thread.
    #[inline]
    pub fn wake(&self) {
        // ORDERING: Relaxed look first: who sleeps in the phase that the caller ended has set it before changing the word (Z2).
        if self.state.load(Ordering::Relaxed) != ASLEEP || !self.try_busy() {
            return;
        }
        // SAFETY: made busy.
        let waker = self.waker.with_mut(|w| unsafe { (*w).take() });
        // ORDERING: Release, pairs with Acquire in take (W1).
        self.state.store(AWAKE, Ordering::Release);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The waker, with the right to put another one in its place: the state is awake or busy then, by nobody else.
    fn take(&self, relax: &impl Relax) -> Option<Waker> {
        let mut turn = 0;
        loop {
            // ORDERING: Acquire, pairs with Release in wake and rise (W1).
            match self.state.load(Ordering::Acquire) {
                AWAKE => return None,
                ASLEEP if self.try_busy() => {
                    // SAFETY: made busy.
                    return self.waker.with_mut(|w| unsafe { (*w).take() });
                }
                _ => relax.relax(turn),
            }
            turn = turn.saturating_add(1);
        }
    }

    fn try_busy(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in sleep (W1). Failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        self.state.compare_exchange(ASLEEP, BUSY, yes, no).is_ok()
    }
}
