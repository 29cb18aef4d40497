//! The chunks of one execution.

use super::settings::Schedule;
use crate::taper::{CostFunction, Estimate, Instance, Policy, scale};

/// The least duration of a block in nanoseconds: a hundred readings of a clock, 25 ns each on a present processor.
pub(super) const BLOCK_NS: u64 = 2_500;

/// The duration of a chunk in nanoseconds below which its costs count: that of the largest block.
pub(super) const GRAIN_NS: u64 = 2 * BLOCK_NS;

/// The most iterations that a policy takes; more are as many to it.
const MOST: u64 = 1 << 63;

/// In an execution that predicts nothing, a chunk of each worker has 1/`CAUTION` of the iterations that were taken before, at most:
/// together they then last 1/`CAUTION` as long as those unless costs rise, and an iteration that costs a hundred times as much as
/// those before does not begin a chunk of hundreds of its kind.
const CAUTION: u64 = 16;

/// What determines the chunks.
pub(super) struct Plan<'l> {
    policy: Policy,
    pub(super) is_auto: bool,
    instance: Instance,
    /// The times of earlier executions, if they predict anything.
    cost: Option<&'l CostFunction>,
    /// The least chunk if `cost` is known: iterations of mean cost that last [`GRAIN_NS`], but no more than a block.
    grain: u64,
}

impl<'l> Plan<'l> {
    pub(super) fn new(
        schedule: Schedule,
        len: usize,
        parts: usize,
        cost: Option<&'l CostFunction>,
    ) -> Self {
        let cost = cost.filter(|cost| cost.is_known());
        let grain = cost.map_or(1, |cost| {
            let mean_ns = (cost.residual().mean_ns.to_bits() >> 16).max(1);
            scale(cost.block(), GRAIN_NS, mean_ns).clamp(1, cost.block().max(1))
        });
        Self {
            policy: schedule.policy(len, parts),
            is_auto: schedule == Schedule::Auto,
            instance: Instance::new((len as u64).min(MOST), parts as u32),
            cost,
            grain,
        }
    }

    /// Returns whether earlier executions determine the chunks.
    pub(super) fn is_cached(&self) -> bool {
        self.cost.is_some()
    }

    /// Returns the next chunk if `left` iterations are left, for `estimate` of blocks of `block` iterations, a power of two, or 0
    /// if that is not known. In an execution that predicts nothing, a chunk has at least `grain` iterations.
    #[inline]
    pub(super) fn chunk(&self, left: u64, block: usize, grain: u64, estimate: Estimate) -> u64 {
        let left = left.min(MOST);
        if !self.is_auto {
            return self.policy.chunk(left, estimate, &self.instance);
        }
        let at = self.instance.n() - left;
        let p = u64::from(self.instance.p());
        let Some(cost) = self.cost else {
            let seen = at / (CAUTION * p);
            let least = match block {
                0 => grain.min(left.div_ceil(2 * p)),
                _ => grain,
            };
            let chunk = self.tapered(left, block, estimate).min(seen).max(least);
            return whole(chunk, block);
        };
        let left_work = cost.left(at).max(1);
        let count = self.tapered(left_work, block, cost.residual());
        // Never more than guided self-scheduling's, since the prediction may fail.
        let most = left.div_ceil(p);
        let chunk = cost.take(at, count.max(self.grain));
        whole(chunk.min(most.max(self.grain)), block)
    }

    /// Returns TAPER's number of blocks, but no more than factoring's of iterations, since the first chunk must not last
    /// longer than all others together if the costs fall.
    #[inline]
    fn tapered(&self, left: u64, block: usize, estimate: Estimate) -> u64 {
        let shift = block.max(1).trailing_zeros();
        let most = left.div_ceil(2 * u64::from(self.instance.p()));
        let blocks = (left >> shift).max(1);
        let chunk = self.policy.chunk(blocks, estimate, &self.instance) << shift;
        chunk.min(most)
    }
}

/// Rounds a chunk down to whole blocks of a power of two of iterations, unless it is less than one: the rest of a chunk is no sample,
/// but costs a reading of the clock.
#[inline]
fn whole(chunk: u64, block: usize) -> u64 {
    match block as u64 {
        block if block > 0 && chunk > block => chunk & !(block - 1),
        _ => chunk,
    }
}
