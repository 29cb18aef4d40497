//! The values that views of this process protect.

use crate::process::contain::contain;
use std::sync::{Arc, LazyLock};
use tautline_core::directory::{Guards, Seat};
use tautline_node::ProcessFences;

/// Threads that have views without a reference count, at most at a time.
const SEATS: usize = 256;

static GUARDS: LazyLock<Arc<Guards<ProcessFences>>> =
    LazyLock::new(|| Arc::new(Guards::new(ProcessFences, SEATS)));

thread_local! {
    /// The seat of this thread. Views may outlive it.
    static SEAT: Option<Seat<'static, ProcessFences>> =
        (0..SEATS).find_map(|number| GUARDS.seat(number));
}

/// Returns the guards of all copies of this process.
pub(super) fn guards() -> &'static Arc<Guards<ProcessFences>> {
    &GUARDS
}

/// Calls `read` with the seat of this thread; returns `None` if all seats are taken, or the thread
/// ends.
#[inline(always)]
pub(super) fn with_seat<R>(
    read: impl FnOnce(&Seat<'static, ProcessFences>) -> Option<R>,
) -> Option<R> {
    SEAT.try_with(|seat| read(seat.as_ref()?)).ok()?
}

/// Drops former values that no view has, if there are many. Called without any lock: their drops
/// may access objects.
#[inline]
pub(in crate::ranks::globals) fn reclaim_if_due() {
    if GUARDS.is_due() {
        reclaim();
    }
}

/// Drops all former values that no view has.
#[cold]
pub(in crate::ranks::globals) fn reclaim() {
    for node in GUARDS.reclaim().nodes {
        contain(|| drop(node));
    }
}
