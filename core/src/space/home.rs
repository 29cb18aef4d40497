//! Home functions: the assignment of names that are numbers to ranks.
//!
//! | keys | function | ranks take |
//! |---|---|---|
//! | numbers | [`cyclic`] | turns |
//! | | [`blocks`] | contiguous blocks |
//! | tiles of a matrix | [`block_cyclic`] | turns in both directions, over a [`Grid`], as in ScaLAPACK |
//! | | [`grid_blocks`] | contiguous blocks of rows and columns, over a [`Grid`] |
//! | | [`column_blocks`] | contiguous blocks of columns |
//! | | [`diagonals`] | a contiguous piece of each anti-diagonal |
//!
//! All ranks must have the same function, so each depends on its arguments alone. Of two contiguous
//! blocks or pieces of one division, neither has two elements more than the other.
//!
//! A function decides how many values travel, not what a program computes. Tiles of a wavefront, in
//! which each tile reads three edges of tiles above and to the left of it, on 20 x 20 tiles:
//!
//! | ranks | [`cyclic`] by rows | [`diagonals`] | [`column_blocks`] | [`grid_blocks`] |
//! |---|---|---|---|---|
//! | 2 | 741 | 38 | 39 | 39 |
//! | 4 | 741 | 144 | 117 | 77 |
//! | 8 | 1121 | 326 | 273 | 153 |
//!
//! The pieces of a diagonal are all there at the same time, so [`diagonals`] keeps the ranks busy
//! from the first diagonal with enough tiles on; blocks are busy one after the other.
//!
//! A number that is outside of the extents is a mistake of the program: the functions panic.

use crate::id::Rank;
use core::fmt;

/// The ranks as a rectangle of rows and columns, numbered by rows.
///
/// ```
/// use tautline_core::space::home::Grid;
///
/// assert_eq!(Grid::square(6), Grid::new(2, 3));
/// assert_eq!(Grid::square(7).to_string(), "1 x 7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    rows: u32,
    columns: u32,
}

impl Grid {
    /// Creates a grid of this number of rows and columns of ranks.
    ///
    /// # Panics
    /// If one of them is 0, or there are 2^32 ranks or more.
    #[track_caller]
    pub fn new(rows: u32, columns: u32) -> Self {
        assert!(
            rows.checked_mul(columns).is_some_and(|ranks| ranks > 0),
            "a grid of {rows} x {columns} ranks: must have at least 1 and less than 2^32"
        );
        Self { rows, columns }
    }

    /// Creates the grid of this number of ranks whose sides differ least. It has no more rows than
    /// columns; that of a prime number has one row.
    ///
    /// # Panics
    /// If there are 0 ranks.
    #[track_caller]
    pub fn square(ranks: u32) -> Self {
        needs_ranks(ranks);
        let mut rows = ranks.isqrt();
        while !ranks.is_multiple_of(rows) {
            rows -= 1;
        }
        Self::new(rows, ranks / rows)
    }

    /// Returns the number of rows of ranks.
    pub const fn rows(self) -> u32 {
        self.rows
    }

    /// Returns the number of columns of ranks.
    pub const fn columns(self) -> u32 {
        self.columns
    }

    /// Returns the number of ranks.
    pub const fn ranks(self) -> u32 {
        self.rows * self.columns
    }

    fn rank(self, row: u32, column: u32) -> Rank {
        Rank(row * self.columns + column)
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.rows, self.columns)
    }
}

/// Returns the function by which number `i` is at rank `i mod ranks`.
///
/// # Panics
/// If there are 0 ranks.
///
/// ```
/// use tautline_core::{Rank, space::home};
///
/// let at = home::cyclic(3);
/// assert_eq!([0, 1, 2, 3].map(at), [Rank(0), Rank(1), Rank(2), Rank(0)]);
/// ```
#[track_caller]
pub fn cyclic(ranks: u32) -> impl Fn(u64) -> Rank + Copy + Send + Sync + 'static {
    needs_ranks(ranks);
    // Below the number of ranks.
    move |i| Rank((i % u64::from(ranks)) as u32)
}

/// Returns the function that divides the numbers below `length` into contiguous blocks, in the
/// order of the ranks. With more ranks than numbers some have none.
///
/// # Panics
/// If there are 0 ranks or the length is 0; the function for a number that is not below `length`.
///
/// ```
/// use tautline_core::{Rank, space::home};
///
/// let at = home::blocks(5, 2);
/// assert_eq!([0, 2, 3, 4].map(at), [Rank(0), Rank(0), Rank(1), Rank(1)]);
/// ```
#[track_caller]
pub fn blocks(length: u64, ranks: u32) -> impl Fn(u64) -> Rank + Copy + Send + Sync + 'static {
    needs_ranks(ranks);
    assert!(
        length > 0,
        "a length of {length}: a home function needs at least 1"
    );
    move |i| {
        assert!(i < length, "number {i}: must be below the length, {length}");
        Rank(block(i, length, ranks))
    }
}

