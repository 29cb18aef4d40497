//! Slots in buckets that a map refers to: the deque grows without copying items and reuses drained
//! buckets.
//!
//! # Algorithm
//! Chatterjee 2013, bucket-map deque (Figs. 5.8 and 5.9, Algorithm 1), under
//! [`chase_lev`](super::chase_lev). The slot of index `x` is number `x % B` of the bucket that the
//! map has for `x / B`, its virtual bucket. A bucket sits at a position. What differs:
//! - An emptied bucket is not freed, as printed, but reused by the deque: a delayed thief may still
//!   read it. The value that it reads is discarded, since `top` has moved.
//! - The map holds the buckets themselves, which saves thieves an indirection; the printed array of
//!   buckets is accessed by the owner only.
//! - Doubling writes the map twice, one copy after the other: correct for every existing virtual
//!   bucket, and no entry is ever empty. A doubled map takes `M` words, regardless of the items.
//! - Buckets that pops have emptied stay mapped, so that alternating pushes and pops across a
//!   boundary cost nothing.
//!
//! # Words
//! Entries of the current map: written by the owner when it maps a bucket; those of superseded maps
//! are constant. `map`: written by the owner when it doubles. Slots: written by the owner. Buckets
//! and maps live as long as the deque. `books`: the owner's.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | B1 | `double` stores `map` | `load` of a thief | the entries of the new map | `bucket_double*` |
//! | B2 | `room` stores an entry | `load` of a thief | the bucket's slots: a delayed thief may find a bucket newer than the `bottom` it read | `bucket_fresh` |
//!
//! A thief that is not delayed observes all of these through `bottom` (chase_lev.D1, chase_lev.D2);
//! a bucket is reused for other items after chase_lev.D4.
//!
//! # Proved
//! By loom, up to 3 preemptions: each item once across new buckets, reused ones, and a map that
//! doubles twice under one steal, also where indices wrap.
//!
//! # Not proved
//! chase_lev.D4, as for any ring.

use super::ring::{Ring, Slot, sealed};
use super::{Deque, Owner, Word};
use crate::sync::{AtomicPtr, Ordering, UnsafeCell};
use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::{fmt, ptr};

/// A deque that starts with one bucket and grows by buckets; items never move.
pub type BucketDeque<T> = Deque<T, Buckets>;

impl<T: Word> BucketDeque<T> {
    /// Creates an empty deque with buckets of 64 items and a map of 4.
    pub fn new() -> Self {
        Self::with_buckets(64, 4)
    }

    /// Creates an empty deque with buckets of `bucket` items, and initially a map of `map` buckets.
    ///
    /// # Panics
    /// If one of them is not a power of two, or the map is for more items than can be counted.
    pub fn with_buckets(bucket: usize, map: usize) -> Self {
        Self::starting_at(Buckets::new(bucket, map), 0)
    }
}

impl<T: Word> Default for BucketDeque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word> Owner<'_, T, Buckets> {
    /// Adds the newest item.
    ///
    /// # Panics
    /// If there is no memory for another bucket, or for twice the map.
    #[inline]
    pub fn push(&self, item: T) {
        if self.try_push(item).is_err() {
            unreachable!("there is always another bucket");
        }
    }

    /// Returns the position of the bucket to which a virtual one is mapped.
    #[doc(hidden)]
    pub fn position(&self, virtual_bucket: usize) -> Option<usize> {
        let ring = self.ring();
        let first = virtual_bucket << ring.shift;
        // SAFETY: this is the owner, and the reference is not used after this statement.
        ring.books
            .with(|books| unsafe { &*books }.position(first, ring.shift))
    }

    /// Returns the address of the slot of an index.
    #[doc(hidden)]
    pub fn slot_address(&self, index: usize) -> usize {
        self.ring().slot(index).addr()
    }

    /// Returns the number of times that the map has doubled.
    #[doc(hidden)]
    pub fn doublings(&self) -> usize {
        // SAFETY: this is the owner, and the reference is not used after this statement.
        let maps = |books: *const Books| unsafe { &*books }.superseded.len();
        self.ring().books.with(maps)
    }
}

/// Buckets of slots, and a map that refers to them.
pub struct Buckets {
    /// The binary logarithm of the slots of a bucket.
    shift: u32,
    map: AtomicPtr<Map>,
    books: UnsafeCell<Books>,
}

/// Maps a virtual bucket, modulo the length, to the first slot of a bucket.
type Map = Box<[AtomicPtr<Slot>]>;

