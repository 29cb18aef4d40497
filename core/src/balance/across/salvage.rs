//! The results of the ranks that are left after a loss, at rank 0.

use super::message::Part;
use crate::glb::{Bag, PlaceRun};
use crate::id::Rank;
use alloc::vec::Vec;

/// The results of the other ranks.
#[derive(Clone, Debug)]
pub(super) struct Salvage<B> {
    /// By rank, from 1.
    parts: Vec<Kept<B>>,
}

#[derive(Clone, Debug)]
enum Kept<B> {
    Awaited,
    Part(Part<B>),
    Lost,
}

impl<B: Bag> Salvage<B> {
    /// Creates the collection of `ranks` ranks.
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            parts: (1..ranks).map(|_| Kept::Awaited).collect(),
        }
    }

    fn awaited(&mut self, rank: Rank) -> Option<&mut Kept<B>> {
        let part = self.parts.get_mut(rank.index().checked_sub(1)?);
        part.filter(|part| matches!(part, Kept::Awaited))
    }

    /// Takes the result of a rank.
    pub(super) fn put(&mut self, from: Rank, part: Part<B>) {
        if let Some(kept) = self.awaited(from) {
            *kept = Kept::Part(part);
        }
    }

    /// Does without the result of a rank, unless that has come.
    pub(super) fn lose(&mut self, rank: Rank) {
        if let Some(kept) = self.awaited(rank) {
            *kept = Kept::Lost;
        }
    }

    /// Whether the result of every rank has come or is lost.
    pub(super) fn is_whole(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.all(|part| !matches!(part, Kept::Awaited))
    }

    /// Returns the ranks whose results have come.
    pub(super) fn left(&self) -> impl Iterator<Item = Rank> {
        let parts = (1..).map(Rank).zip(&self.parts);
        parts.filter_map(|(rank, part)| matches!(part, Kept::Part(_)).then_some(rank))
    }

    /// Returns all results after rank 0's `own`, as a partial one, and forgets them. The places of
    /// lost ranks have done nothing.
    pub(super) fn whole(&mut self, mut own: Part<B>) -> Part<B> {
        let places = own.places.len();
        for kept in self.parts.drain(..) {
            match kept {
                Kept::Part(part) => own.append(part),
                Kept::Awaited | Kept::Lost => {
                    let none = (0..places).map(|_| PlaceRun::default());
                    own.places.extend(none);
                }
            }
        }
        own.complete = false;
        own
    }
}
