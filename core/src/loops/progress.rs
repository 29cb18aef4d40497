//! Reports of a loop's progress, while it runs.

use crate::port::Clock;
use crate::sync::{AtomicUsize, Lock, Ordering};
use core::{fmt, mem};

/// The least time between two reports, as a share of a second.
const PER_SECOND: f64 = 20.0;

/// The times that a part adds what it has done between two reports.
const SHARE: u64 = 8;

/// Receives the iterations that have ended, and their total.
#[derive(Clone, Copy)]
pub(super) struct Listener<'r>(pub(super) &'r (dyn Fn(usize, usize) + Sync));

impl fmt::Debug for Listener<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// The progress of a loop with a listener.
pub(super) struct Advance<'l> {
    listener: Listener<'l>,
    of: usize,
    /// The iterations that the parts have added.
    done: AtomicUsize,
    /// The tick of the next report, held while one is made.
    next: Lock<u64>,
    /// Ticks between two reports.
    interval: u64,
}

/// The iterations that a part has done and not added.
#[derive(Default)]
pub(super) struct Ran {
    iterations: usize,
    /// The tick at which it added the last ones.
    since: u64,
}

impl<'l> Advance<'l> {
    pub(super) fn new(listener: Listener<'l>, of: usize, clock: &impl Clock) -> Self {
        let interval = (clock.ticks_per_second() / PER_SECOND) as u64;
        Self {
            listener,
            of,
            done: AtomicUsize::new(0),
            next: Lock::new(clock.now().saturating_add(interval)),
            interval,
        }
    }

    /// Records that a part has run `iterations` more. Reports if it is time, unless another part
    /// does so.
    #[cold]
    pub(super) fn ran(&self, iterations: usize, part: &mut Ran, clock: &impl Clock) {
        part.iterations += iterations;
        let now = clock.now();
        if now.saturating_sub(part.since) < self.interval / SHARE {
            return;
        }
        part.since = now;
        self.add(part);
        if let Some(mut next) = self.next.try_lock()
            && now >= *next
        {
            self.report();
            *next = clock.now().saturating_add(self.interval);
        }
    }

    /// Adds the iterations that a part has done since its last call.
    pub(super) fn add(&self, part: &mut Ran) {
        // ORDERING: Relaxed: a statistic.
        self.done
            .fetch_add(mem::take(&mut part.iterations), Ordering::Relaxed);
    }

    /// Reports the iterations done.
    pub(super) fn report(&self) {
        // ORDERING: Relaxed: a statistic; at the end the join of the parts has ordered it.
        (self.listener.0)(self.done.load(Ordering::Relaxed), self.of);
    }
}
