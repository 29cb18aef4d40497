//! Ranges of integers and characters.

use super::super::super::raw::{Claimed, Indexed, PerIndex, Source};
use super::into::IntoPar;
use super::slices::{Chunked, EMPTY};
use core::ops::{Range, RangeInclusive};

const TOO_LONG: &str = "a loop longer than usize::MAX";

/// Consecutive integers as a source.
#[derive(Debug)]
pub struct Integers<T> {
    start: T,
    len: usize,
}

/// A range of integers as a source, which can be divided into sub-ranges.
#[derive(Debug)]
pub struct HalfOpen<T>(Integers<T>);

/// A range of integers as a source of sub-ranges of equal length; the last one may be shorter.
#[derive(Debug)]
pub struct IntegerChunks<T> {
    integers: Integers<T>,
    size: usize,
}

macro_rules! integers {
    ($($int:ty, $unsigned:ty;)*) => {$(
        impl Integers<$int> {
            /// Returns the integer at `index`, which is at most the length: so the sum modulo the width of the type is one of
            /// the range, or its end.
            #[inline]
            fn at(&self, index: usize) -> $int {
                assert!(index <= self.len);
                self.start.wrapping_add(index as $int)
            }
        }

        impl IntoPar for Range<$int> {
            type Source = HalfOpen<$int>;

            fn into_source(self) -> HalfOpen<$int> {
                let Range { start, end } = self;
                let len = if start < end { end.wrapping_sub(start) as $unsigned } else { 0 };
                HalfOpen(Integers { start, len: usize::try_from(len).expect(TOO_LONG) })
            }
        }

        impl IntoPar for RangeInclusive<$int> {
            type Source = Integers<$int>;

            fn into_source(self) -> Integers<$int> {
                let (start, end) = (*self.start(), *self.end());
                let before = usize::try_from(end.wrapping_sub(start) as $unsigned);
                let len = match self.is_empty() {
                    true => Some(0),
                    false => before.ok().and_then(|before| before.checked_add(1)),
                };
                Integers { start, len: len.expect(TOO_LONG) }
            }
        }

        impl Source for Integers<$int> {
            type Item = $int;
            type State = ();
            const PER_INDEX: PerIndex = PerIndex::One;

            fn len(&self) -> usize {
                self.len
            }

            fn begin(&self) {}

            #[inline]
            fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = $int> {
                let indices = claimed.indices();
                assert!(indices.end <= self.len);
                indices.map(|index| self.start.wrapping_add(index as $int))
            }
        }

        impl Indexed for Integers<$int> {}

        impl Source for HalfOpen<$int> {
            type Item = $int;
            type State = ();
            const PER_INDEX: PerIndex = PerIndex::One;

            fn len(&self) -> usize {
                self.0.len
            }

            fn begin(&self) {}

            #[inline]
            fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = $int> {
                let Range { start, end } = claimed.indices();
                self.0.at(start)..self.0.at(end)
            }
        }

        impl Indexed for HalfOpen<$int> {}

        impl Chunked for HalfOpen<$int> {
            type Chunks = IntegerChunks<$int>;

            fn chunks(self, size: usize) -> IntegerChunks<$int> {
                assert!(size > 0, "{EMPTY}");
                IntegerChunks { integers: self.0, size }
            }
        }

        impl Source for IntegerChunks<$int> {
            type Item = Range<$int>;
            type State = ();
            const PER_INDEX: PerIndex = PerIndex::One;

            fn len(&self) -> usize {
                self.integers.len.div_ceil(self.size)
            }

            fn begin(&self) {}

            #[inline]
            fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = Range<$int>> {
                let len = self.integers.len;
                claimed.indices().map(move |chunk| {
                    let start = len.min(chunk.saturating_mul(self.size));
                    let end = len.min(start.saturating_add(self.size));
                    self.integers.at(start)..self.integers.at(end)
                })
            }
        }

        impl Indexed for IntegerChunks<$int> {}
    )*};
}

integers! {
    u8, u8;
    u16, u16;
    u32, u32;
    u64, u64;
    u128, u128;
    usize, usize;
    i8, u8;
    i16, u16;
    i32, u32;
    i64, u64;
    i128, u128;
    isize, usize;
}

/// The numbers between the two ranges of characters: surrogates.
const SURROGATES: Range<u32> = 0xd800..0xe000;

/// Consecutive characters as a source.
#[derive(Debug)]
pub struct Characters {
    start: u32,
    len: usize,
}

impl Characters {
    /// Takes the characters from `start` up to the one before the number `end`.
    fn new(start: char, end: u32) -> Self {
        let start = u32::from(start);
        let skipped = match start < SURROGATES.start && end >= SURROGATES.end {
            true => SURROGATES.end - SURROGATES.start,
            false => 0,
        };
        let len = end.saturating_sub(start).saturating_sub(skipped) as usize;
        Self { start, len }
    }
}

impl Source for Characters {
    type Item = char;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.len
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = char> {
        let indices = claimed.indices();
        assert!(indices.end <= self.len);
        indices.map(|index| {
            let number = self.start + index as u32;
            let skipped = match self.start < SURROGATES.start && number >= SURROGATES.start {
                true => SURROGATES.end - SURROGATES.start,
                false => 0,
            };
            char::from_u32(number + skipped).expect("a character between two others")
        })
    }
}

impl Indexed for Characters {}

impl IntoPar for Range<char> {
    type Source = Characters;

    fn into_source(self) -> Characters {
        Characters::new(self.start, u32::from(self.end))
    }
}

impl IntoPar for RangeInclusive<char> {
    type Source = Characters;

    fn into_source(self) -> Characters {
        let end = match self.is_empty() {
            true => 0,
            false => u32::from(*self.end()) + 1,
        };
        Characters::new(*self.start(), end)
    }
}
