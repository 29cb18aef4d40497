//! The end of a loop: the number of iterations that have begun, added up along the tree of ranks.
#![forbid(unsafe_code)]

use alloc::vec;
use alloc::vec::Vec;
use tautline_core::Rank;
use tautline_core::collective::Branch;
use tautline_core::defer::Refusal;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tally {
    branch: Branch,
    own: u64,
    /// By child, the highest sum reported.
    below: Vec<u64>,
    reported: u64,
}

impl Tally {
    pub(super) fn new(branch: Branch) -> Self {
        let children = branch.children().len();
        Self {
            own: 0,
            below: vec![0; children],
            reported: 0,
            branch,
        }
    }

    pub(super) fn branch(&self) -> &Branch {
        &self.branch
    }

    /// Returns the number of iterations begun at this rank.
    pub(super) fn own(&self) -> u64 {
        self.own
    }

    /// Counts iterations that begin at this rank.
    pub(super) fn begin(&mut self, iterations: u64) {
        self.own += iterations;
    }

    /// Records the sum of a child. Sums only grow, so the highest is the newest.
    pub(super) fn record(&mut self, from: Rank, sum: u64, n: u64) -> Result<(), Refusal> {
        let child = self.branch.children().position(|child| child == from);
        let child = child.ok_or(Refusal::Path)?;
        let newest = sum.max(self.below[child]);
        let others = self.sum() - self.below[child];
        if newest > n - others.min(n) {
            return Err(Refusal::Count);
        }
        self.below[child] = newest;
        Ok(())
    }

    /// Returns the sum of the subtree.
    pub(super) fn sum(&self) -> u64 {
        self.own + self.below.iter().sum::<u64>()
    }

    /// Returns the parent and the sum to report to it, if it is not known there.
    pub(super) fn report(&mut self) -> Option<(Rank, u64)> {
        let parent = self.branch.parent()?;
        let sum = self.sum();
        (sum > self.reported).then(|| {
            self.reported = sum;
            (parent, sum)
        })
    }
}
