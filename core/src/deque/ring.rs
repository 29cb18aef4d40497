//! The slots under a deque: a ring of atomic words that wraps, of fixed size or growing.
//!
//! # Words
//! Slots: written by the owner only, read by all threads. `current`: written by the owner when it
//! grows. Superseded buffers are never written again and stay until the ring is dropped: a thief
//! that was delayed may still read them. Together they are smaller than the current one.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | D5 | `grow` stores `current` | `load` of a thief | the slots of the new buffer, copies included | `grow_*` |

use crate::sync::{AtomicPtr, Ordering};
use core::ptr;

pub(super) type Slot = AtomicPtr<()>;

/// The slots under a deque. Indices count for ever and wrap around.
///
/// Sealed: the deque relies on `load` returning the value of the last `store` to that index.
pub trait Ring: sealed::Sealed + Send + Sync {
    /// Returns the number of items that fit without growing. Called by the owner only.
    fn capacity(&self) -> usize;
}

pub(super) mod sealed {
    /// The operations that a deque requires of a ring. Some may be called by the owner only: by one
    /// thread at a time, where the calls of the previous owner happen-before those of the next.
    ///
    /// # Safety
    /// The implementor must ensure that `load` returns the value of the last visible `store` to
    /// that index, unless `room` was called since with a `top` beyond the index; then it may return
    /// any value; and that `limit` and `room` never permit the reuse of a slot that holds an item
    /// of `top..bottom`.
    pub unsafe trait Sealed {
        /// The owner's cached location of slots.
        type View: Copy + Send;

        /// Sets the index of the first item. Called before any other method.
        fn begin(&mut self, _start: usize) {}
        /// Returns the view of an index that has a slot, and of neighbouring ones. Called by the
        /// owner only.
        fn view(&self, index: usize) -> Self::View;
        /// Whether the view contains a slot below `limit`.
        fn shows(_view: Self::View, _index: usize) -> bool {
            true
        }
        /// Returns the first index without a slot, or without one in this view. Called by the owner
        /// only.
        fn limit(&self, view: Self::View, top: usize) -> usize;
        /// Makes a slot for `bottom`, which is the limit; returns false if that is impossible.
        ///
        /// # Safety
        /// The caller must be the owner; `top` must have been acquired, and not be ahead of
        /// `bottom`.
        unsafe fn room(&self, top: usize, bottom: usize) -> bool;
        /// Stores a word in its slot.
        ///
        /// # Safety
        /// The caller must be the owner; `view` must be of this ring and contain the index.
        unsafe fn store(&self, view: Self::View, index: usize, word: *mut ());
        /// Loads a word.
        ///
        /// # Safety
        /// The caller must be the owner; `view` must be of this ring and contain the index.
        unsafe fn load_own(&self, view: Self::View, index: usize) -> *mut ();
        /// Loads a word that may be overwritten concurrently. Called from any thread.
        fn load(&self, index: usize) -> *mut ();
    }
}

/// `N` slots, inside the deque. `N` is a power of two.
#[derive(Debug)]
pub struct Fixed<const N: usize> {
    slots: [Slot; N],
}

impl<const N: usize> Default for Fixed<N> {
    fn default() -> Self {
        // A power of two divides the number of indices, so that index % N is continuous where they
        // wrap.
        const { assert!(N.is_power_of_two() && N <= isize::MAX as usize) };
        Self {
            slots: core::array::from_fn(|_| Slot::new(ptr::null_mut())),
        }
    }
}

impl<const N: usize> Ring for Fixed<N> {
    #[inline(always)]
    fn capacity(&self) -> usize {
        N
    }
}

// SAFETY: one slot per index modulo N, refused while it is occupied.
unsafe impl<const N: usize> sealed::Sealed for Fixed<N> {
    type View = ();

    #[inline(always)]
    fn view(&self, _index: usize) {}

    #[inline(always)]
    fn limit(&self, (): (), top: usize) -> usize {
        top.wrapping_add(N)
    }

    #[inline(always)]
    unsafe fn room(&self, top: usize, bottom: usize) -> bool {
        bottom.wrapping_sub(top) < N
    }

