//! The mechanisms of the runtime that are measured one by one, each with what a program could use
//! in its place.
#![forbid(unsafe_code)]

mod cell;
mod clock;
mod exchange;
mod fence;
mod fork;
mod grain;
mod links;
mod observed;
mod ranks;
#[cfg(feature = "rivals")]
mod rivals;
mod steal;
mod wake;

use super::{Kind, kinds};
use std::io;

pub use clock::{CLOCK_READINGS, step};
pub use exchange::Exchange;
pub use wake::PARKED_WORKER;

/// A benchmark of one mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// The name, as of its command.
    pub name: &'static str,
    /// The threads of a sample: one, two, or all that have processors.
    pub threads: Threads,
    kinds: fn() -> Vec<Kind>,
}

/// The number of threads of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One.
    One,
    /// Two, on the first two processors.
    Two,
    /// One on each processor, at least two.
    All,
}

/// All mechanisms, in the order in which they are measured.
#[rustfmt::skip] // A table.
pub const MECHANISMS: &[Mechanism] = &[
    Mechanism { name: "clock", threads: Threads::One, kinds: clock::kinds },
    Mechanism { name: "fence", threads: Threads::Two, kinds: fence::kinds },
    Mechanism { name: "steal", threads: Threads::Two, kinds: steal::kinds },
    Mechanism { name: "fork", threads: Threads::Two, kinds: fork::kinds },
    Mechanism { name: "spawn", threads: Threads::All, kinds: fork::spawns },
    Mechanism { name: "wake", threads: Threads::Two, kinds: wake::kinds },
    Mechanism { name: "barrier", threads: Threads::All, kinds: || kinds(&[4]) },
    Mechanism { name: "cell", threads: Threads::Two, kinds: cell::kinds },
    Mechanism { name: "message", threads: Threads::Two, kinds: links::messages },
    Mechanism { name: "collective", threads: Threads::Two, kinds: links::collectives },
    Mechanism { name: "grain", threads: Threads::All, kinds: grain::kinds },
];

impl Mechanism {
    /// Returns the mechanism of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        MECHANISMS.iter().find(|one| one.name == name)
    }

    /// Returns what is measured of it; with the feature `rivals`, other libraries, too.
    pub fn kinds(&self) -> Vec<Kind> {
        #[allow(unused_mut, reason = "only rivals are added")]
        let mut kinds = (self.kinds)();
        #[cfg(feature = "rivals")]
        kinds.extend(rivals::of(self.name));
        kinds
    }

    /// Returns the number of threads of a sample on this many processors.
    pub fn tasks(&self, processors: usize) -> usize {
        match self.threads {
            Threads::One => 1,
            Threads::Two => 2,
            Threads::All => processors.max(2),
        }
    }
}

/// Checks that time passes, without which there is no figure.
///
/// # Errors
/// The clock stands still.
pub fn check_clock() -> io::Result<()> {
    let start = std::time::Instant::now();
    step(|| start.elapsed()).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;
    use std::sync::Arc;
    use tautline::balance::Reason;

    fn plan(mechanism: &Mechanism, cpus: usize) -> Plan {
        let all = tautline_node::Machine::discover().cpus();
        let cpus = all.into_iter().take(cpus).cycle();
        Plan {
            cpus: cpus.take(mechanism.tasks(2)).collect(),
            iterations: 20,
            delay: 0,
            stop: Arc::default(),
        }
    }

    #[test]
    fn every_kind_takes_some_time_on_one_processor_and_on_two() {
        for mechanism in MECHANISMS {
            for cpus in [1, 2] {
                for kind in mechanism.kinds() {
                    let sample = kind.sample(&plan(mechanism, cpus)).expect("two threads");
                    let name = mechanism.name;
                    // A barrier's is a difference of two loops.
                    let is_some = sample.ns > 0.0 || name == "barrier";
                    assert!(is_some, "{name}, {kind:?}, {cpus} CPUs: {sample:?}");
                }
            }
        }
    }

    #[test]
    fn a_sample_that_is_stopped_ends() {
        for mechanism in MECHANISMS.iter().filter(|one| one.name != "barrier") {
            for kind in mechanism.kinds() {
                let plan = Plan {
                    // Hours, where it counts.
                    iterations: 1_000_000_000,
                    ..plan(mechanism, 2)
                };
                plan.stop.stop(Reason::Interrupted);
                let _ = kind.sample(&plan);
            }
        }
    }
}
