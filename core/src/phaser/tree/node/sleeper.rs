//! Wake-ups of parked tasks when a phase has ended.
//!
//! A sleeper can be woken with a duty, which it must perform before it resumes.
//!
//! # Words
//! `state`: changed by the task from awake to asleep, and by the task or a waker from asleep
//! through busy to awake. `note`: accessed by the thread that made the state busy, or by the task
//! while the state is awake.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | W1 | `sleep`, `wake` | `wake`, `cancel` | the note as the other side left it | `parked_2` |

use crate::port::Relax;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use core::mem;
use core::task::Waker;

const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const BUSY: usize = 2;

/// The sleep state of a task, with its waker while it is asleep. `D` is the duty with which it may
/// be woken.
#[derive(Debug)]
pub(crate) struct Sleeper<D> {
    state: AtomicUsize,
    note: UnsafeCell<Note<D>>,
}

/// Passed from a sleeper to its waker, or from a waker to the sleeper.
#[derive(Debug)]
enum Note<D> {
    Waker(Waker),
    Duty(Option<D>),
}

impl<D> Note<D> {
    fn duty(self) -> Option<D> {
        match self {
            Self::Duty(duty) => duty,
            Self::Waker(_) => None,
        }
    }
}

// SAFETY: one thread at a time accesses the note (see the head of the module); the duty moves from
// the waking thread to the task, which `D: Send` permits, as it does for any `Waker`.
unsafe impl<D: Send> Sync for Sleeper<D> {}

impl<D> Sleeper<D> {
    /// Creates the state of a task that is awake.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(AWAKE),
            note: UnsafeCell::new(Note::Duty(None)),
        }
    }

    /// Stores `waker`, to be called by the next [`wake`](Self::wake). Called by the task only,
    /// while it is awake.
    pub(crate) fn sleep(&self, waker: &Waker) {
        let waker = Note::Waker(waker.clone());
        // SAFETY: this is the task, and the state is awake.
        drop(unsafe { self.replace(waker) });
        // ORDERING: Release, pairs with Acquire in try_busy (W1).
        self.state.store(ASLEEP, Ordering::Release);
    }

    /// Withdraws the waker, and returns the duty that the task was woken with. Called by the task
    /// only.
    #[must_use]
    pub(crate) fn cancel(&self, relax: &impl Relax) -> Option<D> {
        let mut turn = 0;
        loop {
            // ORDERING: Acquire, pairs with Release in wake (W1).
            match self.state.load(Ordering::Acquire) {
                // SAFETY: this is the task, and the state is awake.
                AWAKE => return unsafe { self.replace(Note::Duty(None)) }.duty(),
                ASLEEP if self.try_busy() => {
                    // SAFETY: this thread made the state busy.
                    let old = unsafe { self.replace(Note::Duty(None)) };
                    // ORDERING: Relaxed: a later task of the slot acquires it with the slot
                    // (arena.G2).
                    self.state.store(AWAKE, Ordering::Relaxed);
                    drop(old);
                    return None;
                }
                _ => relax.relax(turn),
            }
            turn = turn.saturating_add(1);
        }
    }

    /// Wakes the task, with a duty or without, if it is asleep; otherwise returns false. Called
    /// from any thread.
    #[inline]
    pub(crate) fn wake(&self, duty: Option<D>) -> bool {
        // ORDERING: Relaxed load first: a task that needs to be woken has stored ASLEEP before the
        // fence that precedes this load (word.Z3).
        if self.state.load(Ordering::Relaxed) != ASLEEP || !self.try_busy() {
            return false;
        }
        // SAFETY: this thread made the state busy.
        let old = unsafe { self.replace(Note::Duty(duty)) };
        // ORDERING: Release, pairs with Acquire in cancel (W1).
        self.state.store(AWAKE, Ordering::Release);
        if let Note::Waker(waker) = old {
            waker.wake();
        }
        true
    }

    /// Replaces the note, and returns the previous one.
    ///
    /// # Safety
    /// The caller must have made the state busy, or be the task while the state is awake.
    unsafe fn replace(&self, note: Note<D>) -> Note<D> {
        // SAFETY: the caller has exclusive access to the note.
        self.note
            .with_mut(|old| unsafe { mem::replace(&mut *old, note) })
    }

    fn try_busy(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in sleep (W1). Failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let state = &self.state;
        state
            .compare_exchange(ASLEEP, BUSY, success, failure)
            .is_ok()
    }
}
