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
#[path = "../../common/args.rs"]
mod args;
#[path = "../../common/contention.rs"]
mod contention;
#[path = "../../common/figures.rs"]
mod figures;
#[path = "../../common/forks.rs"]
mod forks;
#[path = "../../common/machine.rs"]
mod machine;
#[path = "../../common/programs.rs"]
mod programs;
#[allow(dead_code, reason = "the benches of deques use all of it")]
#[path = "../../common/rivals.rs"]
mod rivals;
#[path = "../../common/work.rs"]
mod work;

use args::exit;
use clap::Parser;
use figures::Record;
use measure::{Case, Sample};
use programs::{Program, output_within};
use rows::{ROWS, Row};
use std::process::Command;
use std::time::{Duration, Instant};
use table::{Cell, Line};

/// Several times what the slowest measurement takes, and the slowest quick one: what takes longer
/// hangs.
const LONGEST: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(30)];

/// The name of the stored table.
const TABLE: &str = "tasks";

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
    stored: args::Stored,
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
    if !options.stored.measures(options.quick, render::document) {
        return;
    }
    let peers = options.peers.as_ref().map(|file| programs::listed(file));
    let peers = peers.unwrap_or(Ok(Vec::new()));
    let mut peers = peers.unwrap_or_else(|complaint| exit(&complaint));
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
    for round in 1..=rounds {
        for line in &mut lines {
            for cell in &mut line.cells {
                if Instant::now() < end {
                    take_undisturbed(line.row, cell, &options);
                }
            }
        }
        eprintln!("round {round} of {rounds} done");
    }
    let records = lines.iter().flat_map(|line| line.records(rounds));
    let mut records: Vec<Record> = records.collect();
    if options.instructions {
        records.extend(counts::records());
    }
    options
        .stored
        .report(&conditions, records, render::document);
    for line in &lines {
        if let Some(failure) = line.failure() {
            exit(&format!("{} by {}: {failure}", line.row.name, rows::OURS));
        }
    }
}

/// Conditions on which the figures of a run depend.
fn conditions(peers: &[Program], rounds: usize) -> String {
    let crates = ["rayon", "chili", "crossbeam-deque", "st3"];
    let crates = crates.map(|name| format!("{name} {}", machine::version(name)));
    let mut all = crates.to_vec();
    for peer in peers {
        if !all.contains(&peer.contender) {
            all.push(peer.contender.clone());
        }
    }
    let conditions = machine::conditions();
    format!(
        "{conditions}. Medians of {rounds} rounds. Peers: {}.",
        all.join(", ")
    )
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
    let size = row.sizes[usize::from(quick)];
    let mut command = match &cell.program {
        Some(program) => {
            let mut words = program.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words).args([size, &row.workers.to_string()]);
            command
        }
        None => {
            let mut command = this_program();
            command.args(["--measure", row.name, &cell.contender, size]);
            command.args(quick.then_some("--quick"));
            command
        }
    };
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
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = text.split_whitespace().map_while(|word| word.parse().ok());
    match (output.status.success(), figures.next(), figures.next()) {
        (true, Some(figure), Some(processors)) => {
            let sample = Sample { figure, processors };
            let alone = row.busy && row.workers == 1;
            Ok(if alone {
                sample.by_processor_time(row.better)
            } else {
                sample
            })
        }
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("");
            eprintln!(
                "{} by {}: {} {last}",
                row.name, cell.contender, output.status
            );
            Err("crash")
        }
    }
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("a running program has a path"))
}

/// Peers need it for deep trees; ours must do without.
fn on_a_large_stack<R: Send>(contender: &str, body: impl FnOnce() -> R + Send) -> R {
    if contender == rows::OURS {
        return body();
    }
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(forks::STACK_BYTES);
        let thread = builder.spawn_scoped(scope, body).expect("a thread");
        thread.join().expect("the panic message is its own")
    })
}
