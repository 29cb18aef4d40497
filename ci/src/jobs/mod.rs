//! The jobs, in the order in which `cargo ci` runs those of a lane.

mod api;
mod bare;
mod cargo;
mod circles;
mod cost;
mod counted;
mod covered;
mod cross;
mod deep;
mod deps;
mod examples;
mod features;
mod guide;
mod litmus;
mod mirror;
mod models;
mod mpi;
mod msrv;
mod mutants;
mod native;
mod nostd;
mod orderings;
mod package;
mod packages;
mod programs;
mod proofs;
mod sanitizers;
mod sizes;
mod soak;
mod static_file;
mod systems;
mod table;
mod weaken;
mod words;

use crate::tree::Tree;
use anyhow::{Result, bail};
use sizes::columns::WRAP;

/// The end of a job that did not fail.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It held; a few words on what was seen.
    Holds(String),
    /// This machine cannot run it, and why. A failure under `CI=true`.
    CannotRun(String),
}

/// The work of a job, given the words after its name.
pub(crate) type Run = fn(&Tree, &[String]) -> Result<Verdict>;

/// The lane of a job when all run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// With those that build in `target/debug`, one at a time, since cargo locks that folder.
    Shared,
    /// With those that build in folders of their own.
    Own,
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether `cargo ci` without names runs it.
    pub default: bool,
    pub lane: Lane,
    pub run: Run,
    /// The rest of the job, which needs the machine for itself.
    pub alone: Option<Run>,
}

const fn job(name: &'static str, about: &'static str, run: Run) -> Job {
    Job {
        name,
        about,
        default: true,
        lane: Lane::Shared,
        run,
        alone: None,
    }
}

/// A job that builds in a folder of its own.
const fn own(name: &'static str, about: &'static str, run: Run) -> Job {
    Job {
        lane: Lane::Own,
        ..job(name, about, run)
    }
}

/// A job that runs by its name only.
const fn on_demand(name: &'static str, about: &'static str, run: Run) -> Job {
    Job {
        default: false,
        ..job(name, about, run)
    }
}

/// The jobs with arguments: what follows their name on the command line is a filter.
pub(crate) const WITH_WORDS: [&str; 6] = [CROSS, LITMUS, MUTANTS, WEAKEN, WRAP, DEEP];
const LITMUS: &str = "litmus";
const CROSS: &str = "cross";
const MUTANTS: &str = "mutants";
const WEAKEN: &str = "weaken";
const DEEP: &str = "deep";

