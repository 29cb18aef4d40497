//! A program over ranks, with what most of them need: queens counted by all ranks, messages round a
//! ring, collective operations. Alone, `tautline launch -n 4 -- joined 12`, or, built with the
//! feature `mpi`, `mpirun -n 4 joined 12`.

use tautline::comm::Tag;
use tautline::world::{Rank, World};

/// A board with queens on its first ranks: the occupied files and diagonals, a bit for each.
type Board = (u32, u32, u32, u32);

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let queens: u32 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let all = (1 << queens) - 1;
    // Alone, this is the only rank, and its own neighbour.
    let world = World::join()?;
    let (here, ranks) = (world.rank().0, world.ranks());

    // Work that is balanced over the ranks. Every rank makes this call, and all get the result.
    let place = move |(placed, files, left, right): Board,
                      todo: &mut tautline::balance::Local<Board>| {
        let free = all & !(files | left | right);
        let squares = (0..queens)
            .map(|file| 1 << file)
            .filter(|square| free & square != 0);
        todo.extend(squares.map(|square| {
            let (left, right) = ((left | square) << 1, (right | square) >> 1);
            (placed + 1, files | square, left, right)
        }));
        u64::from(placed == queens)
    };
    let balancer = tautline::balancer().across(&world);
    let solutions = balancer.sum([(0, 0, 0, 0)], place)?.output;

    // Messages: to the right neighbour, from the left one. Each call of `comm` is a communicator of
    // its own, as `MPI_Comm_dup` makes, so it is made once.
    let comm = world.comm();
    let (left, right) = (Rank((here + ranks - 1) % ranks), Rank((here + 1) % ranks));
    let sent = comm.isend(&format!("rank {here}"), right, Tag(1));
    let heard: String = comm.recv(left, Tag(1))?.value;
    sent.wait_blocking()?;

    // Collective operations: every rank makes each of these calls.
    let sum = world.all_reduce(u64::from(here), |a, b| a + b)?;
    let heard = world.all_gather(heard)?;
    world.barrier()?;
    if world.is_home() {
        println!("{queens} queens: {solutions} solutions by {ranks} ranks");
        println!("the ranks add up to {sum}; their left neighbours: {heard:?}");
        assert!(queens != 10 || solutions == 724);
    }
    Ok(())
}
