//! Ranks as places.

use crate::id::{Layout, PlaceId, Rank};

/// The ranks of a computation as places: of each rank, its first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    pub(super) here: Rank,
    pub(super) layout: Layout,
}

impl Ranks {
    pub(super) fn of(self, place: PlaceId) -> Rank {
        self.layout.rank_of(place)
    }

    pub(super) fn first(self, rank: Rank) -> PlaceId {
        self.layout.first_of(rank)
    }

    pub(super) fn others(self) -> impl Iterator<Item = Rank> {
        let here = self.here;
        (0..self.layout.ranks())
            .map(Rank)
            .filter(move |rank| *rank != here)
    }
}
