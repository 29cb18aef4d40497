//! The Cholesky factorization of a dense symmetric positive definite matrix: the lower triangular
//! matrix L with `A = L Lᵀ`.
//!
//! Tasks are few and long, and each needs up to three tiles of others: this is the test of data
//! flow with values that are moved from task to task and changed in place.
//!
//! # Algorithm
//! The right-looking algorithm of PLASMA (Buttari, Langou, Kurzak, Dongarra 2009) on the tiles of
//! the lower triangle. Step k factorizes the tile (k, k), solves for those below it with the
//! factor, and updates all tiles to their right with pairs of the solutions. The tile (i, j) has a
//! version for each step up to j, and a final one; a task takes the version before, changes it in
//! place, and puts the next one. So all updates of a tile are in the order of the steps, and the
//! result has the same bits for all numbers of workers.
//!
//! Tiles are stored by columns. Their kernels are those of the crate `faer`.
//!
//! # Proved
//! The same bits as [`sequential`], for all shapes; the factor against that of the whole matrix by
//! `faer`, and against matrices of which it is known; the residual (`apps/tests/cholesky.rs`).
#![forbid(unsafe_code)]

mod graph;
mod kernel;
mod market;
mod matrix;
mod residual;
mod shape;

pub use graph::{Measured, factorize};
pub use market::read;
pub use matrix::{Entries, Matrix};
pub use residual::residual;
pub use shape::Shape;

use kernel::{factor, solve, update};
use std::fmt;

/// A tile, by columns.
pub type Tile = Vec<f64>;

/// The factor of a matrix: the tiles of its lower triangle.
#[derive(Clone, Debug)]
pub struct Factor {
    shape: Shape,
    /// By rows of tiles. Those on the diagonal are 0 above it.
    tiles: Vec<Tile>,
}

/// A matrix that is not positive definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositive {
    /// The first row, from 1, whose pivot is not above 0.
    pub row: usize,
}

impl fmt::Display for NotPositive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row;
        write!(
            f,
            "the matrix is not positive definite: the pivot of row {row} is not above 0"
        )
    }
}

impl std::error::Error for NotPositive {}

impl Factor {
    /// Returns its rows and tiles.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the element of this row and column, from 0, which is 0 above the diagonal.
    ///
    /// # Panics
    /// If it is outside of the matrix.
    #[track_caller]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        let rows = self.shape.rows();
        assert!(
            row.max(column) < rows,
            "({row}, {column}): must be inside of {rows} rows"
        );
        let side = self.shape.side();
        let (i, j) = (row / side, column / side);
        if j > i {
            return 0.0;
        }
        let rows = self.shape.extent(i);
        self.tiles[self.shape.index(i, j)][column % side * rows + row % side]
    }

    /// Returns a hash of the bits of all elements. It does not depend on the division into tiles,
    /// but the elements do, in their last bits.
    pub fn checksum(&self) -> u64 {
        let mut sum = 0_u64;
        self.each(|row, column, value| {
            let place = mixed((row as u64) << 32 | column as u64);
            sum = sum.wrapping_add(mixed(value.to_bits() ^ place));
        });
        sum
    }

    /// Calls `f` with the row, the column and the value of each element of the lower triangle.
    fn each(&self, mut f: impl FnMut(usize, usize, f64)) {
        let side = self.shape.side();
        for ((i, j), tile) in self.shape.lower().zip(&self.tiles) {
            let rows = self.shape.extent(i);
            for (at, value) in tile.iter().enumerate() {
                let (row, column) = (i * side + at % rows, j * side + at / rows);
                if row >= column {
                    f(row, column, *value);
                }
            }
        }
    }
}

/// Whether all bits are equal.
impl PartialEq for Factor {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Tile, &Tile)| {
            let bits = |tile: &Tile| tile.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            bits(a) == bits(b)
        };
        self.shape == other.shape && self.tiles.iter().zip(&other.tiles).all(same)
    }
}

/// The mixing function of SplitMix64.
fn mixed(seed: u64) -> u64 {
    crate::random::SplitMix::new(seed).next()
}

/// Factorizes `matrix` on the calling thread, by the same operations on tiles as [`factorize`].
///
/// # Errors
/// A matrix that is not positive definite.
pub fn sequential(matrix: &Matrix, shape: Shape) -> Result<Factor, NotPositive> {
    let mut tiles: Vec<Tile> = shape
        .lower()
        .map(|(i, j)| matrix.tile(shape, i, j))
        .collect();
    let at = |i, j| shape.index(i, j);
    for k in 0..shape.tiles() {
        factor(shape, k, &mut tiles[at(k, k)])?;
        let (above, below) = tiles.split_at_mut(at(k, k) + 1);
        let diagonal = &above[at(k, k)];
        let solved = |i, j| at(i, j) - at(k, k) - 1;
        for i in k + 1..shape.tiles() {
            solve(shape, k, diagonal, &mut below[solved(i, k)]);
        }
        for i in k + 1..shape.tiles() {
            for j in k + 1..=i {
                let mut tile = std::mem::take(&mut below[solved(i, j)]);
                update(
                    shape,
                    (i, j, k),
                    &mut tile,
                    &below[solved(i, k)],
                    &below[solved(j, k)],
                );
                below[solved(i, j)] = tile;
            }
        }
    }
    Ok(Factor { shape, tiles })
}