    #[inline(always)]
    unsafe fn store(&self, (): (), index: usize, word: *mut ()) {
        // ORDERING: Relaxed: published by the Release store of bottom in push (chase_lev.D1).
        self.slots[index % N].store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    unsafe fn load_own(&self, (): (), index: usize) -> *mut () {
        // ORDERING: Relaxed: the owner wrote the slot itself.
        self.slots[index % N].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn load(&self, index: usize) -> *mut () {
        // ORDERING: Relaxed: the Acquire load of bottom in steal (chase_lev.D1, chase_lev.D2)
        // precedes.
        self.slots[index % N].load(Ordering::Relaxed)
    }
}

#[cfg(feature = "alloc")]
pub use growable::Growable;

#[cfg(feature = "alloc")]
mod growable {
    use super::{AtomicPtr, Ordering, Ring, Slot, ptr, sealed};
    use alloc::boxed::Box;

    /// Slots that double when all are occupied.
    #[derive(Debug)]
    pub struct Growable {
        current: AtomicPtr<Buffer>,
    }

    #[derive(Debug)]
    struct Buffer {
        slots: Box<[Slot]>,
        /// The previous buffer: a chain that only `drop` follows.
        older: *mut Buffer,
    }

    impl Buffer {
        fn alloc(capacity: usize, older: *mut Self) -> *mut Self {
            let slots = (0..capacity).map(|_| Slot::new(ptr::null_mut())).collect();
            Box::into_raw(Box::new(Self { slots, older }))
        }

        #[inline(always)]
        fn slot(&self, index: usize) -> &Slot {
            let mask = self.slots.len().wrapping_sub(1);
            debug_assert!(self.slots.len().is_power_of_two());
            // SAFETY: the length is a power of two, by `with_capacity` and `grow`, and so not zero:
            // the masked index is below it.
            unsafe { self.slots.get_unchecked(index & mask) }
        }
    }

    impl Growable {
        /// Creates a ring with room for `capacity` items, rounded up to a power of two.
        ///
        /// # Panics
        /// If `capacity` is above the greatest power of two, or that much memory cannot be
        /// addressed.
        pub fn with_capacity(capacity: usize) -> Self {
            // Unchecked, the rounding wraps to 0 where overflow checks are off.
            let rounded = capacity.checked_next_power_of_two();
            let capacity = rounded.expect("capacity overflow: no power of two is that large");
            Self {
                current: AtomicPtr::new(Buffer::alloc(capacity, ptr::null_mut())),
            }
        }

        #[inline(always)]
        fn own(&self) -> &Buffer {
            // ORDERING: Relaxed: only the owner writes it.
            // SAFETY: never null, and buffers live as long as the ring.
            unsafe { &*self.current.load(Ordering::Relaxed) }
        }

        /// Doubles the slots, with the same items. Called by the owner only.
        #[cold]
        fn grow(&self, top: usize, bottom: usize) {
            // ORDERING: Relaxed: only the owner writes it. Not the address of `old`: that has the
            // provenance of a reference, with which `drop` could not free it.
            let older = self.current.load(Ordering::Relaxed);
            let old = self.own();
            let twice = old.slots.len().checked_mul(2);
            let new = Buffer::alloc(twice.expect("capacity overflow"), older);
            let mut index = top;
            while index != bottom {
                // ORDERING: Relaxed: the owner wrote the old slots.
                let word = old.slot(index).load(Ordering::Relaxed);
                // ORDERING: Relaxed: current publishes the new slots (D5). SAFETY: `new` was
                // allocated above and is not published yet, so no other thread has it.
                unsafe { &*new }.slot(index).store(word, Ordering::Relaxed);
                index = index.wrapping_add(1);
            }
            // ORDERING: Release, pairs with Acquire in load (D5): the slots are written before the
            // buffer is found.
            self.current.store(new, Ordering::Release);
        }
    }

    /// The buffer in which the owner works.
    #[derive(Clone, Copy, Debug)]
    pub struct View {
        slots: *const Slot,
        mask: usize,
    }

    // SAFETY: the slots are atomics.
    unsafe impl Send for View {}

    impl View {
        /// # Safety
        /// The caller must keep the ring of the view alive.
        #[inline(always)]
        unsafe fn slot<'a>(self, index: usize) -> &'a Slot {
            // SAFETY: buffers live as long as the ring; the mask is their length, a power of two,
            // minus one.
            unsafe { &*self.slots.add(index & self.mask) }
        }
    }

    impl Ring for Growable {
        #[inline(always)]
        fn capacity(&self) -> usize {
            self.own().slots.len()
        }
    }

    // SAFETY: one slot per index modulo the length; grow copies all of top..bottom before it
    // publishes.
    unsafe impl sealed::Sealed for Growable {
        type View = View;

        #[inline]
        fn view(&self, _index: usize) -> View {
            let slots = &self.own().slots;
            View {
                slots: slots.as_ptr(),
                mask: slots.len() - 1,
            }
        }

        #[inline]
        fn limit(&self, view: View, top: usize) -> usize {
            top.wrapping_add(view.mask + 1)
        }

        #[inline]
        unsafe fn room(&self, top: usize, bottom: usize) -> bool {
            if bottom.wrapping_sub(top) == self.capacity() {
                self.grow(top, bottom);
            }
            true
        }

        #[inline(always)]
        unsafe fn store(&self, view: View, index: usize, word: *mut ()) {
            // ORDERING: Relaxed: published by the Release store of bottom in push (chase_lev.D1).
            // SAFETY: the view is of this ring.
            unsafe { view.slot(index) }.store(word, Ordering::Relaxed);
        }

        #[inline(always)]
        unsafe fn load_own(&self, view: View, index: usize) -> *mut () {
            // ORDERING: Relaxed: the owner wrote the slot itself.
            // SAFETY: the view is of this ring.
            unsafe { view.slot(index) }.load(Ordering::Relaxed)
        }

        #[inline(always)]
        fn load(&self, index: usize) -> *mut () {
            // ORDERING: Acquire, pairs with Release in grow (D5): the slots of a new buffer are
            // visible.
            let buffer = self.current.load(Ordering::Acquire);
            // SAFETY: never null; buffers live as long as the ring, even when superseded.
            let buffer = unsafe { &*buffer };
            // ORDERING: Relaxed: the Acquire loads of bottom (chase_lev.D1, chase_lev.D2) and of
            // current precede.
            buffer.slot(index).load(Ordering::Relaxed)
        }
    }

    impl Drop for Growable {
        fn drop(&mut self) {
            // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the ring.
            let mut buffer = self.current.load(Ordering::Relaxed);
            while !buffer.is_null() {
                // SAFETY: every buffer comes from Box::into_raw and is in the chain once.
                buffer = unsafe { Box::from_raw(buffer) }.older;
            }
        }
    }
}
