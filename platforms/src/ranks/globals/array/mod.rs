//! Arrays whose blocks are shared objects.

mod view;

pub use view::ArrayView;

use super::access::{Global, Snapshot};
use super::inlet::check_of_blocks;
use super::message::{Layout, ObjectId, Origin};
use super::operation::{AppliedAt, Block, Operation};
use super::record::Typed;
use super::{Datum, Globals, Number, Operator, Protocol};
use crate::Result;
use crate::execution::runtime::Cx;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::wire::{Bulk, Portable};

/// An array that all ranks share, in blocks: made by [`Globals::array`]. Clones are the same array.
///
/// Each block is a [`Global`] with a home of its own: tasks that change different blocks do not
/// wait for each other, and an access moves whole blocks. So an element that one rank changes often
/// should lie in no block that another one does.
pub struct GlobalArray<T: Datum>(Arc<Blocks<T>>);

struct Blocks<T: Datum> {
    layout: Arc<Layout>,
    objects: Box<[Global<Block<T>>]>,
    /// Replaces the element at an index of a block.
    replace: Operation<Block<T>, (u64, Bulk<T>), ()>,
}

impl<T: Datum> Clone for GlobalArray<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Datum> fmt::Debug for GlobalArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, block_length) = (self.len(), self.0.layout.block_length);
        write!(f, "an array of length {length} in blocks of {block_length}")
    }
}

impl Globals {
    /// Creates an array of some length in blocks of `block_length` elements; the last one may be
    /// shorter. `home` returns the home of a block, at which `init` returns the value of each
    /// element by its index. No message is sent: where ranks differ in the type, the call, a length
    /// or a home, their first access that communicates ends with an error that names both.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let sums = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     // Blocks of 4, 4 and 2 elements, at the ranks 0, 1 and 0.
    ///     let home = |block| Rank(block as u32 % 2);
    ///     let squares = world.globals().array(10, 4, home, |index| (index * index) as u64);
    ///     rt.run(|cx| {
    ///         let sum = squares.view(cx, 2..10)?.iter().sum::<u64>();
    ///         // No rank leaves before all have read.
    ///         world.team().barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(sum)
    ///     })
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [284, 284]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    /// A block is a value of a message, so it is at most as long as
    /// [one may be](crate::world::Limits).
    ///
    /// # Panics
    /// If `block_length` is 0, or the program has no rank that `home` returns.
    ///
    /// # Teamed
    /// A call of all ranks.
    #[track_caller]
    pub fn array<T: Datum>(
        &mut self,
        length: usize,
        block_length: usize,
        home: impl FnMut(usize) -> Rank,
        init: impl FnMut(usize) -> T,
    ) -> GlobalArray<T> {
        self.array_as(Protocol::Directory, length, block_length, home, init)
    }

    /// As [`array`](Self::array), with the protocol by which other ranks than its home access each
    /// block.
    ///
    /// # Panics
    /// As [`array`](Self::array).
    ///
    /// # Teamed
    /// A call of all ranks.
    #[track_caller]
    pub fn array_as<T: Datum>(
        &mut self,
        protocol: Protocol,
        length: usize,
        block_length: usize,
        home: impl FnMut(usize) -> Rank,
        mut init: impl FnMut(usize) -> T,
    ) -> GlobalArray<T> {
        const { assert!(size_of::<T>() > 0, "an element has a size") };
        assert!(block_length > 0, "an array of {length} in blocks of 0");
        let (site, number) = (Location::caller(), self.created);
        let homes: Box<[Rank]> = (0..length.div_ceil(block_length)).map(home).collect();
        let (here, ranks) = (self.shared.outlet.here, self.shared.outlet.ranks);
        for (block, home) in homes.iter().enumerate() {
            assert!(
                home.0 < ranks,
                "a home of block {block} at {home} of {ranks} ranks"
            );
        }
        let layout = Arc::new(Layout {
            length,
            block_length,
            homes,
        });
        self.created += 1;
        let check = check_of_blocks::<T>(site, &layout);
        let origin = Origin::of_array(site, &layout);
        let object = |(block, home): (usize, &Rank)| {
            let id = ObjectId::of_block(*home, number, block);
            let value = (*home == here).then(|| Block::new(layout.range(block).map(&mut init)));
            let record = self
                .shared
                .enter(id, origin.at(id.block), check, protocol, value);
            Global::new(&self.engine, record)
        };
        let objects = layout.homes.iter().enumerate().map(object).collect();
        self.shared.created::<Block<T>>(number, origin);
        let replace = self.shared.outlet.declare(site, replace::<T>);
        GlobalArray(Arc::new(Blocks {
            layout,
            objects,
            replace,
        }))
    }
}

