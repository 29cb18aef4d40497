//! The random choices of a check: the same in every run.

use crate::glb::Share;

/// Marsaglia's 64-bit xorshift (Marsaglia 2003).
pub(super) struct Random(u64);

impl Random {
    /// Creates the sequence that follows from `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns a number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    /// Returns the amount of a split.
    pub(super) fn share(&mut self) -> Share {
        match self.below(4) {
            0 => Share::Half,
            1 => Share::Refill,
            2 => Share::Count(1 + self.below(9)),
            _ => Share::Ration(1 + self.below(5)),
        }
    }
}
