//! Messages about epochs.

use crate::defer::Refusal;
use crate::id::Rank;
use crate::taper::Summary;
use alloc::vec::Vec;
use core::ops::Range;

/// A message between the [`Epochs`](super::Epochs) of two ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The tokens of a subtree, for the parent: the progress of each rank that has sent one, in the
    /// order of ranks.
    Tokens(Vec<(Rank, Progress)>),
    /// An epoch has begun; for the children.
    Epoch(Epoch),
    /// Iterations that have not begun, for the rank that executes them from now on.
    Data(Vec<Range<u64>>),
    /// All iterations have begun; for the children.
    End,
}

/// The work of a rank since the loop began. The numbers only grow, so the order in which reports
/// arrive does not matter: the newest replaces the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Progress {
    /// Chunks begun: the tokens sent.
    pub chunks: u64,
    /// Iterations begun.
    pub started: u64,
    /// The hungry token: one more than the epoch in which the rank last had no iterations left; 0
    /// before.
    pub hungry: u64,
    /// The epoch of the rank.
    pub epoch: u64,
    /// Work left at the rank: iterations, unless another work is predicted.
    pub left: u64,
    /// The times of its iterations.
    pub times: Summary,
}

impl Progress {
    /// Checks a report of `rank` against `known`, the newest one so far. Returns whether it is
    /// newer.
    pub(super) fn check(
        &self,
        rank: Rank,
        known: &Self,
        (epoch, n, whole): (u64, u64, u64),
    ) -> Result<bool, Refusal> {
        let counts = self.chunks <= self.started && self.started <= n && self.left <= whole;
        let epochs = self.epoch <= epoch && self.hungry <= self.epoch + 1;
        let grown = |a: &Self, b: &Self| {
            a.chunks <= b.chunks
                && a.started <= b.started
                && a.hungry <= b.hungry
                && a.epoch <= b.epoch
                && a.times.count() <= b.times.count()
        };
        let is_newer = grown(known, self);
        match counts && epochs && self.times.is_sound() && (is_newer || grown(self, known)) {
            true => Ok(is_newer),
            false => Err(Refusal::Progress(rank)),
        }
    }
}

/// The decision of the root at the end of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch {
    /// Its number.
    pub number: u64,
    /// The work of a chunk: iterations, unless another work is predicted.
    pub chunk: u64,
    /// The transfers of the subtree's ranks.
    pub orders: Vec<Order>,
}

/// A transfer of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Order {
    /// The rank that gives.
    pub donor: Rank,
    /// The rank that receives.
    pub receiver: Rank,
    /// The work, or iterations; less if less is left.
    pub amount: u64,
}
