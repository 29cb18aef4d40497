//! Start of the threads of a pool.

use crate::machine::unpinned;
use std::fmt::{self, Display};
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The common settings of the threads that a pool starts.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The prefix of their names; a hyphen and what is different follow: the number of the worker,
    /// for example.
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

impl Thread {
    /// Starts a thread whose name ends with `last`, [unpinned] also if a pinned worker starts it.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn spawn(
        &self,
        last: impl Display,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let named = Builder::new().name(format!("{}-{last}", self.name));
        // One type, so that the start of a thread is compiled once.
        let work: Box<dyn FnOnce() + Send> = Box::new(work);
        unpinned(|| named.stack_size(self.stack_bytes).spawn(work))
    }

    /// Calls `work`, which runs tasks, between the two hooks.
    pub fn hooked(&self, work: impl FnOnce()) {
        self.on_start.iter().for_each(Hook::call);
        work();
        self.on_stop.iter().for_each(Hook::call);
    }
}

/// The function that threads call when they start or stop. If it panics, the thread continues.
#[derive(Clone)]
pub struct Hook(Arc<dyn Fn() + Send + Sync>);

impl Hook {
    /// Calls `act`.
    pub fn new(act: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    fn call(&self) {
        // The panic hook has reported it; a thread that is missing would strand its tasks.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.0)())) {
            // Its drop may panic.
            mem::forget(payload);
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
