//! Collecting items of which it is not known how many there are.
//!
//! # Algorithm
//! A part of the loop appends the items of consecutive indices to one *piece*. When all indices are done, the place of each piece in
//! the result is known, and the workers move the pieces there, one at a time: pieces become smaller, as the chunks of the loop do.

use super::super::settings::{Schedule, Settings};
use super::output::Filled;
use super::{Consumer, Driven, Owned, Source};
use crate::port::Host;
use crate::task::Cx;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{ControlFlow, Range};
use core::ptr;

/// Bytes from which on a result is put together by all workers: a page fault costs as much as a chunk, and one worker has some
/// dozens of them.
const SHARED: usize = 1 << 18;

/// Returns the items of `source` in the order of their indices. Items are missing only if the loop was cancelled.
pub(crate) fn collect_some<P: Host, S: Source<Item: Send>>(
    cx: &mut Cx<'_, '_, P>,
    settings: &Settings,
    source: S,
) -> Vec<S::Item> {
    let mut pieces = Driven::run(cx, settings, source, Pieces(PhantomData));
    pieces.sort_unstable_by_key(|piece| piece.indices.start);
    let len: usize = pieces.iter().map(|piece| piece.items.len()).sum();
    // A cancelled loop passes no more pieces to the workers.
    if len * size_of::<S::Item>() < SHARED || cx.cancelled().is_some() {
        return concatenate(pieces, len);
    }
    let mut memory = Vec::with_capacity(len);
    let base: *mut S::Item = memory.as_mut_ptr();
    let mut at = 0;
    pieces.iter_mut().for_each(|piece| {
        piece.place = at;
        at += piece.items.len();
    });
    let mut settings = settings.pass(2);
    settings.schedule = Schedule::Dynamic(1);
    Driven::run(cx, &settings, Owned::new(pieces), Mover { base }).into_vec(memory)
}

/// The items of consecutive indices.
struct Piece<T> {
    indices: Range<usize>,
    items: Vec<T>,
    /// The place of the first item in the result.
    place: usize,
}

/// Collects pieces.
struct Pieces<T>(PhantomData<fn() -> T>);

impl<'s, 'e, P: Host, T: Send> Consumer<'s, 'e, P, T> for Pieces<T> {
    type Part = Vec<Piece<T>>;

    fn begin(&self) -> Vec<Piece<T>> {
        Vec::new()
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Vec<Piece<T>>,
        indices: Range<usize>,
        items: impl Iterator<Item = T>,
    ) -> ControlFlow<()> {
        let last = part.last_mut();
        match last.filter(|piece| piece.indices.end == indices.start) {
            Some(piece) => {
                piece.items.extend(items);
                piece.indices.end = indices.end;
            }
            None => part.push(Piece {
                indices,
                items: items.collect(),
                place: 0,
            }),
        }
        ControlFlow::Continue(())
    }

    fn combine(&self, mut left: Vec<Piece<T>>, mut right: Vec<Piece<T>>) -> Vec<Piece<T>> {
        left.append(&mut right);
        left
    }
}

/// Returns the items of all pieces, which are `len`, in their order.
fn concatenate<T>(pieces: Vec<Piece<T>>, len: usize) -> Vec<T> {
    let mut pieces = pieces.into_iter();
    let mut all = pieces.next().map_or_else(Vec::new, |piece| piece.items);
    all.reserve_exact(len - all.len());
    pieces.for_each(|mut piece| all.append(&mut piece.items));
    all
}

/// Moves pieces to their places.
struct Mover<T> {
    base: *mut T,
}

// SAFETY: each place is written by the worker that has claimed its piece.
unsafe impl<T: Send> Sync for Mover<T> {}

impl<'s, 'e, P: Host, T: Send> Consumer<'s, 'e, P, Piece<T>> for Mover<T> {
    type Part = Filled<T>;

    fn begin(&self) -> Filled<T> {
        Filled::new(self.base)
    }

    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Filled<T>,
        _: Range<usize>,
        pieces: impl Iterator<Item = Piece<T>>,
    ) -> ControlFlow<()> {
        for mut piece in pieces {
            let run = part.open(piece.place);
            run.end += piece.items.len();
            let (from, len) = (piece.items.as_ptr(), piece.items.len());
            // SAFETY: the items are moved out, so the vector no longer owns them.
            unsafe { piece.items.set_len(0) };
            // SAFETY: the memory has room for all pieces, and places are disjoint. The record owns the items from here on.
            unsafe { ptr::copy_nonoverlapping(from, self.base.add(piece.place), len) };
        }
        ControlFlow::Continue(())
    }

    fn combine(&self, mut left: Filled<T>, mut right: Filled<T>) -> Filled<T> {
        left.append(&mut right);
        left
    }
}
