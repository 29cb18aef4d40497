//! The program of the README: the number of ways to place 12 queens.
use tautline::prelude::*;

fn main() -> tautline::Result<()> {
    // A task is a board filled down to some row: the columns and diagonals under attack.
    let run = Glb::new().sum([(0u32, 0u32, 0u32)], |(columns, left, right), todo| {
        let free = |queen: &u32| queen & (columns | left | right) == 0;
        for q in (0..12).map(|column| 1 << column).filter(free) {
            todo.push((columns | q, (left | q) << 1, (right | q) >> 1));
        }
        u64::from(columns == 0xfff)
    })?;
    assert_eq!(run.output, 14_200);
    println!("{} ways to place 12 queens", run.output);
    Ok(())
}
