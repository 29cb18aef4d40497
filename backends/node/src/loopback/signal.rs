//! What a rank sleeps on.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A sticky signal.
#[derive(Default)]
pub(super) struct Signal {
    is_rung: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Ends the present or the next wait.
    pub(super) fn ring(&self) {
        *self.lock() = true;
        self.changed.notify_one();
    }

    /// Returns once the bell was rung since the last return, or `ns` nanoseconds have passed.
    pub(super) fn wait(&self, ns: u64) {
        let limit = Duration::from_nanos(ns);
        let is_rung = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(is_rung, limit, |rung| !*rung);
        *waited.expect("held only to set it").0 = false;
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_rung.lock().expect("held only to set it")
    }
}
