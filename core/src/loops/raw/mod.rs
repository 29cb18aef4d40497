//! The unsafe code of parallel iteration: claims on indices, and the sources and results that rely on them.
//!
//! | part | what it is |
//! |---|---|
//! | [`Claimed`] | the exclusive claim on consecutive indices of one source |
//! | [`Source`], [`Driven`] | what is iterated over; a source and a consumer as the body of a loop |
//! | `slice`, `tile`, `owned` | disjoint parts of a mutable slice; tiles of a grid; items moved out of a vector |
//! | `zip`, `blocks` | two sources by one claim; fixed blocks of a source by claims on their numbers |
//! | `columns` | arrays that several loops share, with the columns that each declares |
//! | `output` | a vector that is written in place |
//! | `merge` | a stable sort that moves items to a buffer and back |
//!
//! # Algorithm
//! A source hands out the items of an index once: a mutable reference, or an item that is moved out. What makes this sound is
//! a token. [`Source::items`] takes a [`Claimed`] by value, which is neither `Clone` nor made by safe code, so the
//! modules beside this one are safe. The obligation, stated at [`Claimed::new`], is met in three places:
//!
//! - [`Driven`] makes a claim of the indices that the engine passes to it. The engine takes them from one counter
//!   (`taper::Claim`), whose position only grows, so no index is passed twice. A source is moved into its `Driven`, which
//!   runs as one loop, so no other loop passes indices to it.
//! - `Zip` makes two claims of one, one for each of its sources, which are different values.
//! - `Blocks` makes claims of the indices of a block, of one on the number of the block. Blocks are disjoint.
//!
//! Sources are not `Clone`, and a reference to a source is not a source. An adaptor owns its inner source and passes it the
//! claims that it receives, unchanged.

mod blocks;
mod columns;
mod merge;
mod output;
mod owned;
mod slice;
mod tile;
mod zip;

pub(super) use blocks::{Blocks, Fold};
pub use columns::{Access, Accesses, Columns, ColumnsMut, ColumnsRef, Push, Reads, Writes};
pub(super) use columns::{Accessed, Array, Arrays, Checked, Run};
pub(super) use merge::sort_stable;
pub(super) use output::{collect, try_collect};
pub(super) use owned::Owned;
pub(super) use slice::{SliceMut, SliceMutChunks};
pub use tile::{Tile, TileMut};
pub(super) use tile::{Tiles, TilesMut};
pub(super) use zip::Zip;

use super::body::Body;
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
    /// The caller must pass the claim to [`Source::items`] of one source, and no claim that contains one of these indices may
    /// have been passed to this source before, or be passed later.
    unsafe fn new(indices: Range<usize>) -> Self {
        Self(indices)
    }

    /// Returns the claimed indices.
    pub fn indices(&self) -> Range<usize> {
        self.0.clone()
    }
}

/// What a parallel loop iterates over: ranges, slices, vectors, and adaptors of them.
///
/// Sealed: implemented by the types of this module only, since the claims that it takes cannot be named outside.
#[allow(
    clippy::len_without_is_empty,
    reason = "a loop need not know whether it is empty"
)]
pub trait Source: Sync {
    /// What is produced for an index.
    type Item;

    /// Whether each index produces exactly one item. If not, it produces one at most.
    const IS_INDEXED: bool;

    /// Returns the number of indices.
    fn len(&self) -> usize;

    /// Returns the items of the claimed indices, in their order.
    ///
    /// # Panics
    /// If an index is not below [`len`](Self::len).
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = Self::Item>;
}

/// A source with exactly one item for each index, so that items have positions.
pub trait Indexed: Source {}

/// What a loop does with the items of a source.
pub(crate) trait Consumer<'s, 'e, P: Host, I>: Sync {
    /// What a part of the loop accumulates.
    type Part: Send;

    /// Returns what a part has accumulated before its first item.
    fn begin(&self) -> Self::Part;

    /// Takes the items of consecutive indices. `Break` leaves out the rest of the loop.
    fn take(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut Self::Part,
        indices: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<()>;

    /// Returns what two parts have accumulated.
    fn combine(&self, left: Self::Part, right: Self::Part) -> Self::Part;
}

/// A source and its consumer as the body of one loop.
pub(crate) struct Driven<S, C> {
    source: S,
    consumer: C,
}

impl<S: Source, C> Driven<S, C> {
    /// Runs the loop over all indices of `source`. Returns what its parts have accumulated.
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
    type Part = C::Part;

    fn begin(&self) -> C::Part {
        self.consumer.begin()
    }

    #[inline]
    fn run(
        &self,
        cx: &mut Cx<'s, 'e, P>,
        part: &mut C::Part,
        indices: Range<usize>,
    ) -> ControlFlow<()> {
        // SAFETY: this value is the body of one loop, made in `Driven::run` above, and the engine passes each index of it once at
        // most; the source is owned by this value, so no other claim reaches it.
        let claimed = unsafe { Claimed::new(indices.clone()) };
        let items = self.source.items(claimed);
        self.consumer.take(cx, part, indices, items)
    }

    fn combine(&self, left: C::Part, right: C::Part) -> C::Part {
        self.consumer.combine(left, right)
    }
}
