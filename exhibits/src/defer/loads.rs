//! The loads of a subtree, as GL1 compares them.
#![forbid(unsafe_code)]

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use tautline_core::Rank;
use tautline_core::taper::is_admitted;

/// An exchange that a node orders.
pub(super) struct Exchange {
    pub(super) donor: Rank,
    pub(super) receiver: Rank,
    pub(super) amount: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Loads {
    first: u32,
    /// By rank: the number of its newest report, and what is left there.
    left: Vec<(u64, u64)>,
}

impl Loads {
    pub(super) fn new(ranks: Range<u32>) -> Self {
        Self {
            first: ranks.start,
            left: vec![(0, 0); ranks.len()],
        }
    }

    /// Records a report, unless a newer one is known.
    pub(super) fn record(&mut self, rank: Rank, number: u64, left: u64) {
        let known = &mut self.left[(rank.0 - self.first) as usize];
        if number > known.0 {
            *known = (number, left);
        }
    }

    /// Returns an exchange of half the disparity, if it exceeds twice `min` between two ranks that
    /// have reported; of predicted work, if it also is worthwhile by what is left in the subtree.
    pub(super) fn exchange(&mut self, min: u64, is_predicted: bool) -> Option<Exchange> {
        let known = |at: &usize| self.left[*at].0 > 0;
        let ranks = || (0..self.left.len()).filter(known);
        let most = ranks().max_by_key(|at| self.left[*at].1)?;
        let least = ranks().min_by_key(|at| self.left[*at].1)?;
        let amount = (self.left[most].1 - self.left[least].1) / 2;
        if amount == 0 || amount <= min {
            return None;
        }
        let left = ranks().fold(0, |sum: u64, at| sum.saturating_add(self.left[at].1));
        let p = ranks().count() as u32;
        if is_predicted && !is_admitted(amount, left, p) {
            return None;
        }
        self.left[most].1 -= amount;
        self.left[least].1 += amount;
        Some(Exchange {
            donor: Rank(self.first + most as u32),
            receiver: Rank(self.first + least as u32),
            amount,
        })
    }
}
