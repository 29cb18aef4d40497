//! Phases of the tasks of all ranks.

use super::call::TeamOp;
use super::collective::{CallCost, Teamed};
use super::costs::TeamCosts;
use super::local::LocalCost;
use crate::memory::Machine;

/// A phaser of the tasks of all ranks, each with as many tasks: a phase of the tasks of a rank, the
/// exchange of the ranks, and another phase of the tasks, by which they learn its end.
///
/// The tasks of a rank meet on the hardware threads of a described machine: over a barrier line, or
/// over words in a tree. These are not the shipped phasers: `tautline_verify::virtual_time` runs
/// those, for a thousand times the time. The exchange is the shipped all-reduce: in pairs where
/// ranks are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hybrid {
    /// Ranks and costs.
    pub costs: TeamCosts,
    /// The tasks of a rank.
    pub tasks: usize,
    /// The machine of a rank.
    pub machine: Machine,
    /// The radix of the tree of ranks; `None`: that of the library.
    pub radix: Option<u32>,
    /// The tasks of a rank signal up to this much later than others, evenly distributed by rank.
    pub skew_ns: u64,
}

/// The cost of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseCost {
    /// The two phases of a rank's tasks.
    pub local_ns: u64,
    /// The bound of these: twice what the line or the transfers take.
    pub local_bound_ns: u64,
    /// The exchange, from the last rank's entry.
    pub exchange: CallCost,
}

impl PhaseCost {
    /// Returns the time from the last signal to the last return.
    pub fn ns(&self) -> u64 {
        self.local_ns + self.exchange.ns
    }

    /// Returns the sum of both bounds.
    pub fn bound_ns(&self) -> u64 {
        self.local_bound_ns + self.exchange.bound_ns
    }
}

impl Hybrid {
    /// Runs a phase.
    ///
    /// # Panics
    /// If there is no rank or no task, or if the machine has fewer threads than tasks.
    pub fn run(&self) -> PhaseCost {
        let local = LocalCost::of(self.machine, self.tasks);
        let ns = |cycles: u64| (2 * cycles * 1_000).div_ceil(self.machine.clock_mhz);
        let in_pairs = self.costs.ranks <= TeamOp::AllReducePairs.most_ranks();
        let exchange = Teamed {
            radix: self.radix,
            skew_ns: self.skew_ns,
            // The number of ranks with tasks, and the result.
            value_bytes: 20,
            ..Teamed::of(self.costs)
        };
        PhaseCost {
            local_ns: ns(local.cycles),
            local_bound_ns: ns(local.bound_cycles),
            exchange: exchange.run(match in_pairs {
                true => TeamOp::AllReducePairs,
                false => TeamOp::AllReduce,
            }),
        }
    }
}
