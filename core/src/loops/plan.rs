//! The chunks of one execution.

use super::settings::Schedule;
use crate::taper::{CostFunction, Estimate, Instance, Policy};

/// The most iterations that a policy takes; more are as many to it.
const MOST: u64 = 1 << 63;

/// What determines the chunks.
pub(super) struct Plan<'l> {
    policy: Policy,
    pub(super) is_auto: bool,
    instance: Instance,
    /// The times of earlier executions, if they predict anything.
    cost: Option<&'l CostFunction>,
}

impl<'l> Plan<'l> {
    pub(super) fn new(
        schedule: Schedule,
        len: usize,
        parts: usize,
        cost: Option<&'l CostFunction>,
    ) -> Self {
        Self {
            policy: schedule.policy(len, parts),
            is_auto: schedule == Schedule::Auto,
            instance: Instance::new((len as u64).min(MOST), parts as u32),
            cost: cost.filter(|cost| cost.is_known()),
        }
    }

    /// Returns whether earlier executions determine the chunks.
    pub(super) fn is_cached(&self) -> bool {
        self.cost.is_some()
    }

    /// Returns the next chunk if `left` iterations are left, for `estimate` of blocks of `block` iterations, a power of two.
    #[inline]
    pub(super) fn chunk(&self, left: u64, block: usize, estimate: Estimate) -> u64 {
        let left = left.min(MOST);
        if !self.is_auto {
            return self.policy.chunk(left, estimate, &self.instance);
        }
        let Some(cost) = self.cost else {
            return self.tapered(left, block, estimate);
        };
        let at = self.instance.n() - left;
        let count = self.tapered(cost.left(at).max(1), block, cost.residual());
        // Never more than guided self-scheduling's, since the prediction may fail.
        let most = left.div_ceil(u64::from(self.instance.p()));
        cost.take(at, count).min(most.max(block as u64))
    }

    /// Returns TAPER's number of blocks, but no more than factoring's of iterations, since the first chunk must not last
    /// longer than all others together if the costs fall.
    #[inline]
    fn tapered(&self, left: u64, block: usize, estimate: Estimate) -> u64 {
        let shift = block.trailing_zeros();
        let most = left.div_ceil(2 * u64::from(self.instance.p()));
        let blocks = (left >> shift).max(1);
        let chunk = self.policy.chunk(blocks, estimate, &self.instance) << shift;
        chunk.min(most.max(block as u64))
    }
}
