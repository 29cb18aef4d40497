//! What the workers of a pool do, for threads outside of it.

use super::Pool;
use crate::id::WorkerId;
use crate::port::Host;
use crate::watch::{Awaits, Doing, State};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// What a worker does, and what its queues contain, as read at one moment: hints, which need not
/// belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The worker.
    pub worker: WorkerId,
    /// Its state, and what it waits for.
    pub doing: Doing,
    /// Whether it is parked, or about to park.
    pub parked: bool,
    /// Tasks in its deque that other workers can take.
    pub public: usize,
    /// Forks in its deque that other workers must request.
    pub private: usize,
    /// Tasks that did not fit into its deque.
    pub overflow: usize,
    /// Tasks that this worker suspended in a wait for a phase, minus tasks that it resumed there, with
    /// wrap-around. The sum over all workers is the number of tasks that wait for a phase.
    pub suspended: usize,
}

impl<P: Host> Pool<P> {
    /// Inspects all workers. Takes no lock and waits for no worker.
    pub fn inspect(&self) -> impl Iterator<Item = Inspection> {
        let parked = |worker| self.idle.is_asleep(worker);
        self.workers
            .iter()
            .map(move |worker| worker.inspect(parked))
    }

    /// Returns the number of queued tasks that belong to no worker: from other threads, or passed on
    /// by workers.
    pub fn injected(&self) -> usize {
        self.injected.len()
    }

    /// Calls `wait`, which blocks the calling worker until the end of a phase.
    pub(in crate::task) fn in_phase_wait<R>(&self, wait: impl FnOnce() -> R) -> R {
        let Some(worker) = self.port.current() else {
            return wait();
        };
        let _computing = Computing(self, worker);
        self.worker(worker).awaiting(Awaits::Phase, || {
            self.worker(worker).rest();
            wait()
        })
    }
}

/// Reports at the end of a wait, also by a panic, that the worker runs its task.
struct Computing<'p, P: Host>(&'p Pool<P>, WorkerId);

impl<P: Host> Drop for Computing<'_, P> {
    fn drop(&mut self) {
        self.0.worker(self.1).enter(State::Computing);
    }
}

/// A wait for a phase that counts its task as suspended while it is.
pub(in crate::task) struct Suspends<'p, P: Host, F> {
    pool: &'p Pool<P>,
    wait: F,
    is_suspended: bool,
}

impl<'p, P: Host, F> Suspends<'p, P, F> {
    pub(in crate::task) fn new(pool: &'p Pool<P>, wait: F) -> Self {
        Self {
            pool,
            wait,
            is_suspended: false,
        }
    }

    fn record(&mut self, suspended: bool) {
        // A thread that is no worker of the pool drops a future only if the pool is not used any more.
        if let Some(worker) = self.pool.port.current() {
            let worker = self.pool.worker(worker);
            match suspended {
                true => worker.suspend(),
                false => worker.resume(),
            }
        }
        self.is_suspended = suspended;
    }
}

impl<P: Host, F: Future + Unpin> Future for Suspends<'_, P, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.wait).poll(cx);
        if polled.is_pending() != self.is_suspended {
            self.record(polled.is_pending());
        }
        polled
    }
}

impl<P: Host, F> Drop for Suspends<'_, P, F> {
    fn drop(&mut self) {
        if self.is_suspended {
            self.record(false);
        }
    }
}
