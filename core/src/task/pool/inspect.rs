//! What the workers of a pool do, for threads outside of it.

use super::Pool;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::worker::Worker;
use crate::watch::{Awaits, Doing, State};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// What a worker does, and what its queues contain, as read at one moment: hints, which need not
/// belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

    /// Returns whether tasks that wait for a phase are counted: only if the port is watching, since
    /// that costs some instructions for each wait.
    pub fn counts_suspended(&self) -> bool {
        self.port.is_watching()
    }

    /// Calls `wait`, which blocks the calling worker until the end of a phase.
    pub(in crate::task) fn in_phase_wait<R>(&self, wait: impl FnOnce() -> R) -> R {
        let worker = self.port.current().map(|worker| self.worker(worker));
        let _waiting = worker.map(|worker| Waiting::begin(worker, Awaits::Phase));
        wait()
    }
}

/// Reports at the end of a wait, also by a panic, what the worker did before.
struct Waiting<'w, P: Host> {
    worker: &'w Worker<P>,
    before: Doing,
}

impl<'w, P: Host> Waiting<'w, P> {
    fn begin(worker: &'w Worker<P>, awaits: Awaits) -> Self {
        let before = worker.doing();
        worker.report(Doing {
            state: Some(State::Waiting),
            awaits: Some(awaits),
        });
        Self { worker, before }
    }
}

impl<P: Host> Drop for Waiting<'_, P> {
    fn drop(&mut self) {
        self.worker.report(self.before);
    }
}

/// A wait for a phase that counts its task as suspended while it is, if the pool
/// [counts](Pool::counts_suspended) such tasks.
pub(in crate::task) struct Suspends<'p, P: Host, F> {
    /// The pool, while the task is counted or may be.
    pool: Option<&'p Pool<P>>,
    wait: F,
    is_suspended: bool,
}

impl<'p, P: Host, F> Suspends<'p, P, F> {
    pub(in crate::task) fn new(pool: &'p Pool<P>, wait: F) -> Self {
        Self {
            pool: pool.counts_suspended().then_some(pool),
            wait,
            is_suspended: false,
        }
    }

    #[cold]
    fn record(&mut self, pool: &Pool<P>, suspended: bool) {
        // A thread that is no worker of the pool drops a future only if the pool is not used any more.
        if let Some(worker) = pool.port.current() {
            let worker = pool.worker(worker);
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
        if let Some(pool) = self.pool {
            if polled.is_pending() != self.is_suspended {
                self.record(pool, polled.is_pending());
            }
        }
        polled
    }
}

impl<P: Host, F> Drop for Suspends<'_, P, F> {
    fn drop(&mut self) {
        if let (Some(pool), true) = (self.pool, self.is_suspended) {
            self.record(pool, false);
        }
    }
}
