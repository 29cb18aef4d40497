//! Inspection of a pool's workers by threads outside of it.

use super::Pool;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::worker::Worker;
use crate::watch::{Awaits, Doing, State};

/// The state of a worker and its queues, as read at one moment: hints, which need not
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
    /// Tasks that this worker suspended in a wait for a phase, minus tasks that it resumed there,
    /// with wrap-around. The sum over all workers is the number of tasks that wait for a phase.
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

    /// Returns the number of queued tasks that belong to no worker: from other threads, or passed
    /// on by workers.
    pub fn injected(&self) -> usize {
        self.injected.len()
    }

    /// Returns whether tasks that wait for a phase are counted: only if the port is watching, since
    /// that costs some instructions for each wait.
    pub fn counts_suspended(&self) -> bool {
        self.port.is_watching()
    }

    /// Counts a task that the calling worker suspends in a wait for a phase, or that it resumes
    /// there.
    pub(crate) fn count_suspended(&self, is_suspended: bool) {
        // A thread that is no worker of the pool drops a future only if the pool is not used any
        // more.
        if let Some(worker) = self.port.current() {
            let worker = self.worker(worker);
            match is_suspended {
                true => worker.suspend(),
                false => worker.resume(),
            }
        }
    }

    /// Calls `wait`, which blocks the calling worker until what it `awaits`, which is reported.
    pub(crate) fn blocking<R>(&self, awaits: Awaits, wait: impl FnOnce() -> R) -> R {
        let worker = self.port.current().map(|worker| self.worker(worker));
        let _waiting = worker.map(|worker| Waiting::begin(worker, awaits));
        wait()
    }
}

/// Reports the previous activity of the worker at the end of a wait, also by a panic.
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
