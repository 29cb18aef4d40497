//! Scaled transfers: a number of tasks of mean cost, in place of a number of tasks.
//!
//! # Algorithm
//! Lucco 1995, 003:492, 528-548 (spec 2.9, 2.11). Any policy counts in tasks of the mean cost: it
//! is given the predicted work that is left, and its chunk K is as many iterations as have the work
//! Kμ.

use super::super::policy::{Instance, Policy};
use super::super::summary::Estimate;
use super::function::{CostFunction, scale};

impl CostFunction {
    /// Returns the predicted work from iteration `at` on, in iterations of the mean cost.
    #[inline]
    pub fn left(&self, at: u64) -> u64 {
        let total = self.total();
        scale(total.saturating_sub(self.before(at)), self.n(), total)
    }

    /// Returns the number of iterations from `at` on whose predicted cost is that of `count`
    /// iterations of the mean cost: at least 1, unless none is left.
    #[inline]
    pub fn take(&self, at: u64, count: u64) -> u64 {
        let work = scale(count, self.total(), self.n());
        let end = self.reach(self.before(at).saturating_add(work));
        end.saturating_sub(at)
            .clamp(1, self.n().saturating_sub(at).max(1))
            .min(self.n().saturating_sub(at))
    }

    /// Returns the next chunk of the cached variant of `policy` if `left` iterations are left:
    /// chunks of equal predicted work where those of the policy have an equal count.
    pub fn chunk(&self, policy: &Policy, left: u64, estimate: Estimate, cx: &Instance) -> u64 {
        let at = self.n().saturating_sub(left);
        let count = policy.chunk(self.left(at).max(1), estimate, cx);
        self.take(at, count)
    }
}

/// Returns whether a transfer of `work` is worthwhile: it exceeds half of the mean remaining work
/// of `p` processors, R_g/2p.
///
/// ```
/// # use tautline_core::taper::is_admitted;
/// assert!(!is_admitted(50, 400, 4));
/// assert!(is_admitted(51, 400, 4));
/// ```
pub fn is_admitted(work: u64, remaining: u64, p: u32) -> bool {
    u128::from(work) * 2 * u128::from(p) > u128::from(remaining)
}
