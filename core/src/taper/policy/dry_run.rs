//! The chunks of a policy, without a loop.

use super::super::summary::Estimate;
use super::{Instance, Policy};

/// The sizes of the chunks that a policy would make, from the first to the last. Made by
/// [`Policy::dry_run`].
#[derive(Clone, Debug)]
pub struct DryRun<'a> {
    policy: &'a Policy,
    estimate: Estimate,
    cx: &'a Instance,
    left: u64,
}

impl<'a> DryRun<'a> {
    pub(super) fn new(policy: &'a Policy, estimate: Estimate, cx: &'a Instance) -> Self {
        Self {
            policy,
            estimate,
            cx,
            left: cx.n(),
        }
    }

    /// Returns the iterations that are in no chunk yet.
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl Iterator for DryRun<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let chunk = self.policy.chunk(self.left, self.estimate, self.cx);
        self.left -= chunk;
        (chunk > 0).then_some(chunk)
    }
}
