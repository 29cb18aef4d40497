//! Heat in a plate whose rows are divided over the ranks, until no temperature changes by much.
//! Alone, or as `tautline launch -n 4 -- heat`, or by `mpirun`.
mod plate;

use plate::{Plate, SIZE};
use tautline::comm::Tag;
use tautline::phaser::{Op, PhaserError};
use tautline::prelude::*;
use tautline::world::{Rank, World};

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let (mut team, comm) = (world.team(), &world.comm());
    let (here, ranks) = (team.rank().0 as usize, team.ranks() as usize);
    assert!(ranks <= SIZE, "at most {SIZE} ranks");
    let (first, end) = (SIZE * here / ranks, SIZE * (here + 1) / ranks);
    // The upper edge is hot.
    let hot = |row| if first + row == 0 { 100.0 } else { 0.0 };
    let (rows, plate) = (end - first, &Plate::new(end - first, hot));
    let steps = Runtime::builder().world(&world).build()?.run(|cx| {
        let (change, mut member) = team.accumulator::<f64>(cx, Op::Max)?;
        let spawn = |at: usize| {
            let up = (at == 1 && here > 0).then(|| (here - 1, 0));
            let down = (at == rows && here + 1 < ranks).then(|| (here + 1, rows + 1));
            let change = change.clone();
            cx.spawn_phased_value(member.signal_wait(), async move |mut task| {
                for step in 0.. {
                    let (row, most) = plate.relax(step, at);
                    plate.set(step + 1, at, row.clone());
                    change.put(&mut task, most)?;
                    task.signal()?;
                    // While the ranks exchange the largest change.
                    for (rank, halo) in up.into_iter().chain(down) {
                        let (rank, tag) = (Rank(rank as u32), Tag(step));
                        comm.isend(&row, rank, tag).await.unwrap();
                        let row = comm.irecv(rank, tag).await.unwrap();
                        plate.set(step + 1, halo, row.value);
                    }
                    task.wait().await?;
                    if change.get() < 0.01 {
                        return Ok::<_, PhaserError>(step + 1);
                    }
                }
                unreachable!("the temperatures converge")
            })
        };
        let tasks: Result<Vec<_>, _> = (1..=rows).map(spawn).collect();
        drop(member);
        let mut tasks = tasks?.into_iter();
        let steps = tasks.try_fold(0, |_, task| task.join(cx).expect("no panic"))?;
        Ok::<_, tautline::Error>(steps)
    })?;
    if world.is_home() {
        let middle = plate.get(steps, 1)[SIZE / 2];
        println!("{steps} steps, {middle:.4} below the edge");
    }
    Ok(())
}
