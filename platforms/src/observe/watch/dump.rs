//! The activity of every worker, as text.

use std::fmt;
use tautline_core::WorkerId;
use tautline_core::port::Host;
use tautline_core::task::{Inspection, Pool};
use tautline_core::watch::{Doing, State};

/// The activity of the workers of a runtime at one moment. Displayed as a line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The workers, by seat: first those of the threads that call [`run`](crate::Runtime::run).
    pub workers: Vec<Inspection>,
    /// Queued tasks that belong to no worker.
    pub injected: usize,
    counts_suspended: bool,
    /// The number of seats of callers.
    callers: usize,
}

impl Dump {
    /// Inspects the workers of a pool, whose first `callers` seats are those of callers.
    pub(crate) fn of<P: Host>(pool: &Pool<P>, callers: usize) -> Self {
        Self {
            workers: pool.inspect().collect(),
            injected: pool.injected(),
            counts_suspended: pool.counts_suspended(),
            callers,
        }
    }

    /// Returns the number of tasks that are suspended in a wait for a phase; `None` if the runtime
    /// was built without [`Observe`](super::Observe) and variables of the [environment](super):
    /// then they are not counted.
    ///
    /// ```
    /// # use tautline::{prelude::*, watch::Observe};
    /// let rt = Runtime::builder().observe(Observe::new()).build()?;
    /// assert_eq!(rt.run(|_| rt.dump().suspended()), Some(0));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn suspended(&self) -> Option<usize> {
        let counts = self.workers.iter().map(|w| w.suspended);
        // Workers are read one after the other, so a task that moves in between may be missed.
        let sum = counts.fold(0, usize::wrapping_add) as isize;
        self.counts_suspended.then_some(sum.max(0) as usize)
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let shown = |w: &&Inspection| w.doing.state.is_some() || queued(w) > 0;
        let shown: Vec<_> = self.workers.iter().filter(shown).collect();
        let (workers, injected) = (shown.len(), self.injected);
        let (workers, injected) = (of(workers, "worker"), of(injected, "queued task"));
        write!(f, "tautline: {workers}; {injected} of no worker")?;
        if let Some(suspended) = self.suspended() {
            let suspended = of(suspended, "task");
            write!(
                f,
                "; {suspended} suspended in a wait for the end of a phase"
            )?;
        }
        writeln!(f)?;
        for w in shown {
            let parked = if w.parked { ", parked" } else { "" };
            writeln!(
                f,
                "{}: {}{parked}; queued: {} public, {} private, {} overflow",
                name(w.worker, self.callers),
                phrase(w.doing),
                w.public,
                w.private,
                w.overflow,
            )?;
        }
        Ok(())
    }
}

fn queued(worker: &Inspection) -> usize {
    worker.public + worker.private + worker.overflow
}

/// Returns the name of the worker with the seat, as tables and traces have it.
fn name(seat: WorkerId, callers: usize) -> String {
    match seat.index() {
        0 => "worker 0".to_owned(),
        seat if seat < callers => format!("further caller {seat}"),
        seat => format!("worker {}", seat - callers + 1),
    }
}

fn phrase(doing: Doing) -> String {
    let state = doing.state.map_or("without a thread", State::name);
    match (doing.state, doing.awaits) {
        (_, None) => state.to_owned(),
        (Some(State::Waiting), Some(awaits)) => format!("{state} for {}", awaits.name()),
        (_, Some(awaits)) => format!("{state}, in a wait for {}", awaits.name()),
    }
}
