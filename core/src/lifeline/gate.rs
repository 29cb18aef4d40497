//! The yield gate: at most one worker of a place yields so that pending messages are served.
//!
//! # Words
//! `held`: 0, or 1 + the worker that yields. That worker stores its number while the gate is free;
//! the thread that finishes an activity stores 0 and wakes it.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | G1 | `release` | `is_held_by` | what the activity did | `gate_*` in `verify/tests/lifeline.rs` |

use crate::id::WorkerId;
use crate::sync::{AtomicUsize, Ordering};

/// The worker that yields, if any. Source: Finnerty 2022, yielding worker, rules Y-1 to Y-5.
#[derive(Debug, Default)]
pub struct Gate {
    held: AtomicUsize,
}

impl Gate {
    /// Returns a free gate.
    pub fn new() -> Self {
        Self {
            held: AtomicUsize::new(0),
        }
    }

    /// Acquires the gate for `worker`, which then yields, unless another worker holds it.
    ///
    /// ```
    /// # use tautline_core::{WorkerId, lifeline::Gate};
    /// let gate = Gate::new();
    /// assert!(gate.try_hold(WorkerId(1)) && !gate.try_hold(WorkerId(2)));
    /// ```
    pub fn try_hold(&self, worker: WorkerId) -> bool {
        let me = worker.index() + 1;
        // ORDERING: Relaxed both ways: holding publishes nothing; the worker parks on is_held_by.
        self.held
            .compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether `worker` still has to yield.
    ///
    /// ```
    /// # use tautline_core::{WorkerId, lifeline::Gate};
    /// let gate = Gate::new();
    /// gate.try_hold(WorkerId(1));
    /// assert!(gate.is_held_by(WorkerId(1)));
    /// ```
    pub fn is_held_by(&self, worker: WorkerId) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in release (G1): the worker sees what the activity
        // did.
        self.held.load(Ordering::Acquire) == worker.index() + 1
    }

    /// Frees the gate after an activity has ended; returns the worker to be woken, if one yields.
    ///
    /// ```
    /// # use tautline_core::{WorkerId, lifeline::Gate};
    /// let gate = Gate::new();
    /// gate.try_hold(WorkerId(1));
    /// assert_eq!(gate.release(), Some(WorkerId(1)));
    /// ```
    pub fn release(&self) -> Option<WorkerId> {
        // ORDERING: Relaxed: if the gate is free, no worker is released; a worker that acquires it
        // after this load is released by the activity for which it yields.
        if self.held.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // ORDERING: AcqRel, pairs with Acquire in is_held_by (G1).
        match self.held.swap(0, Ordering::AcqRel) {
            0 => None,
            held => Some(WorkerId(held as u32 - 1)),
        }
    }
}
