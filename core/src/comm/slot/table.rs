//! Slots in segments: created one by one, never moved.
//!
//! # Words
//! `segments`: each set once, by a thread that creates a slot in it. `created`: incremented by each
//! thread that creates a slot.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | Q1 | `create` sets a segment | `slot` loads it | the slots of the segment | `comm_producers` |

use super::{LIMIT, Slot};
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};
use alloc::boxed::Box;
use core::ptr;

/// Slots of the first segment; each further one has twice as many as the one before.
const FIRST: usize = if cfg!(tautline_loom) { 2 } else { 32 };
/// Segments until [`LIMIT`].
const SEGMENTS: usize = super::INDEX_BITS as usize;

/// All slots of one kind of tasks, by index.
pub(super) struct Table<P> {
    segments: [AtomicPtr<Slot<P>>; SEGMENTS],
    created: AtomicUsize,
}

/// Returns the segment of a slot, and its position there.
const fn place(index: usize) -> (usize, usize) {
    let segment = (index / FIRST + 1).ilog2() as usize;
    (segment, index - FIRST * ((1 << segment) - 1))
}

/// Returns the number of slots of a segment.
const fn slots_of(segment: usize) -> usize {
    FIRST << segment
}

impl<P> Table<P> {
    pub(super) fn new() -> Self {
        Self {
            segments: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            created: AtomicUsize::new(0),
        }
    }

    /// Returns a slot that was created.
    ///
    /// # Panics
    /// If no slot of its segment was created.
    pub(super) fn slot(&self, index: usize) -> &Slot<P> {
        let (segment, at) = place(index);
        // ORDERING: Acquire, pairs with Release in create (Q1): another thread may have created the
        // segment.
        let first = self.segments[segment].load(Ordering::Acquire);
        assert!(!first.is_null(), "slot {index} was not created");
        // SAFETY: `create` allocated the segment with `slots_of(segment)` slots, of which `at` is
        // one. They live as long as the table, and are accessed by shared references only.
        unsafe { &*first.add(at) }
    }

    /// Creates a slot, which belongs to this thread.
    ///
    /// # Panics
    /// If there are [`LIMIT`] slots, or no memory.
    pub(super) fn create(&self) -> usize {
        // ORDERING: Relaxed: only the number counts; the segment is published by its pointer (Q1).
        let index = self.created.fetch_add(1, Ordering::Relaxed);
        assert!(
            index < LIMIT,
            "{LIMIT} communication tasks are outstanding, more are not possible"
        );
        let (segment, _) = place(index);
        let word = &self.segments[segment];
        // ORDERING: Relaxed: only whether there is one; `slot` loads it again (Q1).
        if word.load(Ordering::Relaxed).is_null() {
            let fresh: Box<[Slot<P>]> = (0..slots_of(segment)).map(|_| Slot::new()).collect();
            let fresh = Box::into_raw(fresh);
            // ORDERING: Release, pairs with Acquire in slot (Q1): the slots are initialized.
            // ORDERING: failure Relaxed: another thread was first; `slot` loads its pointer (Q1).
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let set = word.compare_exchange(ptr::null_mut(), fresh.cast(), success, failure);
            if set.is_err() {
                // SAFETY: `fresh` comes from `Box::into_raw` in this call and was not published.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
        index
    }

    /// Returns the number of slots that were created.
    pub(super) fn created(&self) -> usize {
        // ORDERING: Relaxed: a number for reports.
        self.created.load(Ordering::Relaxed).min(LIMIT)
    }
}

impl<P> Drop for Table<P> {
    fn drop(&mut self) {
        for (segment, word) in self.segments.iter().enumerate() {
            // ORDERING: Relaxed: `&mut self` is exclusive (Q1).
            let first = word.load(Ordering::Relaxed);
            if !first.is_null() {
                let slots = ptr::slice_from_raw_parts_mut(first, slots_of(segment));
                // SAFETY: `create` made the pointer from a box of this length, and nothing borrows
                // from the table any more.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
    }
}

#[cfg(all(test, not(any(tautline_loom, tautline_shuttle))))]
mod tests {
    use super::{FIRST, LIMIT, SEGMENTS, place, slots_of};

    /// Segments follow each other without a gap, and the last slot has one.
    #[test]
    fn every_index_has_a_place() {
        let mut index = 0;
        for segment in 0..8 {
            for at in 0..slots_of(segment) {
                assert_eq!(place(index), (segment, at));
                index += 1;
            }
        }
        assert_eq!(index, FIRST * 255);
        let (segment, at) = place(LIMIT - 1);
        assert!(segment < SEGMENTS && at < slots_of(segment));
    }
}
