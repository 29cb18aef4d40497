//! The smallest program with async and finish: a task for each piece of three vectors.
use tautline::prelude::*;

const PIECE: usize = 1 << 14;

fn main() -> tautline::Result<()> {
    let a: Vec<u64> = (0..1 << 20).collect();
    let b: Vec<u64> = a.iter().map(|x| x * x).collect();
    let mut c = vec![0; a.len()];
    Runtime::new()?.run(|cx| {
        let pieces = c
            .chunks_mut(PIECE)
            .zip(a.chunks(PIECE).zip(b.chunks(PIECE)));
        for (c, (a, b)) in pieces {
            cx.spawn(move |_| {
                for (sum, (x, y)) in c.iter_mut().zip(a.iter().zip(b)) {
                    *sum = x + y;
                }
            });
        }
    });
    assert!(c.iter().zip(0..).all(|(&sum, x)| sum == x * (x + 1)));
    println!("{} sums, {PIECE} a task", c.len());
    Ok(())
}
