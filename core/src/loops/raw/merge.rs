//! A stable sort that merges through a buffer.
//!
//! # Algorithm
//! Merge sort on forks over std's stable sort (Knuth 1973, 5.2.4). A merge moves items from the
//! slice to a buffer of the same length, or back. The number of levels is even, so that items
//! without a pattern end in the slice. A merge of many items is divided: a binary search finds the
//! items of both sides that make up the first half of the result (Merge Path, Odeh et al. 2012),
//! and the halves are merged in parallel.
//!
//! Sides that are in order already are not moved. A strictly descending part is left as it is until
//! a neighbour is not, so a slice that is descending as a whole is reversed once, in place.
//!
//! # Ownership
//! Each item is in the slice or in the buffer, and is owned by one value: by a [`Part`], whose
//! items are all in one of them, or by a [`Merge`], which borrows a part and owns what it has not
//! merged yet. If a comparison panics or the sort is cancelled, the destructors run in that order:
//! a `Merge` moves its items to the room that is left for them, and a `Part` moves its items to the
//! slice, which then is a permutation of what it was. Since both rely on their destructors, they
//! are private.
//!
//! Comparisons may contradict each other, and may change items that have interior mutability: an
//! item is moved after it was compared, and no copy of it is compared.

use crate::port::Host;
use crate::task::Cx;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, swap};
use core::{ptr, slice};

/// Items that one worker sorts or merges: that takes longer than a fork that is stolen.
const GRAIN: usize = 2048;

/// Sorts `items`; equal ones keep their order. Allocates a buffer for as many, unless one worker
/// sorts all.
pub(crate) fn sort_stable<P: Host, T: Send>(
    cx: &mut Cx<'_, '_, P>,
    items: &mut [T],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
) {
    if cx.is_cut() {
        cx.unwind_to_finish();
    }
    let len = items.len();
    let levels = levels(cx.pool().wanted(), len);
    // Items without bytes are all equal to std's sort.
    if levels == 0 || size_of::<T>() == 0 {
        return items.sort_by(compare);
    }
    let mut buffer = Vec::with_capacity(len);
    let whole = Part::new(items, &mut buffer);
    let mut sorted = sort(cx, whole, compare, levels);
    if sorted.descends {
        let (low, high) = sorted.items_mut().split_at_mut(len / 2);
        swap_ends(cx, low, high);
    }
}

/// Returns the number of times that `len` items are halved for `workers`: an even number.
fn levels(workers: usize, len: usize) -> u32 {
    /// Parts for each worker: more even out their durations, but a merge costs more than a level of
    /// std's sort.
    const PARTS: usize = 2;
    if workers == 1 {
        return 0;
    }
    let levels = (PARTS * workers).next_power_of_two().ilog2();
    let most = (len / GRAIN).checked_ilog2().unwrap_or(0);
    levels.next_multiple_of(2).min(most - most % 2)
}

fn sort<'a, P: Host, T: Send>(
    cx: &mut Cx<'_, '_, P>,
    mut part: Part<'a, T>,
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    levels: u32,
) -> Part<'a, T> {
    if cx.is_cut() {
        cx.unwind_to_finish();
    }
    if levels == 0 {
        part.sort(compare);
        return part;
    }
    let (middle, is_less) = (part.len / 2, |a: &T, b: &T| compare(a, b).is_lt());
    let (left, right) = part.split(middle);
    let (mut left, mut right) = cx.join(
        |cx| sort(cx, left, compare, levels - 1),
        |cx| sort(cx, right, compare, levels - 1),
    );
    let border = |left: &Part<'a, T>, right: &Part<'a, T>| {
        is_less(&right.items()[0], &left.items()[middle - 1])
    };
    if left.descends && right.descends && border(&left, &right) {
        // SAFETY: these are the parts of the split above.
        return unsafe { left.unsplit(right) };
    }
    left.ascend();
    right.ascend();
    let is_sorted = !border(&left, &right);
    if !is_sorted || left.is_away != right.is_away {
        // The merges of odd levels move items to the buffer, and those of even levels back, the
        // last one among them.
        let is_away = !is_sorted && levels % 2 == 0;
        left.move_to(is_away);
        right.move_to(is_away);
    }
    // SAFETY: these are the parts of the split above, and both are in the same place.
    let mut whole = unsafe { left.unsplit(right) };
    if !is_sorted {
        // SAFETY: the merge is passed on by value, and `merge` forgets none.
        merge(cx, unsafe { whole.begin_merge(middle) }, &is_less);
    }
    whole
}

