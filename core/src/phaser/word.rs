//! The word that announces the end of each phase.
//!
//! # Words
//! `PhaseWord`: the current phase, doubled, plus 1 while a task may be parked in it; the end of a
//! phase clears that bit. The word may lag behind the signals: see `shared::watch`.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | B1 | `end` | `phase`, `sleepers` | the signals of all tasks (signal.S1): phase order | `static_3`, `parked_before_a_child` |
//! | Z1 | a signal, and the fence of `Shared::{after_signal, watch, finish}` | `announce_sleeper`, and the fence of `Shared::recheck` | store buffering: at least one side observes the other, so no task stays parked through the end of a phase | `parked_2`, `watch_and_sleep` |
//! | Z3 | `announce_sleeper`, and the fence of `Shared::recheck` | `end`, and the fence of `Shared::publish` | the same, for a task that was not the first to park | `parked_behind_another` |
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, Ordering};
use core::cmp::Ordering::{Equal, Greater, Less};

/// Set while a task may be parked in the current phase.
const ASLEEP: usize = 1;

/// The current phase and the sleeper bit; see the head of the module.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct PhaseWord(AtomicUsize);

/// The outcome of [`PhaseWord::announce_sleeper`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// The end of the phase will wake its sleepers.
    Done,
    /// The phase has ended.
    Ended,
    /// The word lags behind: the end of the previous phase must be published first.
    Lagging,
}

impl PhaseWord {
    /// Creates a word in phase `first`, without sleepers.
    pub(crate) fn new(first: usize) -> Self {
        Self(AtomicUsize::new(first << 1))
    }

    /// Returns the current phase, or an earlier one.
    #[inline]
    pub(crate) fn phase(&self) -> usize {
        // ORDERING: Acquire, pairs with Release in end (B1).
        self.0.load(Ordering::Acquire) >> 1
    }

    /// Whether `phase` is known to have ended.
    #[inline]
    pub(crate) fn is_past(&self, phase: usize) -> bool {
        self.phase() > phase
    }

    /// Ends `phase`; returns whether a task may be parked in it, or `None` if another thread has
    /// ended it.
    pub(crate) fn end(&self, phase: usize) -> Option<bool> {
        // The most likely value: the exchange corrects it.
        let mut word = phase << 1;
        while word >> 1 <= phase {
            // ORDERING: Release, pairs with Acquire in phase (B1). Failure Relaxed: nothing is
            // read.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let next = (phase + 1) << 1;
            match self.0.compare_exchange_weak(word, next, success, failure) {
                Ok(_) => return Some(word & ASLEEP != 0),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Returns the current phase if a task may be parked in it. `None` is reliable only after a
    /// fence.
    #[inline]
    pub(crate) fn sleepers(&self) -> Option<usize> {
        // ORDERING: Acquire, pairs with Release in end (B1): a task that advances the tree for the
        // sleeper sees what the end of the previous phase had seen.
        let word = self.0.load(Ordering::Acquire);
        (word & ASLEEP != 0).then_some(word >> 1)
    }

    /// Announces that a task is about to park in `phase`, whose predecessors have ended.
    pub(crate) fn announce_sleeper(&self, phase: usize) -> Announced {
        // ORDERING: Relaxed: a task that learns that the phase has ended loads the word again.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            match (word >> 1).cmp(&phase) {
                Less => return Announced::Lagging,
                Greater => return Announced::Ended,
                Equal if word & ASLEEP != 0 => return Announced::Done,
                Equal => {
                    // ORDERING: Relaxed: a fence follows (Z1, Z3). Failure Relaxed: reloaded below.
                    let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
                    let asleep = word | ASLEEP;
                    let marked = self.0.compare_exchange_weak(word, asleep, success, failure);
                    if marked.is_ok() {
                        return Announced::Done;
                    }
                }
            }
            // ORDERING: Relaxed: as for the first load.
            word = self.0.load(Ordering::Relaxed);
        }
    }
}
