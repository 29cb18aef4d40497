//! A token that passes round a ring of ranks: alone; as processes,
//! `tautline launch -n 4 -- rank_ring`; and the same program, built with the feature `mpi`, as
//! `mpirun -n 4 rank_ring`.
use tautline::comm::Tag;
use tautline::world::{Rank, World};

const ROUNDS: u64 = 1000;
const TOKEN: Tag = Tag(1);

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    // Without a launcher, this is the only rank, and its own neighbour.
    let world = World::join()?;
    let comm = world.comm();
    let (here, ranks) = (world.rank().0, world.ranks());
    let (left, right) = (Rank((here + ranks - 1) % ranks), Rank((here + 1) % ranks));
    for round in 0..ROUNDS {
        if here == 0 {
            comm.send(&(round * u64::from(ranks)), right, TOKEN)?;
        }
        let steps: u64 = comm.recv(left, TOKEN)?.value;
        // Each rank before this one has added a step.
        let before = if here == 0 { ranks } else { here };
        assert_eq!(steps, round * u64::from(ranks) + u64::from(before - 1));
        if here > 0 {
            comm.send(&(steps + 1), right, TOKEN)?;
        }
    }
    // The output of ranks other than 0 is shown by `mpirun`, but not by `tautline launch`.
    if world.is_home() {
        println!("{ROUNDS} times round a ring, {ranks} ranks");
    }
    Ok(())
}