fn merge<P: Host, T: Send>(
    cx: &mut Cx<'_, '_, P>,
    sides: Merge<'_, T>,
    is_less: &(impl Fn(&T, &T) -> bool + Sync),
) {
    if cx.is_cut() {
        cx.unwind_to_finish();
    }
    if !sides.is_divided() {
        return sides.run(is_less);
    }
    let (low, high) = sides.split(is_less);
    cx.join(|cx| merge(cx, low, is_less), |cx| merge(cx, high, is_less));
}

/// Swaps the items of `low` with the last ones of `high`, from its end on.
fn swap_ends<P: Host, T: Send>(cx: &mut Cx<'_, '_, P>, low: &mut [T], high: &mut [T]) {
    if low.len() <= GRAIN {
        let ends = low.iter_mut().zip(high.iter_mut().rev());
        return ends.for_each(|(first, last)| swap(first, last));
    }
    let half = low.len() / 2;
    let (low, low_rest) = low.split_at_mut(half);
    let (high_rest, high) = high.split_at_mut(high.len() - half);
    cx.join(
        |cx| swap_ends(cx, low, high),
        |cx| swap_ends(cx, low_rest, high_rest),
    );
}

/// Consecutive items of the slice, which are all there or all in the buffer. Dropped, it moves them
/// to the slice.
struct Part<'a, T> {
    slice: *mut T,
    buffer: *mut T,
    len: usize,
    /// Whether the items are in the buffer.
    is_away: bool,
    /// Whether each item is less than the one before it. Such items are in the slice.
    descends: bool,
    borrowed: PhantomData<&'a mut T>,
}

// SAFETY: the items are owned by this value, and sent with it.
unsafe impl<T: Send> Send for Part<'_, T> {}

impl<'a, T> Part<'a, T> {
    /// Takes the items of `slice`, to be moved to the memory of `buffer` and back.
    fn new(slice: &'a mut [T], buffer: &'a mut Vec<T>) -> Self {
        assert!(buffer.is_empty() && buffer.capacity() >= slice.len());
        Self {
            slice: slice.as_mut_ptr(),
            buffer: buffer.as_mut_ptr(),
            len: slice.len(),
            is_away: false,
            descends: false,
            borrowed: PhantomData,
        }
    }

    /// Returns where the items are.
    fn base(&self) -> *mut T {
        if self.is_away {
            self.buffer
        } else {
            self.slice
        }
    }

    fn items(&self) -> &[T] {
        // SAFETY: the items are there, and owned by this value.
        unsafe { slice::from_raw_parts(self.base(), self.len) }
    }

    fn items_mut(&mut self) -> &mut [T] {
        // SAFETY: the items are there, and owned by this value.
        unsafe { slice::from_raw_parts_mut(self.base(), self.len) }
    }

    /// Sorts the items, unless they are descending.
    fn sort(&mut self, compare: &impl Fn(&T, &T) -> Ordering) {
        let items = self.items_mut();
        let descends = items.is_sorted_by(|a, b| compare(b, a).is_lt());
        // std's sort would allocate a buffer before it finds the items in order.
        if !descends && !items.is_sorted_by(|a, b| compare(b, a).is_ge()) {
            items.sort_by(compare);
        }
        self.descends = descends;
    }

    /// Reverses the items if they are descending.
    fn ascend(&mut self) {
        if self.descends {
            self.items_mut().reverse();
            self.descends = false;
        }
    }

    /// Moves the items to the buffer if `is_away`, else to the slice, unless they are there.
    fn move_to(&mut self, is_away: bool) {
        if self.is_away != is_away {
            let from = self.base();
            self.is_away = is_away;
            // SAFETY: both places have room for the items, and do not overlap.
            unsafe { ptr::copy_nonoverlapping(from, self.base(), self.len) };
        }
    }

    /// Returns the first `at` items, and the others.
    fn split(self, at: usize) -> (Self, Self) {
        assert!(at <= self.len);
        let this = ManuallyDrop::new(self);
        let part = |from: usize, len| Self {
            // SAFETY: `from` is not above the length of both places.
            slice: unsafe { this.slice.add(from) },
            // SAFETY: as for the slice.
            buffer: unsafe { this.buffer.add(from) },
            len,
            ..*this
        };
        (part(0, at), part(at, this.len - at))
    }

