//! The signal word of a task.
//!
//! # Words
//! Signal words: written by their task; initialized by the task that registers it. A word is stored
//! in its slot, next to the values of the slot, or with the word of a neighbour: see `node`.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | S1 | `store`, `vacate`, `occupy` | `load` | what the task did, including its registrations and its value | `static_3`, `reuse_early` |
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, Ordering};

/// Set in the signal word of a slot that owes no signal for any phase: it is free, or its task has
/// left.
pub(crate) const GONE: usize = !(usize::MAX >> 1);

/// The contents of a signal word: the number of phases signalled, and whether the last even and the
/// last odd one of them carry a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress(usize);

impl Progress {
    /// Creates the progress of a task that has signalled all phases below `signalled`, without
    /// values.
    pub(crate) fn new(signalled: usize) -> Self {
        Self(signalled << 2)
    }

    /// Signals one more phase, with a value or without.
    #[inline]
    pub(crate) fn next(self, has_value: bool) -> Self {
        let phase = self.signalled();
        let others = self.0 & (2 >> (phase & 1));
        Self((phase + 1) << 2 | others | usize::from(has_value) << (phase & 1))
    }

    /// Returns the number of phases signalled.
    #[inline]
    pub(crate) fn signalled(self) -> usize {
        (self.0 & !GONE) >> 2
    }

    /// Whether the slot is free, or its task has left.
    pub(crate) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    /// Whether `phase` is not signalled.
    #[inline]
    pub(crate) fn owes(self, phase: usize) -> bool {
        self.0 < (phase + 1) << 2
    }

    /// Whether `phase` is signalled with a value that no later phase has replaced.
    #[inline]
    pub(crate) fn has_value(self, phase: usize) -> bool {
        matches!(self.signalled().wrapping_sub(phase), 1 | 2) && self.0 >> (phase & 1) & 1 != 0
    }
}

/// Publishes the progress of the task.
#[inline]
pub(crate) fn store(word: &AtomicUsize, progress: Progress) {
    // ORDERING: Release, pairs with Acquire in load (S1).
    word.store(progress.0, Ordering::Release);
}

/// Initializes the word for a new task, which owes `start` next.
pub(crate) fn occupy(word: &AtomicUsize, start: usize) {
    // ORDERING: Release, pairs with Acquire in load (S1): a task that finds the newcomer, which
    // owes nothing yet, in the slot of a task that has left sees what that task did.
    word.store(Progress::new(start).0, Ordering::Release);
}

/// Records that the task, whose progress is given, has left and owes no more signals.
pub(crate) fn vacate(word: &AtomicUsize, progress: Progress) {
    // ORDERING: Release, pairs with Acquire in load (S1).
    word.store(progress.0 | GONE, Ordering::Release);
}

/// Returns the progress of the task.
#[inline]
pub(crate) fn load(word: &AtomicUsize) -> Progress {
    // ORDERING: Acquire, pairs with Release in store, occupy and vacate (S1).
    Progress(word.load(Ordering::Acquire))
}
