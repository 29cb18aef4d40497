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

mod judge;
mod links;
mod programs;
mod render;
mod rows;
mod teams;

use clap::Parser;
use judge::{MISSING, PRELIMINARY};
use render::Ranks;
use rows::Row;
use rustix::time::{ClockId, clock_gettime};
use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Instant;
use tautline_bench::figures::{Record, Value};
use tautline_bench::machine::{self, Usage};
use tautline_bench::programs as peers;
use tautline_bench::samples::in_turn;
use tautline_bench::stored::{Stored, exit};
use tautline_core::Rank;
use tautline_process::{Launch, RANK_VARIABLE};

#[derive(Parser)]
#[command(about = "What ranks cost that are processes of this machine, beside their peers")]
struct Options {
    /// Few and short rounds.
    #[arg(long)]
    quick: bool,
    /// The number of measurements of each.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Rows whose name begins with this.
    #[arg(long, default_value = "")]
    only: String,
    /// The binary logarithm of the words of RandomAccess.
    #[arg(long, default_value_t = 22, value_parser = clap::value_parser!(u32).range(2..=40))]
    log2: u32,
    /// The scale of the graph of breadth-first searches.
    #[arg(long, default_value_t = 18, value_parser = clap::value_parser!(u32).range(4..=31))]
    scale: u32,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<PathBuf>,
    #[command(flatten)]
    stored: Stored<Ranks>,
    /// One launch, by this process: the name of a row.
    #[arg(long, hide = true)]
    measure: Option<String>,
}

/// The file that the processes of the yardstick map.
const LINES_VARIABLE: &str = "RANKS_LINES";
/// The time of the launch on the monotonic clock, in nanoseconds.
const BEGUN_VARIABLE: &str = "RANKS_BEGUN";

/// Bytes between the two words: neighbours are fetched in pairs.
const APART: usize = 128;

/// Processors that others may use before figures are preliminary.
const OTHERS_MAX: f64 = 0.1;

fn main() {
    let options = Options::parse();
    let Some(name) = &options.measure else {
        return table(options);
    };
    let row = rows::row(name).unwrap_or_else(|| exit(&format!("no measurement {name}")));
    if env::var_os(RANK_VARIABLE).is_none() {
        return launch(row);
    }
    if let Some(figure) = (row.at_rank)(&options) {
        println!("{figure}");
    }
}

/// Measures everything in turn, and reports the medians.
fn table(mut options: Options) {
    if !options.stored.measures(options.quick) {
        return;
    }
    if options.quick {
        (options.rounds, options.log2, options.scale) = (1, 12, 8);
    }
    let mut conditions = machine::conditions();
    let before = Usage::read();
    let peers = peers::peers(options.peers.as_ref());
    let jobs = rows::jobs(&options.only, &peers);
    let mut failures = 0;
    let figures = in_turn(options.rounds as usize, jobs.len(), |at| {
        let figure = jobs[at].figure(&options);
        let figure = figure.inspect_err(|why| {
            eprintln!(
                "{}, {}: {why}",
                jobs[at].row(&options),
                jobs[at].contender()
            );
            failures += 1;
        });
        figure.ok()
    });
    let others = before.and_then(Usage::others_since);
    conditions += &format!("; medians of {}; {}", options.rounds, used_by(others));
    let record = |(job, figures): (&rows::Job<'_>, &Vec<Option<f64>>)| {
        let all = figures.len();
        let figures = Vec::from_iter(figures.iter().flatten().copied());
        let value = Value::of(&figures).unwrap_or_else(|| Value::Text(MISSING.to_owned()));
        Record {
            counted: Some([figures.len(), all]),
            ..Record::new(&job.row(&options), job.contender(), value)
        }
    };
    let records = jobs.iter().zip(&figures).map(record).collect();
    options.stored.report(&conditions, records);
    if failures > 0 {
        exit(&format!("{failures} launches failed"));
    }
}

/// Describes the processors that others used during the measurements.
fn used_by(others: Option<f64>) -> String {
    match others {
        Some(others) if others <= OTHERS_MAX => format!("others used {others:.2} processors"),
        Some(others) => format!("{PRELIMINARY}: others used {others:.2} processors"),
        None => format!("{PRELIMINARY}: the use of the processors is unknown"),
    }
}

/// Launches this program as the ranks of a measurement.
fn launch(row: &Row) {
    let own = env::current_exe().expect("a running program has a path");
    let lines = lines_file();
    let shared = File::create(&lines).expect("a file for the two lines");
    shared
        .set_len(2 * APART as u64)
        .expect("room for two lines");
    let launch = Launch::new(own, row.ranks)
        .args(env::args_os().skip(1))
        .processors(processors(row.ranks as usize))
        .env(LINES_VARIABLE, &lines);
    let launch = launch.env(BEGUN_VARIABLE, now_ns().to_string());
    let ended = launch.run();
    let _ = fs::remove_file(&lines);
    let code = ended.expect("ranks that can be started").code();
    std::process::exit(code.into());
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

/// Returns one processor for each rank, of different cores as far as there are.
fn processors(ranks: usize) -> Vec<Vec<usize>> {
    let machine = tautline::Machine::discover();
    let mut cpus: Vec<_> = machine.allowed().iter().collect();
    cpus.sort_by_key(|cpu| (cpu.thread, cpu.id));
    let of = |rank: usize| vec![cpus[rank % cpus.len()].id];
    (0..ranks).map(of).collect()
}

/// Returns the monotonic clock, which all processes share.
fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Round trips of a measurement.
fn trips(options: &Options) -> u64 {
    if options.quick { 200 } else { 100_000 }
}

/// Makes round trips, of which a tenth is not counted, and returns nanoseconds of one; `None` at
/// rank 1.
fn per_trip(here: Rank, options: &Options, mut trip: impl FnMut(u64)) -> Option<f64> {
    let (all, warm_up) = (trips(options), trips(options) / 10);
    (1..=warm_up).for_each(&mut trip);
    let start = Instant::now();
    (warm_up + 1..=warm_up + all).for_each(&mut trip);
    (here == Rank(0)).then(|| start.elapsed().as_nanos() as f64 / all as f64)
}
