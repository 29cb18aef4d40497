//! Heat in a plate that is a shared array, until no temperature changes by much. Each rank changes
//! its blocks; the rows around a block are views of others. Alone, or as
//! `tautline launch -n 4 -- halos`, or by `mpirun`.
mod plate;

use plate::{BLOCK, SIDE, relax, temperature};
use tautline::prelude::*;
use tautline::world::{Rank, World};

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut globals = world.globals();
    let (here, ranks) = (world.rank(), world.ranks() as usize);
    let blocks = (SIDE * SIDE).div_ceil(BLOCK);
    let home = |block| Rank((block * ranks / blocks) as u32);
    // The plate before and after a step, in turn.
    let plates = [(); 2].map(|()| globals.array(SIDE * SIDE, BLOCK, home, temperature));
    let own: Vec<_> = (0..blocks).filter(|block| home(*block) == here).collect();
    Runtime::builder().world(&world).build()?.run(|cx| {
        let mut team = world.team();
        for step in 0.. {
            let (before, after) = (&plates[step % 2], &plates[(step + 1) % 2]);
            let mut most = 0f64;
            for block in &own {
                let cells = before.block_range(*block);
                let above = cells.start.saturating_sub(SIDE);
                let around = above..before.len().min(cells.end + SIDE);
                let around = before.view(cx, around)?;
                let change = after.edit(cx, *block, |next| relax(&around, cells.start, next))?;
                most = most.max(change);
            }
            // No rank changes a plate before all have read it.
            if team.all_reduce(most, f64::max).wait(cx)? < 0.01 {
                if world.is_home() {
                    let middle = after.get(cx, SIDE + SIDE / 2)?;
                    println!("{} steps, {middle:.4} below the edge", step + 1);
                }
                return team.barrier().wait(cx);
            }
        }
        unreachable!("the temperatures converge")
    })
}
