//! The README's program: a search whose work is not known in advance, with a deadline.

use std::time::Duration;
use tautline::prelude::*;

const COINS: [u32; 8] = [200, 100, 50, 20, 10, 5, 2, 1];

fn main() -> tautline::Result<()> {
    let rt = Runtime::new()?;
    let search = rt.balancer().deadline(Duration::from_secs(10));
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
