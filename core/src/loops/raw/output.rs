//! A vector that is written in place, by any number of workers.
//!
//! # Algorithm
//! The vector has a place for each index of the source. A part of the loop writes the items of the
//! indices that it has claimed to the places of these indices, without gaps while the claims are
//! consecutive: such places are a *run*. At the end, one worker closes the gaps between the runs,
//! which are there if the source omits items or the loop was cut short. So an item is moved once at
//! most, and a page of memory is first touched by the worker that writes it. If the loop panics,
//! the runs are dropped.

use super::super::body::LeaveOut;
use super::super::settings::Settings;
use super::{Consumer, Driven, Source};
use crate::port::Host;
use crate::task::Cx;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, take};
use core::ops::{ControlFlow, Range};
use core::{ptr, slice};

/// Returns the items of `source` in the order of their indices. Of an indexed source, items are
/// missing only if the loop was cancelled.
pub(crate) fn collect<P: Host, S: Source<Item: Send>>(
    cx: &mut Cx<'_, '_, P>,
    settings: &Settings<'_>,
    source: S,
) -> Vec<S::Item> {
    let memory = Vec::with_capacity(source.len());
    fill(cx, settings, source, memory)
}

/// As [`collect`], for a source that may omit most items. Returns the source if there is no memory
/// for an item of each index.
pub(crate) fn try_collect<P: Host, S: Source<Item: Send>>(
    cx: &mut Cx<'_, '_, P>,
    settings: &Settings<'_>,
    source: S,
) -> Result<Vec<S::Item>, S> {
    let mut memory = Vec::new();
    if memory.try_reserve_exact(source.len()).is_err() {
        return Err(source);
    }
    let mut items = fill(cx, settings, source, memory);
    items.shrink_to_fit();
    Ok(items)
}

/// Writes the items of `source` to `memory`, which is empty and has a place for each index.
fn fill<P: Host, S: Source<Item: Send>>(
    cx: &mut Cx<'_, '_, P>,
    settings: &Settings<'_>,
    source: S,
    mut memory: Vec<S::Item>,
) -> Vec<S::Item> {
    let base: *mut S::Item = memory.as_mut_ptr();
    let places = memory.capacity();
    let runs = Driven::run(cx, settings, source, Writer { base, places }).into_runs();
    let mut len = 0;
    for run in runs {
        if run.start > len {
            // SAFETY: the run was written, and is inside of the memory. Runs are moved down in
            // ascending order, so each lands in front of what is still to be moved.
            unsafe { ptr::copy(base.add(run.start), base.add(len), run.len()) };
        }
        len += run.len();
    }
    // SAFETY: the first `len` items are initialised; the records of them were given up by
    // `into_runs`.
    unsafe { memory.set_len(len) };
    memory
}

/// Writes items to their places.
struct Writer<T> {
    base: *mut T,
    /// Places from `base` on.
    places: usize,
}

// SAFETY: the pointer is only copied into the records.
unsafe impl<T: Send> Sync for Writer<T> {}

/// The places that a part of the loop has written, whose items it owns.
struct Filled<T> {
    base: *mut T,
    runs: Vec<Range<usize>>,
    /// The index after those that were claimed last.
    next: usize,
}

// SAFETY: the items in the recorded places are owned by this value, and sent with it.
unsafe impl<T: Send> Send for Filled<T> {}

impl<T> Filled<T> {
    /// Returns the run to which the items of `indices` are added.
    fn open(&mut self, indices: &Range<usize>) -> &mut Range<usize> {
        if self.runs.is_empty() || self.next != indices.start {
            self.runs.push(indices.start..indices.start);
        }
        self.next = indices.end;
        let last = self.runs.len() - 1;
        &mut self.runs[last]
    }

    /// Gives up the items. Returns where they are, in ascending order.
    fn into_runs(mut self) -> Vec<Range<usize>> {
        let mut runs = take(&mut self.runs);
        sort(&mut runs);
        runs
    }
}

/// Puts runs into ascending order. Apart from [`Filled`], so that a program does not compile it for
/// each type of items.
fn sort(runs: &mut [Range<usize>]) {
    runs.sort_unstable_by_key(|run| run.start);
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        for run in take(&mut self.runs) {
            // SAFETY: the places of a recorded run are written, inside of the memory, and recorded
            // once.
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

impl<'s, 'e, P: Host, T: Send> Consumer<'s, 'e, P, T> for Writer<T> {
    type Part = Filled<T>;

    fn begin(&self) -> Filled<T> {
        Filled {
            base: self.base,
            runs: Vec::new(),
            next: 0,
        }
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Filled<T>,
        indices: Range<usize>,
        items: impl Iterator<Item = T>,
    ) -> ControlFlow<LeaveOut> {
        assert!(indices.end <= self.places);
        let run = part.open(&indices);
        let base: *mut MaybeUninit<T> = self.base.cast();
        // SAFETY: the places are in the memory. A run never reaches beyond the indices of its
        // claims, which are consecutive, so those from its end to the end of `indices` belong to
        // indices that only this part has claimed, and are not written yet.
        let places = unsafe { slice::from_raw_parts_mut(base.add(run.end), indices.end - run.end) };
        let mut count = Count { run, written: 0 };
        places.iter_mut().zip(items).for_each(|(place, item)| {
            place.write(item);
            count.written += 1;
        });
        ControlFlow::Continue(())
    }

    fn combine(&self, mut left: Filled<T>, mut right: Filled<T>) -> Filled<T> {
        left.runs.append(&mut right.runs);
        left
    }
}
