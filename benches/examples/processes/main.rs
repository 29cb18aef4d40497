//! Costs of ranks that are processes of this machine: round trips beside that of a cache line,
//! operations of teams, programs over ranks, the time of idle ranks, and starts.
//!
//! `processes` prints a table beside peers that benches/peers.sh has built, each row of which is
//! the median of `--rounds N` rounds; `--quick` measures few and short ones, `--write` stores the
//! figures and renders benches/RANKS.md. Each measurement is a launch of this program by a process
//! of its own, or of a program of a peer. Each of two ranks is pinned to a processor of a core of
//! its own, if there are two.
//!
//! The yardstick is two words in two cache lines that both processes map: each process sets its own
//! word to the number that it has found in the other one. A round trip is at least two transfers of
//! a line.
#![allow(missing_docs)]

mod links;
mod programs;
mod rows;
mod teams;

use clap::Parser;
use rustix::time::{ClockId, clock_gettime};
use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use tautline_bench::figures::Figures;
use tautline_bench::launched::{self, Launches, Row, Suite, render};
use tautline_bench::stored::{Replaces, Table};
use tautline_process::{Ended, Error, Launch};

const HEAD: &str = "# Ranks: processes of one machine

```sh
benches/peers.sh SOURCES OUT       # peers in C and C++; optional
cargo run --release -p tautline-bench --example processes -- --peers OUT/peers.tsv --write
```

`--write` replaces the figures that `benches/figures/MACHINE/ranks.tsv` holds of each row and contender that was measured, on the machine
that it runs on, and renders this file from the figures of all machines; `--render` only renders. Medians [least most], each sample by
processes of its own, all in turn; each rank has one processor, ours one worker. ↓: of times and memory, less is better; ↑: of rates, more
is. A ratio is our median by its, that of the figure beside. A bound is not decided by fewer than 5 rounds, or while others used the
processors, by more than a tenth of one (`/proc/stat` without the time of the measured programs): *preliminary*.

All programs verify their results: RandomAccess applies HPCC's stream again, after which no word may be wrong; a breadth-first search
validates each of 64 trees by Graph500's rules, and its figure is the harmonic mean; our tree search compares the number of nodes. Peers
that `peers.sh` builds have `-O3 -march=native`; HPCC and the libraries of MPI are the system's packages; ours is built with the `RUSTFLAGS`
of the command, by default without instructions beyond the baseline of the target.
";

#[derive(Parser)]
#[command(about = "What ranks cost that are processes of this machine, beside their peers")]
struct Options {
    #[command(flatten)]
    launches: Launches<Self>,
    /// The binary logarithm of the words of RandomAccess.
    #[arg(long, default_value_t = 22, value_parser = clap::value_parser!(u32).range(2..=40))]
    log2: u32,
    /// The scale of the graph of breadth-first searches.
    #[arg(long, default_value_t = 18, value_parser = clap::value_parser!(u32).range(4..=31))]
    scale: u32,
}

/// The file that the processes of the yardstick map.
const LINES_VARIABLE: &str = "RANKS_LINES";
/// The time of the launch on the monotonic clock, in nanoseconds.
const BEGUN_VARIABLE: &str = "RANKS_BEGUN";

/// Bytes between the two words: neighbours are fetched in pairs.
const APART: usize = 128;

impl Table for Options {
    const NAME: &'static str = "ranks";
    const REPLACES: Replaces = Replaces::Contenders;

    fn document(machines: &[&Figures], notes: &str) -> String {
        render::document(HEAD, rows::ROWS, machines, notes)
    }
}

impl Suite for Options {
    const ROWS: &'static [Row<Self>] = rows::ROWS;

    fn launches(&self) -> &Launches<Self> {
        &self.launches
    }

    fn words(&self) -> Vec<String> {
        let [log2, scale] = [self.log2, self.scale].map(|size| size.to_string());
        vec!["--log2".into(), log2, "--scale".into(), scale]
    }

    fn shorten(&mut self) {
        (self.log2, self.scale) = (12, 8);
    }

    fn launch(launch: Launch) -> Result<Ended, Error> {
        let lines = lines_file();
        let shared = File::create(&lines).expect("a file for the two lines");
        shared
            .set_len(2 * APART as u64)
            .expect("room for two lines");
        let launch = launch.env(LINES_VARIABLE, &lines);
        let launch = launch.env(BEGUN_VARIABLE, now_ns().to_string());
        let ended = launch.run();
        let _ = fs::remove_file(&lines);
        ended
    }
}

fn main() {
    launched::main::<Options>();
}

/// Returns a path for the file of the yardstick, in memory where there is such a folder.
fn lines_file() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() {
        memory
    } else {
        env::temp_dir()
    };
    folder.join(format!("tautline-lines-{}", std::process::id()))
}

/// Returns the monotonic clock, which all processes share.
fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
