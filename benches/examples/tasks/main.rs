//! The speed of tasks beside the peers: one command, the whole of benches/TASKS.md.
//!
//! `tasks` measures every row in turn by ours and by each peer, round by round, each measurement in
//! a process of its own, so that neither an idle pool nor a failure disturbs another contender.
//! Bounds are judged by the medians. A measurement of several workers that did not have their
//! processors is excluded; if too many are, the table reports that instead of a verdict.
//! `--peers FILE` adds programs of other languages: each line is the name of a row, that of the
//! peer, and a program with its first words, separated by tabs. The program is called with the size
//! of the row and its number of workers, and prints the figure and the number of processors that it
//! used. `benches/peers.sh` builds them. `--write` stores the figures as those of this machine and
//! renders the table of all machines.

mod counts;
mod measure;
mod render;
mod rows;
mod table;

#[path = "../../common/allocations.rs"]
mod allocations;
#[path = "../../common/contention.rs"]
mod contention;
#[path = "../../common/forks.rs"]
mod forks;
#[allow(dead_code, reason = "the benches of deques use all of it")]
#[path = "../../common/rivals.rs"]
mod rivals;
#[path = "../../common/work.rs"]
mod work;

use clap::Parser;
use measure::{Case, Sample};
use render::Tasks;
use rows::{ROWS, Row};
use std::time::{Duration, Instant};
use table::{Cell, Line};
use tautline_bench::figures::Record;
use tautline_bench::machine;
use tautline_bench::programs::{self, Program, measurement, numbers, output_within};
use tautline_bench::samples;
use tautline_bench::stored::{Stored, exit};

/// Several times what the slowest measurement takes, and the slowest quick one: what takes longer
/// hangs.
const LONGEST: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(30)];

#[derive(Parser)]
#[command(about = "The speed of tasks beside the peers")]
struct Options {
    /// Small sizes and two rounds: that everything runs, not how fast.
    #[arg(long)]
    quick: bool,
    /// The number of measurements of each.
    #[arg(long)]
    rounds: Option<usize>,
    /// The number of repetitions of a disturbed measurement in a round.
    #[arg(long, default_value_t = 1)]
    again: usize,
    /// Seconds after which nothing more is measured.
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// Rows whose name begins with this.
    #[arg(long, default_value = "")]
    only: String,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<std::path::PathBuf>,
    #[command(flatten)]
    stored: Stored<Tasks>,
    /// Counts instructions too, with valgrind and objdump.
    #[arg(long)]
    instructions: bool,
    /// One measurement, in this process: a row's name, the contender, and a size.
    #[arg(long, num_args = 3, hide = true)]
    measure: Option<Vec<String>>,
}

fn main() {
    let options = Options::parse();
    if let Some(words) = &options.measure {
        return measure_here(words, options.quick);
    }
    if !options.stored.measures(options.quick) {
        return;
    }
    let mut peers = programs::peers(options.peers.as_ref());
    peers.retain(|peer| rows::find(&peer.row).is_some());
    let rounds = options
        .rounds
        .unwrap_or(if options.quick { 2 } else { 5 })
        .max(1);
    let conditions = conditions(&peers, rounds);
    let chosen = ROWS
        .iter()
        .filter(|row| row.name.starts_with(&options.only));
    let mut lines: Vec<Line> = chosen
        .map(|row| Line::new(row, contenders(row, &peers)))
        .collect();
    let end = Instant::now() + Duration::from_secs(options.limit);
    samples::rounds(rounds, || {
        for line in &mut lines {
            for cell in &mut line.cells {
                if Instant::now() < end {
                    take_undisturbed(line.row, cell, &options);
                }
            }
        }
    });
    let records = lines.iter().flat_map(|line| line.records(rounds));
    let mut records: Vec<Record> = records.collect();
    if options.instructions {
        records.extend(counts::records());
    }
    options.stored.report(&conditions, records);
    for line in &lines {
        if let Some(failure) = line.failure() {
            exit(&format!("{} by {}: {failure}", line.row.name, rows::OURS));
        }
    }
}

