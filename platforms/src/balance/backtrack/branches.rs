//! The branches of a position, in the order in which they are taken.

use std::fmt::Debug;
use std::iter::FusedIterator;
use std::ops::Range;

/// Branches not yet taken. Small: each level of a path has one, and loot consists of them.
pub trait Branches: ExactSizeIterator<Item: Copy + Debug + Send> + Clone + Debug + Send {
    /// Removes the last `count` branches and returns them.
    ///
    /// ```
    /// use tautline::balance::backtrack::{Bits, Branches};
    ///
    /// let mut open = Bits(0b1011);
    /// let last = open.split_off(1);
    /// assert_eq!((open, last), (Bits(0b0011), Bits(0b1000)));
    /// ```
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    fn split_off(&mut self, count: usize) -> Self;
}

/// Branches with consecutive numbers: `low` and `high` of Finnerty 2022.
impl Branches for Range<u32> {
    fn split_off(&mut self, count: usize) -> Self {
        assert!(count <= self.len(), "{count} of {} branches", self.len());
        let end = self.end;
        self.end -= count as u32;
        self.end..end
    }
}

/// Branches numbered 0 to 63, the lowest first.
///
/// ```
/// use tautline::balance::backtrack::Bits;
///
/// assert!(Bits(0b1011).eq([0, 1, 3]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        if self.0 == 0 {
            return None;
        }
        let branch = self.0.trailing_zeros() as u8;
        self.0 &= self.0 - 1;
        Some(branch)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Bits {}

impl FusedIterator for Bits {}

impl Branches for Bits {
    fn split_off(&mut self, count: usize) -> Self {
        let kept = self
            .len()
            .checked_sub(count)
            .expect("at most this number of branches");
        let mut last = *self;
        for _ in 0..kept {
            last.0 &= last.0 - 1;
        }
        self.0 ^= last.0;
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that both parts, in order, are the whole.
    fn check<B: Branches<Item: PartialEq + std::fmt::Debug>>(all: &B) {
        for count in 0..=all.len() {
            let mut first = all.clone();
            let last = first.split_off(count);
            assert_eq!(last.len(), count);
            assert_eq!(first.len(), all.len() - count);
            let parts = first.chain(last).collect::<Vec<_>>();
            assert_eq!(parts, all.clone().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_parts_are_the_whole() {
        check(&(3..9));
        for bits in [0, 1, 1 << 63, 0b1011_0100, u64::MAX] {
            check(&Bits(bits));
        }
    }
}
