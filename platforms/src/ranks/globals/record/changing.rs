//! Changes that run on a thread, which has locked their object.

use std::cell::Cell;

thread_local! {
    /// Whether a change runs on this thread, which has locked its object.
    static CHANGES: Cell<bool> = const { Cell::new(false) };
}

/// # Panics
/// In a change: its thread may have locked the object that it accesses.
pub(in crate::ranks::globals) fn assert_no_change() {
    assert!(
        !CHANGES.get(),
        "a change of a shared object must not access another one"
    );
}

/// A change that runs on this thread.
pub(super) struct Changing {
    before: bool,
}

impl Changing {
    #[inline]
    pub(super) fn begin() -> Self {
        let before = CHANGES.replace(true);
        Self { before }
    }
}

impl Drop for Changing {
    #[inline]
    fn drop(&mut self) {
        CHANGES.set(self.before);
    }
}
