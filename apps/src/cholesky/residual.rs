//! The residual of a factor.

use super::{Factor, Matrix};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, Par};

/// Returns `|A - L Lᵀ| / (n ε |A|)` in the norm of Frobenius, where `n` is the number of rows and ε
/// the distance from 1 to the next number: 1 or less for a factor that is as precise as the numbers
/// allow. The product is computed by `faer` on the calling thread. It is 0 of a matrix without
/// rows, and NaN if an element of the factor is none or infinite.
///
/// # Panics
/// If `factor` has another number of rows.
#[track_caller]
pub fn residual(matrix: &Matrix, factor: &Factor) -> f64 {
    let (shape, rows) = (factor.shape, matrix.rows());
    assert_eq!(shape.rows(), rows, "the factor of another matrix");
    if rows == 0 {
        return 0.0;
    }
    let (mut a, mut l) = (Mat::<f64>::zeros(rows, rows), Mat::<f64>::zeros(rows, rows));
    let mut greatest = 0.0_f64;
    let side = shape.side();
    for (i, j) in shape.lower() {
        let extent = shape.extent(i);
        for (at, value) in matrix.tile(shape, i, j).into_iter().enumerate() {
            a[(i * side + at % extent, j * side + at / extent)] = value;
            greatest = greatest.max(value.abs());
        }
    }
    factor.each(|row, column, value| l[(row, column)] = value);
    // In units of the greatest element, whose squares do not overflow.
    let whole = norm(&a, greatest);
    triangular::matmul(
        &mut a,
        BlockStructure::TriangularLower,
        Accum::Add,
        &l,
        BlockStructure::TriangularLower,
        l.transpose(),
        BlockStructure::TriangularUpper,
        -1.0,
        Par::Seq,
    );
    norm(&a, greatest) / (rows as f64 * f64::EPSILON * whole)
}

/// Returns the norm of the symmetric matrix with this lower triangle.
fn norm(lower: &Mat<f64>, unit: f64) -> f64 {
    let mut sum = 0.0;
    for column in 0..lower.ncols() {
        for row in column..lower.nrows() {
            let value = lower[(row, column)] / unit;
            sum += value * value * if row == column { 1.0 } else { 2.0 };
        }
    }
    sum.sqrt()
}
