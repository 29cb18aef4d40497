//! Adaptors of sources whose items have positions.

use super::super::super::raw::{
    Backwards, Claimed, Indexed, Ordered, PerIndex, SliceMut, Source, Step, Tiles, TilesMut,
    Within, Zip,
};
use super::super::Par;
use super::super::source::{Chunked, IntoPar, SliceWindows};
use crate::port::Host;

impl<'x, 's, 'e, P: Host, S: Indexed> Par<'x, 's, 'e, P, S> {
    /// Pairs the items with those of `other` at the same position; the longer of the two is cut.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let (x, mut y) = ([1, 2, 3], [10, 20, 30]);
    /// cx.par(&x).zip(&mut y).for_each(|(x, y)| *y += x);
    /// assert_eq!(y, [11, 22, 33]);
    /// # }
    /// ```
    pub fn zip<I: IntoPar<Source: Indexed>>(
        self,
        other: I,
    ) -> Par<'x, 's, 'e, P, Zip<S, I::Source>> {
        self.with(|source| Zip::new(source, other.into_source()))
    }

    /// Pairs each item with its position, which comes first.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut squares = [0; 5];
    /// cx.par(&mut squares).enumerate().for_each(|(i, square)| *square = i * i);
    /// assert_eq!(squares, [0, 1, 4, 9, 16]);
    /// # }
    /// ```
    pub fn enumerate(self) -> Par<'x, 's, 'e, P, Enumerate<S>> {
        self.with(|source| Enumerate { source })
    }

    /// Reverses the order.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let down: Vec<_> = cx.par(0..4).rev().collect();
    /// assert_eq!(down, [3, 2, 1, 0]);
    /// # }
    /// ```
    pub fn rev(self) -> Par<'x, 's, 'e, P, Ordered<S, Backwards>> {
        self.with(Ordered::backwards)
    }

    /// Leaves out all items but the first and every `step`-th after it.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sevens: Vec<_> = cx.par(0..20).step_by(7).collect();
    /// assert_eq!(sevens, [0, 7, 14]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `step` is 0.
    pub fn step_by(self, step: usize) -> Par<'x, 's, 'e, P, Ordered<S, Step>> {
        assert!(step > 0, "the step must be positive");
        self.with(|source| Ordered::steps(source, step))
    }

    /// Leaves out the first `count` items.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let rest: Vec<_> = cx.par(&['a', 'b', 'c']).skip(1).collect();
    /// assert_eq!(rest, [&'b', &'c']);
    /// # }
    /// ```
    pub fn skip(self, count: usize) -> Par<'x, 's, 'e, P, Within<S>> {
        self.with(|source| Within::new(source, count..usize::MAX))
    }

    /// Leaves out all but the first `count` items.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(1..1_000_000u64).take(4).product::<u64>(), 24);
    /// # }
    /// ```
    pub fn take(self, count: usize) -> Par<'x, 's, 'e, P, Within<S>> {
        self.with(|source| Within::new(source, 0..count))
    }
}

impl<'x, 's, 'e, P: Host, S: Chunked> Par<'x, 's, 'e, P, S> {
    /// Divides a slice or range into slices or ranges of `size` items; the last one may be shorter.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let lengths: Vec<_> = cx.par(&[1, 2, 3, 4, 5]).chunks(2).map(<[_]>::len).collect();
    /// assert_eq!(lengths, [2, 2, 1]);
    /// let ranges: Vec<_> = cx.par(0..5).chunks(3).collect();
    /// assert_eq!(ranges, [0..3, 3..5]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn chunks(self, size: usize) -> Par<'x, 's, 'e, P, S::Chunks> {
        self.with(|source| source.chunks(size))
    }

    /// Divides a slice or range as [`chunks`](Self::chunks), without the last part if that is
    /// shorter.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let pairs = cx.par(&[1, 2, 3, 4, 5]).chunks_exact(2);
    /// assert_eq!(pairs.map(|pair| pair[0] * pair[1]).sum::<i32>(), 14);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn chunks_exact(self, size: usize) -> Par<'x, 's, 'e, P, Within<S::Chunks>> {
        let len = self.source.len();
        self.chunks(size).take(len / size)
    }
}

impl<'x, 's, 'e, 'a, P: Host, T: Sync> Par<'x, 's, 'e, P, &'a [T]> {
    /// Iterates over all parts of the slice that have `size` items, which overlap.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let rises = cx.par(&[1, 3, 2, 5]).windows(2).filter(|pair| pair[0] < pair[1]);
    /// assert_eq!(rises.count(), 2);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn windows(self, size: usize) -> Par<'x, 's, 'e, P, SliceWindows<'a, T>> {
        self.with(|slice| SliceWindows::new(slice, size))
    }

    /// As [`tiles_mut`](Par::tiles_mut), for a shared grid.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let grid: Vec<u32> = (0..6 * 10).collect();
    /// let sums = cx.par(&grid).tiles(10, (4, 4)).map(|tile| tile.rows().flatten().sum::<u32>());
    /// assert_eq!(sums.collect::<Vec<_>>(), [264, 328, 188, 372, 404, 214]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`tiles_mut`](Par::tiles_mut).
    pub fn tiles(
        self,
        columns: usize,
        (height, width): (usize, usize),
    ) -> Par<'x, 's, 'e, P, Tiles<'a, T>> {
        self.with(|slice| Tiles::new(slice, columns, (height, width)))
    }
}

impl<'x, 's, 'e, 'a, P: Host, T: Send> Par<'x, 's, 'e, P, SliceMut<'a, T>> {
    /// Divides a grid, stored row by row with `columns` items a row, into tiles of `height` rows
    /// and `width` columns. Those at the right and lower edges may be smaller.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut grid = [0; 6 * 10];
    /// cx.par(&mut grid).tiles_mut(10, (4, 4)).for_each(|mut tile| {
    ///     let (top, left) = tile.origin();
    ///     for row in 0..tile.height() {
    ///         for column in 0..tile.width() {
    ///             tile[row][column] = 10 * (top + row) + left + column;
    ///         }
    ///     }
    /// });
    /// assert!(grid.into_iter().eq(0..60));
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `columns` does not divide the number of items, or a number is 0.
    pub fn tiles_mut(
        self,
        columns: usize,
        (height, width): (usize, usize),
    ) -> Par<'x, 's, 'e, P, TilesMut<'a, T>> {
        self.with(|slice| TilesMut::new(slice, columns, (height, width)))
    }
}

/// The items of a source with their positions.
#[derive(Debug)]
pub struct Enumerate<S> {
    source: S,
}

impl<S: Indexed> Source for Enumerate<S> {
    type Item = (usize, S::Item);
    type State = S::State;
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(
        &self,
        claimed: Claimed,
        state: &mut S::State,
    ) -> impl Iterator<Item = (usize, S::Item)> {
        let indices = claimed.indices();
        indices.zip(self.source.items(claimed, state))
    }
}

impl<S: Indexed> Indexed for Enumerate<S> {}
