//! Lifeline graphs: the places to which a place may send requests along lifelines.
//!
//! # Proved
//! By argument, for every size and radix: strongly connected, out- and in-degree at most z.
//! Clearing a digit of a label below P gives a label below P, so the cycle of each dimension,
//! restricted to the existing labels, contains digit 0. From any place, clear all digits to reach
//! 0; from 0, set the digits of the goal from the most significant down, and every label on the
//! path is at most the goal. Tested (`core/tests/lifeline.rs`): every size and radix up to 128,
//! radix 2 and one other for every size up to 512 and for samples up to 4096; by `cargo ci deep`,
//! every size and radix up to 4096.

use crate::id::PlaceId;

/// A directed graph over the places; an edge p → q is a lifeline along which p sends requests to q.
///
/// ```
/// # use tautline_core::lifeline::Graph;
/// // 64 places in three dimensions: a cube of side 4.
/// assert_eq!(Graph::of_dimensions(3, 64), Graph::Hypercube { radix: 4 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Graph {
    /// p → p + 1: one lifeline per place.
    Ring,
    /// The cyclic hypercube of this radix h ≥ 2 with z dimensions, h^(z-1) < P ≤ h^z: in each digit
    /// of p, written in base h, one edge to the next label that exists.
    ///
    /// Source: Saraswat 2011; labels ≥ P are skipped, not dropped, which would
    /// disconnect the graph for h ≥ 3.
    Hypercube {
        /// The base h.
        radix: u32,
    },
    /// Every place may send requests to every other place.
    Full,
}

impl Graph {
    /// Returns the hypercube of at most `dimensions` dimensions that has room for `places`: that of
    /// the least radix (Saraswat 2011 gives z and P, and h follows). With one dimension it is the
    /// ring.
    ///
    /// ```
    /// # use tautline_core::lifeline::Graph;
    /// assert_eq!(Graph::of_dimensions(6, 64), Graph::Hypercube { radix: 2 });
    /// ```
    ///
    /// # Panics
    /// If `dimensions` is 0.
    pub fn of_dimensions(dimensions: u32, places: u32) -> Self {
        assert!(dimensions > 0, "a hypercube of no dimension");
        let room = |radix: u32| u64::from(radix).saturating_pow(dimensions);
        // The radix is in `low..=high`.
        let (mut low, mut high) = (2, places.max(2));
        while low < high {
            let middle = low + (high - low) / 2;
            match room(middle) >= u64::from(places) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Self::Hypercube { radix: low }
    }

    /// Returns the places to which `from` may send requests along lifelines, among `places` places.
    ///
    /// ```
    /// # use tautline_core::{PlaceId, lifeline::Graph};
    /// let places: Vec<u32> = Graph::Hypercube { radix: 2 }.outgoing(PlaceId(0), 8).map(|place| place.0).collect();
    /// assert_eq!(places, [1, 2, 4]);
    /// ```
    ///
    /// # Panics
    /// If the radix of a hypercube is 0 or 1, or `from` is not below `places`.
    pub fn outgoing(self, from: PlaceId, places: u32) -> Neighbours {
        self.neighbours(from, places, false)
    }

    /// Returns the places that may send requests to `to` along lifelines.
    ///
    /// ```
    /// # use tautline_core::{PlaceId, lifeline::Graph};
    /// assert!(Graph::Ring.incoming(PlaceId(0), 8).eq([PlaceId(7)]));
    /// ```
    ///
    /// # Panics
    /// As [`outgoing`](Self::outgoing).
    pub fn incoming(self, to: PlaceId, places: u32) -> Neighbours {
        self.neighbours(to, places, true)
    }

    fn neighbours(self, of: PlaceId, places: u32, reverse: bool) -> Neighbours {
        assert!(of.0 < places, "{of} of {places} places");
        let radix = match self {
            Self::Ring | Self::Full => places.max(2),
            Self::Hypercube { radix } => radix,
        };
        assert!(radix >= 2, "a hypercube of radix {radix}: at least 2");
        let full = self == Self::Full;
        Neighbours {
            full,
            reverse,
            radix: radix.into(),
            places: places.into(),
            of: of.0.into(),
            at: 1,
        }
    }
}

/// The lifelines of one place, in one direction. See [`Graph::outgoing`] and [`Graph::incoming`].
#[derive(Clone, Debug)]
pub struct Neighbours {
    full: bool,
    reverse: bool,
    radix: u64,
    places: u64,
    of: u64,
    /// Full graph: the next distance. Otherwise the weight h^i of the next digit.
    at: u64,
}

impl Neighbours {
    /// Returns the neighbour in the dimension of this weight; the place itself if it has none.
    fn in_dimension(&self, weight: u64) -> u64 {
        let digit = self.of / weight % self.radix;
        let cleared = self.of - digit * weight;
        // The existing labels of this dimension have the digits 0..=last, in a cycle.
        let last = ((self.places - 1 - cleared) / weight).min(self.radix - 1);
        let next = match (self.reverse, digit) {
            (false, d) if d == last => 0,
            (false, d) => d + 1,
            (true, 0) => last,
            (true, d) => d - 1,
        };
        cleared + next * weight
    }
}

impl Iterator for Neighbours {
    type Item = PlaceId;

    fn next(&mut self) -> Option<PlaceId> {
        while self.at < self.places {
            let at = self.at;
            if self.full {
                self.at += 1;
                return Some(PlaceId(((self.of + at) % self.places) as u32));
            }
            self.at *= self.radix;
            let next = self.in_dimension(at);
            if next != self.of {
                return Some(PlaceId(next as u32));
            }
        }
        None
    }
}
