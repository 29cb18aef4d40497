//! Code of the program that runs on a thread of this library, or in the middle of another call.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `act`, which runs code of the program. Returns `None` if it panics: the panic hook has
/// reported it, and it ends nothing else.
pub(crate) fn contain<R>(act: impl FnOnce() -> R) -> Option<R> {
    let ended = catch_unwind(AssertUnwindSafe(act));
    // The drop of what it has panicked with may panic.
    ended.map_err(mem::forget).ok()
}
