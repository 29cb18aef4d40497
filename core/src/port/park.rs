//! Time, and blocking until another thread wakes the caller.

use crate::id::WorkerId;

/// A monotonic counter: time, as the machine counts it.
///
/// Called from any thread; does not block, does not call back, orders nothing.
pub trait Clock {
    /// Ticks since some fixed moment; never decreases on one thread.
    fn now(&self) -> u64;

    /// How many ticks a second has. Provided: a tick is a nanosecond.
    fn ticks_per_second(&self) -> f64 {
        1e9
    }
}

/// Waking workers: all that a state machine, which never blocks by itself, needs.
pub trait Unpark {
    /// Makes the permit of `worker` available. Any thread; does not block. Release.
    fn unpark(&self, worker: WorkerId);
}

/// Parking with a sticky permit: an `unpark` that precedes the `park` makes it return at once.
pub trait Park: Unpark {
    /// Blocks the calling thread, which must be `worker`, until its permit is available, and takes it.
    /// May return spuriously. Acquire: what happened before the `unpark` that made the permit
    /// available is visible.
    fn park(&self, worker: WorkerId);

    /// Ticks of the [`Clock`] for which `worker` should search for work before it parks: about the
    /// cost of a wake-up. Called by the worker itself. Provided: none.
    fn patience(&self, _worker: WorkerId) -> u64 {
        0
    }
}

impl<P: Clock + ?Sized> Clock for &P {
    #[inline(always)]
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn ticks_per_second(&self) -> f64 {
        (**self).ticks_per_second()
    }
}

impl<P: Unpark + ?Sized> Unpark for &P {
    #[inline(always)]
    fn unpark(&self, worker: WorkerId) {
        (**self).unpark(worker);
    }
}

impl<P: Park + ?Sized> Park for &P {
    #[inline(always)]
    fn park(&self, worker: WorkerId) {
        (**self).park(worker);
    }

    #[inline(always)]
    fn patience(&self, worker: WorkerId) -> u64 {
        (**self).patience(worker)
    }
}
