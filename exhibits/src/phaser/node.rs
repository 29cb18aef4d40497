//! A node of a tiered phaser.
//!
//! # Words
//! `claim`, `gathered`: written by the task that gathers the node. `active`: changed when a task is
//! registered below it, or leaves.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BT2 | `raise` | `is_behind` | the signals of all tasks below (list.BL1) | `tiered_marks` |
//! | BT3 | `leave` | `is_active` | what the last task below did | `tiered_leaves` |
#![forbid(unsafe_code)]

use tautline_core::sync::{AtomicUsize, CachePadded, Ordering};

/// Gathers the signals of the tasks below it.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The first phase that no task has begun to gather.
    claim: CachePadded<AtomicUsize>,
    /// The number of phases that all tasks below have signalled.
    gathered: CachePadded<AtomicUsize>,
    /// The number of tasks below.
    active: CachePadded<AtomicUsize>,
}

impl Node {
    /// Counts a task below.
    pub(super) fn enter(&self) {
        // ORDERING: Relaxed: read-modify-writes continue the release sequence of tasks that left
        // before (BT3), and a newcomer is published by tiered.BT4.
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a task, which owes no more signals.
    pub(super) fn leave(&self) {
        // ORDERING: Release, pairs with Acquire in is_active (BT3).
        self.active.fetch_sub(1, Ordering::Release);
    }

    /// Whether there is a task below.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in leave (BT3).
        self.active.load(Ordering::Acquire) > 0
    }

    /// Makes the caller the task that gathers here in `phase`, unless another does.
    pub(super) fn claim(&self, phase: usize) -> bool {
        // ORDERING: Relaxed, on failure too: the choice is independent of the signals.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let claim = self.claim.load(failure);
        claim <= phase
            && self
                .claim
                .compare_exchange(claim, phase + 1, success, failure)
                .is_ok()
    }

    /// Records that all tasks below have signalled `phase`. Called by the task that has claimed it:
    /// no task can have raised the node further, since the caller has its own seat below, or keeps
    /// the phase from ending.
    pub(super) fn raise(&self, phase: usize) {
        // ORDERING: Release, pairs with Acquire in is_behind (BT2).
        self.gathered.store(phase + 1, Ordering::Release);
    }

    /// Whether, as far as this node knows, a task below has not signalled `phase`.
    #[inline]
    pub(super) fn is_behind(&self, phase: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in raise (BT2).
        self.gathered.load(Ordering::Acquire) <= phase
    }
}
