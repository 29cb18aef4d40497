//! Sources without unsafe code: integers, shared slices, and the adaptors.

use super::super::raw::{Claimed, Indexed, SliceMut, SliceMutChunks, Source};
use core::ops::Range;

const EMPTY: &str = "the size of chunks must be positive";

/// A source that can be divided into chunks: a slice or a range.
pub trait Chunked: Indexed {
    /// The source of the chunks.
    type Chunks: Indexed;

    /// Divides this source into chunks of `size`; the last one may be shorter.
    fn chunks(self, size: usize) -> Self::Chunks;
}

/// A range of integers as a source.
#[derive(Debug)]
pub struct Integers<T> {
    range: Range<T>,
}

/// A range of integers as a source of sub-ranges of equal length; the last one may be shorter.
#[derive(Debug)]
pub struct IntegerChunks<T> {
    integers: Integers<T>,
    size: usize,
}

macro_rules! integers {
    ($($int:ty, $unsigned:ty;)*) => {$(
        impl Integers<$int> {
            /// Takes the integers of `range`.
            pub(super) fn new(range: Range<$int>) -> Self {
                Self { range }
            }

            fn sub_range(&self, indices: Range<usize>) -> Range<$int> {
                assert!(indices.end <= self.len());
                // Indices are at most the length, so the sums modulo the width of the type are inside of the range.
                let at = |index: usize| self.range.start.wrapping_add(index as $int);
                at(indices.start)..at(indices.end)
            }
        }

        impl Source for Integers<$int> {
            type Item = $int;
            const IS_INDEXED: bool = true;

            fn len(&self) -> usize {
                let Range { start, end } = self.range;
                let len = if start < end { end.wrapping_sub(start) as $unsigned } else { 0 };
                usize::try_from(len).expect("a loop longer than usize::MAX")
            }

            #[inline]
            fn items(&self, claimed: Claimed) -> impl Iterator<Item = $int> {
                self.sub_range(claimed.indices())
            }
        }

        impl Indexed for Integers<$int> {}

        impl Chunked for Integers<$int> {
            type Chunks = IntegerChunks<$int>;

            fn chunks(self, size: usize) -> IntegerChunks<$int> {
                assert!(size > 0, "{EMPTY}");
                IntegerChunks { integers: self, size }
            }
        }

        impl Source for IntegerChunks<$int> {
            type Item = Range<$int>;
            const IS_INDEXED: bool = true;

            fn len(&self) -> usize {
                self.integers.len().div_ceil(self.size)
            }

            #[inline]
            fn items(&self, claimed: Claimed) -> impl Iterator<Item = Range<$int>> {
                let len = self.integers.len();
                claimed.indices().map(move |chunk| {
                    let start = len.min(chunk.saturating_mul(self.size));
                    self.integers.sub_range(start..len.min(start.saturating_add(self.size)))
                })
            }
        }

        impl Indexed for IntegerChunks<$int> {}
    )*};
}

integers! {
    u32, u32;
    u64, u64;
    usize, usize;
    i32, u32;
    i64, u64;
}

impl<'a, T: Sync> Source for &'a [T] {
    type Item = &'a T;
    const IS_INDEXED: bool = true;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = &'a T> {
        self[claimed.indices()].iter()
    }
}

impl<T: Sync> Indexed for &[T] {}

/// A slice as a source of chunks of equal length; the last one may be shorter.
#[derive(Debug)]
pub struct SliceChunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T: Sync> Chunked for &'a [T] {
    type Chunks = SliceChunks<'a, T>;

    fn chunks(self, size: usize) -> SliceChunks<'a, T> {
        assert!(size > 0, "{EMPTY}");
        SliceChunks { slice: self, size }
    }
}

impl<'a, T: Send> Chunked for SliceMut<'a, T> {
    type Chunks = SliceMutChunks<'a, T>;

    fn chunks(self, size: usize) -> SliceMutChunks<'a, T> {
        assert!(size > 0, "{EMPTY}");
        SliceMutChunks::new(self, size)
    }
}

impl<'a, T: Sync> Source for SliceChunks<'a, T> {
    type Item = &'a [T];
    const IS_INDEXED: bool = true;

    fn len(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    #[inline]
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = &'a [T]> {
        let Range { start, end } = claimed.indices();
        let at = |chunk: usize| self.slice.len().min(chunk.saturating_mul(self.size));
        self.slice[at(start)..at(end)].chunks(self.size)
    }
}

impl<T: Sync> Indexed for SliceChunks<'_, T> {}

/// What a function makes of the items of a source.
#[derive(Debug)]
pub struct Map<S, F> {
    pub(super) source: S,
    pub(super) f: F,
}

impl<S: Source, R, F: Fn(S::Item) -> R + Sync> Source for Map<S, F> {
    type Item = R;
    const IS_INDEXED: bool = S::IS_INDEXED;

    fn len(&self) -> usize {
        self.source.len()
    }

    #[inline]
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = R> {
        self.source.items(claimed).map(&self.f)
    }
}

impl<S: Indexed, R, F: Fn(S::Item) -> R + Sync> Indexed for Map<S, F> {}

/// The items of a source that satisfy a predicate.
#[derive(Debug)]
pub struct Filter<S, F> {
    pub(super) source: S,
    pub(super) f: F,
}

impl<S: Source, F: Fn(&S::Item) -> bool + Sync> Source for Filter<S, F> {
    type Item = S::Item;
    const IS_INDEXED: bool = false;

    fn len(&self) -> usize {
        self.source.len()
    }

    #[inline]
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = S::Item> {
        self.source.items(claimed).filter(&self.f)
    }
}

/// The items of a source with their positions.
#[derive(Debug)]
pub struct Enumerate<S> {
    pub(super) source: S,
}

impl<S: Indexed> Source for Enumerate<S> {
    type Item = (usize, S::Item);
    const IS_INDEXED: bool = true;

    fn len(&self) -> usize {
        self.source.len()
    }

    #[inline]
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = (usize, S::Item)> {
        let indices = claimed.indices();
        indices.zip(self.source.items(claimed))
    }
}

impl<S: Indexed> Indexed for Enumerate<S> {}
