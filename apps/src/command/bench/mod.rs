//! `tautline bench`: costs of mechanisms on this machine.

mod barrier;
mod measuring;
mod outputs;
mod processes;
mod ranks;
mod report;
mod show;
mod suite;
mod table;

use super::Outcome;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use suite::{Part, Suite};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline bench all --quick                   all figures of this machine, in half a minute
  tautline bench all --json > before.json      to be kept
  tautline bench all --against before.json     after a change; exit code 1 if a figure is worse
  tautline bench all --html figures.html       with a map of the round trips between processors
  tautline bench line --home 1                 cache lines in the memory of node 1
  tautline bench show new.json --against old.json
                                               figures of another machine

A figure is worse if the interval that contains its median with a probability of 99 %, by ranks of its
samples, lies above the earlier one, and the median is more than 10 % above. Figures of a disturbed
machine, of fewer processors than tasks, or of threads that could not be pinned get no verdict; nor
do figures of processors between which a cache line took more than 10 % longer in one of the runs.

A build with the feature rivals also measures other libraries: steals of crossbeam-deque and st3, forks
and tasks of rayon, barriers of hurdles.";

/// Measure the costs of synchronization, tasks and messages on this machine
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Measure everything
    #[command(after_help = ALL)]
    All(All),
    /// Measure round trips of a cache line between all pairs of processors
    #[command(after_help = LINE)]
    Line(Line),
    /// Measure the clock: a reading, and its smallest step
    #[command(after_help = CLOCK)]
    Clock(Suite),
    /// Measure fences of one thread, and of all threads
    #[command(after_help = FENCE)]
    Fence(Suite),
    /// Measure steals from the deque of another thread
    #[command(after_help = STEAL)]
    Steal(Suite),
    /// Measure forks that are joined, stolen or not, and threads
    #[command(after_help = FORK)]
    Fork(Suite),
    /// Measure tasks that are spawned in a scope
    #[command(after_help = SPAWN)]
    Spawn(Suite),
    /// Measure the time until a parked thread runs
    #[command(after_help = WAKE)]
    Wake(Suite),
    Barrier(barrier::Barrier),
    /// Measure cells that are written once, from the put to the waiting task
    #[command(after_help = CELL)]
    Cell(Suite),
    /// Measure round trips of messages between threads, processes or ranks
    #[command(after_help = MESSAGE)]
    Message(Suite),
    /// Measure barriers and sums of two ranks, which are threads or processes
    #[command(after_help = COLLECTIVE)]
    Collective(Suite),
    /// Measure the smallest task that is worth its overhead
    #[command(after_help = GRAIN)]
    Grain(Suite),
    Show(show::Show),
    /// Run as one of two measured processes
    #[command(hide = true)]
    Ranks(processes::Ranks),
}

const ALL: &str = "\
EXAMPLES:
  tautline bench all --quick
  tautline bench all --json > before.json
  tautline bench all --against before.json --html after.html
  tautline bench all --quick --machine-file here.toml
  tautline simulate uts --machine here.toml    this machine, simulated

The parts of the suite share the deadline equally; what is cut off there gets no verdict.";

const LINE: &str = "\
EXAMPLES:
  tautline bench line --html lines.html        a map by topology
  tautline bench line --processors sockets     one processor of each socket
  tautline bench line --home 1                 lines in the memory of node 1

A sample is the mean of 20 000 round trips by one of 8 192 lines, in turn; with more than 16 pairs of
2 000. Many pairs get fewer samples, 16 000 in all, and at most 8 192 pairs of a distance are measured.
Figures are by distance; --json has the samples of each pair.";

const CLOCK: &str = "\
EXAMPLES:
  tautline bench clock";

const FENCE: &str = "\
EXAMPLES:
  tautline bench fence --processors '{0},{1}'

A fence is measured between a store and a load. The heavy one makes all threads of the process execute a
fence, so that theirs may be light: membarrier of Linux.";

const STEAL: &str = "\
EXAMPLES:
  tautline bench steal --processors '{0},{16}' across two sockets

The owner provides 64 items, which a thread on another processor takes one by one.";

const FORK: &str = "\
EXAMPLES:
  tautline bench fork --samples 100

A stolen fork is one whose first half waits until another worker runs the second one.";

const SPAWN: &str = "\
EXAMPLES:
  tautline bench spawn --quick

The time of a scope of 1 000 empty tasks, for each of them.";

const WAKE: &str = "\
EXAMPLES:
  tautline bench wake

A sample is the median of 20 wake-ups, each a millisecond after the last one.";

const CELL: &str = "\
EXAMPLES:
  tautline bench cell --processors '{0},{1}'

A worker puts a value into a cell for another worker, which puts one into a second cell in return. The
figure for tasks is the time of a scope of 1 000 that each wait for a cell, divided by 1 000.";

const MESSAGE: &str = "\
EXAMPLES:
  tautline bench message --json
  mpirun -n 2 tautline bench message           between ranks of MPI (feature mpi)
  tautline launch -n 2 -- tautline bench message
                                               between ranks of this machine

A parcel goes to the other rank, and one of the same length returns. Ranks that a launcher has started
send messages of a communicator, each from a thread on the first processor that it may use.";

const COLLECTIVE: &str = "\
EXAMPLES:
  tautline bench collective --json
  mpirun -n 2 tautline bench collective        between ranks of MPI (feature mpi)
  tautline launch -n 2 -- tautline bench collective
                                               between ranks of this machine

A barrier, and an all-reduce of one number of 8 bytes.";

const GRAIN: &str = "\
EXAMPLES:
  tautline bench grain --processors '{0},{1}'

The duration of equal tasks with which the processors spend half of their time in them, found by
bisection: the minimum effective task granularity of Task Bench (SC 2020).";

#[derive(Args, Debug)]
struct All {
    #[command(flatten)]
    suite: Suite,
    /// Write the costs of this machine for simulate --machine FILE
    #[arg(long, value_name = "FILE.toml")]
    machine_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Line {
    /// Keep the lines in the memory of this node [default: where the system places them]
    #[arg(long, value_name = "NODE")]
    home: Option<usize>,
    #[command(flatten)]
    suite: Suite,
}

impl Bench {
    /// Measures and prints the results.
    pub(super) fn run(&self) -> Outcome {
        match &self.what {
            What::All(All {
                suite,
                machine_file,
            }) => suite.run_all(machine_file.as_deref()),
            What::Line(Line { home, suite }) => suite.run(&[Part::Line { home: *home }]),
            What::Clock(suite) => suite.run(&suite::one("clock")),
            What::Fence(suite) => suite.run(&suite::one("fence")),
            What::Steal(suite) => suite.run(&suite::one("steal")),
            What::Fork(suite) => suite.run(&suite::one("fork")),
            What::Spawn(suite) => suite.run(&suite::one("spawn")),
            What::Wake(suite) => suite.run(&suite::one("wake")),
            What::Barrier(barrier) => barrier.run(),
            What::Cell(suite) => suite.run(&suite::one("cell")),
            What::Message(suite) => suite.run_by_ranks("message"),
            What::Collective(suite) => suite.run_by_ranks("collective"),
            What::Grain(suite) => suite.run(&suite::one("grain")),
            What::Show(show) => show.run(),
            What::Ranks(ranks) => ranks.run(),
        }
    }
}
