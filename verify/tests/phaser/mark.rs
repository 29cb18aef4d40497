//! A mark that must be visible.

use loom::cell::UnsafeCell;

/// Written once, by one task, and read by others only after that: loom reports accesses that race.
#[derive(Default)]
pub(crate) struct Mark(UnsafeCell<bool>);

// SAFETY: loom reports accesses that race.
unsafe impl Sync for Mark {}
// SAFETY: loom reports accesses that race.
unsafe impl Send for Mark {}

impl Mark {
    pub(crate) fn set(&self) {
        // SAFETY: loom reports accesses that race.
        self.0.with_mut(|mark| unsafe { *mark = true });
    }

    pub(crate) fn is_set(&self) -> bool {
        // SAFETY: loom reports accesses that race.
        self.0.with(|mark| unsafe { *mark })
    }
}
