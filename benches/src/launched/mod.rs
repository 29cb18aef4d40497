//! Tables of rows that are measured by ranks, processes of this machine, and judged by bounds.
//!
//! Each measurement is a launch of the program by a process of its own, or of a program of a peer;
//! all take turns. Each rank is pinned to processors of cores of its own, as far as there are.

mod judge;
pub mod links;
pub mod render;
mod rows;

pub use rows::{Bound, OURS, Row, Way};

use crate::figures::{Record, Value};
use crate::machine::{self, Usage};
use crate::programs;
use crate::samples::in_turn;
use crate::stored::{Stored, Table, exit};
use judge::{MISSING, PRELIMINARY};
use rows::Job;
use std::env;
use std::path::PathBuf;
use std::time::Instant;
use tautline_core::Rank;
use tautline_process::{Ended, Error, Launch, RANK_VARIABLE};

/// Processors that others may use before figures are preliminary.
const OTHERS_MAX: f64 = 0.1;

/// The options of a program that measures a table.
pub trait Suite: clap::Parser + Table + 'static {
    /// The rows of the table.
    const ROWS: &'static [Row<Self>];

    /// Returns the options that all such programs have.
    fn launches(&self) -> &Launches<Self>;

    /// Returns the words that pass the sizes of rows on to a measurement.
    /// Provided: rows have no sizes.
    fn words(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes sizes those of short rounds.
    /// Provided: rows have no sizes.
    fn shorten(&mut self) {}

    /// Launches the ranks of a measurement.
    ///
    /// # Errors
    /// As [`Launch::run`].
    fn launch(launch: Launch) -> Result<Ended, Error> {
        launch.run()
    }
}

/// Options of all programs that measure such a table.
#[derive(clap::Args)]
pub struct Launches<T: Table> {
    /// Few and short rounds.
    #[arg(long)]
    pub quick: bool,
    /// The number of measurements of each.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Rows whose name begins with this.
    #[arg(long, default_value = "")]
    only: String,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<PathBuf>,
    #[command(flatten)]
    stored: Stored<T>,
    /// One launch, by this process: the name of a row.
    #[arg(long, hide = true)]
    measure: Option<String>,
    /// Its contender.
    #[arg(long, hide = true, default_value = OURS)]
    way: String,
}

impl<T: Table> Launches<T> {
    /// Round trips of a measurement.
    pub fn trips(&self) -> u64 {
        if self.quick { 200 } else { 100_000 }
    }

    /// Makes round trips, of which a tenth is not counted, and returns nanoseconds of one; `None`
    /// at another rank than 0.
    pub fn per_trip(&self, here: Rank, mut trip: impl FnMut(u64)) -> Option<f64> {
        let (all, warm_up) = (self.trips(), self.trips() / 10);
        (1..=warm_up).for_each(&mut trip);
        let start = Instant::now();
        (warm_up + 1..=warm_up + all).for_each(&mut trip);
        (here == Rank(0)).then(|| start.elapsed().as_nanos() as f64 / all as f64)
    }
}

/// Runs a program that measures a table: all of it, or one measurement.
pub fn main<S: Suite>() {
    let options = S::parse();
    let launches = options.launches();
    let Some(name) = &launches.measure else {
        return table(options);
    };
    let Some(row) = S::ROWS.iter().find(|row| row.name == name) else {
        exit(&format!("no measurement {name}"));
    };
    if env::var_os(RANK_VARIABLE).is_none() {
        return launch(row);
    }
    let ways = &mut row.ways.iter();
    let Some((_, measure)) = ways.find(|(way, _)| *way == launches.way) else {
        exit(&format!("no measurement {name} of {}", launches.way));
    };
    if let Some(figure) = measure(&options) {
        println!("{figure}");
    }
}

/// Measures everything in turn, and reports the medians.
fn table<S: Suite>(mut options: S) {
    let quick = options.launches().quick;
    if !options.launches().stored.measures(quick) {
        return;
    }
    if quick {
        options.shorten();
    }
    let rounds = if quick { 1 } else { options.launches().rounds };
    let mut conditions = machine::conditions();
    let before = Usage::read();
    let peers = programs::peers(options.launches().peers.as_ref());
    let jobs = rows::jobs::<S>(&options.launches().only, &peers);
    let mut failures = 0;
    let figures = in_turn(rounds as usize, jobs.len(), |at| {
        let job = &jobs[at];
        let figure = job.figure(&options);
        let figure = figure.inspect_err(|why| {
            eprintln!("{}, {}: {why}", job.row(&options), job.contender());
            failures += 1;
        });
        figure.ok()
    });
    let others = before.and_then(Usage::others_since);
    conditions += &format!("; medians of {rounds}; {}", used_by(others));
    let record = |(job, figures): (&Job<'_, S>, &Vec<Option<f64>>)| {
        let all = figures.len();
        let figures = Vec::from_iter(figures.iter().flatten().copied());
        let value = Value::of(&figures).unwrap_or_else(|| Value::Text(MISSING.to_owned()));
        Record {
            counted: Some([figures.len(), all]),
            ..Record::new(&job.row(&options), &job.contender(), value)
        }
    };
    let records = jobs.iter().zip(&figures).map(record).collect();
    options.launches().stored.report(&conditions, records);
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
fn launch<S: Suite>(row: &Row<S>) {
    let own = env::current_exe().expect("a running program has a path");
    let launch = Launch::new(own, row.ranks[0])
        .args(env::args_os().skip(1))
        .processors(processors(row.ranks.map(|count| count as usize)));
    let ended = S::launch(launch);
    let code = ended.expect("ranks that can be started").code();
    std::process::exit(code.into());
}

/// Returns the processors of each rank, of different cores as far as there are.
fn processors([ranks, each]: [usize; 2]) -> Vec<Vec<usize>> {
    let machine = tautline::Machine::discover();
    let mut cpus: Vec<_> = machine.allowed().iter().collect();
    cpus.sort_by_key(|cpu| (cpu.thread, cpu.id));
    let of = |rank: usize| {
        let own = (0..each.min(cpus.len())).map(|at| cpus[(rank * each + at) % cpus.len()].id);
        own.collect()
    };
    (0..ranks).map(of).collect()
}
