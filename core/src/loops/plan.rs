//! The chunks of one execution.

use super::settings::Schedule;
use crate::taper::{CostFunction, Estimate, Instance, Policy};

/// The least duration of a block in nanoseconds: a hundred readings of a clock, 25 ns each on a
/// present processor.
pub(super) const BLOCK_NS: u64 = 2_500;

/// The most iterations that a policy takes; more are as many to it.
pub(super) const MOST: u64 = 1 << 63;

/// The part of a worker's share that a chunk has at most, of predicted work: factoring's, since
/// TAPER's first chunk would last longer than all others together if the prediction fails and the
/// costs fall.
const KNOWN: u64 = 2;

/// The same if nothing is predicted. A chunk that contains a hot spot, of few iterations with most
/// of the work, cannot be evened out: it is as large as the chunk, wherever it is, whatever the
/// times before it were. Simulated on two to 64 processors, a hot spot of a tenth of the iterations
/// and four fifths of the work costs 1.7 to 2.9 times the ideal time with 2, 1.2 to 1.5 with 4, and
/// 1.1 with 16, while uniform loops lose a thousandth.
const UNKNOWN: u64 = 16;

/// The rule that determines the chunks.
pub(super) struct Plan<'l> {
    policy: Policy,
    pub(super) is_auto: bool,
    instance: Instance,
    /// The times of earlier executions, if they predict anything.
    cost: Option<&'l CostFunction>,
    /// The least chunk if `cost` is known, in iterations of mean cost.
    least: u64,
}

impl<'l> Plan<'l> {
    pub(super) fn new(
        schedule: Schedule,
        len: usize,
        parts: usize,
        cost: Option<&'l CostFunction>,
    ) -> Self {
        let cost = cost.filter(|cost| cost.is_known());
        let least = cost.map_or(1, |cost| {
            let mean_ns = cost.residual().mean_ns.to_bits() >> 16;
            grain(cost.block() as usize, mean_ns)
        });
        Self {
            policy: schedule.policy(len, parts),
            is_auto: schedule == Schedule::Auto,
            instance: Instance::new((len as u64).min(MOST), parts as u32),
            cost,
            least: least as u64,
        }
    }

    /// Returns whether earlier executions determine the chunks.
    pub(super) fn is_cached(&self) -> bool {
        self.cost.is_some()
    }

    /// Returns whether the chunks depend on the times of this execution.
    pub(super) fn needs_estimate(&self) -> bool {
        matches!(self.policy, Policy::Taper(_)) && !self.is_cached()
    }

    /// Returns the next chunk if `left` iterations are left, for `estimate` of blocks of `block`
    /// iterations, a power of two. In an execution that predicts nothing, `least` is the least
    /// chunk.
    #[inline]
    pub(super) fn chunk(&self, left: u64, block: usize, least: u64, estimate: Estimate) -> u64 {
        let left = left.min(MOST);
        if !self.is_auto {
            return self.policy.chunk(left, estimate, &self.instance);
        }
        let Some(cost) = self.cost else {
            return self.tapered(left, block, estimate, UNKNOWN).max(least);
        };
        let at = self.instance.n() - left;
        let count = self.tapered(cost.left(at).max(1), block, cost.residual(), KNOWN);
        // Never more than guided self-scheduling's, since the prediction may fail.
        let most = left.div_ceil(u64::from(self.instance.p()));
        cost.take(at, count.max(self.least))
            .min(most.max(self.least))
    }

    /// Returns TAPER's number of blocks, but no more than ⌈R/dp⌉ iterations for the given d.
    #[inline]
    fn tapered(&self, left: u64, block: usize, estimate: Estimate, divisor: u64) -> u64 {
        let shift = block.trailing_zeros();
        let most = left.div_ceil(divisor * u64::from(self.instance.p()));
        let blocks = (left >> shift).max(1);
        let chunk = self.policy.chunk(blocks, estimate, &self.instance) << shift;
        chunk.min(most)
    }
}

/// Returns the least chunk after a block of `block` iterations has taken `ns`: a block, or fewer
/// iterations that last as long as the longest block should if it took more than twice that. The
/// size of blocks follows from the first iterations: where later ones cost more, a block may last
/// as long as all that is left.
pub(super) fn grain(block: usize, ns: u64) -> usize {
    const LONGEST_NS: u64 = 2 * BLOCK_NS;
    match ns > 2 * LONGEST_NS {
        true => ((block as u64).saturating_mul(LONGEST_NS) / ns).max(1) as usize,
        false => block.max(1),
    }
}

/// Returns the iterations of a block of an execution that is measured, 0 if none is known: as many
/// as in earlier executions, or more if these took less than half of the time of a block, if the
/// loop has many blocks.
pub(super) fn regrown(cost: &CostFunction, len: usize) -> usize {
    const BLOCKS_MIN: usize = 64;
    let block = cost.block() as usize;
    let mean_ns = cost.estimate().mean_ns.to_bits() >> 16;
    let by_time = BLOCK_NS.checked_div(mean_ns).unwrap_or(1);
    let by_number = len / BLOCKS_MIN / block.max(1);
    let factor = by_number.min(by_time as usize);
    block << factor.checked_ilog2().unwrap_or(0)
}
