//! A product of matrices: the longest side of a block is halved until the block fits a cache.
use tautline::prelude::*;

const SIZE: usize = 256;
const SMALL: usize = 32;
/// A block to be written, row by row, and one to be read, from some row and column on.
type Block<'a> = Vec<&'a mut [i64]>;
type Part<'a> = (&'a [i64], usize, usize);

fn beyond((all, row, column): Part, down: usize, right: usize) -> Part {
    (all, row + down, column + right)
}

/// Adds to `c` the product of `a` and `b`, which share `depth` columns and rows.
fn add(cx: &mut Cx, mut c: Block, a: Part, b: Part, depth: usize) {
    let (rows, columns) = (c.len(), c[0].len());
    if rows.max(columns).max(depth) <= SMALL {
        for (i, row) in c.iter_mut().enumerate() {
            for k in 0..depth {
                let x = a.0[(a.1 + i) * SIZE + a.2 + k];
                let line = &b.0[(b.1 + k) * SIZE + b.2..];
                row.iter_mut().zip(line).for_each(|(sum, y)| *sum += x * y);
            }
        }
    } else if rows >= columns.max(depth) {
        let (low, a_low) = (c.split_off(rows / 2), beyond(a, rows / 2, 0));
        cx.join(
            |cx| add(cx, c, a, b, depth),
            |cx| add(cx, low, a_low, b, depth),
        );
    } else if columns >= depth {
        let halves = c.into_iter().map(|row| row.split_at_mut(columns / 2));
        let ((left, right), b_right) = (halves.unzip(), beyond(b, 0, columns / 2));
        cx.join(
            |cx| add(cx, left, a, b, depth),
            |cx| add(cx, right, a, b_right, depth),
        );
    } else {
        // Both halves add to the same block: one after the other.
        let half = depth / 2;
        add(cx, c.iter_mut().map(|row| &mut **row).collect(), a, b, half);
        add(cx, c, beyond(a, 0, half), beyond(b, half, 0), depth - half);
    }
}

fn main() -> tautline::Result<()> {
    let all = || (0..SIZE * SIZE).map(|at| (at / SIZE, at % SIZE));
    let a: Vec<i64> = all().map(|(i, k)| (i + k) as i64).collect();
    let b: Vec<i64> = all().map(|(k, j)| (2 * k + j) as i64).collect();
    let mut c = vec![0; SIZE * SIZE];
    let rows = c.chunks_mut(SIZE).collect();
    Runtime::new()?.run(|cx| add(cx, rows, (&a, 0, 0), (&b, 0, 0), SIZE));
    // The sum of (i + k) (2 k + j) over k, in closed form.
    const ONE: usize = SIZE * (SIZE - 1) / 2;
    let right = |(i, j)| (2 * ONE * (2 * SIZE - 1) / 3 + (2 * i + j) * ONE + i * j * SIZE) as i64;
    assert!(c.into_iter().eq(all().map(right)));
    println!("{SIZE} by {SIZE}: as in closed form");
    Ok(())
}
