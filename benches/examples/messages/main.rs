//! Messages and operations of two ranks, beside the same ones by plain calls of MPI in the same run.
//!
//! ```sh
//! cargo build --release -p tautline-bench --features mpi --example messages
//! mpirun -n 2 target/release/examples/messages              # one thread a rank
//! mpirun -n 2 target/release/examples/messages --threads 4  # plain calls with MPI_THREAD_MULTIPLE
//! ```
//!
//! Rounds of both alternate; each row has the medians of [`ROUNDS`].

mod plain;

use mpi::Threading;
use plain::Plain;
use std::time::Instant;

use tautline::comm::{Comm, Tag};
use tautline::world::{Rank, World};

const ROUNDS: usize = 15;
/// Operations of a round.
const OPERATIONS: usize = 2000;
/// Long messages of a round, and their bytes.
const LONG: usize = 50;
const LONG_BYTES: usize = 1 << 20;

fn main() -> tautline::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let threads = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => 1,
        (Some("--threads"), Some(threads)) => threads.parse().expect("a number of threads"),
        (Some(other), _) => {
            eprintln!("messages: {other}: only --threads N is allowed");
            std::process::exit(2);
        }
    };
    let level = match threads {
        1 => Threading::Serialized,
        _ => Threading::Multiple,
    };
    // Plain calls come before the world has a link: afterwards its thread polls.
    let (universe, granted) = mpi::initialize_with_threading(level).expect("MPI starts once");
    assert!(granted >= level, "the library grants {granted:?}");
    let plain = Plain::new();
    assert_eq!(plain.ranks(), 2, "start it with two ranks: mpirun -n 2");
    let library = mpi::environment::library_version().unwrap_or_default();
    let before = rows(threads, &|row| measured(|| plain.run(row, threads)));
    let world = World::join()?;
    let comm = world.comm();
    let ours = rows(threads, &|row| {
        measured(|| run(&world, &comm, row, threads))
    });
    if world.is_home() {
        println!("{}", library.lines().next().unwrap_or_default());
        println!("{threads} threads a rank; medians of {ROUNDS} rounds\n");
        println!("{:<34} {:>10} {:>10} {:>7}", "", "MPI", "comm", "ratio");
        for ((row, mpi), (_, comm)) in before.iter().zip(&ours) {
            let (mpi, comm) = (row.shown(*mpi), row.shown(*comm));
            println!(
                "{:<34} {mpi:>10.3} {comm:>10.3} {:>7.2}",
                row.name(),
                comm / mpi
            );
        }
    }
    world.barrier()?;
    drop((comm, world));
    drop(universe);
    Ok(())
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    RoundTrip,
    Barrier,
    AllReduce,
    Bandwidth,
    Rate,
}

impl Row {
    fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "round trip of 8 bytes, us",
            Self::Barrier => "barrier, us",
            Self::AllReduce => "all-reduce of 8 bytes, us",
            Self::Bandwidth => "1 MiB one way, GB/s",
            Self::Rate => "8 bytes one way, million/s",
        }
    }

    /// Converts the seconds of a round.
    fn shown(self, seconds: f64) -> f64 {
        match self {
            Self::RoundTrip | Self::Barrier | Self::AllReduce => seconds / OPERATIONS as f64 * 1e6,
            Self::Bandwidth => (LONG * LONG_BYTES) as f64 / seconds / 1e9,
            Self::Rate => OPERATIONS as f64 / seconds / 1e6,
        }
    }
}

/// The seconds of each row that is measured with this number of threads.
fn rows(threads: usize, seconds: &dyn Fn(Row) -> f64) -> Vec<(Row, f64)> {
    let all: &[Row] = match threads {
        1 => &[
            Row::RoundTrip,
            Row::Barrier,
            Row::AllReduce,
            Row::Bandwidth,
            Row::Rate,
        ],
        _ => &[Row::RoundTrip, Row::Rate],
    };
    all.iter().map(|row| (*row, seconds(*row))).collect()
}

/// The median of the rounds, behind one that is not counted.
fn measured(round: impl Fn()) -> f64 {
    round();
    let seconds = |_| {
        let start = Instant::now();
        round();
        start.elapsed().as_secs_f64()
    };
    let mut all: Vec<_> = (0..ROUNDS).map(seconds).collect();
    all.sort_by(f64::total_cmp);
    all[ROUNDS / 2]
}

/// A round by communication tasks.
fn run(world: &World, comm: &Comm, row: Row, threads: usize) {
    let (is_home, other) = (world.is_home(), Rank(1 - world.rank().0));
    let done = "both ranks live";
    match row {
        Row::Barrier => (0..OPERATIONS).for_each(|_| drop(comm.barrier(None).wait().expect(done))),
        Row::AllReduce => (0..OPERATIONS as u64).for_each(|number| {
            let sum = comm.all_reduce(None, number, |a, b| a + b).wait();
            assert_eq!(sum.expect(done).value, 2 * number);
        }),
        Row::RoundTrip => each(threads, &|thread| {
            let tag = Tag(thread as u32);
            for number in 0..(OPERATIONS / threads) as u64 {
                if is_home {
                    comm.send(&number, other, tag).expect(done);
                    assert_eq!(comm.recv::<u64>(other, tag).expect(done).value, number);
                } else {
                    let received = comm.recv::<u64>(other, tag).expect(done).value;
                    comm.send(&received, other, tag).expect(done);
                }
            }
        }),
        Row::Rate => each(threads, &|thread| {
            let tag = Tag(thread as u32);
            let count = (OPERATIONS / threads) as u64;
            if is_home {
                (0..count).for_each(|number| drop(comm.isend(None, &number, other, tag)));
                assert_eq!(comm.recv::<u64>(other, tag).expect(done).value, count);
            } else {
                let all: Vec<_> = (0..count)
                    .map(|_| comm.irecv::<u64>(None, other, tag))
                    .collect();
                tautline::comm::wait_all(all).expect(done);
                comm.send(&count, other, tag).expect(done);
            }
        }),
        Row::Bandwidth => {
            // The same memory each time, as with plain calls.
            let mut bytes = vec![1u8; LONG_BYTES];
            if is_home {
                for _ in 0..LONG {
                    let sent = comm.isend_vec(None, bytes, other, Tag(0)).wait();
                    bytes = sent.expect(done).value;
                }
                comm.recv::<u8>(other, Tag(0)).expect(done);
            } else {
                for _ in 0..LONG {
                    let received = comm.irecv_vec(None, bytes, other, Tag(0)).wait();
                    bytes = received.expect(done).value;
                    assert_eq!(bytes.len(), LONG_BYTES);
                }
                comm.send(&1u8, other, Tag(0)).expect(done);
            }
        }
    }
}

/// Runs `body` on as many threads, the calling one among them.
pub(crate) fn each(threads: usize, body: &(dyn Fn(usize) + Sync)) {
    std::thread::scope(|scope| {
        for thread in 1..threads {
            scope.spawn(move || body(thread));
        }
        body(0);
    });
}
