//! Sorting slices.
//!
//! # Algorithm
//! Unstable: quicksort (Hoare 1961) with Lomuto's partition without branches, around the median of
//! a sample, whose two sides are forked; below a grain, std's sort. If many items equal the pivot,
//! a second partition puts them aside; if partitions stay uneven, std's sort, which takes O(n log
//! n) in the worst case, sorts what is left.
//!
//! It moves items only by swaps. So a slice is a permutation of what it was whenever a comparison
//! panics, and this module needs no unsafe code. It unwinds if a finish around it is cancelled,
//! between two partitions.
//!
//! Stable: [`sort_stable`], by merging.

use super::super::raw::{SliceMut, sort_stable};
use super::Par;
use crate::port::Host;
use crate::task::Cx;
use core::cmp::Ordering;

/// Items below which a slice is sorted by one worker: their sort lasts longer than a fork that is
/// stolen.
const GRAIN: usize = 4096;

/// Grains for each worker: more even out their durations, fewer spare partitions that are slower
/// than std's.
const GRAINS: usize = 8;

impl<P: Host, T: Send> Par<'_, '_, '_, P, SliceMut<'_, T>> {
    /// Sorts the slice. Equal items may be reordered. Allocates nothing.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut numbers: Vec<u32> = (0..100_000).map(|i: u32| i.wrapping_mul(0x9e37_79b1)).collect();
    /// cx.par(&mut numbers).sort_unstable();
    /// assert!(numbers.is_sorted());
    /// # }
    /// ```
    ///
    /// If a finish around this task is cancelled, the sort [unwinds](crate::task::Cx::par) to it,
    /// with all items in the slice.
    ///
    /// # Panics
    /// With a panic of a comparison, or if std detects that it is no total order; the slice then
    /// contains all items.
    pub fn sort_unstable(self)
    where
        T: Ord,
    {
        self.sort_unstable_by(T::cmp);
    }

    /// Sorts the slice as [`sort_unstable`](Self::sort_unstable), by a comparison.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut lengths = [2.5, 0.5, 1.5];
    /// cx.par(&mut lengths).sort_unstable_by(f64::total_cmp);
    /// assert_eq!(lengths, [0.5, 1.5, 2.5]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`sort_unstable`](Self::sort_unstable).
    pub fn sort_unstable_by(self, compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let slice = self.source.into_slice();
        // Items without bytes are all equal to std's sort.
        if size_of::<T>() == 0 {
            return slice.sort_unstable_by(compare);
        }
        let grain = grain(self.cx, slice.len());
        // Twice the levels of even partitions.
        let levels = 2 * (slice.len() / grain).max(1).ilog2() + 2;
        quicksort(self.cx, slice, &compare, grain, levels);
    }

    /// Sorts the slice. Equal items keep their order. Allocates a buffer for as many items, and
    /// std's sort, which is used for parts, others.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut words = ["cherry".to_string(), "apple".to_string(), "banana".to_string()];
    /// cx.par(&mut words).sort();
    /// assert_eq!(words, ["apple", "banana", "cherry"]);
    /// # }
    /// ```
    ///
    /// If a finish around this task is cancelled, the sort [unwinds](crate::task::Cx::par) to it,
    /// with all items in the slice.
    ///
    /// # Panics
    /// As [`sort_unstable`](Self::sort_unstable).
    pub fn sort(self)
    where
        T: Ord,
    {
        self.sort_by(T::cmp);
    }

    /// Sorts the slice as [`sort`](Self::sort), by a comparison.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut words = ["ccc", "a", "bb", "b"];
    /// cx.par(&mut words).sort_by(|a, b| a.len().cmp(&b.len()));
    /// assert_eq!(words, ["a", "b", "bb", "ccc"]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`sort_unstable`](Self::sort_unstable).
    pub fn sort_by(self, compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let slice = self.source.into_slice();
        sort_stable(self.cx, slice, &compare);
    }
}

/// Returns the size of slices that one worker sorts.
fn grain<P: Host>(cx: &Cx<'_, '_, P>, len: usize) -> usize {
    match cx.pool().wanted() {
        1 => len.max(1),
        workers => (len / (GRAINS * workers)).max(GRAIN),
    }
}

fn quicksort<P: Host, T: Send>(
    cx: &mut Cx<'_, '_, P>,
    mut slice: &mut [T],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    grain: usize,
    mut levels: u32,
) {
    loop {
        if cx.is_cut() {
            cx.unwind_to_finish();
        }
        if slice.len() <= grain || levels == 0 {
            return slice.sort_unstable_by(compare);
        }
        levels -= 1;
        choose_pivot(slice, compare);
        let less = partition(slice, |item, pivot| compare(item, pivot).is_lt());
        let (below, rest) = slice.split_at_mut(less);
        // Few below the pivot: it may be a value that many items have.
        let equal = match below.len() < rest.len() / 8 {
            true => 1 + partition(rest, |item, pivot| compare(pivot, item).is_ge()),
            false => 1,
        };
        let above = rest.split_at_mut(equal).1;
        if below.is_empty() {
            slice = above;
            continue;
        }
        cx.join(
            |cx| quicksort(cx, below, compare, grain, levels),
            |cx| quicksort(cx, above, compare, grain, levels),
        );
        return;
    }
}

/// Swaps the median of a sample to the front.
fn choose_pivot<T>(slice: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    const SAMPLE: usize = 31;
    let step = slice.len() / SAMPLE;
    let mut sample: [usize; SAMPLE] = core::array::from_fn(|i| i * step + step / 2);
    sample.sort_unstable_by(|&a, &b| compare(&slice[a], &slice[b]));
    slice.swap(0, sample[SAMPLE / 2]);
}

/// Moves the items that `goes_first`, compared with the pivot, which is the first item, in front of
/// the pivot, and the others after it. Returns the pivot's index then.
#[inline]
fn partition<T>(slice: &mut [T], goes_first: impl Fn(&T, &T) -> bool) -> usize {
    let Some((pivot, items)) = slice.split_first_mut() else {
        return 0;
    };
    let mut count = 0;
    for at in 0..items.len() {
        // Items from `count` to `at` go last, so a swap of two of them changes nothing: no branch
        // is required.
        let goes = goes_first(&items[at], pivot);
        items.swap(at, count);
        count += usize::from(goes);
    }
    slice.swap(0, count);
    count
}
