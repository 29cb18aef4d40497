//! Messages between places.

use crate::id::PlaceId;
use core::fmt;

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

    /// Ends the computation for a message of `from` that no correct place sends. Provided: panics,
    /// for transports between places of one process, where only an error of the program itself
    /// leads to such a message.
    ///
    /// # Panics
    /// If not overridden.
    fn refuse(&self, from: PlaceId, why: &dyn fmt::Display) {
        panic!("the balancer's protocol is violated by {from}: {why}");
    }
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

    fn refuse(&self, from: PlaceId, why: &dyn fmt::Display) {
        (**self).refuse(from, why);
    }
}
