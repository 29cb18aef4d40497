//! Observation of a runtime: the time of each worker by state, for any program.
//!
//! The variables `TAUTLINE_TRACE`, `TAUTLINE_LIFE`, `TAUTLINE_TIMES`, `TAUTLINE_DUMP` and
//! `TAUTLINE_STALLED` request it ([`plan`](mod@crate::plan); [`Stalled`]).
//!
//! The first two need the feature `story`. The first three are written when the runtime is dropped,
//! so not by a program that keeps it in a `static`. Of several runtimes in one process, each writes
//! the files when it is dropped. [`Builder::observe`](crate::runtime::Builder::observe) sets the
//! same in the program, and the setter wins over the variable.
//! [`Runtime::dump`](crate::Runtime::dump) needs no preparation, except that tasks suspended in a
//! wait for a phase are counted only if one of these is set.
//!
//! A worker reports where it begins or ends a search for tasks, a sleep, or a wait that occupies
//! it: never at a fork, a join or a spawn. The time between two reports is `computing`.
//! If nothing is observed, a report is a branch on a constant of the runtime, the clock is not read
//! and no memory is allocated.
//!
//! ```
//! use tautline::prelude::*;
//! use tautline::watch::Observe;
//!
//! let rt = Runtime::builder().observe(Observe::new()).build()?;
//! rt.run(|cx| cx.join(|_| 1, |_| 2));
//! println!("{}", rt.times().expect("observed"));
//! # Ok::<(), tautline::Error>(())
//! ```
#![forbid(unsafe_code)]

mod dump;
mod observe;
mod record;
#[cfg_attr(not(all(unix, feature = "signals")), path = "signal/none.rs")]
mod signal;
mod stalled;
mod times;

pub use dump::Dump;
pub use observe::Observe;
use record::Record;
#[cfg(feature = "serde")]
pub(crate) use record::Tracer;
pub(crate) use signal::Printer;
pub use stalled::Stalled;
#[cfg(feature = "serde")]
pub(crate) use stalled::{Awaiting, add_awaiting};
pub use tautline_core::task::Inspection;
pub use tautline_core::watch::{Awaits, Doing, Observer, Passage, Stall, State, Times, Waits};
pub use times::{TimeTable, WorkerTimes};

use crate::process::messages;
use crate::{Error, Result};
use std::sync::Arc;
use tautline_node::pool::{self, Threads, Watcher};

/// The observers of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    record: Option<Record>,
    signal: Option<Printer>,
}

impl Watch {
    /// Opens the files that `observe` names, for the workers of `pool`.
    pub(crate) fn open(observe: &Observe, pool: &pool::Plan) -> Result<Self> {
        Ok(Self {
            record: Record::open(observe, pool)?,
            ..Self::default()
        })
    }

    /// Returns the time that each worker has spent in each state until now, if it is recorded.
    pub(crate) fn times(&self) -> Option<TimeTable> {
        self.record.as_ref().map(Record::times)
    }

    /// Returns the receiver of the changes of state, if there is one.
    pub(crate) fn watcher(&self, observe: &Observe) -> Option<Watcher> {
        let record = self.record.as_ref().map(Record::watcher);
        // Without a record the pool still counts suspended tasks, for dumps.
        record.or_else(|| observe.is_dumped.then(|| Watcher::new(|_, _| ())))
    }

    /// Returns the tracer of tasks over ranks, if there is a trace.
    #[cfg(feature = "serde")]
    pub(crate) fn tracer(&self) -> Option<Tracer> {
        self.record.as_ref()?.tracer().cloned()
    }

    /// Begins to observe what happens from outside.
    pub(crate) fn attach(&mut self, observe: &Observe, threads: &Threads) -> Result<()> {
        #[cfg(feature = "serde")]
        if let Some(record) = &self.record {
            record.attach(threads);
        }
        if observe.is_dumped {
            let pool = Arc::clone(threads.shared());
            let callers = threads.callers();
            let print = move || Dump::of(&pool, callers).to_string();
            match Printer::start(print) {
                Ok(printer) => self.signal = Some(printer),
                // A computation does not require it.
                Err(refused @ Error::Threads { .. }) => {
                    messages::send(&format!("tautline: no dump upon SIGUSR1: {refused}"));
                }
                Err(refused) => return Err(refused),
            }
        }
        Ok(())
    }

    /// Ends that. Before the threads end.
    pub(crate) fn detach(&mut self) {
        self.signal = None;
    }
}
