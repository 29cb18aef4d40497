//! The speed of phasers and of what is used in their place: one command, the whole of
//! benches/PHASERS.md.
//!
//! Each section is a table: contenders by numbers of tasks. Everything is measured by
//! `tautline_cli::bench`, sample by sample in turn, beside the round trip of a cache line in the
//! same rounds; so a section whose figures do not justify a verdict shows the reason.
//! `--peers FILE` takes in programs of other languages, as `benches/peers.sh` lists them. A new
//! contender is a line in the list of its section: `bench::kinds` for barriers of threads, `kinds`
//! of the section's file for the others.

mod accumulate;
mod hybrid;
mod membership;
mod ring;
mod table;
mod tasks;

#[path = "../../common/allocations.rs"]
mod allocations;
#[path = "../../common/barriers.rs"]
mod barriers;

use clap::Parser;
use std::path::PathBuf;
use table::Phasers;
use tautline::Machine;
use tautline_bench::machine;
use tautline_bench::programs::{self, Program};
use tautline_bench::stored::{Stored, exit};
use tautline_cli::bench::{Kind, Setting};

/// Threads of a section of threads.
const THREADS: &[usize] = &[2, 4, 8];
/// Processors that all share.
const PROCESSORS: usize = 2;

#[derive(Parser)]
#[command(about = "The speed of phasers and of what is used in their place")]
struct Options {
    /// Few samples of few episodes: that everything runs, not how fast.
    #[arg(long)]
    quick: bool,
    /// Samples of each.
    #[arg(long, default_value_t = 20)]
    samples: usize,
    /// Sections whose name begins with this.
    #[arg(long, default_value = "")]
    only: String,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// One sample over ranks, by this process: a way, what, ranks, episodes, threads in all.
    #[arg(long, hide = true, num_args = 5)]
    hybrid: Option<Vec<String>>,
    #[command(flatten)]
    stored: Stored<Phasers>,
}

/// A table.
struct Section {
    /// The name, also of its programs.
    name: &'static str,
    /// The numbers of tasks.
    columns: &'static [usize],
    kinds: Vec<Kind>,
    /// Each task is a thread; else they are more than threads, and how they share processors is
    /// part of the matter.
    threads: bool,
    /// The tasks are those of several ranks, and use all processors.
    ranks: bool,
}

fn main() {
    let options = Options::parse();
    if let Some(words) = &options.hybrid {
        return hybrid::run(words);
    }
    if !options.stored.measures(options.quick) {
        return;
    }
    let programs = programs::peers(options.peers.as_ref());
    let machine = Machine::discover();
    let mut cpus = machine.cpus();
    cpus.truncate(PROCESSORS);
    let mut setting = Setting {
        samples: options.samples.max(1),
        ..Setting::on(&machine, cpus)
    };
    if options.quick {
        (setting.samples, setting.iterations) = (options.samples.clamp(1, 2), Some(20));
    }
    let sections = sections(setting.cpus.len());
    let conditions = conditions(&setting, &sections, &programs);
    let mut records = Vec::new();
    for mut section in sections {
        if !section.name.starts_with(&options.only) {
            continue;
        }
        let own = programs
            .iter()
            .filter(|program| program.row == section.name);
        let own =
            own.map(|program| Kind::program(&program.contender, program.path.split_whitespace()));
        section.kinds.extend(own);
        records.extend(table::records(&section, &measured(&section, &setting)));
        if section.ranks {
            records.extend(table::shared_records(&section, machine.cpus().len()));
        }
    }
    if "memory".starts_with(&options.only) {
        for &tasks in THREADS.iter().chain(&[1000]) {
            records.extend(table::byte_records(tasks, membership::bytes(tasks)));
        }
    }
    options.stored.report(&conditions, records);
}

/// Conditions on which the figures of a run depend.
fn conditions(setting: &Setting, sections: &[Section], programs: &[Program]) -> String {
    let known = |program: &&Program| sections.iter().any(|section| section.name == program.row);
    format!(
        "{}; {} processors used. Medians of {} samples. Peers: {}.",
        machine::conditions(),
        setting.cpus.len().min(PROCESSORS),
        setting.samples,
        programs::contenders(&["hurdles", "tokio"], programs.iter().filter(known)),
    )
}

/// All sections but that of memory, which is counted.
fn sections(workers: usize) -> Vec<Section> {
    let threads = |name, kinds| Section {
        name,
        columns: THREADS,
        kinds,
        threads: true,
        ranks: false,
    };
    let many = |name, columns, kinds| Section {
        name,
        columns,
        kinds,
        threads: false,
        ranks: false,
    };
    let ranks = |name, columns, kinds| Section {
        ranks: true,
        ..many(name, columns, kinds)
    };
    vec![
        threads("barrier", barriers::for_threads()),
        threads("ring", ring::kinds()),
        threads("sum", accumulate::kinds()),
        many("async", &[64, 1000], tasks::kinds(workers)),
        many("register", &[10_000], membership::kinds()),
        threads("churn", membership::churn()),
        ranks("hybrid-2", &[2, 4, 8], hybrid::kinds(2, "barrier")),
        ranks("hybrid-4", &[4, 8, 16], hybrid::kinds(4, "barrier")),
        ranks("hybrid-sum-2", &[2, 4, 8], hybrid::kinds(2, "sum")),
        ranks("hybrid-sum-4", &[4, 8, 16], hybrid::kinds(4, "sum")),
        ranks("hybrid-split", &[2], hybrid::kinds(2, "split")),
    ]
}

fn measured(section: &Section, setting: &Setting) -> Vec<tautline_cli::bench::Comparison> {
    let mut setting = setting.clone();
    if !section.threads {
        setting.processors = usize::MAX;
    }
    if section.ranks {
        setting.cpus = Machine::discover().cpus();
    }
    let compare = |&tasks: &usize| {
        let compared = setting.compare(&section.kinds, tasks, None);
        eprintln!("{} of {tasks} done", section.name);
        compared.unwrap_or_else(|error| exit(&error.to_string()))
    };
    section.columns.iter().map(compare).collect()
}
