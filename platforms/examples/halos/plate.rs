//! The cells of a plate, row by row, in blocks of rows.
use tautline::globals::ArrayView;

/// Rows and columns, with the edges.
pub(crate) const SIDE: usize = 34;
/// Cells of a block.
pub(crate) const BLOCK: usize = 4 * SIDE;

/// Returns the first temperature of a cell: the upper edge is hot.
pub(crate) fn temperature(cell: usize) -> f64 {
    if cell < SIDE { 100.0 } else { 0.0 }
}

/// Computes the cells from `first` on of those around them, and returns the largest change.
pub(crate) fn relax(around: &ArrayView<f64>, first: usize, next: &mut [f64]) -> f64 {
    let mut most = 0f64;
    for (cell, next) in (first..).zip(next) {
        let (row, column, old) = (cell / SIDE, cell % SIDE, around[cell]);
        let is_edge = [row, column].iter().any(|at| [0, SIDE - 1].contains(at));
        *next = match is_edge {
            true => old,
            false => {
                let [above, below] = [cell - SIDE, cell + SIDE].map(|cell| around[cell]);
                (above + below + around[cell - 1] + around[cell + 1]) / 4.0
            }
        };
        most = most.max((*next - old).abs());
    }
    most
}
