//! Reports of a worker about itself, which any thread may read.

use super::Worker;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::pool::Inspection;
use crate::task::wait::Awaits;
use crate::watch::{Doing, State};

impl<P: Host> Worker<P> {
    /// Records that the worker is in `state` from now on. Called by the holder of the seat.
    pub(in crate::task) fn enter(&self, state: State) {
        self.report(Doing {
            state: Some(state),
            ..self.activity.get()
        });
    }

    /// Records that the seat is about to be released.
    pub(in crate::task) fn retire(&self) {
        self.report(Doing::default());
    }

    /// Records that the worker has parked, or polls for long: in a wait, or without work.
    pub(super) fn rest(&self) {
        let state = match self.activity.get().awaits {
            Some(_) => State::Waiting,
            None => State::Idle,
        };
        self.enter(state);
    }

    /// Reports from which worker's queues the task comes with which a search ended, unless from its
    /// own or from no worker's.
    pub(super) fn stole(&self, from: WorkerId) {
        if from != self.id {
            self.pool().port().stole(self.id, from);
        }
    }

    /// Calls `wait`, which waits for `awaits`.
    pub(in crate::task) fn awaiting<R>(&self, awaits: Awaits, wait: impl FnOnce() -> R) -> R {
        let outer = self.activity.get();
        self.activity.set(Doing {
            awaits: Some(awaits),
            ..outer
        });
        let result = wait();
        self.activity.set(outer);
        result
    }

    /// Records the worker's activity from now on. Called by the holder of the seat.
    #[inline]
    pub(in crate::task) fn report(&self, doing: Doing) {
        self.activity.set(doing);
        self.pool().port().enter(self.id, doing.state);
    }

    /// Returns the worker's activity, as a hint. Any thread.
    #[inline]
    pub(in crate::task) fn doing(&self) -> Doing {
        self.activity.get()
    }

    /// Inspects the worker, of which `parked` knows whether it is. Any thread.
    pub(in crate::task) fn inspect(&self, parked: impl Fn(WorkerId) -> bool) -> Inspection {
        Inspection {
            worker: self.id,
            doing: self.activity.get(),
            parked: parked(self.id) || self.is_on_standby(),
            public: self.tasks.public(),
            private: self.tasks.private(),
            overflow: self.overflow.len(),
            suspended: self.activity.suspended(),
        }
    }

    /// Counts a task that is suspended in a wait for a phase.
    pub(in crate::task) fn suspend(&self) {
        self.activity.count_suspended(1);
    }

    /// Counts a task that continues after such a wait, or gives it up.
    pub(in crate::task) fn resume(&self) {
        self.activity.count_suspended(usize::MAX);
    }
}
