//! Giving the processor back until somebody calls.

use crate::id::{PlaceId, WorkerId};

/// Parking with a sticky permit: an `unpark` that comes before the `park` makes it return at once.
pub trait Park {
    /// Blocks the calling thread, which must be worker `worker` of place `place`, until its permit is
    /// there, and takes the permit. May return without one. Acquire: what happened before the
    /// `unpark` that gave the permit is visible.
    fn park(&self, place: PlaceId, worker: WorkerId);

    /// Gives that worker its permit. Any thread; does not block. Release.
    fn unpark(&self, place: PlaceId, worker: WorkerId);

    /// How many ticks of the [`Clock`](super::Clock) that worker had better go on looking for work before
    /// it parks: about what it costs to be woken. The worker itself asks. Provided: none.
    fn patience(&self, _place: PlaceId, _worker: WorkerId) -> u64 {
        0
    }
}
