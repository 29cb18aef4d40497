//! The word on which a rank sleeps.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;
use tautline_core::port::Bell;

/// A sticky signal.
#[derive(Default)]
pub(super) struct Signal {
    is_rung: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_rung.lock().expect("held only to set it")
    }
}

impl Bell for Signal {
    fn ring(&self) {
        *self.lock() = true;
        self.changed.notify_one();
    }

    /// Its ticks are nanoseconds.
    fn wait(&self, ticks: u64) {
        let limit = Duration::from_nanos(ticks);
        let is_rung = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(is_rung, limit, |rung| !*rung);
        *waited.expect("held only to set it").0 = false;
    }
}
