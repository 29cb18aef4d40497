//! Clocks, and blocking until another thread wakes the caller.

use crate::id::WorkerId;

/// A monotonic clock.
///
/// Called from any thread; does not block, does not call back, implies no memory ordering.
pub trait Clock {
    /// Returns the ticks since a fixed moment. Never decreases on one thread.
    fn now(&self) -> u64;

    /// Returns the number of ticks per second. Provided: a tick is a nanosecond.
    fn ticks_per_second(&self) -> f64 {
        1e9
    }

    /// Returns `ticks` in nanoseconds.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        match self.ticks_per_second() {
            1e9 => ticks,
            rate => (ticks as f64 * (1e9 / rate)) as u64,
        }
    }
}

/// Waking workers: the part that state machines need, which never block themselves.
pub trait Unpark {
    /// Makes the permit of `worker` available. Called from any thread; does not block. Release.
    fn unpark(&self, worker: WorkerId);
}

/// Parking with a sticky permit: an `unpark` that precedes the `park` makes it return at once.
pub trait Park: Unpark {
    /// Blocks the calling thread, which must be `worker`, until its permit is available, and takes
    /// it. May return spuriously. Acquire: what happens-before the `unpark` that made the permit
    /// available is visible.
    fn park(&self, worker: WorkerId);

    /// As [`park`](Self::park), where a task of `worker` waits; but for a limited time, if the port
    /// is to report waits that do not end. Returns whether that time has elapsed. Provided: parks
    /// without a limit.
    fn park_in_wait(&self, worker: WorkerId) -> bool {
        self.park(worker);
        false
    }

    /// Called by a worker before it waits for other workers or takes their tasks. If their threads
    /// no longer exist, as in the child of `fork`, it must not return, since such a wait would have
    /// no end. Provided: they do exist.
    #[inline]
    fn assert_peers(&self) {}

    /// Returns a number that each [`unpark`](Unpark::unpark) may change, and that no other event
    /// changes; a hint. Provided: 0.
    fn unparks(&self) -> u64 {
        0
    }

    /// Called by `worker` between two searches that have found nothing: the port may do other work,
    /// such as receiving messages, which may queue and wake tasks as any thread may. Must return
    /// soon, must not panic. Returns whether there was something to do: then the worker's patience
    /// starts again. Provided: there is nothing.
    fn idle(&self, _worker: WorkerId) -> bool {
        false
    }

    /// Returns the ticks of the [`Clock`] for which `worker` should search for work before it
    /// parks: about the cost of the wake-ups that a sleep takes. Called by the worker itself.
    /// Provided: 0.
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

    fn nanoseconds(&self, ticks: u64) -> u64 {
        (**self).nanoseconds(ticks)
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
    fn park_in_wait(&self, worker: WorkerId) -> bool {
        (**self).park_in_wait(worker)
    }

    #[inline(always)]
    fn assert_peers(&self) {
        (**self).assert_peers();
    }

    fn unparks(&self) -> u64 {
        (**self).unparks()
    }

    #[inline(always)]
    fn idle(&self, worker: WorkerId) -> bool {
        (**self).idle(worker)
    }

    #[inline(always)]
    fn patience(&self, worker: WorkerId) -> u64 {
        (**self).patience(worker)
    }
}
