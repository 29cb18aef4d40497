//! The speed of phasers and of what is used in their place: one command, the whole of benches/PHASERS.md.
//!
//! Each section is a table: contenders by numbers of tasks. Everything is measured by `tautline::bench`, sample by
//! sample in turn, beside the round trip of a cache line in the same rounds; so a section says itself why its figures are
//! no ground for a verdict, if they are none. `--peers FILE` takes in programs of other languages, as `benches/peers.sh`
//! lists them. A new contender is a line in the list of its section: `bench::kinds` for barriers of threads, `kinds` of
//! the section's file for the others.

mod accumulate;
mod membership;
mod ring;
mod table;
mod tasks;

#[path = "../../common/allocations.rs"]
mod allocations;
#[path = "../../common/barriers.rs"]
mod barriers;
#[path = "../../common/machine.rs"]
mod machine;
#[path = "../../common/programs.rs"]
mod programs;

use clap::Parser;
use std::path::PathBuf;
use tautline::Machine;
use tautline::bench::{Kind, Setting};

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
}

/// A table.
struct Section {
    /// That of its programs, too.
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    /// The numbers of tasks.
    columns: &'static [usize],
    kinds: Vec<Kind>,
    /// Each task is a thread; else they are more than threads, and how they share processors is part of the matter.
    threads: bool,
}

fn main() {
    let options = Options::parse();
    let list = options.peers.as_ref().map(|file| programs::listed(file));
    let programs = list
        .unwrap_or(Ok(Vec::new()))
        .unwrap_or_else(|why| exit(&why));
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
    table::print_head(&machine, &setting, &sections, &programs, options.quick);
    for mut section in sections {
        if !section.name.starts_with(&options.only) {
            continue;
        }
        let own = programs
            .iter()
            .filter(|program| program.row == section.name);
        let own = own.map(|program| Kind::program(&program.who, program.path.split_whitespace()));
        section.kinds.extend(own);
        table::print_section(&section, &measured(&section, &setting));
    }
    if "memory".starts_with(&options.only) {
        table::print_bytes(THREADS.iter().chain(&[1000]).copied());
    }
    table::print_foot();
}

/// All sections but that of memory, which is counted.
fn sections(workers: usize) -> Vec<Section> {
    let threads = |name, title, kinds| Section {
        name,
        title,
        unit: "threads",
        columns: THREADS,
        kinds,
        threads: true,
    };
    vec![
        threads("barrier", "Barrier, ns an episode", barriers::for_threads()),
        threads("ring", "Ring of neighbours, ns an episode", ring::kinds()),
        threads(
            "sum",
            "Barrier with a sum, ns an episode",
            accumulate::kinds(),
        ),
        Section {
            name: "async",
            title: "Barrier of async tasks on all workers, ns an episode",
            unit: "tasks",
            columns: &[64, 1000],
            kinds: tasks::kinds(workers),
            threads: false,
        },
        Section {
            name: "register",
            title: "Registration and drop of one more, by one thread, ns",
            unit: "live tasks",
            columns: &[10_000],
            kinds: membership::kinds(),
            threads: false,
        },
        threads(
            "churn",
            "Barrier in which each task registers and drops another, ns an episode",
            membership::churn(),
        ),
    ]
}

fn measured(section: &Section, setting: &Setting) -> Vec<tautline::bench::Comparison> {
    let mut setting = setting.clone();
    if !section.threads {
        setting.processors = usize::MAX;
    }
    let compare = |&tasks: &usize| {
        let compared = setting.compare(&section.kinds, tasks);
        eprintln!("{} of {tasks} done", section.name);
        compared.unwrap_or_else(|error| exit(&error.to_string()))
    };
    section.columns.iter().map(compare).collect()
}

fn exit(complaint: &str) -> ! {
    eprintln!("{complaint}");
    std::process::exit(2)
}
