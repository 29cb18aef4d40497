//! The operations on tiles, by `faer` on the calling thread.

use super::{NotPositive, Shape};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::default;
use faer::{Accum, MatMut, MatRef, Par};

/// Factorizes the tile (k, k) in place, and clears what is above its diagonal.
pub(super) fn factor(shape: Shape, k: usize, tile: &mut [f64]) -> Result<(), NotPositive> {
    let rows = shape.extent(k);
    let scratch = cholesky_in_place_scratch::<f64>(rows, Par::Seq, default());
    let mut memory = MemBuffer::new(scratch);
    let factorized = cholesky_in_place(
        MatMut::from_column_major_slice_mut(tile, rows, rows),
        LltRegularization::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        default(),
    );
    if let Err(LltError::NonPositivePivot { index }) = factorized {
        return Err(NotPositive {
            row: k * shape.side() + index + 1,
        });
    }
    for (column, values) in tile.chunks_exact_mut(rows).enumerate() {
        values[..column].fill(0.0);
    }
    Ok(())
}

/// Replaces the tile X below the factor L of the tile (k, k) by `X L⁻ᵀ`.
pub(super) fn solve(shape: Shape, k: usize, l: &[f64], x: &mut [f64]) {
    let columns = shape.extent(k);
    let rows = x.len() / columns;
    let l = MatRef::from_column_major_slice(l, columns, columns);
    let x = MatMut::from_column_major_slice_mut(x, rows, columns);
    solve_lower_triangular_in_place(l, x.transpose_mut(), Par::Seq);
}

/// Subtracts `X Yᵀ` from the tile (i, j), where X and Y are the tiles (i, k) and (j, k); of a tile
/// on the diagonal, the lower triangle.
pub(super) fn update(
    shape: Shape,
    (i, j, k): (usize, usize, usize),
    tile: &mut [f64],
    x: &[f64],
    y: &[f64],
) {
    let [rows, columns, inner] = [i, j, k].map(|at| shape.extent(at));
    let tile = MatMut::from_column_major_slice_mut(tile, rows, columns);
    let x = MatRef::from_column_major_slice(x, rows, inner);
    let y = MatRef::from_column_major_slice(y, columns, inner).transpose();
    match i == j {
        true => triangular::matmul(
            tile,
            BlockStructure::TriangularLower,
            Accum::Add,
            x,
            BlockStructure::Rectangular,
            y,
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        ),
        false => matmul(tile, Accum::Add, x, y, -1.0, Par::Seq),
    }
}