/// Returns the function by which tile (i, j) is in row `i mod rows` and column `j mod columns` of
/// the grid.
///
/// ```
/// use tautline_core::{Rank, space::home};
///
/// let at = home::block_cyclic(home::Grid::new(2, 3));
/// assert_eq!((at(0, 4), at(3, 0), at(5, 5)), (Rank(1), Rank(3), Rank(5)));
/// ```
pub fn block_cyclic(grid: Grid) -> impl Fn(u32, u32) -> Rank + Copy + Send + Sync + 'static {
    move |i, j| grid.rank(i % grid.rows, j % grid.columns)
}

/// Returns the function that divides a matrix of tiles into as many contiguous blocks of rows and
/// of columns as the grid has: a rank has the tiles of one of each.
///
/// # Panics
/// If the matrix has 0 rows or columns; the function for a tile outside of it.
///
/// ```
/// use tautline_core::{Rank, space::home};
///
/// let at = home::grid_blocks(4, 6, home::Grid::new(2, 3));
/// assert_eq!((at(0, 0), at(1, 4), at(3, 5)), (Rank(0), Rank(2), Rank(5)));
/// ```
#[track_caller]
pub fn grid_blocks(
    rows: u32,
    columns: u32,
    grid: Grid,
) -> impl Fn(u32, u32) -> Rank + Copy + Send + Sync + 'static {
    needs_tiles(rows, columns);
    move |i, j| {
        is_inside(i, j, rows, columns);
        let row = block(i.into(), rows.into(), grid.rows);
        grid.rank(row, block(j.into(), columns.into(), grid.columns))
    }
}

/// Returns the function that divides the columns of a matrix of tiles into contiguous blocks.
///
/// # Panics
/// If there are 0 ranks, rows or columns; the function for a tile outside of the matrix.
///
/// ```
/// use tautline_core::{Rank, space::home};
///
/// let at = home::column_blocks(9, 4, 2);
/// assert_eq!((at(8, 1), at(0, 2)), (Rank(0), Rank(1)));
/// ```
#[track_caller]
pub fn column_blocks(
    rows: u32,
    columns: u32,
    ranks: u32,
) -> impl Fn(u32, u32) -> Rank + Copy + Send + Sync + 'static {
    needs_ranks(ranks);
    grid_blocks(rows, columns, Grid::new(1, ranks))
}

/// Returns the function that divides each anti-diagonal of a matrix of tiles, which has those of
/// one sum i + j, into contiguous pieces: in the order of the ranks, by rows.
///
/// # Panics
/// If there are 0 ranks, rows or columns; the function for a tile outside of the matrix.
///
/// ```
/// use tautline_core::{Rank, space::home};
///
/// let at = home::diagonals(4, 4, 2);
/// assert_eq!([at(0, 3), at(1, 2), at(2, 1), at(3, 0)].map(|rank| rank.0), [0, 0, 1, 1]);
/// assert_eq!([at(2, 3), at(3, 2)], [Rank(0), Rank(1)]);
/// ```
#[track_caller]
pub fn diagonals(
    rows: u32,
    columns: u32,
    ranks: u32,
) -> impl Fn(u32, u32) -> Rank + Copy + Send + Sync + 'static {
    needs_ranks(ranks);
    needs_tiles(rows, columns);
    move |i, j| {
        is_inside(i, j, rows, columns);
        let (sum, last) = (u64::from(i) + u64::from(j), u64::from(columns - 1));
        // The rows of the diagonal: the first in which its column is inside, and the last one.
        let first = sum.saturating_sub(last);
        let end = sum.min(u64::from(rows - 1)) + 1;
        Rank(block(u64::from(i) - first, end - first, ranks))
    }
}

/// Returns the block of number `i` of `length`, of `count`.
fn block(i: u64, length: u64, count: u32) -> u32 {
    // Below `count`, since `i` is below `length`.
    (u128::from(i) * u128::from(count) / u128::from(length)) as u32
}

#[track_caller]
fn needs_ranks(ranks: u32) {
    assert!(ranks > 0, "{ranks} ranks: a home function needs at least 1");
}

#[track_caller]
fn needs_tiles(rows: u32, columns: u32) {
    assert!(
        rows > 0 && columns > 0,
        "{rows} x {columns} tiles: a home function needs at least 1 x 1"
    );
}

fn is_inside(i: u32, j: u32, rows: u32, columns: u32) {
    assert!(
        i < rows && j < columns,
        "tile ({i}, {j}): must be inside of {rows} x {columns} tiles"
    );
}
