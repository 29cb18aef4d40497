//! Shared slices, and chunks and windows of slices.

use super::super::super::raw::{Claimed, Indexed, PerIndex, SliceMut, SliceMutChunks, Source};
use core::ops::Range;

pub(super) const EMPTY: &str = "the size of chunks must be positive";

/// A source that can be divided into chunks: a slice or a range.
pub trait Chunked: Indexed {
    /// The source of the chunks.
    type Chunks: Indexed;

    /// Divides this source into chunks of `size`; the last one may be shorter.
    fn chunks(self, size: usize) -> Self::Chunks;
}

impl<'a, T: Sync> Source for &'a [T] {
    type Item = &'a T;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = &'a T> {
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
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = &'a [T]> {
        let Range { start, end } = claimed.indices();
        let at = |chunk: usize| self.slice.len().min(chunk.saturating_mul(self.size));
        self.slice[at(start)..at(end)].chunks(self.size)
    }
}

impl<T: Sync> Indexed for SliceChunks<'_, T> {}

/// A slice as a source of all its parts of one length, which overlap.
#[derive(Debug)]
pub struct SliceWindows<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T> SliceWindows<'a, T> {
    pub(in super::super) fn new(slice: &'a [T], size: usize) -> Self {
        assert!(size > 0, "the size of windows must be positive");
        Self { slice, size }
    }
}

impl<'a, T: Sync> Source for SliceWindows<'a, T> {
    type Item = &'a [T];
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.slice.len().saturating_sub(self.size - 1)
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = &'a [T]> {
        let Range { start, end } = claimed.indices();
        let items = match start < end {
            true => &self.slice[start..end + (self.size - 1)],
            false => &[],
        };
        items.windows(self.size)
    }
}

impl<T: Sync> Indexed for SliceWindows<'_, T> {}
