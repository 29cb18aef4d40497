//! Messages and operations of two ranks, beside the same ones by plain calls of MPI in the same
//! processes.
//!
//! ```sh
//! cargo build --release -p tautline-bench --features mpi --example messages
//! mpirun -n 2 target/release/examples/messages              # one thread a rank
//! mpirun -n 2 target/release/examples/messages --threads 4  # plain calls with MPI_THREAD_MULTIPLE
//! mpirun -n 2 target/release/examples/messages --row trip   # these rows alone, as for a profile
//! ```
//!
//! Rank 0 prints the library, then one row a line: its name, the figure of plain MPI and that of
//! `comm`, with tabs between; each is the median of [`ROUNDS`].

mod ours;
mod plain;

use clap::Parser;
use mpi::Threading;
use ours::Ours;
use plain::Plain;
use std::time::Instant;
use tautline::world::World;
use tautline_bench::ranks::{pair, print_library};
use tautline_bench::samples::median;

const ROUNDS: usize = 15;
/// Operations of a round.
const OPERATIONS: usize = 2000;
/// Long messages of a round, and their bytes.
const LONG: usize = 50;
const LONG_BYTES: usize = 1 << 20;

#[derive(Parser)]
#[command(about = "Messages and operations of two ranks, beside plain calls of MPI")]
struct Options {
    /// Threads of each rank that send and receive.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// Measures the rows whose name contains this word.
    #[arg(long, default_value = "")]
    row: String,
}

fn main() -> tautline::Result<()> {
    let options = Options::parse();
    let threads = options.threads as usize;
    let level = match threads {
        1 => Threading::Serialized,
        _ => Threading::Multiple,
    };
    // Plain calls come before the world has a link: afterwards its thread polls.
    let (universe, plain) = pair("messages", level);
    let plain = Plain::new(plain);
    let before = rows(&options, &|row| measured(|| plain.run(row, threads)));
    let world = World::join()?;
    let ours = Ours::new(&world);
    let after = rows(&options, &|row| measured(|| ours.run(row, threads)));
    if world.is_home() {
        print_library();
        for ((row, plain), (_, ours)) in before.iter().zip(&after) {
            let [plain, ours] = [plain, ours].map(|seconds| row.shown(*seconds));
            println!("{}\t{plain:.4}\t{ours:.4}", row.name());
        }
    }
    world.barrier()?;
    drop((ours, world));
    drop(universe);
    Ok(())
}

/// The quantity that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    RoundTrip,
    Barrier,
    AllReduce,
    Bandwidth,
    Rate,
    /// By the library's own operations.
    NativeBarrier,
    NativeAllReduce,
}

impl Row {
    fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "round trip of 8 bytes, us",
            Self::Barrier => "barrier, us",
            Self::AllReduce => "all-reduce of 8 bytes, us",
            Self::Bandwidth => "1 MiB one way, GB/s",
            Self::Rate => "8 bytes one way, million/s",
            Self::NativeBarrier => "barrier of the library, us",
            Self::NativeAllReduce => "all-reduce of the library, us",
        }
    }

    /// Converts the seconds of a round.
    fn shown(self, seconds: f64) -> f64 {
        match self {
            Self::RoundTrip
            | Self::Barrier
            | Self::AllReduce
            | Self::NativeBarrier
            | Self::NativeAllReduce => seconds / OPERATIONS as f64 * 1e6,
            Self::Bandwidth => (LONG * LONG_BYTES) as f64 / seconds / 1e9,
            Self::Rate => OPERATIONS as f64 / seconds / 1e6,
        }
    }
}

/// The seconds of each row that is measured with these options.
fn rows(options: &Options, seconds: &dyn Fn(Row) -> f64) -> Vec<(Row, f64)> {
    let all: &[Row] = match options.threads {
        1 => &[
            Row::RoundTrip,
            Row::Barrier,
            Row::AllReduce,
            Row::Bandwidth,
            Row::Rate,
            Row::NativeBarrier,
            Row::NativeAllReduce,
        ],
        _ => &[Row::RoundTrip, Row::Rate],
    };
    let selected = all.iter().filter(|row| row.name().contains(&options.row));
    selected.map(|row| (*row, seconds(*row))).collect()
}

/// The median of the rounds, behind one that is not counted.
fn measured(round: impl Fn()) -> f64 {
    round();
    let seconds = |_| {
        let start = Instant::now();
        round();
        start.elapsed().as_secs_f64()
    };
    median(&(0..ROUNDS).map(seconds).collect::<Vec<_>>())
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
