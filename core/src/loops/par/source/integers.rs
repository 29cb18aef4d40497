//! Ranges of integers and characters.

use super::super::super::raw::{Claimed, Indexed, PerIndex, Source};
use super::into::IntoPar;
use super::slices::{Chunked, EMPTY};
use core::ops::{Range, RangeInclusive};

const TOO_LONG: &str = "a loop longer than usize::MAX";

/// Integers and characters: values with successors.
#[diagnostic::on_unimplemented(
    message = "ranges of `{Self}` cannot be iterated over in parallel",
    note = "`par` takes ranges of integers and of characters"
)]
pub trait Countable: Copy + PartialOrd + Send + Sync {
    /// Returns the number of values from `start` up to the one before `end`, which is not below it.
    /// `None` if that is above `usize::MAX`.
    fn distance(start: Self, end: Self) -> Option<usize>;

    /// Returns the value that comes `count` after this one. There is one.
    fn forward(self, count: usize) -> Self;
}

macro_rules! integers {
    ($($int:ty, $unsigned:ty;)*) => {$(
        impl Countable for $int {
            fn distance(start: Self, end: Self) -> Option<usize> {
                usize::try_from(end.wrapping_sub(start) as $unsigned).ok()
            }

            #[inline]
            fn forward(self, count: usize) -> Self {
                // Modulo the width of the type, as the sum is one of its values.
                self.wrapping_add(count as $int)
            }
        }
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

impl Countable for char {
    fn distance(start: Self, end: Self) -> Option<usize> {
        // Numbered without the surrogates.
        let number = |character| match u32::from(character) {
            number if number < SURROGATES.start => number,
            number => number - (SURROGATES.end - SURROGATES.start),
        };
        u32::distance(number(start), number(end))
    }

    #[inline]
    fn forward(self, count: usize) -> Self {
        let start = u32::from(self);
        let number = start + count as u32;
        let skipped = match start < SURROGATES.start && number >= SURROGATES.start {
            true => SURROGATES.end - SURROGATES.start,
            false => 0,
        };
        char::from_u32(number + skipped).expect("a character between two others")
    }
}

impl<T: Countable> IntoPar for Range<T> {
    type Source = HalfOpen<T>;

    fn into_source(self) -> HalfOpen<T> {
        let Range { start, end } = self;
        let len = match start < end {
            true => T::distance(start, end).expect(TOO_LONG),
            false => 0,
        };
        HalfOpen(Integers { start, len })
    }
}

impl<T: Countable> IntoPar for RangeInclusive<T> {
    type Source = Integers<T>;

    fn into_source(self) -> Integers<T> {
        let (start, end) = (*self.start(), *self.end());
        let len = match self.is_empty() {
            true => Some(0),
            false => T::distance(start, end).and_then(|before| before.checked_add(1)),
        };
        let len = len.expect(TOO_LONG);
        Integers { start, len }
    }
}

/// Consecutive integers or characters as a source.
#[derive(Debug)]
pub struct Integers<T> {
    start: T,
    len: usize,
}

impl<T: Countable> Source for Integers<T> {
    type Item = T;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.len
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = T> {
        let (indices, start) = (claimed.indices(), self.start);
        assert!(indices.end <= self.len);
        indices.map(move |index| start.forward(index))
    }
}

impl<T: Countable> Indexed for Integers<T> {}

/// A range without its end as a source, which can be divided into sub-ranges.
#[derive(Debug)]
pub struct HalfOpen<T>(Integers<T>);

impl<T: Countable> Source for HalfOpen<T> {
    type Item = T;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.0.len
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut ()) -> impl Iterator<Item = T> {
        self.0.items(claimed, state)
    }
}

impl<T: Countable> Indexed for HalfOpen<T> {}

impl<T: Countable> Chunked for HalfOpen<T> {
    type Chunks = IntegerChunks<T>;

    fn chunks(self, size: usize) -> IntegerChunks<T> {
        assert!(size > 0, "{EMPTY}");
        IntegerChunks {
            integers: self.0,
            size,
        }
    }
}

/// A range as a source of sub-ranges of equal length; the last one may be shorter.
#[derive(Debug)]
pub struct IntegerChunks<T> {
    integers: Integers<T>,
    size: usize,
}

impl<T: Countable> Source for IntegerChunks<T> {
    type Item = Range<T>;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.integers.len.div_ceil(self.size)
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = Range<T>> {
        let Integers { start, len } = self.integers;
        claimed.indices().map(move |chunk| {
            let first = len.min(chunk.saturating_mul(self.size));
            let end = len.min(first.saturating_add(self.size));
            start.forward(first)..start.forward(end)
        })
    }
}

impl<T: Countable> Indexed for IntegerChunks<T> {}