/// The bookkeeping, accessed by the owner only.
struct Books {
    /// The index of the first slot of the oldest bucket that is mapped.
    oldest: usize,
    /// The positions of the buckets that are mapped, from the oldest on.
    mapped: VecDeque<usize>,
    /// The positions of the other buckets.
    free: BinaryHeap<Reverse<usize>>,
    /// All buckets, by position.
    buckets: Vec<*mut Slot>,
    superseded: Vec<*mut Map>,
}

// SAFETY: only the owner accesses the books, and one owner observes what the previous one did
// (chase_lev.D6); the rest is atomic.
unsafe impl Sync for Buckets {}
// SAFETY: the ring owns all that the pointers lead to.
unsafe impl Send for Buckets {}

impl Books {
    /// Returns the position of the bucket whose first slot is for the index `first`.
    fn position(&self, first: usize, shift: u32) -> Option<usize> {
        let nth = first.wrapping_sub(self.oldest) >> shift;
        self.mapped.get(nth).copied()
    }

    /// Returns the bucket to map next: the first free one, else a new one.
    fn take(&mut self, shift: u32) -> usize {
        if let Some(Reverse(position)) = self.free.pop() {
            return position;
        }
        let slots = (0..1_usize << shift).map(|_| Slot::new(ptr::null_mut()));
        self.buckets
            .push(Box::into_raw(slots.collect::<Box<[_]>>()).cast());
        self.buckets.len() - 1
    }
}

impl Buckets {
    /// Creates a ring with one bucket of `bucket` slots, and a map for `map` buckets.
    ///
    /// # Panics
    /// If one of them is not a power of two, or their product exceeds `isize::MAX`.
    pub fn new(bucket: usize, map: usize) -> Self {
        assert!(
            bucket.is_power_of_two(),
            "buckets of {bucket} items: must be a power of two"
        );
        assert!(
            map.is_power_of_two() && map <= isize::MAX as usize / bucket,
            "a map of {map} buckets: must be a power of two, and of {} at most",
            isize::MAX as usize / bucket
        );
        let mut books = Books {
            oldest: 0,
            mapped: VecDeque::new(),
            free: BinaryHeap::new(),
            buckets: Vec::new(),
            superseded: Vec::new(),
        };
        let shift = bucket.trailing_zeros();
        let first = books.take(shift);
        books.mapped.push_back(first);
        let entries = (0..map).map(|_| AtomicPtr::new(books.buckets[first]));
        Self {
            shift,
            map: AtomicPtr::new(Box::into_raw(Box::new(entries.collect()))),
            books: UnsafeCell::new(books),
        }
    }

    /// Returns the index of the first slot of the bucket that contains an index.
    #[inline(always)]
    fn first_of(&self, index: usize) -> usize {
        index >> self.shift << self.shift
    }

    #[inline(always)]
    fn map(&self) -> &Map {
        // ORDERING: Acquire, pairs with Release in double (B1): the entries of a new map are
        // visible.
        let map = self.map.load(Ordering::Acquire);
        // SAFETY: never null; maps live as long as the ring, even when superseded.
        unsafe { &*map }
    }

    #[inline(always)]
    fn entry<'a>(&self, map: &'a Map, index: usize) -> &'a AtomicPtr<Slot> {
        debug_assert!(map.len().is_power_of_two());
        let nth = (index >> self.shift) & map.len().wrapping_sub(1);
        // SAFETY: the length is a power of two, so the masked number is below it.
        unsafe { map.get_unchecked(nth) }
    }

    /// Returns the slot of an index that is mapped; else an arbitrary slot.
    #[inline(always)]
    fn slot(&self, index: usize) -> *const Slot {
        // ORDERING: Acquire, pairs with Release in room (B2): the slots of a new bucket are
        // visible.
        let bucket = self.entry(self.map(), index).load(Ordering::Acquire);
        // SAFETY: entries are never null, and the masked index is below the length of a bucket.
        unsafe { bucket.add(index - self.first_of(index)) }
    }

    /// Publishes a map of twice the length: the same entries, twice.
    #[cold]
    fn double(&self, books: &mut Books) {
        let old = self.map();
        // ORDERING: Relaxed: the owner wrote the old entries; map publishes the new ones (B1).
        let copy = |entry: &AtomicPtr<Slot>| AtomicPtr::new(entry.load(Ordering::Relaxed));
        let new: Map = old.iter().chain(old.iter()).map(copy).collect();
        // ORDERING: Relaxed: only the owner writes it.
        books.superseded.push(self.map.load(Ordering::Relaxed));
        // ORDERING: Release, pairs with Acquire in map (B1): the entries are written before the map
        // is found.
        self.map
            .store(Box::into_raw(Box::new(new)), Ordering::Release);
    }

    /// Frees the buckets below `top`, and maps one for `bottom` if there is none.
    fn make_room(&self, books: &mut Books, top: usize, bottom: usize) {
        while books.oldest != self.first_of(top) {
            let Some(drained) = books.mapped.pop_front() else {
                unreachable!("all below bottom is mapped");
            };
            books.free.push(Reverse(drained));
            books.oldest = books.oldest.wrapping_add(1 << self.shift);
        }
        if books.position(bottom, self.shift).is_some() {
            return;
        }
        if books.mapped.len() == self.map().len() {
            self.double(books);
        }
        let position = books.take(self.shift);
        books.mapped.push_back(position);
        // ORDERING: Release, pairs with Acquire in slot (B2): the slots are initialized before the
        // bucket is found.
        self.entry(self.map(), bottom)
            .store(books.buckets[position], Ordering::Release);
    }
}

