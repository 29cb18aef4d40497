//! The precedence of the thread that delivers messages over workers that write.
//!
//! # Algorithm
//! Workers that write again and again could keep the lock bit from the thread that delivers
//! messages without a bound, and with it other ranks. After some turns that thread sets a flag;
//! workers then leave the lock bit to it.
//!
//! # Words
//! `Wanted`: written by the thread that delivers messages. It protects nothing: all its accesses
//! are relaxed.
#![forbid(unsafe_code)]

use crate::port::Relax;
use crate::sync::{AtomicBool, Ordering};

/// Turns for which the deliverer competes for the lock bit as workers do.
const PATIENCE: u32 = if cfg!(tautline_loom) { 0 } else { 16 };

/// The claimant of a lock bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Worker,
    /// The thread that delivers messages.
    Deliverer,
}

/// Whether the thread that delivers messages waits for the lock bit.
#[derive(Debug)]
pub(super) struct Wanted(AtomicBool);

/// The wait of a claimant. Dropped, it wants the lock bit no longer.
pub(super) struct Patience<'a> {
    wanted: &'a Wanted,
    by: By,
    turn: u32,
}

impl Wanted {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[inline(always)]
    pub(super) fn patience(&self, by: By) -> Patience<'_> {
        let wanted = self;
        Patience {
            wanted,
            by,
            turn: 0,
        }
    }
}

impl Patience<'_> {
    /// Whether the lock bit, though it is free, is to be left to another thread.
    #[inline(always)]
    pub(super) fn is_to_yield(&self) -> bool {
        // ORDERING: Relaxed: it only delays the exchange that takes the lock bit.
        self.by == By::Worker && self.wanted.0.load(Ordering::Relaxed)
    }

    /// Waits for one turn.
    #[cold]
    pub(super) fn wait(&mut self, relax: &impl Relax) {
        if self.by == By::Deliverer && self.turn == PATIENCE {
            // ORDERING: Relaxed: as in `is_to_yield`.
            self.wanted.0.store(true, Ordering::Relaxed);
        }
        relax.relax(self.turn);
        self.turn = self.turn.saturating_add(1);
    }
}

impl Drop for Patience<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.by == By::Deliverer && self.turn > PATIENCE {
            // ORDERING: Relaxed: as in `is_to_yield`.
            self.wanted.0.store(false, Ordering::Relaxed);
        }
    }
}
