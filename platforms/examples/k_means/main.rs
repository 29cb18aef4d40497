//! k-means: the ranks divide the points, and share the centres and the sums of their points. Alone,
//! or as `tautline launch -n 4 -- k_means`, or by `mpirun`.
mod points;

use points::{CENTRES, CHUNK, POINTS, Point, Sums, add, point, sums_of};
use std::mem;
use tautline::prelude::*;
use tautline::world::{Rank, World};

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut globals = world.globals();
    let centres = globals.create(Rank(0), || {
        (0..CENTRES as u64).map(point).collect::<Vec<_>>()
    });
    let sums = globals.create(Rank(0), || vec![([0; 2], 0); CENTRES]);
    let add = globals.operation(|sums: &mut Sums, part: Sums| add(sums, &part));
    let (here, ranks) = (world.rank().index(), world.ranks() as usize);
    Runtime::builder().world(&world).build()?.run(|cx| {
        let mut team = world.team();
        for step in 1.. {
            // A value of the past: it stays while rank 0 replaces it.
            let before = centres.read(cx)?;
            cx.scope(|cx| {
                for chunk in (0..POINTS / CHUNK).skip(here).step_by(ranks) {
                    let (before, sums, add) = (&before, &sums, &add);
                    cx.spawn(move |cx| {
                        sums.update(cx, add, sums_of(chunk, before))
                            .expect("all live")
                    });
                }
            });
            team.barrier().wait(cx)?;
            if world.is_home() {
                let sums =
                    sums.modify(cx, |sums| mem::replace(sums, vec![([0; 2], 0); CENTRES]))?;
                let mean = |([x, y], count): (Point, i64)| [x / count.max(1), y / count.max(1)];
                centres.set(cx, sums.into_iter().map(mean).collect())?;
            }
            team.barrier().wait(cx)?;
            let after = centres.read(cx)?;
            if *after == *before {
                if world.is_home() {
                    println!("{step} steps, the first centre at {:?}", after[0]);
                }
                return team.barrier().wait(cx);
            }
        }
        unreachable!("the centres converge")
    })
}
