//! Ranks as places.

use crate::id::{PlaceId, Rank};

/// The ranks of a computation as places: of each rank, its first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    pub(super) here: Rank,
    pub(super) ranks: u32,
    /// Places of each rank.
    pub(super) places: u32,
}

impl Ranks {
    pub(super) fn of(self, place: PlaceId) -> Rank {
        Rank(place.0 / self.places)
    }

    pub(super) fn first(self, rank: Rank) -> PlaceId {
        PlaceId(rank.0 * self.places)
    }

    pub(super) fn others(self) -> impl Iterator<Item = Rank> {
        let here = self.here;
        (0..self.ranks).map(Rank).filter(move |rank| *rank != here)
    }
}