pub(crate) const JOBS: &[Job] = &[
    // Texts first: a mistake is reported at once.
    job("fmt", "the code is formatted", cargo::fmt),
    job(
        "deps",
        "crates and modules import only from lower floors; unsafe, std and hardware stay where they belong",
        deps::run,
    ),
    job(
        "circles",
        "neither files nor folders of a crate import from each other in a circle",
        circles::run,
    ),
    job(
        "orderings",
        "every atomic access documents its ordering; ids that comments cite are in a table",
        orderings::run,
    ),
    job(
        "covered",
        "every strong ordering and every fence is weakened in models, by a recorded mutant or in a litmus test, or has a reason",
        covered::run,
    ),
    job(
        "sizes",
        "files, functions, folders and READMEs stay small; comments end at column 100",
        sizes::run,
    ),
    job(
        "words",
        "comments, documents and messages use the field's words",
        words::run,
    ),
    job(
        "tables",
        "the tables that list crates are what the crates have",
        table::check,
    ),
    job(
        "guide",
        "links of texts lead somewhere on a forge, too; the guide's programs are shown whole",
        guide::run,
    ),
    job(
        "mirror",
        "every module has its tests and models under its own name; tests name listed facts",
        mirror::run,
    ),
    job("clippy", "clippy has nothing to say", cargo::clippy),
    job(
        "docs",
        "the documentation builds without a warning",
        cargo::docs,
    ),
    job(
        "api",
        "the public items of the library are those of the listings",
        api::check,
    ),
    job(
        "features",
        "the library compiles without warnings with each feature, and brings few crates without them",
        features::run,
    ),
    Job {
        alone: Some(programs::alone),
        ..job("test", "all tests pass", programs::together)
    },
    job(
        "examples",
        "the examples and the README's program build, run and stay short",
        examples::run,
    ),
    job(
        "bench-smoke",
        "every benchmark runs once; tables are what their figures render",
        cargo::bench_smoke,
    ),
    own(
        "nostd",
        "the core links and runs without std, libc and allocator",
        nostd::run,
    ),
    own(
        "msrv",
        "the library compiles with the oldest compiler that Cargo.toml promises",
        msrv::run_all,
    ),
    own(
        "bare",
        "the core boots and runs on a board without an operating system, under emulation",
        bare::run_all,
    ),
    own(
        "models",
        "loom finds nothing, looks often enough, and catches the canary",
        models::models,
    ),
    own(
        "schedules",
        "random schedules find nothing, and show the canary's bug",
        models::schedules,
    ),
    own(
        "explore",
        "the message explorer finds nothing and looks far enough",
        models::explore,
    ),
    on_demand(
        api::LIST,
        "writes the listings of public items that `api` compares with",
        api::list,
    ),
    on_demand(
        table::WRITE,
        "writes the tables that `tables` compares with",
        table::write,
    ),
    on_demand(
        WRAP,
        "reflows comments that `sizes` finds too wide (wrap [FOLDER…]: those below)",
        sizes::columns::wrap,
    ),
    on_demand(
        "cost",
        "instructions of the core's operations, and how they synchronize, are those of the table, on x86-64, Arm, POWER and RISC-V",
        cost::check,
    ),
    on_demand(
        cost::LIST,
        "writes the table that `cost` compares with",
        cost::list,
    ),
    on_demand(
        "native",
        "compiled for this processor, the tree search is as fast as the default build",
        native::run_all,
    ),
    on_demand(
        "static",
        "the command is one static file, whose copy measures the machine",
        static_file::run_all,
    ),
    on_demand(
        MUTANTS,
        "every recorded mutant is killed by its model (mutants [NAME…]: those whose name contains one)",
        mutants::run,
    ),
    on_demand(
        WEAKEN,
        "every ordering that is weakened in the models lets one fail, or has a reason (weaken [NAME…]: those whose file or name contains one)",
        weaken::run,
    ),
    on_demand(
        LITMUS,
        "the memory models of the language and of processors forbid what the orderings exclude, and allow it without",
        litmus::run,
    ),
    on_demand(
        "soak",
        "a thousand million tasks in flat memory, a hundred thousand pools started and stopped",
        soak::run_all,
    ),
    on_demand(
        "package",
        "the crates are complete as they are published; a program and a backend outside of the workspace build and run",
        package::run,
    ),
    on_demand(
        CROSS,
        "tests on POWER, Arm, RISC-V, big-endian and 32-bit processors, emulated (cross [TARGET…]: some of them)",
        cross::run_all,
    ),
    on_demand(
        "cross-turn",
        "the quickest tests on one other processor, emulated: POWER, Arm and RISC-V take turns by commit",
        cross::in_turn,
    ),
    on_demand(
        "systems",
        "macOS: it compiles; Windows: the tests of threads pass under Wine",
        systems::run_all,
    ),
    on_demand(
        "mpi",
        "ranks over MPI: conformance of the link, and the applications, with Open MPI and MPICH",
        mpi::run_all,
    ),
    on_demand(
        "asan",
        "AddressSanitizer finds nothing in the tests of what is unsafe in the core and its threads (deep: in all)",
        sanitizers::asan,
    ),
    on_demand(
        "tsan",
        "ThreadSanitizer finds nothing in the tests of the core and of its threads",
        sanitizers::tsan,
    ),
    on_demand(
        "tsan-ranks",
        "ThreadSanitizer finds nothing in tests of several ranks in one process",
        sanitizers::tsan_ranks,
    ),
    on_demand(
        DEEP,
        "the tests and jobs that take minutes to hours (deep [NAME…]: those whose name contains one)",
        deep::run,
    ),
];

/// Turns what a text rule found into the job's end.
fn judge(findings: Vec<String>, holds: impl Into<String>) -> Result<Verdict> {
    match findings.len() {
        0 => Ok(Verdict::Holds(holds.into())),
        1 => bail!("1 finding\n{}", findings[0]),
        n => bail!("{n} findings\n{}", findings.join("\n")),
    }
}
