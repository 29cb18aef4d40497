//! Loops whose iterations cost differently, for every scheduler that is compared.

use std::hint::black_box;

/// A chain of `n` dependent steps, which no compiler shortens.
pub(crate) fn steps(n: usize) -> f64 {
    (0..n).fold(black_box(1.0), |x, _| x * 0.999 + 0.001)
}

/// A row of the Mandelbrot set, 512 points wide.
pub(crate) fn mandelbrot(row: usize) -> u32 {
    let y = row as f64 / 512.0 - 1.0;
    let point = |column: usize| {
        let x = column as f64 / 256.0 - 1.5;
        let (mut a, mut b) = (0.0f64, 0.0f64);
        let escapes = (0..200u32).find(|_| {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            a * a + b * b > 4.0
        });
        escapes.unwrap_or(200)
    };
    (0..512).map(point).sum()
}

/// A step count from the hash of an index, geometrically distributed around 256.
pub(crate) fn geometric(i: usize) -> usize {
    let hash = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    (-256.0 * (1.0 - hash as f64 / (1u64 << 53) as f64).ln()) as usize
}
