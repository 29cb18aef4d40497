//! Messages between places.

use crate::id::PlaceId;

/// The messages that one place sends to the other places of its computation.
///
/// Called from any worker of the place; must not block for long, and must not call back into the
/// calling worker. Messages may overtake each other; none is lost or duplicated. `send` releases,
/// and the receipt of the message acquires.
pub trait Transport<M> {
    /// Delivers `message` to place `to`, and wakes a worker there if all are parked.
    fn send(&self, to: PlaceId, message: M);

    /// Ends the computation at every place: wakes all workers, which then observe that it is
    /// closed.
    fn close(&self);

    /// Whether the computation has ended, or is being stopped.
    fn is_closed(&self) -> bool;
}

impl<M, P: Transport<M> + ?Sized> Transport<M> for &P {
    #[inline(always)]
    fn send(&self, to: PlaceId, message: M) {
        (**self).send(to, message);
    }

    #[inline(always)]
    fn close(&self) {
        (**self).close();
    }

    #[inline(always)]
    fn is_closed(&self) -> bool {
        (**self).is_closed()
    }
}
