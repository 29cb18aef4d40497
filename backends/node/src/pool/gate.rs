//! A gate at which new threads wait until the number that the system can bear is known.

use std::sync::{Condvar, Mutex};

/// The number of threads that may work, once it is known.
#[derive(Debug, Default)]
pub(super) struct Gate {
    admitted: Mutex<Option<usize>>,
    opened: Condvar,
}

impl Gate {
    /// Opens the gate for the threads below `admitted`.
    pub(super) fn open(&self, admitted: usize) {
        *self.admitted.lock().expect("held only to read and write") = Some(admitted);
        self.opened.notify_all();
    }

    /// Waits until the gate is open; returns whether `thread` is admitted.
    pub(super) fn pass(&self, thread: usize) -> bool {
        let admitted = self.admitted.lock().expect("held only to read and write");
        let admitted = self.opened.wait_while(admitted, |known| known.is_none());
        let admitted = admitted.expect("held only to read and write");
        admitted.is_some_and(|admitted| thread < admitted)
    }
}
