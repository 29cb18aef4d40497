//! Ranks over MPI beside plain calls of MPI: one command, the whole of benches/CLUSTERS.md.
//!
//! `benches/clusters.sh` builds this program and those that it launches with each MPI library, and
//! runs it. It launches everything in turn, round by round, and takes medians; a ratio is the
//! median of those of the rounds. A search is judged by the sequential program, alone, and on each
//! of its processors before and after it. The ranks of a launch get processors of their own, whose
//! number is that of the processors found. `--write` stores the figures as those of this machine
//! and renders the table of all machines.
//!
//! `--programs` is a folder with one folder for each library, which holds the programs `messages`,
//! `searches`, `overlap`, `waits` and `tautline`, and the script `launch`: called with a number of
//! ranks, a program and its arguments, it starts the ranks.

mod bounds;
mod launch;
mod render;
mod rows;

use clap::Parser;
use launch::Library;
use render::Clusters;
use rows::Job;
use std::path::PathBuf;
use tautline_bench::machine;
use tautline_bench::programs;
use tautline_bench::samples::{self, Samples};
use tautline_bench::stored::{Stored, exit};

#[derive(Parser)]
#[command(about = "Ranks over MPI, beside plain calls of MPI")]
struct Options {
    /// Small trees, short waits and one round: check that everything runs.
    #[arg(long)]
    quick: bool,
    /// The number of measurements of each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The folder with a folder of programs for each MPI library.
    #[arg(long, default_value = ".")]
    programs: PathBuf,
    /// Jobs whose name begins with this: messages, overlap, waits, T1L, T3L.
    #[arg(long, default_value = "")]
    only: String,
    /// The number of paces of ranks that steal, of four, the largest first; all that are left out
    /// leave the table.
    #[arg(long, default_value_t = rows::PACES.len())]
    paces: usize,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<PathBuf>,
    #[command(flatten)]
    stored: Stored<Clusters>,
    /// In a launched rank: the processors of each rank, as in 0,1/2,3; runs the program on those of
    /// its own.
    #[arg(long, hide = true, requires = "program")]
    at: Option<String>,
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<String>,
}

fn main() {
    let options = Options::parse();
    if let Some(at) = &options.at {
        exit(&launch::confined(at, &options.program));
    }
    if let Some(word) = options.program.first() {
        exit(&format!("{word}: clusters takes options only, see --help"));
    }
    if !options.stored.measures(options.quick) {
        return;
    }
    let libraries = launch::libraries(&options.programs).unwrap_or_else(|why| exit(&why));
    let peers = programs::peers(options.peers.as_ref());
    let jobs: Vec<Job> = rows::jobs(options.quick, options.paces)
        .into_iter()
        .filter(|job| job.name.starts_with(&options.only))
        .collect();
    let mut all: Vec<(Library, Samples)> = libraries
        .into_iter()
        .map(|library| (library, Samples::default()))
        .collect();
    let rounds = if options.quick { 1 } else { options.rounds };
    let mut failures = 0;
    samples::rounds(rounds as usize, || {
        for (library, samples) in &mut all {
            for job in &jobs {
                if let Err(why) = job.run(library, &peers, samples) {
                    eprintln!("{}/{}: {why}", library.name, job.row());
                    failures += 1;
                }
            }
        }
    });
    for (library, samples) in &all {
        let conditions = format!(
            "{}; {}; median of {rounds}",
            samples.library,
            machine::conditions(),
        );
        // Rows begin with the name of the library's folder.
        let records = samples.records().map(|mut record| {
            record.row = format!("{}/{}", library.name, record.row);
            record
        });
        options.stored.report(&conditions, records.collect());
    }
    if failures > 0 {
        exit(&format!("{failures} launches failed"));
    }
}
