//! Inclusive prefix sums of slices.
//!
//! # Algorithm
//! In three passes (Blelloch 1990, section 1.3): each block by itself, in parallel; the last items
//! of the blocks, one after the other; and each block but the first with the last item of the block
//! before, in parallel. The blocks depend on the length only, so a floating-point result has the
//! same bits in every run.

use super::super::raw::SliceMut;
use super::Par;
use crate::port::Host;
use alloc::vec::Vec;

/// The largest number of blocks, enough for as many workers, and their smallest size.
const BLOCKS: usize = 256;
const BLOCK_MIN: usize = 1024;

impl<P: Host, T: Send + Sync> Par<'_, '_, '_, P, SliceMut<'_, T>> {
    /// Replaces each item by the combination of all items up to it, by an associative `op`: `op` is
    /// called with earlier items first.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut numbers = [1, 2, 3, 4];
    /// cx.par(&mut numbers).scan(|a, b| a + b);
    /// assert_eq!(numbers, [1, 3, 6, 10]);
    /// # }
    /// ```
    ///
    /// If a finish around this task is cancelled, the scan [unwinds](crate::task::Cx::par) to it;
    /// the items are unspecified then.
    ///
    /// # Panics
    /// With a panic of `op`; the items are unspecified then.
    pub fn scan(self, op: impl Fn(&T, &T) -> T + Sync) {
        let (cx, slice, settings) = (self.cx, self.source.into_slice(), self.settings);
        let size = slice.len().div_ceil(BLOCKS).max(BLOCK_MIN);
        cx.par(&mut *slice)
            .of(settings)
            .chunks(size)
            .for_each(|block| add_up(block, &op));
        let blocks = slice.len().div_ceil(size);
        // The last item of each block but the last, which the third pass completes like the others.
        for block in 2..blocks {
            let (before, last) = ((block - 1) * size - 1, block * size - 1);
            slice[last] = op(&slice[before], &slice[last]);
        }
        let mut rest: Vec<(&T, &mut [T])> = Vec::with_capacity(blocks);
        let mut before: Option<&T> = None;
        for (k, block) in slice.chunks_mut(size).enumerate() {
            let (items, last) = match k + 1 == blocks {
                true => (block, None),
                false => {
                    let (items, last) = block.split_at_mut(size - 1);
                    (items, last.first())
                }
            };
            rest.extend(before.map(|before| (before, items)));
            before = last;
        }
        let complete = cx.par(rest).of(settings.pass(2));
        complete.for_each(|(before, items)| {
            for item in items {
                *item = op(before, item);
            }
        });
    }
}

/// Replaces each item of a block by the combination of all items of the block up to it.
fn add_up<T>(block: &mut [T], op: &impl Fn(&T, &T) -> T) {
    for at in 1..block.len() {
        block[at] = op(&block[at - 1], &block[at]);
    }
}
