//! A vector that is written in place, by any number of workers.
//!
//! # Algorithm
//! The places of the vector are zipped with the source, so each is written by the claim on its index. A part of the loop
//! records which places it has written: if the loop is cut short, what lies between them is closed up, and if it panics, they
//! are dropped.

use super::super::settings::Settings;
use super::{Consumer, Driven, SliceMut, Source, Zip};
use crate::port::Host;
use crate::task::Cx;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, take};
use core::ops::{ControlFlow, Range};
use core::ptr;

/// Returns the items of `source` in the order of their indices. Items are missing only if the loop was cancelled.
pub(crate) fn collect<P: Host, S: Source<Item: Send>>(
    cx: &mut Cx<'_, '_, P>,
    settings: &Settings,
    source: S,
) -> Vec<S::Item> {
    let len = source.len();
    let mut memory = Vec::with_capacity(len);
    let places = SliceMut::new(&mut memory.spare_capacity_mut()[..len]);
    let writer = Writer {
        base: places.base().cast(),
    };
    Driven::run(cx, settings, Zip::new(places, source), writer).into_vec(memory)
}

/// Writes items to their places.
struct Writer<T> {
    base: *mut T,
}

// SAFETY: the pointer is only copied into the records.
unsafe impl<T: Send> Sync for Writer<T> {}

/// The places that a part of the loop has written, whose items it owns.
pub(super) struct Filled<T> {
    base: *mut T,
    runs: Vec<Range<usize>>,
}

// SAFETY: the items in the recorded places are owned by this value, and sent with it.
unsafe impl<T: Send> Send for Filled<T> {}

impl<T> Filled<T> {
    /// Creates the record of places from `base` on, without any.
    pub(super) fn new(base: *mut T) -> Self {
        Self {
            base,
            runs: Vec::new(),
        }
    }

    /// Returns the record to which places from `first` on are added.
    pub(super) fn open(&mut self, first: usize) -> &mut Range<usize> {
        if self.runs.last().is_none_or(|run| run.end != first) {
            self.runs.push(first..first);
        }
        let last = self.runs.len() - 1;
        &mut self.runs[last]
    }

    /// Adds the places of `other`.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.runs.append(&mut other.runs);
    }

    /// Returns the items, which are in `memory`, without gaps.
    pub(super) fn into_vec(mut self, mut memory: Vec<T>) -> Vec<T> {
        let mut runs = take(&mut self.runs);
        runs.sort_unstable_by_key(|run| run.start);
        let mut len = 0;
        for run in runs {
            if run.start > len {
                // SAFETY: the run was written, and is inside of the memory. Runs are moved down in ascending order, so each lands
                // in front of what is still to be moved.
                unsafe { ptr::copy(self.base.add(run.start), self.base.add(len), run.len()) };
            }
            len += run.len();
        }
        // SAFETY: the first `len` items are initialised; the records of them were given up above.
        unsafe { memory.set_len(len) };
        memory
    }
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        for run in take(&mut self.runs) {
            // SAFETY: the places of a recorded run are written, inside of the memory, and recorded once.
            let items =
                ptr::slice_from_raw_parts_mut(unsafe { self.base.add(run.start) }, run.len());
            // SAFETY: the items are owned by this value, and the record of them is consumed.
            unsafe { ptr::drop_in_place(items) };
        }
    }
}

/// Adds the items written in a block to the record, also if the block panics.
struct Count<'r> {
    run: &'r mut Range<usize>,
    written: usize,
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.run.end += self.written;
    }
}

impl<'p, 's, 'e, P, T> Consumer<'s, 'e, P, (&'p mut MaybeUninit<T>, T)> for Writer<T>
where
    P: Host,
    T: Send,
{
    type Part = Filled<T>;

    fn begin(&self) -> Filled<T> {
        Filled::new(self.base)
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Filled<T>,
        indices: Range<usize>,
        items: impl Iterator<Item = (&'p mut MaybeUninit<T>, T)>,
    ) -> ControlFlow<()> {
        let mut count = Count {
            run: part.open(indices.start),
            written: 0,
        };
        // The places come from the first index on without gaps, since they are the first half of the pairs.
        items.for_each(|(place, item)| {
            place.write(item);
            count.written += 1;
        });
        ControlFlow::Continue(())
    }

    fn combine(&self, mut left: Filled<T>, mut right: Filled<T>) -> Filled<T> {
        left.append(&mut right);
        left
    }
}