fn replace<T: Datum>(block: &mut Block<T>, (at, by): (u64, Bulk<T>)) {
    block[at as usize] = by.0[0];
}

impl<T: Number + Portable> Typed<Block<T>> for AppliedAt<T> {
    type Result = T;

    fn call(self, block: &mut Block<T>) -> T {
        self.apply(block)
    }
}

/// Each access waits, if it must, in a task, whose worker runs other tasks until then.
///
/// # Errors
/// All accesses: as those of a [`Global`]. The line names the block.
impl<T: Datum> GlobalArray<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.0.layout.length
    }

    /// Returns whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.0.objects.len()
    }

    /// Returns the indices of the elements of a block.
    ///
    /// # Panics
    /// If the array has no such block.
    #[track_caller]
    pub fn block_range(&self, block: usize) -> Range<usize> {
        _ = self.block(block);
        self.0.layout.range(block)
    }

    /// Returns the rank at which a block begins.
    ///
    /// # Panics
    /// If the array has no such block.
    #[track_caller]
    pub fn home(&self, block: usize) -> Rank {
        _ = self.block(block);
        self.0.layout.homes[block]
    }

    /// Returns a block as the shared object that it is: for its name, its protocol, and operations.
    ///
    /// ```
    /// use tautline::globals::Block;
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let ends = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut globals = world.globals();
    ///     let totals = globals.array(6, 3, |block| Rank(block as u32), |_| 0u64);
    ///     let add = globals.operation(|totals: &mut Block<u64>, more: [u64; 3]| {
    ///         totals.iter_mut().zip(more).for_each(|(total, more)| *total += more);
    ///     });
    ///     rt.run(|cx| {
    ///         totals.block(1).update(cx, &add, [1, 2, 3])?;
    ///         world.team().barrier().wait(cx)?;
    ///         let end = totals.view(cx, 0..6)?.contiguous().into_owned();
    ///         world.team().barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(end)
    ///     })
    /// });
    /// for end in ends {
    ///     assert_eq!(end?, [0, 0, 0, 2, 4, 6]);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the array has no such block.
    #[track_caller]
    pub fn block(&self, block: usize) -> &Global<Block<T>> {
        let blocks = self.blocks();
        assert!(block < blocks, "block {block} of an array of {blocks}");
        &self.0.objects[block]
    }

    /// Returns the block with an element, and the index of that in it.
    #[track_caller]
    fn find(&self, index: usize) -> (&Global<Block<T>>, usize) {
        let (length, block_length) = (self.len(), self.0.layout.block_length);
        assert!(index < length, "index {index} of an array of {length}");
        (&self.0.objects[index / block_length], index % block_length)
    }

    /// Returns the blocks with the elements of a range.
    #[track_caller]
    fn covering(&self, range: &Range<usize>) -> &[Global<Block<T>>] {
        let (length, block_length) = (self.len(), self.0.layout.block_length);
        assert!(
            range.start <= range.end && range.end <= length,
            "range {range:?} of an array of {length}"
        );
        match range.is_empty() {
            true => &[],
            false => &self.0.objects[range.start / block_length..range.end.div_ceil(block_length)],
        }
    }

    /// Returns an element.
    ///
    /// # Panics
    /// If the array has no such element.
    #[track_caller]
    pub fn get(&self, cx: &mut Cx<'_, '_>, index: usize) -> Result<T> {
        let (block, at) = self.find(index);
        block.read(cx).map(|block| block[at])
    }

    /// Replaces an element, where its block is.
    ///
    /// # Panics
    /// If the array has no such element.
    #[track_caller]
    pub fn set(&self, cx: &mut Cx<'_, '_>, index: usize, value: T) -> Result<()> {
        let (block, at) = self.find(index);
        block.update(cx, &self.0.replace, (at as u64, Bulk(vec![value])))
    }

    /// Combines an element with a number, where its block is, and returns the former element.
    ///
    /// ```
    /// use tautline::globals::{Operator, Protocol};
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let counts = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut globals = world.globals();
    ///     let home = |block| Rank(block as u32);
    ///     let counts = globals.array_as(Protocol::Home, 6, 2, home, |_| 0u32);
    ///     rt.run(|cx| {
    ///         counts.set(cx, world.rank().index(), 7)?;
    ///         counts.apply(cx, Operator::Sum, 5, 1)?;
    ///         world.team().barrier().wait(cx)?;
    ///         let all = counts.view(cx, 0..6)?.contiguous().into_owned();
    ///         world.team().barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(all)
    ///     })
    /// });
    /// for counts in counts {
    ///     assert_eq!(counts?, [7, 7, 7, 0, 0, 3]);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the array has no such element, or the operator does not [apply](Operator::applies_to) to
    /// such numbers.
    #[track_caller]
    pub fn apply(&self, cx: &mut Cx<'_, '_>, operator: Operator, index: usize, by: T) -> Result<T>
    where
        T: Number + Portable,
    {
        super::access::assert_applies::<T>(operator);
        let (block, at) = self.find(index);
        block.call(cx, AppliedAt::new(operator, at, by))
    }

    /// Returns the elements of a range: a view of each of its blocks, which has the values at some
    /// moment of this call, other blocks at other ones. All blocks are requested before one of them
    /// is waited for.
    ///
    /// # Panics
    /// If the array does not have the range.
    #[track_caller]
    pub fn view(&self, cx: &mut Cx<'_, '_>, range: Range<usize>) -> Result<ArrayView<T>> {
        let objects = self.covering(&range);
        let begun: Vec<_> = objects.iter().map(Global::begin_view).collect();
        let begun = objects.iter().zip(begun);
        let blocks = begun.map(|(object, begun)| object.end_view(cx, begun));
        let blocks = blocks.collect::<Result<_>>()?;
        Ok(ArrayView::new(range, self.0.layout.block_length, blocks))
    }

    /// As [`view`](Self::view), in async code: no worker is occupied until then. The access begins
    /// at once.
    ///
    /// # Panics
    /// As [`view`](Self::view).
    #[track_caller]
    pub fn view_async(
        &self,
        range: Range<usize>,
    ) -> impl Future<Output = Result<ArrayView<T, Snapshot<Block<T>>>>> + Send + use<T> {
        let block_length = self.0.layout.block_length;
        let objects = self.covering(&range);
        let begun: Vec<_> = objects.iter().map(Global::read_async).collect();
        if let Some(object) = objects.first() {
            object.look();
        }
        async move {
            let mut blocks = Vec::with_capacity(begun.len());
            for begun in begun {
                blocks.push(begun.await?);
            }
            Ok(ArrayView::new(range, block_length, blocks))
        }
    }

    /// Requests copies of the blocks of a range, where this rank has none, for later accesses.
    ///
    /// # Panics
    /// If the array does not have the range.
    #[track_caller]
    pub fn prefetch(&self, range: Range<usize>) {
        let objects = self.covering(&range);
        objects.iter().for_each(|object| drop(object.begin_view()));
        if let Some(object) = objects.first() {
            object.look();
        }
    }

    /// Changes a block by a closure, which runs in this process, and may borrow what its caller
    /// has: views, for example. It must be short, and access no shared object: other accesses to
    /// the block wait for it.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// // Each rank has a block, and adds to it the last element of the one before.
    /// let ends = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let home = |block| Rank(block as u32);
    ///     let cells = world.globals().array(12, 4, home, |index| index as f64);
    ///     let own = world.rank().index();
    ///     rt.run(|cx| {
    ///         let mut team = world.team();
    ///         let first = cells.block_range(own).start;
    ///         let halo = cells.view(cx, first.saturating_sub(1)..first)?;
    ///         // No rank changes its block before all have the halos.
    ///         team.barrier().wait(cx)?;
    ///         let more = halo.iter().sum::<f64>();
    ///         cells.edit(cx, own, |cells| cells.iter_mut().for_each(|cell| *cell += more))?;
    ///         team.barrier().wait(cx)?;
    ///         let last = cells.get(cx, 11)?;
    ///         team.barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(last)
    ///     })
    /// });
    /// assert_eq!(ends.into_iter().collect::<Result<Vec<_>, _>>()?, [18.0; 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the array has no such block, or the closure panics: the block is as before.
    #[track_caller]
    pub fn edit<R: Send>(
        &self,
        cx: &mut Cx<'_, '_>,
        block: usize,
        change: impl FnOnce(&mut [T]) -> R + Send,
    ) -> Result<R> {
        let block = self.block(block);
        block.modify(cx, |elements: &mut Block<T>| change(elements))
    }

    /// As [`edit`](Self::edit), in async code, by a closure that borrows nothing: no worker is
    /// occupied until then. The access begins at once, and is performed also if the result is
    /// dropped.
    ///
    /// # Panics
    /// As [`edit`](Self::edit).
    #[track_caller]
    pub fn edit_async<R: Send + 'static>(
        &self,
        block: usize,
        change: impl FnOnce(&mut [T]) -> R + Send + 'static,
    ) -> impl Future<Output = Result<R>> + Send {
        let block = self.block(block);
        block.modify_async(move |elements: &mut Block<T>| change(elements))
    }
}
