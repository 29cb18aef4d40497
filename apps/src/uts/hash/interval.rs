//! Children that are to be hashed: the elements of the stack of a walk.

use super::State;

/// A node with children `low..high` still to be hashed; these are `high - low` tasks.
///
/// Aligned to its size, so that no interval lies on two cache lines wherever the allocator puts the
/// stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(in crate::uts) struct Interval {
    pub state: State,
    pub low: u32,
    pub high: u32,
    pub depth: u32,
}

impl Interval {
    pub(crate) const NONE: Self = Self {
        state: [0; 5],
        low: 0,
        high: 0,
        depth: 0,
    };

    /// Returns the words in the order in which [`Block`](crate::uts::hash::Block) loads them. No
    /// copy, since this is the order in memory.
    #[inline(always)]
    pub(crate) fn words(&self) -> [u32; 8] {
        let [a, b, c, d, e] = self.state;
        [a, b, c, d, e, self.low, self.high, self.depth]
    }

    /// Creates what returned `words`.
    pub(crate) fn of(words: [u32; 8]) -> Self {
        let [a, b, c, d, e, low, high, depth] = words;
        Self {
            state: [a, b, c, d, e],
            low,
            high,
            depth,
        }
    }

    #[inline(always)]
    pub(crate) fn tasks(&self) -> usize {
        (self.high - self.low) as usize
    }
}
