//! The table of where time went.

use std::fmt;
use tautline_core::watch::{State, Times};
use tautline_core::{PlaceId, WorkerId};

/// Ticks per second of the clock of a node.
pub(super) const TICKS_PER_SECOND: f64 = 1e9;
/// The width of the worker, of 4096 workers in any places. A line has 80 columns.
const NAME: usize = 7;
/// The width of its time, up to eleven days.
const SECONDS: usize = 10;

/// The states that have a share of the time of a run.
const COLUMNS: [State; 6] = [
    State::Computing,
    State::Stealing,
    State::Distributing,
    State::Probing,
    State::Waiting,
    State::Idle,
];

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

/// The time that the workers of a runtime spent in each state. Displayed as a table: its rows are
/// of the time in which something ran in the runtime, and a last one has the rest,
/// [`State::NoRun`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TimeTable {
    /// The workers that have run so far.
    pub workers: Vec<WorkerTimes>,
    /// Ticks per second.
    pub ticks_per_second: f64,
}

impl TimeTable {
    pub(super) fn empty() -> Self {
        Self {
            workers: Vec::new(),
            ticks_per_second: TICKS_PER_SECOND,
        }
    }

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
        let total = times.total() - times.of(State::NoRun);
        self.begin_row(f, name, total)?;
        for state in COLUMNS {
            let share = times.of(state) as f64 / total.max(1) as f64 * 100.0;
            write!(f, "  {share:>width$.2}", width = width(state))?;
        }
        writeln!(f)
    }

    fn begin_row(&self, f: &mut fmt::Formatter<'_>, name: &str, ticks: u64) -> fmt::Result {
        let seconds = ticks as f64 / self.ticks_per_second;
        let digits = if seconds < 1000.0 { 6 } else { 3 };
        write!(f, "{name:>NAME$}  {seconds:>SECONDS$.digits$}")
    }
}

/// Returns the width of a share of time, which is at most `100.00`.
const fn width(state: State) -> usize {
    let name = state.name().len();
    if name < 6 { 6 } else { name }
}

impl fmt::Display for TimeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:NAME$}  {:SECONDS$}  share of time, %", "", "")?;
        write!(f, "{:>NAME$}  {:>SECONDS$}", "worker", "seconds")?;
        for state in COLUMNS {
            write!(f, "  {:>width$}", state.name(), width = width(state))?;
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
        self.row(f, "all", &self.total())?;
        let outside = self.workers.iter().map(|w| w.times.of(State::NoRun));
        match outside.max() {
            None | Some(0) => Ok(()),
            Some(longest) => {
                self.begin_row(f, State::NoRun.name(), longest)?;
                writeln!(f)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_80_columns() {
        let worker = |place, worker, state, seconds: u64| {
            let mut times = Times::default();
            times.add(state, seconds * 1_000_000_000);
            WorkerTimes {
                place: PlaceId(place),
                worker: WorkerId(worker),
                times,
            }
        };
        let table = TimeTable {
            workers: vec![
                worker(0, 0, State::Idle, 999),
                worker(4095, 0, State::Distributing, 500_000),
            ],
            ticks_per_second: 1e9,
        };
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
        let words = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(2), "0.0 999.000000 0.00 0.00 0.00 0.00 0.00 100.00");
        assert_eq!(
            words(3),
            "4095.0 500000.000 0.00 0.00 100.00 0.00 0.00 0.00"
        );
        assert!(words(4).starts_with("all 500999.000 "), "{text}");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn the_time_without_a_run_is_a_row_of_its_own() {
        let worker = |number, run: u64, outside: u64| {
            let mut times = Times::default();
            times.add(State::Computing, run);
            times.add(State::Idle, run);
            times.add(State::NoRun, outside);
            WorkerTimes {
                place: PlaceId(0),
                worker: WorkerId(number),
                times,
            }
        };
        let table = TimeTable {
            workers: vec![
                worker(0, 500_000_000, 0),
                worker(1, 500_000_000, 8_000_000_000),
            ],
            ticks_per_second: 1e9,
        };
        let text = table.to_string();
        let words = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let expected = [
            "0 1.000000 50.00 0.00 0.00 0.00 0.00 50.00",
            "1 1.000000 50.00 0.00 0.00 0.00 0.00 50.00",
            "all 2.000000 50.00 0.00 0.00 0.00 0.00 50.00",
            "no run 8.000000",
        ];
        assert_eq!(words.skip(2).collect::<Vec<_>>(), expected, "{text}");
    }
}
