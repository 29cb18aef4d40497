//! A program over ranks: their accesses to shared objects, whose histories rank 0 checks.

#[path = "../../../platforms/tests/histories/mod.rs"]
mod of_ranks;

use of_ranks::{Access, Numbered, Numbers, Padded, Shape, check};
use std::env;
use tautline::prelude::*;
use tautline::watch::Stalled;
use tautline::world::{Rank, World};

/// The variable that has the number of accesses, of all ranks.
pub(crate) const ACCESSES: &str = "ACCESSES";

/// Accesses of a rank between two reports to rank 0.
const ROUND: u64 = 4_000;

/// The objects, each with a share of the accesses, in percent.
const SHAPES: [(usize, usize, u64); 9] = [
    (1, 0, 16),
    (8, 0, 16),
    (64, 0, 16),
    (1, 7, 16),
    (8, 7, 16),
    (64, 7, 17),
    (1, 8191, 1),
    (8, 8191, 1),
    (64, 8191, 1),
];

/// Makes `accesses` at each rank, and returns the history of each object at rank 0.
fn histories<V: Numbered>(
    cx: &mut Cx<'_, '_>,
    world: &World,
    numbers: &Numbers<V>,
    accesses: u64,
) -> tautline::Result<Vec<Vec<Access>>> {
    let mut team = world.team();
    let mut histories: Vec<Vec<Access>> = Vec::new();
    for round in 0..accesses.div_ceil(ROUND) {
        let seed = round * u64::from(world.ranks()) + u64::from(world.rank().0);
        let own = numbers.accesses(cx, seed, ROUND.min(accesses - round * ROUND));
        histories.resize(own.len(), Vec::new());
        for (history, own) in histories.iter_mut().zip(own) {
            if let Some(all) = team.gather(Rank(0), own).wait(cx)? {
                history.extend(all.into_iter().flatten());
            }
        }
    }
    // No rank leaves while others access objects.
    team.barrier().wait(cx)?;
    Ok(histories)
}

/// The program of a rank. Rank 0 prints the number of accesses.
pub(crate) fn main() -> tautline::Result<()> {
    let accesses = env::var(ACCESSES).expect("the test sets it");
    let accesses: u64 = accesses.parse().expect("a number");
    let world = World::join()?;
    let rt = Runtime::builder().world(&world).workers(2).pinned(false);
    let rt = rt.stalled(Stalled::Ignore).build()?;
    let mut made = 0;
    for (objects, padding, percent) in SHAPES {
        let shape = Shape { objects, padding };
        let each = accesses * percent / 100 / u64::from(world.ranks());
        let histories = match padding {
            0 => {
                let numbers = Numbers::<u64>::create(&world, shape);
                rt.run(|cx| histories(cx, &world, &numbers, each))?
            }
            _ => {
                let numbers = Numbers::<Padded>::create(&world, shape);
                rt.run(|cx| histories(cx, &world, &numbers, each))?
            }
        };
        if world.is_home() {
            check(&histories);
            made += histories
                .iter()
                .map(|history| history.len() as u64)
                .sum::<u64>();
        }
    }
    if world.is_home() {
        println!(
            "{made} accesses of {} ranks are those of one memory",
            world.ranks()
        );
    }
    Ok(())
}
