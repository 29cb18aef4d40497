//! Wake-ups of tasks when a phase is over.
//!
//! A sleeper can be woken with an errand: to wake all below a node before it goes on.
//!
//! # Words
//! `state`: changed by the task from awake to asleep, and by the task or a waker from asleep
//! through busy to awake. `note`: accessed by the thread that made the state busy, or by the task
//! while the state is awake.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | W1 | `sleep`, `wake` | `wake`, `rise` | the waker as the other side left it | `parked_2` |

use super::node::Node;
use crate::port::Relax;
use crate::sync::{AtomicUsize, Ordering, UnsafeCell};
use core::mem;
use core::ptr::NonNull;
use core::task::Waker;

const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const BUSY: usize = 2;

/// A task's bed: its waker, while it wants to be woken.
#[derive(Debug)]
pub(in crate::phaser) struct Sleeper {
    state: AtomicUsize,
    note: UnsafeCell<Note>,
}

/// What a sleeper stores for its waker, or a waker for the sleeper.
#[derive(Debug)]
enum Note {
    Waker(Waker),
    Errand(Option<NonNull<Node>>),
}

impl Note {
    fn errand(self) -> Option<NonNull<Node>> {
        match self {
            Self::Errand(errand) => errand,
            Self::Waker(_) => None,
        }
    }
}

// SAFETY: one thread at a time accesses the note, as the head of the module says.
unsafe impl Sync for Sleeper {}

impl Sleeper {
    pub fn new() -> Self {
        Self {
            state: AtomicUsize::new(AWAKE),
            note: UnsafeCell::new(Note::Errand(None)),
        }
    }

    /// Wants `waker` to be woken from now on. The task only, when it has risen.
    pub fn sleep(&self, waker: &Waker) {
        let waker = Note::Waker(waker.clone());
        // SAFETY: this is the task, and the state is awake.
        drop(unsafe { self.leave(waker) });
        // ORDERING: Release, pairs with Acquire in try_busy (W1).
        self.state.store(ASLEEP, Ordering::Release);
    }

    /// Does not want to be woken any more, and takes the errand that it was woken with. The task only.
    #[must_use]
    pub fn rise(&self, relax: &impl Relax) -> Option<NonNull<Node>> {
        let mut turn = 0;
        loop {
            // ORDERING: Acquire, pairs with Release in wake (W1).
            match self.state.load(Ordering::Acquire) {
                // SAFETY: this is the task, and the state is awake.
                AWAKE => return unsafe { self.leave(Note::Errand(None)) }.errand(),
                ASLEEP if self.try_busy() => {
                    // SAFETY: this thread made the state busy.
                    let old = unsafe { self.leave(Note::Errand(None)) };
                    // ORDERING: Relaxed: a later task has it with the slot (G2).
                    self.state.store(AWAKE, Ordering::Relaxed);
                    drop(old);
                    return None;
                }
                _ => relax.relax(turn),
            }
            turn = turn.saturating_add(1);
        }
    }

    /// Wakes the task, with an errand or without, if it sleeps; else returns false. Any thread.
    #[inline]
    pub fn wake(&self, errand: Option<NonNull<Node>>) -> bool {
        // ORDERING: Relaxed load first: a task that needs to be woken has stored ASLEEP before the
        // fence that precedes this load (Z3).
        if self.state.load(Ordering::Relaxed) != ASLEEP || !self.try_busy() {
            return false;
        }
        // SAFETY: this thread made the state busy.
        let old = unsafe { self.leave(Note::Errand(errand)) };
        // ORDERING: Release, pairs with Acquire in rise (W1).
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
    unsafe fn leave(&self, note: Note) -> Note {
        // SAFETY: the caller has exclusive access to the note.
        self.note
            .with_mut(|old| unsafe { mem::replace(&mut *old, note) })
    }

    fn try_busy(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in sleep (W1). Failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        self.state.compare_exchange(ASLEEP, BUSY, yes, no).is_ok()
    }
}
