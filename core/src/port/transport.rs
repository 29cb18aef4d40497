//! Messages between places.

use crate::id::PlaceId;

/// Carries messages between the places of one computation.
///
/// Called from any worker thread, may not block for long, must not call back into the worker that
/// calls. Messages may overtake each other; none is lost or doubled. `send` releases what the sender
/// did; whoever takes the message acquires it.
pub trait Transport<M> {
    /// Brings `message` to place `to`, and wakes somebody there if all are asleep.
    fn send(&self, from: PlaceId, to: PlaceId, message: M);

    /// Ends the computation at every place: wakes all workers, who then find it closed.
    fn close(&self);

    /// The computation has ended, or is being stopped.
    fn is_closed(&self) -> bool;
}
