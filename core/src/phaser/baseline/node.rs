//! A node of a tiered phaser.
//!
//! # Words
//! `claim`, `gathered`: whoever gathers the node. `active`: whoever registers below it, or goes.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BT2 | `raise` | `is_behind` | BL1 of all below | `tiered_marks` |
//! | BT3 | `leave` | `is_active` | what the last task below did | `tiered_leaves` |
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, CachePadded, Ordering};

/// Gathers the signals of those below it.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The phase that nobody has begun to gather.
    claim: CachePadded<AtomicUsize>,
    /// How many phases everybody below has signalled.
    gathered: CachePadded<AtomicUsize>,
    /// Tasks below.
    active: CachePadded<AtomicUsize>,
}

impl Node {
    /// A task more.
    pub fn enter(&self) {
        // ORDERING: Relaxed: read-modify-writes pass on who left before (BT3), and BT4 tells who comes.
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// A task less, which owes nothing any more.
    pub fn leave(&self) {
        // ORDERING: Release, pairs with Acquire in is_active (BT3).
        self.active.fetch_sub(1, Ordering::Release);
    }

    /// There is a task below.
    #[inline]
    pub fn is_active(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in leave (BT3).
        self.active.load(Ordering::Acquire) > 0
    }

    /// Makes the caller the one who gathers here in `phase`, if nobody is.
    pub fn claim(&self, phase: usize) -> bool {
        // ORDERING: Relaxed all: who is chosen says nothing about the signals.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let claim = self.claim.load(no);
        claim <= phase
            && self
                .claim
                .compare_exchange(claim, phase + 1, yes, no)
                .is_ok()
    }

    /// Everybody below has signalled `phase`. By whoever has claimed it: nobody can have raised the node further, since that one
    /// has its own seat below, or keeps the phase from ending.
    pub fn raise(&self, phase: usize) {
        // ORDERING: Release, pairs with Acquire in is_behind (BT2).
        self.gathered.store(phase + 1, Ordering::Release);
    }

    /// Somebody below has not signalled `phase`, as far as is known here.
    #[inline]
    pub fn is_behind(&self, phase: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in raise (BT2).
        self.gathered.load(Ordering::Acquire) <= phase
    }
}
