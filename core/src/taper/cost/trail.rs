//! The loops around a loop, as a part of the key of its cost function.
//!
//! # Algorithm
//! Lucco 1995, 003:486, 506-508 (spec 2.8): the key of a cost function is the loop and the three
//! innermost frames of the path to it, here the loops that enclose it. A trail is one word, three
//! hashes of 21 bits with the innermost loop's lowest, so it is copied to wherever a part of a loop
//! runs. If two loops have one hash, their inner loops only predict worse.

/// Bits of the hash of a loop.
const BITS: u32 = 21;

/// 2^64 divided by the golden ratio: Fibonacci hashing (Knuth 1973, 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The loops around a loop, of which the innermost [`Trail::DEPTH`] are known.
///
/// ```
/// # use tautline_core::taper::Trail;
/// let (rows, columns) = (10, 20);
/// let inside = Trail::NONE.enter(rows).enter(columns);
/// assert_ne!(inside.key(30), Trail::NONE.enter(columns).key(30));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trail(u64);

impl Trail {
    /// The number of enclosing loops that a key contains (Lucco 1995, 003:486: 3).
    pub const DEPTH: u32 = 3;

    /// No loop.
    pub const NONE: Self = Self(0);

    /// Returns the trail as a word.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns the trail of a word.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the trail of a loop inside of the loop `id`, which has this one.
    #[must_use]
    pub const fn enter(self, id: usize) -> Self {
        let hash = (id as u64).wrapping_mul(GOLDEN) >> (u64::BITS - BITS);
        Self((self.0 << BITS | hash) & ((1 << (BITS * Self::DEPTH)) - 1))
    }

    /// Returns the key of the loop `id` inside of these loops, which is not 0.
    pub const fn key(self, id: usize) -> usize {
        let mixed = self.0.wrapping_mul(GOLDEN);
        let key = id ^ (mixed ^ mixed >> 32) as usize;
        // 0 is no key.
        key | (key == 0) as usize
    }
}
