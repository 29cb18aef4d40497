//! Whether a thread runs code of the program in the middle of a turn, or of a change of a shared
//! object: while it has locks of the world.
#![forbid(unsafe_code)]

use crate::process::contain::contain;
use std::cell::Cell;

thread_local! {
    static TURNS: Cell<usize> = const { Cell::new(0) };
    /// Whether a change runs on this thread, which has locked its object.
    static CHANGES: Cell<bool> = const { Cell::new(false) };
}

/// Runs a turn, which may run code of the program: wakers, decoders, operators, drops of values.
/// Returns `None` if it panics.
pub(crate) fn inside<R>(turn: impl FnOnce() -> R) -> Option<R> {
    TURNS.set(TURNS.get() + 1);
    let ended = contain(turn);
    TURNS.set(TURNS.get() - 1);
    ended
}

/// Whether the calling thread is in a turn, of any world: it may have locks that the end of a world
/// waits for.
pub(crate) fn is_inside() -> bool {
    TURNS.get() > 0
}

/// A change of a shared object that runs on this thread.
pub(crate) struct Changing {
    before: bool,
}

impl Changing {
    #[inline]
    pub(crate) fn begin() -> Self {
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

/// # Panics
/// In a change: its thread may have locked the object that it accesses.
pub(crate) fn assert_no_change() {
    assert!(
        !CHANGES.get(),
        "a change of a shared object must not access another one"
    );
}

/// # Panics
/// In a turn or a change: other threads, and with them the ranks that are waited for, may need what
/// this thread has locked.
#[track_caller]
pub(crate) fn assert_may_block() {
    assert!(
        !CHANGES.get(),
        "a blocking call in a change of a shared object"
    );
    assert!(
        !is_inside(),
        "a blocking call while this thread delivers a message"
    );
}
