//! The yield gate: at most one worker of a place steps back so that waiting messages are served.
//!
//! # Words
//! `held`: 0, or 1 + the worker that stepped back. That worker writes itself in when the gate is
//! free; whoever finishes an activity writes 0 and wakes it.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | G1 | `release` | `is_held_by` | what the activity did | `gate_*` in `verify/tests/lifeline.rs` |

use crate::id::WorkerId;
use crate::sync::{AtomicUsize, Ordering};

/// Who has stepped back. Source: Finnerty 2022, yielding worker, rules Y-1 to Y-5.
#[derive(Debug, Default)]
pub struct Gate {
    held: AtomicUsize,
}

impl Gate {
    /// A free gate.
    pub fn new() -> Self {
        Self {
            held: AtomicUsize::new(0),
        }
    }

    /// `worker` steps back, unless another one already has.
    pub fn try_hold(&self, worker: WorkerId) -> bool {
        let me = worker.index() + 1;
        // ORDERING: Relaxed both ways: holding publishes nothing; the worker parks on is_held_by.
        self.held
            .compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether `worker` still has to stay back.
    pub fn is_held_by(&self, worker: WorkerId) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in release (G1): the worker sees what the activity did.
        self.held.load(Ordering::Acquire) == worker.index() + 1
    }

    /// An activity has ended: the worker that stepped back, if any, is to be woken and goes on.
    pub fn release(&self) -> Option<WorkerId> {
        // ORDERING: Relaxed: a gate that looks free releases nobody; a worker that holds it after this look was
        // let in after this activity and is released by the one it stepped back for.
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
