//! Tiles of a grid that is stored row by row.

use super::{Claimed, Indexed, SliceMut, Source};
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::slice;

/// A grid as a source of tiles, row by row. Tiles at the right and lower edges may be smaller.
#[derive(Debug)]
pub struct Tiles<'a, T> {
    grid: SliceMut<'a, T>,
    rows: usize,
    columns: usize,
    height: usize,
    width: usize,
}

impl<'a, T: Send> Tiles<'a, T> {
    pub fn new(grid: SliceMut<'a, T>, columns: usize, (height, width): (usize, usize)) -> Self {
        assert!(
            height > 0 && width > 0,
            "a tile of {height} rows and {width} columns: both must be positive"
        );
        let cells = grid.len();
        assert!(
            columns > 0 && cells % columns == 0,
            "a grid of {cells} cells has no rows of {columns}: the columns must divide the cells"
        );
        Self {
            rows: cells / columns,
            grid,
            columns,
            height,
            width,
        }
    }

    /// Returns the number of tiles side by side.
    fn across(&self) -> usize {
        self.columns.div_ceil(self.width)
    }
}

impl<'a, T: Send> Source for Tiles<'a, T> {
    type Item = TileMut<'a, T>;
    const IS_INDEXED: bool = true;

    fn len(&self) -> usize {
        self.rows.div_ceil(self.height) * self.across()
    }

    fn items(&self, claimed: Claimed) -> impl Iterator<Item = TileMut<'a, T>> {
        assert!(claimed.indices().end <= self.len());
        let across = self.across();
        claimed.indices().map(move |tile| {
            let (row, column) = (tile / across * self.height, tile % across * self.width);
            TileMut {
                // SAFETY: the tile's number is below their number, so its first cell is inside of the grid.
                base: unsafe { self.grid.base().add(row * self.columns + column) },
                stride: self.columns,
                origin: (row, column),
                height: self.height.min(self.rows - row),
                width: self.width.min(self.columns - column),
                // The claim on the tile's number is the claim on its cells, as tiles are disjoint.
                borrowed: PhantomData,
            }
        })
    }
}

impl<T: Send> Indexed for Tiles<'_, T> {}

/// A rectangle of a grid, with exclusive access to its cells. `tile[i][k]` is the cell in its row `i` and column `k`.
#[derive(Debug)]
pub struct TileMut<'a, T> {
    base: *mut T,
    stride: usize,
    origin: (usize, usize),
    height: usize,
    width: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: a tile is the only access to its cells, as a mutable slice is.
unsafe impl<T: Send> Send for TileMut<'_, T> {}
// SAFETY: a shared reference to a tile gives shared references to its cells only.
unsafe impl<T: Sync> Sync for TileMut<'_, T> {}

impl<T> TileMut<'_, T> {
    /// Returns the row and the column of the tile's first cell in the grid.
    pub fn origin(&self) -> (usize, usize) {
        self.origin
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the rows, from top to bottom.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let (base, stride, width) = (self.base, self.stride, self.width);
        (0..self.height).map(move |row| {
            // SAFETY: the row is inside of the tile, whose cells are borrowed mutably by this iterator; rows are disjoint, and
            // each is returned once.
            unsafe { slice::from_raw_parts_mut(base.add(row * stride), width) }
        })
    }

    fn check(&self, row: usize) {
        let height = self.height;
        assert!(row < height, "row {row} of a tile with {height} rows");
    }
}

impl<T> Index<usize> for TileMut<'_, T> {
    type Output = [T];

    #[inline]
    fn index(&self, row: usize) -> &[T] {
        self.check(row);
        // SAFETY: the row is inside of the tile, whose cells are borrowed by the result.
        unsafe { slice::from_raw_parts(self.base.add(row * self.stride), self.width) }
    }
}

impl<T> IndexMut<usize> for TileMut<'_, T> {
    #[inline]
    fn index_mut(&mut self, row: usize) -> &mut [T] {
        self.check(row);
        // SAFETY: the row is inside of the tile, whose cells are borrowed mutably by the result.
        unsafe { slice::from_raw_parts_mut(self.base.add(row * self.stride), self.width) }
    }
}
