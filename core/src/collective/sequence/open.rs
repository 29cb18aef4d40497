//! The calls that have not ended, for reports.

use super::{Call, Sequence, Weight};
use crate::group::neighbours;
use crate::id::Rank;
use alloc::vec::Vec;

/// A call of this rank that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall<'a, C> {
    /// Its number.
    pub number: u64,
    /// The call.
    pub call: &'a C,
    /// The neighbours that were asked about it, since it takes long, and have not made it.
    pub absent: Vec<Rank>,
    /// The neighbours that are known to have made it.
    pub begun: Vec<Rank>,
}

impl<C: Call, B: Weight> Sequence<C, B> {
    /// Returns the numbers of the calls that have not ended, in order.
    pub fn open_numbers(&self) -> impl Iterator<Item = u64> {
        self.open.iter().map(|(number, _)| number)
    }

    /// Returns the calls that have not ended, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = OpenCall<'_, C>> {
        self.open.iter().map(|(number, open)| {
            let begun = |rank: &Rank| self.peers.get(rank).is_some_and(|it| it.begun > number);
            OpenCall {
                number,
                call: &open.made.call,
                absent: self.asked(number),
                begun: neighbours(self.here, self.ranks).filter(begun).collect(),
            }
        })
    }

    /// Returns the neighbours that were asked about a call and are not known to have made it.
    pub(super) fn asked(&self, number: u64) -> Vec<Rank> {
        let is_asked = |rank: &Rank| {
            let asked = self.peers.get(rank).and_then(|peer| peer.asked);
            asked.is_some_and(|of| of <= number)
        };
        self.missing(number).filter(is_asked).collect()
    }
}
