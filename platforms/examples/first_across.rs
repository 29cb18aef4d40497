//! The README's first program, whose search runs over as many processes as are launched: `tautline launch -n 4 -- first_across`.
use tautline::prelude::*;
use tautline::world::World;

const COINS: [u32; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

// Visible to the test that compares what 4 ranks print with what one process does.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut numbers: Vec<u64> = (0..1_000_000).rev().collect();
    let squares: u64 = Runtime::new()?.run(|cx| {
        cx.par(&mut numbers).sort_unstable();
        cx.par(&numbers).map(|n| n * n).sum()
    });
    println!("sorted, and their squares add up to {squares}");

    // A task: what is left to pay, and the largest coin that may follow. It adds tasks, and returns what it has found.
    let ways =
        Glb::new()
            .across(&world)
            .sum([(200, 0)], |(left, largest): (u32, usize), todo| {
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
