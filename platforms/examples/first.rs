//! The README's first program: loops over numbers, and a search whose work is not known in advance.
use tautline::prelude::*;

const COINS: [u32; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

fn main() -> tautline::Result<()> {
    let mut numbers: Vec<u64> = (0..1_000_000).rev().collect();
    let squares: u64 = Runtime::new()?.run(|cx| {
        cx.par(&mut numbers).sort_unstable();
        cx.par(&numbers).map(|n| n * n).sum()
    });
    println!("sorted, and their squares add up to {squares}");

    // A task: what is left to pay, and the largest coin that may follow. It adds tasks, and returns what it has found.
    let ways = Glb::new().sum([(200, 0)], |(left, largest): (u32, usize), todo| {
        for (at, coin) in COINS.iter().enumerate().skip(largest) {
            if *coin <= left {
                todo.push((left - coin, at));
            }
        }
        u64::from(left == 0)
    })?;
    assert_eq!(ways.output, 73_682);
    println!("{} ways to pay two pounds", ways.output);
    Ok(())
}