    /// Returns the items of both parts as one.
    ///
    /// # Safety
    /// The caller must pass the two values that one [`split`](Self::split) has returned, with their
    /// items in the same place.
    unsafe fn unsplit(self, right: Self) -> Self {
        let (left, right) = (ManuallyDrop::new(self), ManuallyDrop::new(right));
        Self {
            len: left.len + right.len,
            ..*left
        }
    }

    /// Moves the items to the other place by merging those before `middle` with the others.
    ///
    /// # Safety
    /// The caller must not forget the merge or a part of it: their destructors complete the move.
    unsafe fn begin_merge(&mut self, middle: usize) -> Merge<'_, T> {
        assert!(middle <= self.len);
        let left = self.base();
        self.is_away = !self.is_away;
        // SAFETY: `middle` and `len` are not above the number of items.
        let (right, end) = unsafe { (left.add(middle), left.add(self.len)) };
        Merge {
            left,
            left_end: right,
            right,
            right_end: end,
            room: self.base(),
            borrowed: PhantomData,
        }
    }
}

impl<T> Drop for Part<'_, T> {
    fn drop(&mut self) {
        self.move_to(false);
    }
}

/// Two sides that are merged into room for the items of both. Dropped, it moves there what is left
/// of the left side, then of the right one.
struct Merge<'m, T> {
    left: *mut T,
    left_end: *mut T,
    right: *mut T,
    right_end: *mut T,
    room: *mut T,
    borrowed: PhantomData<&'m mut T>,
}

// SAFETY: the items are owned by this value, and sent with it.
unsafe impl<T: Send> Send for Merge<'_, T> {}

impl<T> Merge<'_, T> {
    /// Returns the items of both sides.
    fn sides(&self) -> (&[T], &[T]) {
        let side = |from: *mut T, end: *mut T| {
            // SAFETY: the items from `from` to `end` are initialised, of a type that has bytes, and
            // owned by this value.
            unsafe { slice::from_raw_parts(from, end.offset_from_unsigned(from)) }
        };
        (
            side(self.left, self.left_end),
            side(self.right, self.right_end),
        )
    }

    /// Whether there are enough items on both sides for several workers.
    fn is_divided(&self) -> bool {
        let (left, right) = self.sides();
        !left.is_empty() && !right.is_empty() && left.len() + right.len() > GRAIN
    }

    /// Returns the merges that make the first half of the result, and the second.
    fn split(self, is_less: &impl Fn(&T, &T) -> bool) -> (Self, Self) {
        let (left, right) = self.sides();
        let half = (left.len() + right.len()) / 2;
        // As many items of the left side, and as many as are missing of the right one, make the
        // first half.
        let (mut kept, mut most) = (half.saturating_sub(right.len()), half.min(left.len()));
        while kept < most {
            let at = kept + (most - kept) / 2;
            // Whether the item at `at` comes after what the right side would contribute without it.
            match is_less(&right[half - at - 1], &left[at]) {
                true => most = at,
                false => kept = at + 1,
            }
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: `kept` is not above the length of the left side, nor the rest of `half` above
        // that of the right one.
        let (left, right) = unsafe { (this.left.add(kept), this.right.add(half - kept)) };
        let low = Self {
            left_end: left,
            right_end: right,
            ..*this
        };
        let high = Self {
            left,
            right,
            // SAFETY: there is room for all items, of which `half` come first.
            room: unsafe { this.room.add(half) },
            ..*this
        };
        (low, high)
    }

    /// Merges all items.
    fn run(mut self, is_less: &impl Fn(&T, &T) -> bool) {
        while self.left != self.left_end && self.right != self.right_end {
            // SAFETY: both sides have an item, which this value owns.
            let is_right = unsafe { is_less(&*self.right, &*self.left) };
            let first = if is_right { self.right } else { self.left };
            // SAFETY: there is room for all items; the one that is moved is passed on its side.
            unsafe {
                ptr::copy_nonoverlapping(first, self.room, 1);
                self.room = self.room.add(1);
                self.right = self.right.add(usize::from(is_right));
                self.left = self.left.add(usize::from(!is_right));
            }
        }
    }
}

impl<T> Drop for Merge<'_, T> {
    fn drop(&mut self) {
        let (left, right) = self.sides();
        // SAFETY: there is room for all items, in another place than they are.
        unsafe {
            ptr::copy_nonoverlapping(left.as_ptr(), self.room, left.len());
            ptr::copy_nonoverlapping(right.as_ptr(), self.room.add(left.len()), right.len());
        }
    }
}
