//! The trace of programs over ranks, to which their tasks report.

use super::Seen;
use crate::observe::story::{Crossing, Placed, Ran};
use crate::process::clock;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;
use tautline_core::port::Thread;
use tautline_core::task::Pool;
use tautline_core::watch::Accounts;
use tautline_node::SpinThenYield;
use tautline_node::pool::Node;

/// Records runs and messages of tasks over ranks, for the trace of their runtime, whose pool keeps
/// it for them.
#[derive(Clone)]
pub(crate) struct Tracer(Arc<Tracing>);

struct Tracing {
    accounts: Arc<Accounts<Seen>>,
    /// Tick 0.
    began: Instant,
    /// The pool of the reporting workers; set once there are threads.
    pool: OnceLock<Weak<Pool<Node>>>,
    /// The rank, and the ticks that its clock is behind that of rank 0.
    place: OnceLock<(Placed, i64)>,
}

impl Tracer {
    pub(super) fn new(accounts: Arc<Accounts<Seen>>, began: Instant) -> Self {
        Self(Arc::new(Tracing {
            accounts,
            began,
            pool: OnceLock::new(),
            place: OnceLock::new(),
        }))
    }

    /// Begins to receive reports of the workers of a pool.
    pub(super) fn attach(&self, pool: &Arc<Pool<Node>>) {
        _ = self.0.pool.set(Arc::downgrade(pool));
    }

    /// Sets the rank for which the runtime computes, the first time. The clock of the process is
    /// `behind` that of rank 0 by some ticks.
    pub(crate) fn place(&self, placed: Placed, behind: i64) {
        self.0.place.get_or_init(|| {
            let began = self.0.began.saturating_duration_since(clock::origin());
            (placed, behind.saturating_add(began.as_nanos() as i64))
        });
    }

    /// Returns the rank, and the ticks to be added to times of the record.
    pub(super) fn placed(&self) -> Option<(Placed, i64)> {
        self.0.place.get().copied()
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.began.elapsed().as_nanos() as u64
    }

    /// Records a run that has ended in the calling thread.
    pub(crate) fn ran(&self, ran: Ran) {
        self.observe(|seen| {
            if let Some(trace) = &mut seen.recorder.trace {
                trace.ran(ran);
            }
        });
    }

    /// Records a message that the calling thread sends or has received.
    pub(crate) fn crossed(&self, crossing: Crossing) {
        self.observe(|seen| {
            if let Some(trace) = &mut seen.recorder.trace {
                trace.crossed(crossing);
            }
        });
    }

    /// Calls `event` with the observer of the worker that the calling thread is, if it is one.
    fn observe(&self, event: impl FnOnce(&mut Seen)) {
        let pool = self.0.pool.get().and_then(Weak::upgrade);
        if let Some(worker) = pool.and_then(|pool| pool.port().current()) {
            let relax = SpinThenYield::default();
            self.0
                .accounts
                .observe(worker, &relax, |seen, _| event(seen));
        }
    }
}
