//! The problem of a program whose ranks exchange messages, and its result.

pub(super) mod memory;

pub(super) use memory::Memory;

use crate::command::Outcome;
use crate::command::app::{About, Findings};
use tautline::Runtime;
use tautline::world::World;

/// A problem that the ranks compute together.
pub(crate) trait Problem: Sync {
    /// The result. It is the same on every number of ranks and workers.
    type Solution: PartialEq + Send;

    /// Returns its description, whose [`tasks`](About::tasks) are known, unless
    /// [`work`](Self::work) is overridden.
    fn about(&self) -> About;

    /// Refuses a number of ranks over which it cannot be divided.
    ///
    /// # Errors
    /// The option, its value, and what is allowed.
    fn check_ranks(&self, _ranks: u32) -> Outcome {
        Ok(())
    }

    /// Returns the memory of all `ranks` together, if it may be more than a machine has.
    fn memory(&self, _ranks: u32) -> Option<Memory> {
        None
    }

    /// Computes it as a rank of `world`, and returns the result at rank 0.
    ///
    /// # Errors
    /// That of a message; memory that the system refuses.
    fn across(
        &self,
        world: &World,
        runtime: &Runtime,
    ) -> tautline::Result<Option<Computed<Self::Solution>>>;

    /// Computes it on this thread, for comparison.
    fn sequential(&self) -> Self::Solution;

    /// Returns the result for display, with the verdict of the benchmark's own verification, if it
    /// has one.
    fn findings(&self, solution: &Self::Solution) -> Findings;

    /// Verifies the result where `--check` requests it, in addition to the comparison with the
    /// sequential program: rows and keys to add, and a verdict.
    fn verification(&self, _solution: &Self::Solution) -> Findings {
        Findings::default()
    }

    /// Returns the [units](About::unit) that the solution stands for.
    fn work(&self, _solution: &Self::Solution) -> u64 {
        self.about().tasks.unwrap_or_default()
    }

    /// Returns the rates that the benchmark defines, in addition to that of all units.
    fn rates(&self, _computed: &Computed<Self::Solution>) -> Findings {
        Findings::default()
    }
}

/// A result, and the durations of what a benchmark measures.
pub(crate) struct Computed<S> {
    pub(crate) solution: S,
    /// Seconds of each measured part; none if the whole computation is measured.
    pub(crate) times: Vec<f64>,
}

impl<S> From<S> for Computed<S> {
    fn from(solution: S) -> Self {
        let times = Vec::new();
        Self { solution, times }
    }
}

impl<S> Computed<S> {
    /// Returns the seconds of all measured parts.
    pub(crate) fn measured(&self) -> Option<f64> {
        (!self.times.is_empty()).then(|| self.times.iter().sum())
    }
}
