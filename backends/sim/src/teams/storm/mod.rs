//! Activities at random under nested finishes over ranks.

mod driver;
mod judge;
mod site;

use super::costs::{TeamCosts, log};
use crate::engine::Traffic;
use crate::engine::random::Random;
use crate::protocol::Part;
use driver::Blown;
use site::{Gust, Site};
use tautline_core::collective::Branch;
use tautline_core::finish::FinishId;
use tautline_core::{PlaceId, Rank};

/// A finish of all ranks, whose activities spawn others anywhere, some under finishes of their own.
///
/// The body at each rank, and each activity, takes a time up to twice `mean_ns`, then spawns up to
/// `fan_out` activities at random ranks. Of these that spawn, `nested_percent` open a finish for
/// that, and end when it has ended. A rank has one thread, which runs one activity after the other.
///
/// # Algorithm
/// [`Finishes`](tautline_core::finish::Finishes) at each rank, driven as the library drives them:
/// a rank reports when the activities of a finish have ended there, and forwards what has come from
/// below once it has no message to serve. The end of the finish of all ranks goes down a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storm {
    /// Ranks and costs.
    pub costs: TeamCosts,
    /// The generations of activities after the bodies.
    pub generations: u32,
    /// The activities that one spawns, at most.
    pub fan_out: u32,
    /// The mean duration of an activity.
    pub mean_ns: u64,
    /// Of 100 activities that spawn, those that open a finish.
    pub nested_percent: u32,
    /// The ranks that report to one, and that one notifies of the end.
    pub radix: u32,
}

/// The cost of a storm's finishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StormCost {
    /// The activities, the bodies included.
    pub activities: u64,
    /// The finishes.
    pub finishes: u64,
    /// The times at which the activities of a finish had ended at a rank, for the time being.
    pub quiet: u64,
    /// The reports of ranks about these.
    pub reports: u64,
    /// The messages with reports: each has one or several, and goes up one level.
    pub report_messages: u64,
    /// The messages of all kinds.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time at which the last activity ended.
    pub last_ns: u64,
    /// From then until rank 0 knows that the finish of all ranks has ended.
    pub known_ns: u64,
    /// From then until all ranks know.
    pub ns: u64,
    /// The bound of that: `2 log_radix` of the ranks latencies.
    pub bound_ns: u64,
}

impl Storm {
    /// Returns a storm by default: five generations of two activities each on average, of 20
    /// microseconds, a quarter with finishes.
    pub fn of(costs: TeamCosts) -> Self {
        Self {
            costs,
            generations: 5,
            fan_out: 4,
            mean_ns: 20_000,
            nested_percent: 25,
            radix: 8,
        }
    }

    /// Runs the storm to its end. Each activity has a number, and the sums of the numbers are
    /// compared, by finish, between the ranks that spawned and those that ran.
    ///
    /// # Panics
    /// If there is no rank, or if a finish ends early, twice, never, or without one of its
    /// activities: a defect of the protocol.
    pub fn run(&self) -> StormCost {
        let ranks = self.costs.ranks;
        let part = |here: u32| {
            let branch = Branch::new(Rank(here), ranks, self.radix);
            Part::new(Site::new(*self, branch), Blown::new(*self))
        };
        let outcome = self.costs.run((0..ranks).map(part).collect());
        let blown = outcome.parts.iter().map(|part| &part.driver.account);
        let total = judge::judge(blown).unwrap_or_else(|why| panic!("{why}"));
        let sum = |of: fn(&Site) -> u64| outcome.parts.iter().map(|part| of(&part.machine)).sum();
        let count = |of: fn(&Traffic) -> u64| outcome.traffic.iter().map(of).sum();
        let latencies = u64::from(2 * log(ranks, self.radix));
        StormCost {
            activities: total.activities,
            finishes: total.finishes,
            quiet: sum(|site| site.quiet),
            reports: sum(|site| site.reports),
            report_messages: outcome.traffic[driver::REPORT].count,
            messages: count(|traffic| traffic.count),
            bytes: count(|traffic| traffic.bytes),
            last_ns: total.last_ns,
            known_ns: total.known_ns - total.last_ns,
            ns: total.over_ns - total.last_ns,
            bound_ns: latencies * self.costs.latency_ns(),
        }
    }

    /// Returns the body of a rank.
    fn body(&self, finish: FinishId, here: PlaceId) -> Gust {
        let mut random = Random::new(self.costs.seed, u64::from(here.0));
        Gust {
            finish,
            number: random.below(u64::MAX),
            generations: self.generations,
        }
    }

    /// Returns the duration of an activity.
    fn duration_ns(&self, gust: &Gust) -> u64 {
        let twice = self.mean_ns.saturating_mul(2);
        Random::new(gust.number, 0).below(twice.saturating_add(1))
    }

    /// Whether an activity opens a finish, and the ranks and numbers of those that it spawns.
    fn spawned_by(&self, gust: &Gust) -> (bool, Vec<(PlaceId, u64)>) {
        let mut random = Random::new(gust.number, 1);
        let nests = random.below(100) < u64::from(self.nested_percent);
        let count = match gust.generations {
            0 => 0,
            _ => random.below(u64::from(self.fan_out) + 1),
        };
        let mut one = |_| {
            let to = random.below(self.costs.ranks.into());
            (PlaceId(to as u32), random.below(u64::MAX))
        };
        (nests, (0..count).map(&mut one).collect())
    }
}
