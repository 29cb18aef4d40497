//! Identifiers of ranks, places and workers.
#![forbid(unsafe_code)]

use core::fmt;

/// A place: a share of the machine with its own memory; 0 is the home of a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct PlaceId(pub u32);

impl PlaceId {
    /// The place where computations start and end.
    pub const HOME: Self = Self(0);

    /// Returns the place's position among all places.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PlaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "place {}", self.0)
    }
}

/// A process of a program that runs as several, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Rank(pub u32);

impl Rank {
    /// Returns the rank's position among all ranks.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// The places of a computation over ranks: each rank has equally many, numbered rank by rank.
///
/// ```
/// use tautline_core::{Layout, PlaceId, Rank};
///
/// let layout = Layout::new(3, 4);
/// assert_eq!(layout.places(), 12);
/// assert_eq!(layout.rank_of(PlaceId(7)), Rank(1));
/// assert_eq!(layout.first_of(Rank(1)), PlaceId(4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    ranks: u32,
    /// Places of each rank.
    each: u32,
}

impl Layout {
    /// Returns the layout of `ranks` with `each` places.
    ///
    /// # Panics
    /// If a rank has no place, or the number of places exceeds [`u32::MAX`].
    pub const fn new(ranks: u32, each: u32) -> Self {
        assert!(each > 0, "each rank has a place");
        assert!(
            ranks.checked_mul(each).is_some(),
            "places are numbered by 32 bits"
        );
        Self { ranks, each }
    }

    /// Returns the number of ranks.
    pub const fn ranks(self) -> u32 {
        self.ranks
    }

    /// Returns the number of places of all ranks.
    pub const fn places(self) -> u32 {
        self.ranks * self.each
    }

    /// Returns the rank of a place.
    pub const fn rank_of(self, place: PlaceId) -> Rank {
        Rank(place.0 / self.each)
    }

    /// Returns the first place of a rank.
    pub const fn first_of(self, rank: Rank) -> PlaceId {
        PlaceId(rank.0 * self.each)
    }
}

/// A worker of one place, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct WorkerId(pub u32);

impl WorkerId {
    /// Returns the worker's position among the workers of its place.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
