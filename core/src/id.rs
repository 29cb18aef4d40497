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
