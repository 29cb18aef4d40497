//! The table of where time went.

use std::fmt;
use tautline_core::watch::{State, Times};
use tautline_core::{PlaceId, WorkerId};

/// The time that one worker spent in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerTimes {
    /// The place of the worker.
    pub place: PlaceId,
    /// The worker, by its number within the place. The thread that calls
    /// [`run`](crate::Runtime::run) is worker 0 of the first place; further threads that call it at
    /// the same time have the numbers after all other workers.
    pub worker: WorkerId,
    /// Its time, in ticks.
    pub times: Times,
}

/// The time that the workers of a runtime spent in each state. Displayed as a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TimeTable {
    /// The workers that have run so far.
    pub workers: Vec<WorkerTimes>,
    /// Ticks per second.
    pub ticks_per_second: f64,
}

impl TimeTable {
    /// Returns the time of all workers together.
    ///
    /// ```
    /// # use tautline::{prelude::*, watch::{Observe, State}};
    /// let rt = Runtime::builder().observe(Observe::new()).build()?;
    /// rt.run(|cx| cx.par_for(0..1000, |n| _ = n * n));
    /// let total = rt.times().expect("it is observed").total();
    /// println!("{} of {} ticks in tasks", total.of(State::Computing), total.total());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn total(&self) -> Times {
        let mut total = Times::default();
        self.workers.iter().for_each(|w| total.merge(&w.times));
        total
    }

    fn row(&self, f: &mut fmt::Formatter<'_>, name: &str, times: &Times) -> fmt::Result {
        let total = times.total();
        write!(f, "{name:>8}")?;
        write!(f, "  {:>10.6}", total as f64 / self.ticks_per_second)?;
        for state in State::ALL {
            let share = times.of(state) as f64 / total.max(1) as f64 * 100.0;
            write!(f, "  {share:>width$.2}", width = state.name().len())?;
        }
        writeln!(f)
    }
}

impl fmt::Display for TimeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>8}  {:>10}  share of time, %", "", "")?;
        write!(f, "{:>8}  {:>10}", "worker", "seconds")?;
        for state in State::ALL {
            write!(f, "  {}", state.name())?;
        }
        writeln!(f)?;
        let several = self.workers.iter().any(|w| w.place != PlaceId::HOME);
        for WorkerTimes {
            place,
            worker,
            times,
        } in &self.workers
        {
            let name = match several {
                true => format!("{}.{}", place.0, worker.0),
                false => worker.0.to_string(),
            };
            self.row(f, &name, times)?;
        }
        self.row(f, "all", &self.total())
    }
}