/// Conditions on which the figures of a run depend.
fn conditions(peers: &[Program], rounds: usize) -> String {
    let crates = ["rayon", "chili", "crossbeam-deque", "st3"];
    let (conditions, all) = (machine::conditions(), programs::contenders(&crates, peers));
    format!("{conditions}. Medians of {rounds} rounds. Peers: {all}.")
}

/// The one measurement that this process was started for.
fn measure_here(words: &[String], quick: bool) {
    let row = rows::find(&words[0]).unwrap_or_else(|| exit(&format!("no row {}", words[0])));
    let (_, way) = row
        .ways
        .iter()
        .find(|(contender, _)| *contender == words[1])
        .unwrap_or_else(|| {
            let known = row
                .ways
                .iter()
                .map(|(contender, _)| *contender)
                .collect::<Vec<_>>();
            exit(&format!(
                "{} is measured by {}, not by {}",
                row.name,
                known.join(", "),
                words[1]
            ))
        });
    let size = words[2].clone();
    let case = Case {
        workers: row.workers,
        size,
        quick,
    };
    let sample = on_a_large_stack(&words[1], || way(&case));
    println!("{} {}", sample.figure, sample.processors);
}

fn contenders(row: &Row, peers: &[Program]) -> Vec<Cell> {
    let ways = row
        .ways
        .iter()
        .map(|(contender, _)| Cell::new(contender, None));
    let programs = peers.iter().filter(|p| p.row == row.name);
    ways.chain(programs.map(|p| Cell::new(&p.contender, Some(&p.path))))
        .collect()
}

/// One measurement that counts, if the machine allows.
fn take_undisturbed(row: &Row, cell: &mut Cell, options: &Options) {
    let matters = cell.contender == rows::OURS || row.depends_on(&cell.contender);
    let times = if matters && !options.quick {
        1 + options.again
    } else {
        1
    };
    for _ in 0..times {
        let sample = match take(row, cell, options.quick) {
            Ok(sample) => sample,
            Err(failure) => {
                cell.failure = Some(failure);
                return;
            }
        };
        if !row.is_disturbed(sample.processors) {
            cell.samples.push(sample);
            return;
        }
        cell.disturbed.push(sample);
    }
}

/// One measurement, in a process of its own, or how that failed.
fn take(row: &Row, cell: &Cell, quick: bool) -> Result<Sample, &'static str> {
    let (size, workers) = (row.sizes[usize::from(quick)], row.workers.to_string());
    let words = [row.name, &cell.contender, size];
    let mut command = measurement(cell.program.as_deref(), [size, &workers], &words, quick);
    command.env("RUST_MIN_STACK", forks::STACK_BYTES.to_string());
    let longest = LONGEST[usize::from(quick)];
    let output = match output_within(longest, &mut command) {
        Ok(Some(output)) => output,
        Ok(None) => {
            let (contender, seconds) = (&cell.contender, longest.as_secs());
            eprintln!("{} by {contender}: no end after {seconds} s", row.name);
            return Err("no end");
        }
        Err(error) => exit(&format!("{}: {error}", cell.contender)),
    };
    match numbers(&output) {
        Ok([figure, processors]) => {
            let sample = Sample { figure, processors };
            let alone = row.busy && row.workers == 1;
            Ok(if alone {
                sample.by_processor_time(row.better)
            } else {
                sample
            })
        }
        Err(said) => {
            eprintln!("{} by {}: {said}", row.name, cell.contender);
            Err("crash")
        }
    }
}

/// Peers need it for deep trees; ours must do without.
fn on_a_large_stack<R: Send>(contender: &str, body: impl FnOnce() -> R + Send) -> R {
    if contender == rows::OURS {
        return body();
    }
    forks::on_a_large_stack(body)
}
