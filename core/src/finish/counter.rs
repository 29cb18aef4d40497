//! A finish inside one memory: one count.
//!
//! # Words
//! `live`: the body and every activity started and not yet ended. Spawners add, enders subtract.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | F1 | `end` | the `end` that reaches zero, `is_done` | everything every activity did | `verify/tests/finish.rs` |

use crate::sync::{AtomicUsize, Ordering};

/// Counts what is under way, the body of the finish included.
#[derive(Debug)]
pub struct Counter {
    live: AtomicUsize,
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// A finish whose body runs and that has started nothing yet.
    pub fn new() -> Self {
        Self {
            live: AtomicUsize::new(1),
        }
    }

    /// One more activity. To be called before the activity can be seen by whoever runs it, by
    /// something that is itself under way in this finish.
    pub fn spawn(&self) {
        // ORDERING: Relaxed: the count cannot reach zero while the caller, itself counted, runs.
        let before = self.live.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before > 0, "spawned into a finish that has ended");
    }

    /// The body or one activity has ended. True for exactly one caller: the last.
    pub fn end(&self) -> bool {
        // ORDERING: AcqRel, pairs with itself in other threads (F1): the last to end sees what all others did.
        let before = self.live.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "ended more often than spawned");
        before == 1
    }

    /// Everything has ended.
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1): the owner sees what all activities did.
        self.live.load(Ordering::Acquire) == 0
    }
}
