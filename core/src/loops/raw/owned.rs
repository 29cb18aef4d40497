//! Items that are moved out of a vector.
//!
//! # Words
//! `taken`: a bit for each item, set by the worker that claims the item, before it is moved out.
//! Allocated only for items that need to be dropped.
//!
//! # Orderings
//! None: the bits are read when the loop has ended, and its joins publish them.

use super::{Claimed, Indexed, PerIndex, Source};
use crate::sync::{AtomicUsize, Ordering};
use alloc::vec::Vec;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::needs_drop;
use core::ops::Range;
use core::ptr;

const BITS: usize = usize::BITS as usize;

/// A vector as a source of its items. Items that no claim covers are dropped with it.
#[derive(Debug)]
pub struct Owned<T> {
    base: *mut T,
    len: usize,
    taken: Vec<AtomicUsize>,
    /// Frees the memory; its length is 0.
    #[expect(dead_code, reason = "its destructor is what it is for")]
    memory: Vec<T>,
}

// SAFETY: a shared reference moves out an item by its claim, which one thread holds, so items are
// sent between threads, and never shared. `memory` is not accessed.
unsafe impl<T: Send> Sync for Owned<T> {}

impl<T> Owned<T> {
    pub fn new(mut vector: Vec<T>) -> Self {
        let len = vector.len();
        let words = match needs_drop::<T>() {
            true => len.div_ceil(BITS),
            false => 0,
        };
        let taken = (0..words).map(|_| AtomicUsize::new(0)).collect();
        // SAFETY: 0 is not above the capacity; the items are owned by this value from here on.
        unsafe { vector.set_len(0) };
        Self {
            base: vector.as_mut_ptr(),
            len,
            taken,
            memory: vector,
        }
    }

    /// Marks `indices` as taken.
    fn mark(&self, indices: Range<usize>) {
        if !needs_drop::<T>() {
            return;
        }
        let mut at = indices.start;
        while at < indices.end {
            let bit = at % BITS;
            let count = (BITS - bit).min(indices.end - at);
            let bits = (usize::MAX >> (BITS - count)) << bit;
            // ORDERING: Relaxed: the joins of the loop publish the bits to the drop.
            self.taken[at / BITS].fetch_or(bits, Ordering::Relaxed);
            at += count;
        }
    }

    fn is_taken(&self, index: usize) -> bool {
        // ORDERING: Relaxed: read when the loop has ended.
        self.taken[index / BITS].load(Ordering::Relaxed) >> (index % BITS) & 1 == 1
    }
}

impl<T: Send> Source for Owned<T> {
    type Item = T;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.len
    }

    fn begin(&self) {}

    #[inline]
    fn items<'o>(&'o self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = T> {
        let indices = claimed.indices();
        assert!(indices.end <= self.len);
        self.mark(indices.clone());
        Items {
            base: self.base,
            indices,
            source: PhantomData::<&'o Self>,
        }
    }
}

impl<T: Send> Indexed for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            Untaken {
                owned: self,
                next: 0,
            }
            .drop_all();
        }
    }
}

/// The items that no claim has covered, from `next` on.
struct Untaken<'o, T> {
    owned: &'o Owned<T>,
    next: usize,
}

impl<T> Untaken<'_, T> {
    /// Drops the items one by one. If a destructor panics, the others still run.
    fn drop_all(mut self) {
        self.advance();
    }

    fn advance(&mut self) {
        while self.next < self.owned.len {
            let at = self.next;
            self.next += 1;
            if !self.owned.is_taken(at) {
                // SAFETY: the item at `at` is initialised, no claim covered it, and `next` has
                // passed it, so it is dropped once.
                unsafe { ptr::drop_in_place(self.owned.base.add(at)) };
            }
        }
    }
}

impl<T> Drop for Untaken<'_, T> {
    fn drop(&mut self) {
        self.advance();
    }
}

/// The claimed items, which are moved out one by one. The rest is dropped with it.
struct Items<'o, T> {
    base: *mut T,
    indices: Range<usize>,
    source: PhantomData<&'o Owned<T>>,
}

impl<T> Iterator for Items<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let at = self.indices.next()?;
        // SAFETY: the item is claimed by this iterator, below the length, and the range yields its
        // index once.
        Some(unsafe { self.base.add(at).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indices.size_hint()
    }
}

impl<T> ExactSizeIterator for Items<'_, T> {}
impl<T> FusedIterator for Items<'_, T> {}

impl<T> Drop for Items<'_, T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            let rest = self.indices.clone();
            // SAFETY: these items are claimed by this iterator and were not moved out.
            let rest =
                ptr::slice_from_raw_parts_mut(unsafe { self.base.add(rest.start) }, rest.len());
            // SAFETY: as they are initialised and owned, they are dropped here, once.
            unsafe { ptr::drop_in_place(rest) };
        }
    }
}
