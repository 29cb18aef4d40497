//! The README's program over as many processes as are launched:
//! `tautline launch -n 4 -- first_across`.
use std::time::Duration;
use tautline::prelude::*;
use tautline::world::World;

const COINS: [u32; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

// Visible to the test that compares what 4 ranks print with what one process does.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let rt = Runtime::new()?;
    let search = rt
        .balancer()
        .deadline(Duration::from_secs(10))
        .across(&world);
    // A task: what is left to pay, and the largest coin that may follow. It may add tasks.
    let ways = search.sum([(200, 0)], |(left, largest): (u32, usize), todo| {
        let coins = (largest..COINS.len()).filter(|coin| COINS[*coin] <= left);
        todo.extend(coins.map(|coin| (left - COINS[coin], coin)));
        u64::from(left == 0)
    })?;
    // At the deadline: those found so far, each counted once.
    let all = if ways.complete { "all" } else { "at least" };
    println!("{all} {} ways to pay two pounds", ways.output);
    Ok(())
}