impl Ring for Buckets {
    /// Returns the number of items for which the map has buckets.
    fn capacity(&self) -> usize {
        self.map().len() << self.shift
    }
}

/// The bucket in which the owner works.
#[derive(Clone, Copy, Debug)]
pub struct View {
    slots: *const Slot,
    /// The index of its first slot.
    first: usize,
}

// SAFETY: the slots are atomics.
unsafe impl Send for View {}

impl View {
    /// # Safety
    /// The caller must keep the ring of the view alive, and the index must be in the bucket.
    #[inline(always)]
    unsafe fn slot<'a>(self, index: usize) -> &'a Slot {
        // SAFETY: buckets live as long as the ring.
        unsafe { &*self.slots.add(index.wrapping_sub(self.first)) }
    }
}

// SAFETY: each virtual bucket from that of `top` to that of `bottom` has a separate bucket.
unsafe impl sealed::Sealed for Buckets {
    type View = View;

    fn begin(&mut self, start: usize) {
        let oldest = self.first_of(start);
        // SAFETY: `&mut self` is exclusive; all entries are still the one bucket.
        let begin = |books: *mut Books| unsafe { (*books).oldest = oldest };
        self.books.with_mut(begin);
    }

    #[inline]
    fn view(&self, index: usize) -> View {
        let first = self.first_of(index);
        View {
            slots: self.slot(first),
            first,
        }
    }

    #[inline(always)]
    fn shows(view: View, index: usize) -> bool {
        // The index is below the end of the bucket: pops go down.
        index.wrapping_sub(view.first) as isize >= 0
    }

    #[inline]
    fn limit(&self, view: View, _top: usize) -> usize {
        view.first.wrapping_add(1 << self.shift)
    }

    unsafe fn room(&self, top: usize, bottom: usize) -> bool {
        // SAFETY: the caller is the owner, and the reference is not used after this statement.
        self.books
            .with_mut(|books| self.make_room(unsafe { &mut *books }, top, bottom));
        true
    }

    #[inline(always)]
    unsafe fn store(&self, view: View, index: usize, word: *mut ()) {
        // ORDERING: Relaxed: published by the Release store of bottom in push (chase_lev.D1).
        // SAFETY: the view is of this ring and shows the index.
        unsafe { view.slot(index) }.store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    unsafe fn load_own(&self, view: View, index: usize) -> *mut () {
        // ORDERING: Relaxed: the owner wrote the slot itself.
        // SAFETY: the view is of this ring and shows the index.
        unsafe { view.slot(index) }.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load(&self, index: usize) -> *mut () {
        // ORDERING: Relaxed: the Acquire loads of bottom (chase_lev.D1, chase_lev.D2) and of the
        // entry precede.
        // SAFETY: buckets live as long as the ring.
        unsafe { &*self.slot(index) }.load(Ordering::Relaxed)
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the ring.
        let map = self.map.load(Ordering::Relaxed);
        self.books.with_mut(|books| {
            // SAFETY: `&mut self` is exclusive.
            let books = unsafe { &mut *books };
            for map in books.superseded.drain(..).chain([map]) {
                // SAFETY: every map comes from Box::into_raw and is in the list once.
                drop(unsafe { Box::from_raw(map) });
            }
            for slots in books.buckets.drain(..) {
                let slots = ptr::slice_from_raw_parts_mut(slots, 1 << self.shift);
                // SAFETY: every bucket comes from Box::into_raw and is in the list once, with this
                // length.
                drop(unsafe { Box::from_raw(slots) });
            }
        });
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capacity = self.capacity();
        f.debug_struct("Buckets")
            .field("bucket", &(1_usize << self.shift))
            .field("capacity", &capacity)
            .finish_non_exhaustive()
    }
}
