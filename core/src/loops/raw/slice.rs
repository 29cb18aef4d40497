//! Disjoint parts of a mutable slice.

use super::{Claimed, Indexed, PerIndex, Source};
use core::marker::PhantomData;
use core::ops::Range;
use core::slice;

/// A mutable slice as a source of references to its items.
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    base: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: a shared reference gives access to an item only by a claim, which one thread holds; it
// then has `&mut T`, for which `T: Send` is required.
unsafe impl<T: Send> Sync for SliceMut<'_, T> {}

impl<'a, T> SliceMut<'a, T> {
    pub fn new(slice: &'a mut [T]) -> Self {
        Self {
            base: slice.as_mut_ptr(),
            len: slice.len(),
            borrowed: PhantomData,
        }
    }

    /// Returns the start of the slice, for access to items of which no reference is in use any
    /// more.
    pub(super) fn base(&self) -> *mut T {
        self.base
    }

    /// Returns the slice that this source was made of.
    pub fn into_slice(self) -> &'a mut [T] {
        // SAFETY: the slice was borrowed for 'a, and this value, which is consumed, was the only
        // access to it.
        unsafe { slice::from_raw_parts_mut(self.base, self.len) }
    }

    /// Returns the items of `indices`.
    ///
    /// # Safety
    /// The caller must have the claim on `indices`.
    unsafe fn part(&self, indices: Range<usize>) -> &'a mut [T] {
        assert!(indices.start <= indices.end && indices.end <= self.len);
        // SAFETY: the indices are inside of the slice, which is borrowed for 'a, and the claim
        // excludes other references.
        unsafe { slice::from_raw_parts_mut(self.base.add(indices.start), indices.len()) }
    }
}

impl<'a, T: Send> Source for SliceMut<'a, T> {
    type Item = &'a mut T;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.len
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = &'a mut T> {
        // SAFETY: `claimed` is the claim on its indices.
        unsafe { self.part(claimed.indices()) }.iter_mut()
    }
}

impl<T: Send> Indexed for SliceMut<'_, T> {}

/// A mutable slice as a source of chunks of equal length; the last one may be shorter.
#[derive(Debug)]
pub struct SliceMutChunks<'a, T> {
    slice: SliceMut<'a, T>,
    size: usize,
}

impl<'a, T> SliceMutChunks<'a, T> {
    /// Divides `slice` by a positive `size`.
    pub fn new(slice: SliceMut<'a, T>, size: usize) -> Self {
        Self { slice, size }
    }
}

impl<'a, T: Send> Source for SliceMutChunks<'a, T> {
    type Item = &'a mut [T];
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.slice.len.div_ceil(self.size)
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = &'a mut [T]> {
        let Range { start, end } = claimed.indices();
        assert!(end <= self.len());
        let end = self.slice.len.min(end.saturating_mul(self.size));
        // SAFETY: chunks are disjoint, so the claim on their numbers is the claim on their items.
        let items = unsafe {
            self.slice
                .part(end.min(start.saturating_mul(self.size))..end)
        };
        items.chunks_mut(self.size)
    }
}

impl<T: Send> Indexed for SliceMutChunks<'_, T> {}
