//! Tree search by ranks that steal from each other with plain calls of MPI: what the balancer is
//! measured by.
//!
//! ```sh
//! cargo build --release -p tautline-bench --features mpi --example searches
//! mpirun -n 2 target/release/examples/searches T1L                            # ranks of one thread that poll
//! mpirun -n 2 target/release/examples/searches T1L --way threads --workers 4
//! target/release/examples/searches T1L --way sequential
//! ```
//!
//! The hash and the tree are those of `tautline uts`. Rank 0 prints one figure a line, with a tab
//! between.

mod account;
mod polling;
mod ring;
mod threads;
mod walk;

use account::Account;
use clap::{Parser, ValueEnum};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Equivalence};
use std::time::Instant;
use tautline_bench::ranks::print_library;
use tautline_cli::uts::named::{self, Named};
use tautline_cli::uts::{Counts, Engine, Tree, sequential};
use walk::{Intervals, Nodes, Walk};

#[derive(Parser)]
#[command(about = "Tree search by ranks that steal with plain calls of MPI")]
struct Options {
    /// A named tree, such as T1, T3, T1L, T3L.
    #[arg(default_value = "T1L", value_parser = |name: &str| named::find(name))]
    tree: &'static Named,
    /// Ranks of one thread, ranks of several workers, or one process without MPI.
    #[arg(long, value_enum, default_value = "polling")]
    way: Way,
    /// Ways of storing and hashing nodes.
    #[arg(long, value_enum, default_value = "intervals")]
    walk: Held,
    /// Nodes that a thief gets.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    chunk: u32,
    /// Nodes between two polls.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    interval: u32,
    /// Workers a rank, with `--way threads`.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    /// Ranks of one thread, which polls while it explores.
    Polling,
    /// Ranks of workers that share chunks, without a thread for messages.
    Threads,
    /// The whole tree on one thread, by each process that is started.
    Sequential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Held {
    /// A stack of nodes, hashed one after the other.
    Nodes,
    /// The bag of the balancer: intervals of children, hashed in lanes.
    Intervals,
}

/// Nodes of a chunk, and nodes between two polls.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    chunk: usize,
    interval: usize,
}

/// Results of a rank.
#[derive(Default)]
pub(crate) struct Found {
    counts: Counts,
    asked: u64,
    failed: u64,
    account: Account,
}

fn main() {
    let options = Options::parse();
    if options.workers > 1 && options.way != Way::Threads {
        let workers = options.workers;
        eprintln!("searches: --workers {workers}: only --way threads has several");
        std::process::exit(2);
    }
    let tree = Tree::new(options.tree.params).expect("named trees are valid");
    if options.way == Way::Sequential {
        let start = Instant::now();
        let counts = sequential(&tree);
        let found = Found {
            counts,
            ..Found::default()
        };
        return report(&options, &found, start.elapsed().as_secs_f64(), 1);
    }
    let level = match options.way {
        Way::Threads => Threading::Serialized,
        _ => Threading::Single,
    };
    let (universe, granted) = mpi::initialize_with_threading(level).expect("MPI starts once");
    assert!(granted >= level, "the library grants {granted:?}");
    match options.walk {
        Held::Nodes => over_ranks::<Nodes>(&options, &tree),
        Held::Intervals => over_ranks::<Intervals>(&options, &tree),
    }
    drop(universe);
}

/// Searches with all ranks, and reports at rank 0.
fn over_ranks<W: Walk>(options: &Options, tree: &Tree) {
    let world = SimpleCommunicator::world();
    let pace = Pace {
        chunk: options.chunk as usize,
        interval: options.interval as usize,
    };
    let is_first = world.rank() == 0;
    let walk = if is_first { W::whole(tree) } else { W::empty() };
    world.barrier();
    let start = Instant::now();
    let own = match options.way {
        Way::Threads => threads::run(walk, tree, pace, options.workers as usize),
        _ => polling::run(walk, tree, pace),
    };
    let seconds = start.elapsed().as_secs_f64();
    let sum = |value: u64| over(&world, value, SystemOperation::sum());
    let total = |value: f64| over(&world, value, SystemOperation::sum());
    let mut account = own.account;
    account.overhead = total(account.overhead);
    account.search = total(account.search);
    let found = Found {
        counts: Counts {
            nodes: sum(own.counts.nodes),
            leaves: sum(own.counts.leaves),
            max_depth: over(&world, own.counts.max_depth, SystemOperation::max()),
        },
        asked: sum(own.asked),
        failed: sum(own.failed),
        account,
    };
    let seconds = over(&world, seconds, SystemOperation::max());
    let workers = world.size() as u32 * options.workers;
    if is_first {
        print_library();
        report(options, &found, seconds, workers);
    }
}

fn over<T: Equivalence + Default>(
    world: &SimpleCommunicator,
    own: T,
    operation: SystemOperation,
) -> T {
    let mut all = T::default();
    world.all_reduce_into(&own, &mut all, operation);
    all
}

/// Prints the figures; ends the program with a failure if the counts are not those of the tree.
fn report(options: &Options, found: &Found, seconds: f64, workers: u32) {
    let (known, counts) = (options.tree, &found.counts);
    if counts.nodes != known.nodes || known.leaves.is_some_and(|leaves| leaves != counts.leaves) {
        let Named { name, nodes, .. } = known;
        eprintln!("searches: {name}: {counts:?}, but it has {nodes} nodes");
        std::process::exit(1);
    }
    let of_all = f64::from(workers) * seconds;
    println!("nodes\t{}", counts.nodes);
    println!("seconds\t{seconds:.6}");
    println!("nodes_per_s\t{:.0}", counts.nodes as f64 / seconds);
    println!("steals\t{}", found.asked);
    println!("failed\t{}", found.failed);
    println!("overhead\t{:.5}", found.account.overhead / of_all);
    println!("search\t{:.5}", found.account.search / of_all);
    println!("hash\t{}", Engine::fastest().name());
}
