//! Tiles of a grid that is stored row by row.

use super::{Claimed, Indexed, PerIndex, SliceMut, Source};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut, Range};
use core::slice;

/// The division of a grid into tiles. Those at the right and lower edges may be smaller.
#[derive(Clone, Copy, Debug)]
struct Tiling {
    rows: usize,
    columns: usize,
    height: usize,
    width: usize,
}

impl Tiling {
    fn new(cells: usize, columns: usize, (height, width): (usize, usize)) -> Self {
        assert!(
            height > 0 && width > 0,
            "a tile of {height} rows and {width} columns: both must be positive"
        );
        assert!(
            columns > 0 && cells % columns == 0,
            "a grid of {cells} cells has no rows of {columns}: the columns must divide the cells"
        );
        Self {
            rows: cells / columns,
            columns,
            height,
            width,
        }
    }

    /// Returns the number of tiles side by side.
    fn across(&self) -> usize {
        self.columns.div_ceil(self.width)
    }

    /// Returns the number of tiles.
    fn len(&self) -> usize {
        self.rows.div_ceil(self.height) * self.across()
    }

    /// Returns the rectangles of these tiles, row by row.
    fn areas(self, tiles: Range<usize>) -> impl Iterator<Item = Area> {
        assert!(tiles.end <= self.len());
        let across = self.across();
        tiles.map(move |tile| {
            let (row, column) = (tile / across * self.height, tile % across * self.width);
            Area {
                stride: self.columns,
                origin: (row, column),
                height: self.height.min(self.rows - row),
                width: self.width.min(self.columns - column),
            }
        })
    }
}

/// A rectangle of a grid that is stored row by row.
#[derive(Clone, Copy, Debug)]
struct Area {
    /// The columns of the grid.
    stride: usize,
    /// The row and the column of its first cell.
    origin: (usize, usize),
    height: usize,
    width: usize,
}

impl Area {
    /// Returns the position of its first cell in the grid.
    fn first(&self) -> usize {
        self.origin.0 * self.stride + self.origin.1
    }

    fn check(&self, row: usize) {
        let height = self.height;
        assert!(row < height, "row {row} of a tile with {height} rows");
    }
}

/// A mutable grid as a source of tiles, row by row.
#[derive(Debug)]
pub struct TilesMut<'a, T> {
    grid: SliceMut<'a, T>,
    tiling: Tiling,
}

impl<'a, T: Send> TilesMut<'a, T> {
    pub fn new(grid: SliceMut<'a, T>, columns: usize, tile: (usize, usize)) -> Self {
        Self {
            tiling: Tiling::new(grid.len(), columns, tile),
            grid,
        }
    }
}

impl<'a, T: Send> Source for TilesMut<'a, T> {
    type Item = TileMut<'a, T>;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.tiling.len()
    }

    fn begin(&self) {}

    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = TileMut<'a, T>> {
        let areas = self.tiling.areas(claimed.indices());
        areas.map(|area| TileMut {
            // SAFETY: the areas of a tiling of this grid are inside of it, so the first cell is.
            base: unsafe { self.grid.base().add(area.first()) },
            area,
            // The claim on the tile's number is the claim on its cells, as tiles are disjoint.
            borrowed: PhantomData,
        })
    }
}

impl<T: Send> Indexed for TilesMut<'_, T> {}

/// A shared grid as a source of tiles, row by row.
#[derive(Debug)]
pub struct Tiles<'a, T> {
    grid: &'a [T],
    tiling: Tiling,
}

impl<'a, T: Sync> Tiles<'a, T> {
    pub fn new(grid: &'a [T], columns: usize, tile: (usize, usize)) -> Self {
        Self {
            grid,
            tiling: Tiling::new(grid.len(), columns, tile),
        }
    }
}

impl<'a, T: Sync> Source for Tiles<'a, T> {
    type Item = Tile<'a, T>;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.tiling.len()
    }

    fn begin(&self) {}

    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = Tile<'a, T>> {
        let areas = self.tiling.areas(claimed.indices());
        areas.map(|area| Tile {
            cells: &self.grid[area.first()..],
            area,
        })
    }
}

impl<T: Sync> Indexed for Tiles<'_, T> {}

/// A rectangle of a grid, with shared access to its cells. `tile[i][k]` is the cell in its row `i`
/// and column `k`.
pub struct Tile<'a, T> {
    /// From its first cell to the end of the grid.
    cells: &'a [T],
    area: Area,
}

impl<T> Clone for Tile<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Tile<'_, T> {}

impl<T> fmt::Debug for Tile<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tile").field(&self.area).finish()
    }
}

impl<'a, T> Tile<'a, T> {
    /// Returns the row and the column of the tile's first cell in the grid.
    pub fn origin(&self) -> (usize, usize) {
        self.area.origin
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.area.height
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.area.width
    }

    /// Returns the rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &'a [T]> {
        let Self { cells, area } = *self;
        (0..area.height).map(move |row| &cells[row * area.stride..][..area.width])
    }
}

impl<T> Index<usize> for Tile<'_, T> {
    type Output = [T];

    #[inline]
    fn index(&self, row: usize) -> &[T] {
        self.area.check(row);
        &self.cells[row * self.area.stride..][..self.area.width]
    }
}

/// A rectangle of a grid, with exclusive access to its cells. `tile[i][k]` is the cell in its row
/// `i` and column `k`.
#[derive(Debug)]
pub struct TileMut<'a, T> {
    base: *mut T,
    area: Area,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: a tile is the only access to its cells, as a mutable slice is.
unsafe impl<T: Send> Send for TileMut<'_, T> {}
// SAFETY: a shared reference to a tile gives shared references to its cells only.
unsafe impl<T: Sync> Sync for TileMut<'_, T> {}

impl<T> TileMut<'_, T> {
    /// Returns the row and the column of the tile's first cell in the grid.
    pub fn origin(&self) -> (usize, usize) {
        self.area.origin
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.area.height
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.area.width
    }

    /// Returns the rows, from top to bottom.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let (base, Area { stride, width, .. }) = (self.base, self.area);
        (0..self.area.height).map(move |row| {
            // SAFETY: the row is inside of the tile, whose cells are borrowed mutably by this
            // iterator; rows are disjoint, and each is returned once.
            unsafe { slice::from_raw_parts_mut(base.add(row * stride), width) }
        })
    }
}

impl<T> Index<usize> for TileMut<'_, T> {
    type Output = [T];

    #[inline]
    fn index(&self, row: usize) -> &[T] {
        self.area.check(row);
        // SAFETY: the row is inside of the tile, whose cells are borrowed by the result.
        unsafe { slice::from_raw_parts(self.base.add(row * self.area.stride), self.area.width) }
    }
}

impl<T> IndexMut<usize> for TileMut<'_, T> {
    #[inline]
    fn index_mut(&mut self, row: usize) -> &mut [T] {
        self.area.check(row);
        // SAFETY: the row is inside of the tile, whose cells are borrowed mutably by the result.
        unsafe { slice::from_raw_parts_mut(self.base.add(row * self.area.stride), self.area.width) }
    }
}
