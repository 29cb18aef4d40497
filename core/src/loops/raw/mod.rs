//! The unsafe code of parallel iteration: claims on indices, and the sources and results that rely
//! on them.
//!
//! | part | what it is |
//! |---|---|
//! | [`Claimed`] | the exclusive claim on consecutive indices of one source |
//! | [`Source`], [`Driven`] | what is iterated over; a source and a consumer as the body of a loop |
//! | `slice`, `tile`, `owned` | disjoint parts of a mutable slice; tiles of a grid; items moved out of a vector |
//! | `adapt` | two sources by one claim; some of the indices of a source, or all in another order |
//! | `blocks` | fixed blocks of a source by claims on their numbers |
//! | `columns` | arrays that several loops share, with the columns that each declares |
//! | `output` | a vector that is written in place |
//! | `merge` | a stable sort that moves items to a buffer and back |
//!
//! # Algorithm
//! A source hands out the items of an index once: a mutable reference, or an item that is moved
//! out. What makes this sound is a token. [`Source::items`] takes a [`Claimed`] by value, which is
//! neither `Clone` nor made by safe code, so the all other modules are safe. The obligation, stated
//! at [`Claimed::new`], is met in these places:
//!
//! - [`Driven`] makes a claim of the indices that the engine passes to it. The engine takes them
//!   from one counter (`taper::Claim`), whose position only grows, so no index is passed twice. A
//!   source is moved into its `Driven`, which runs as one loop, so no other loop passes indices to
//!   it.
//! - `Zip` makes two claims of one, one for each of its sources, which are different values.
//!   `Chain` divides one among its sources.
//! - `Within` and `Ordered` make the claim on other indices, different ones of different ones.
//! - `Blocks` makes claims of the indices of a block, of one on the number of the block. Blocks are
//!   disjoint.
//!
//! Sources are not `Clone`, and a reference to a source is not a source. Every other adaptor owns
//! its inner source and passes it the claims that it receives, unchanged.

mod adapt;
mod blocks;
mod columns;
mod merge;
mod output;
mod owned;
mod slice;
mod tile;

pub(super) use adapt::{Backwards, Chain, Ordered, Step, Within, Zip};
pub(super) use blocks::{Blocks, Fold};
pub use columns::{Access, Accesses, Columns, ColumnsMut, ColumnsRef, Push, Reads, Writes};
pub(super) use columns::{Accessed, Array, Arrays, Checked, Run};
pub(super) use merge::sort_stable;
pub(super) use output::{collect, try_collect};
pub(super) use owned::Owned;
pub(super) use slice::{SliceMut, SliceMutChunks};
pub use tile::{Tile, TileMut};
pub(super) use tile::{Tiles, TilesMut};

use super::body::{Body, LeaveOut};
use super::settings::Settings;
use crate::port::Host;
use crate::task::Cx;
use core::ops::{ControlFlow, Range};

/// The exclusive claim on consecutive indices of one source.
#[derive(Debug)]
pub struct Claimed(Range<usize>);

impl Claimed {
    /// Makes the claim on `indices`.
    ///
    /// # Safety
    /// The caller must pass the claim to [`Source::items`] of one source, and no claim that
    /// contains one of these indices may have been passed to this source before, or be passed
    /// later.
    unsafe fn new(indices: Range<usize>) -> Self {
        Self(indices)
    }

    /// Returns the claimed indices.
    pub fn indices(&self) -> Range<usize> {
        self.0.clone()
    }
}

/// Sources of parallel loops: ranges, slices, vectors, strings, and adaptors of them.
///
/// Sealed: implemented by the types of this module only, since the claims that it takes cannot be
/// named outside.
#[allow(
    clippy::len_without_is_empty,
    reason = "a loop need not know whether it is empty"
)]
pub trait Source: Sync {
    /// The item of an index.
    type Item;

    /// The state that the functions of one part of the loop share. Stays on the worker of the part.
    type State;

    /// The number of items of an index.
    const PER_INDEX: PerIndex;

    /// Returns the number of indices.
    fn len(&self) -> usize;

    /// Returns the state of a part before its first item.
    fn begin(&self) -> Self::State;

    /// Returns whether all items from an index on are left out.
    fn is_over(&self, _from: usize) -> bool {
        false
    }

    /// Returns the items of the claimed indices, in their order.
    ///
    /// # Panics
    /// If an index is not below [`len`](Self::len).
    fn items(&self, claimed: Claimed, state: &mut Self::State) -> impl Iterator<Item = Self::Item>;
}

/// The number of items of an index of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerIndex {
    /// Exactly one.
    One,
    /// One or none.
    AtMostOne,
    /// Any number.
    Any,
}

impl PerIndex {
    /// Returns the properties of the indices of two sources.
    const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::One, Self::One) => Self::One,
            _ => Self::AtMostOne,
        }
    }

    /// Returns the properties if a function omits items.
    pub(super) const fn filtered(self) -> Self {
        self.or(Self::AtMostOne)
    }
}

/// A source with exactly one item for each index, so that items have positions.
pub trait Indexed: Source {}

/// The work of a loop on the items of a source.
pub(crate) trait Consumer<'s, 'e, P: Host, I>: Sync {
    /// The accumulation of a part of the loop.
    type Part: Send;

    /// Returns the accumulation of a part before its first item.
    fn begin(&self) -> Self::Part;

    /// Takes the items of consecutive indices. `Break` leaves out others.
    fn take(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut Self::Part,
        indices: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<LeaveOut>;

    /// Combines the accumulations of two parts.
    fn combine(&self, left: Self::Part, right: Self::Part) -> Self::Part;
}

/// A source and its consumer as the body of one loop.
pub(crate) struct Driven<S, C> {
    source: S,
    consumer: C,
}

impl<S: Source, C> Driven<S, C> {
    /// Runs the loop over all indices of `source`. Returns the accumulation of its parts.
    pub(crate) fn run<'s, 'e, P: Host>(
        cx: &mut Cx<'s, 'e, P>,
        settings: &Settings<'_>,
        source: S,
        consumer: C,
    ) -> C::Part
    where
        C: Consumer<'s, 'e, P, S::Item>,
    {
        let len = source.len();
        super::engine(cx, len, settings, &Self { source, consumer })
    }
}

impl<'s, 'e, P, S, C> Body<'s, 'e, P> for Driven<S, C>
where
    P: Host,
    S: Source,
    C: Consumer<'s, 'e, P, S::Item>,
{
    type Local = (S::State, C::Part);
    type Part = C::Part;

    fn begin(&self) -> Self::Local {
        (self.source.begin(), self.consumer.begin())
    }

    #[inline]
    fn run(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        (state, part): &mut Self::Local,
        indices: Range<usize>,
    ) -> ControlFlow<LeaveOut> {
        if self.source.is_over(indices.start) {
            return ControlFlow::Break(LeaveOut::Higher);
        }
        // SAFETY: this value is the body of one loop, made in `Driven::run` above, and the engine
        // passes each index of it once at most; the source is owned by this value, so no other
        // claim reaches it.
        let claimed = unsafe { Claimed::new(indices.clone()) };
        let items = self.source.items(claimed, state);
        self.consumer.take(cx, part, indices, items)
    }

    fn end(&self, (_, part): Self::Local) -> C::Part {
        part
    }

    fn combine(&self, left: C::Part, right: C::Part) -> C::Part {
        self.consumer.combine(left, right)
    }
}
