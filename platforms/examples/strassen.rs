//! Strassen's product of matrices: seven products of quarters at the same time, instead of eight.
use tautline::prelude::*;

/// A square matrix, row by row.
type Matrix = Vec<i64>;
const SMALL: usize = 32;

/// Strassen 1969. A row is a product: what is taken of the four quarters of either factor, and
/// what it gives to the four quarters of the result.
#[rustfmt::skip] // A table.
const PRODUCTS: [[[i64; 4]; 3]; 7] = [
    [[1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]],
    [[0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 1, -1]],
    [[1, 0, 0, 0], [0, 1, 0, -1], [0, 1, 0, 1]],
    [[0, 0, 0, 1], [-1, 0, 1, 0], [1, 0, 1, 0]],
    [[1, 1, 0, 0], [0, 0, 0, 1], [-1, 1, 0, 0]],
    [[-1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]],
    [[0, 1, 0, -1], [0, 0, 1, 1], [1, 0, 0, 0]],
];

/// This part of each quarter of a matrix of `n` rows.
fn mix(m: &[i64], n: usize, much: [i64; 4]) -> Matrix {
    let corners = [0, n / 2, n * n / 2, n * n / 2 + n / 2];
    let at = |i| i / (n / 2) * n + i % (n / 2);
    let one = |i| (0..4).map(|q| much[q] * m[corners[q] + at(i)]).sum();
    (0..n * n / 4).map(one).collect()
}

fn product(cx: &mut Cx, a: &[i64], b: &[i64], n: usize) -> Matrix {
    if n <= SMALL {
        let at = |i, j| (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
        return (0..n * n).map(|ij| at(ij / n, ij % n)).collect();
    }
    let half = n / 2;
    let mut products: [Matrix; 7] = Default::default();
    cx.scope(|cx| {
        for (place, [left, right, _]) in products.iter_mut().zip(PRODUCTS) {
            cx.spawn(move |cx| *place = product(cx, &mix(a, n, left), &mix(b, n, right), half));
        }
    });
    let one = |i: usize, j: usize| {
        let (quarter, at) = (i / half * 2 + j / half, i % half * half + j % half);
        (0..7)
            .map(|p| PRODUCTS[p][2][quarter] * products[p][at])
            .sum()
    };
    (0..n * n).map(|ij| one(ij / n, ij % n)).collect()
}

fn main() -> tautline::Result<()> {
    let fill = |f: fn(i64, i64) -> i64| (0..1 << 16).map(|at| f(at >> 8, at & 255)).collect();
    let (a, b): (Matrix, Matrix) = (fill(|i, k| i - k), fill(|k, j| k * j + 1));
    let c = Runtime::new()?.run(|cx| product(cx, &a, &b, 256));
    // The sum of (i - k) (k j + 1) over k; those of k and of its square are 32 640 and 5 559 680.
    let right: Matrix = fill(|i, j| (i * j - 1) * 32_640 + 256 * i - j * 5_559_680);
    assert_eq!(c, right);
    println!("256 by 256: as in closed form");
    Ok(())
}
