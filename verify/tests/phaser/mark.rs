//! A mark that must be seen.

use loom::cell::UnsafeCell;

/// What one task writes, once, and others read only behind it: loom reports accesses that race.
#[derive(Default)]
pub(crate) struct Mark(UnsafeCell<bool>);

// SAFETY: loom reports accesses that race.
unsafe impl Sync for Mark {}
// SAFETY: as above.
unsafe impl Send for Mark {}

impl Mark {
    pub(crate) fn set(&self) {
        // SAFETY: as above.
        self.0.with_mut(|mark| unsafe { *mark = true });
    }

    pub(crate) fn is_set(&self) -> bool {
        // SAFETY: as above.
        self.0.with(|mark| unsafe { *mark })
    }
}
