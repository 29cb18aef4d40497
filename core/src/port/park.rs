//! Time, and sleeping until another thread calls.

use crate::id::{PlaceId, WorkerId};

/// A monotonic counter: time, as the machine counts it.
///
/// Called from any thread; does not block, does not call back, orders nothing.
pub trait Clock {
    /// Ticks since some fixed moment; never decreases on one thread.
    fn now(&self) -> u64;
}

/// Parking with a sticky permit: an `unpark` that comes before the `park` makes it return at once.
pub trait Park {
    /// Blocks the calling thread, which must be worker `worker` of place `place`, until its permit is
    /// there, and takes the permit. May return without one. Acquire: what happened before the
    /// `unpark` that gave the permit is visible.
    fn park(&self, place: PlaceId, worker: WorkerId);

    /// Gives that worker its permit. Any thread; does not block. Release.
    fn unpark(&self, place: PlaceId, worker: WorkerId);

    /// Ticks of the [`Clock`] for which that worker should go on looking for work before it parks: about what it costs to
    /// be woken. Called by the worker itself. Provided: none.
    fn patience(&self, _place: PlaceId, _worker: WorkerId) -> u64 {
        0
    }
}
