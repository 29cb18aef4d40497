//! How the threads of a pool are started.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What the threads of the workers have in common.
#[derive(Clone, Debug)]
pub struct Thread {
    /// What their names begin with; a hyphen and the number of the worker follow.
    pub name: String,
    /// The stack of each, in bytes. Only what is touched takes memory.
    pub stack_bytes: usize,
    /// Called by each thread before it runs tasks.
    pub on_start: Option<Hook>,
    /// Called by each thread after it has run its last task.
    pub on_stop: Option<Hook>,
}

impl Default for Thread {
    fn default() -> Self {
        Self {
            name: "tautline".to_owned(),
            stack_bytes: 64 << 20,
            on_start: None,
            on_stop: None,
        }
    }
}

/// What threads call when they start or stop. If it panics, the thread continues.
#[derive(Clone)]
pub struct Hook(Arc<dyn Fn() + Send + Sync>);

impl Hook {
    /// Calls `act`.
    pub fn new(act: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    pub(super) fn call(&self) {
        // The panic hook has reported it; a thread that is missing would strand its tasks.
        _ = catch_unwind(AssertUnwindSafe(|| (self.0)()));
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
