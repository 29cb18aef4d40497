//! The costs of the messages of a team.

use crate::Cluster;
use crate::protocol::{Driver, Outcome, Part, Setup};

/// The ranks of a team, and the costs of their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamCosts {
    /// The number of ranks, at least 1.
    pub ranks: u32,
    /// The cluster; a rank is a place.
    pub cluster: Cluster,
    /// The time for which a rank serves a message, one after the other; 0: none, and messages do
    /// not wait for each other at a rank.
    pub serve_ns: u64,
    /// Selects the delays of messages and all that is drawn.
    pub seed: u64,
}

impl TeamCosts {
    /// Returns the default costs: the default cluster with one rank a node, messages in order, and
    /// that of decoding an empty message for its service.
    pub fn of(ranks: u32) -> Self {
        let cluster = Cluster {
            node_places: 1,
            ordered: true,
            ..Cluster::default()
        };
        Self {
            ranks,
            cluster,
            serve_ns: cluster.ranks.message_ns,
            seed: 1,
        }
    }

    /// Returns the costs under which nothing but the way of a message takes time, and each takes
    /// `latency_ns`: those of the bounds.
    pub fn latency_alone(ranks: u32, latency_ns: u64) -> Self {
        let mut costs = Self::of(ranks);
        costs.serve_ns = 0;
        costs.cluster = Cluster {
            wake_ns: 0,
            far_ns: latency_ns,
            gap_ns: 0,
            jitter_percent: 0,
            // Without jitter they are; else an adapter would take a nanosecond for each.
            ordered: false,
            ..costs.cluster
        };
        costs
    }

    /// Returns the time of a message to the next node, without jitter.
    pub fn latency_ns(&self) -> u64 {
        self.cluster.latency_ns(1)
    }

    /// Returns the time of a message's service, as [`Driver::serve_ns`] does.
    pub(super) fn service(&self) -> Option<u64> {
        (self.serve_ns > 0).then_some(self.serve_ns)
    }

    pub(super) fn run<D: Driver>(&self, parts: Vec<Part<D>>) -> Outcome<D> {
        let setup = Setup {
            cluster: self.cluster,
            seed: self.seed,
            ..Setup::default()
        };
        setup.run(parts)
    }
}

/// Returns the logarithm of `n` to a base of at least 2, rounded up.
pub(super) fn log(n: u32, base: u32) -> u32 {
    let base = u64::from(base.max(2));
    (0..)
        .find(|&levels| base.saturating_pow(levels) >= u64::from(n))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_rounded_up() {
        let of = |n, base| log(n, base);
        assert_eq!([of(1, 2), of(2, 2), of(3, 2), of(1024, 2)], [0, 1, 2, 10]);
        assert_eq!([of(64, 8), of(65, 8), of(u32::MAX, 2)], [2, 3, 32]);
    }
}
