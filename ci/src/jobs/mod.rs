//! The jobs, in the order in which `cargo ci` runs them.

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
mod sanitizers;
mod sizes;
mod soak;
mod static_file;
mod systems;
mod table;
mod words;

use crate::tree::Tree;
use anyhow::{Result, bail};

/// How a job that did not fail ended.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It held; a few words on what was seen.
    Holds(String),
    /// This machine cannot run it, and why. A failure under `CI=true`.
    CannotRun(String),
}

/// One job. `words` are the arguments after the name of a job that takes any.
#[derive(Debug)]
pub(crate) struct Job {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether `cargo ci` without names runs it.
    pub default: bool,
    pub run: fn(&Tree, &[String]) -> Result<Verdict>,
}

const fn job(
    name: &'static str,
    about: &'static str,
    run: fn(&Tree, &[String]) -> Result<Verdict>,
) -> Job {
    Job {
        name,
        about,
        default: true,
        run,
    }
}

/// The jobs with arguments: what follows their name on the command line is a filter.
pub(crate) const WITH_WORDS: [&str; 4] = [CROSS, LITMUS, MUTANTS, DEEP];
const LITMUS: &str = "litmus";
const CROSS: &str = "cross";
const MUTANTS: &str = "mutants";
const DEEP: &str = "deep";

pub(crate) const JOBS: &[Job] = &[
    job("fmt", "the code is formatted", cargo::fmt),
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
        "deps",
        "crates and modules import only from lower floors; unsafe, std and hardware stay where they belong",
        deps::run,
    ),
    job(
        "circles",
        "no files of a crate import from each other in a circle",
        circles::run,
    ),
    job(
        "orderings",
        "every atomic access documents its ordering; ids that comments cite are in a table",
        orderings::run,
    ),
    job(
        "covered",
        "every strong ordering and every fence is weakened by a recorded mutant or in a litmus test, or, outside of the core, documents why not",
        covered::run,
    ),
    job(
        "sizes",
        "files, functions, folders and READMEs stay small",
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
        "every module has its tests, models and benchmark under its own name; tests name listed facts",
        mirror::run,
    ),
    job(
        "msrv",
        "the library compiles with the oldest compiler that Cargo.toml promises",
        msrv::run_all,
    ),
    job(
        "features",
        "the library compiles without warnings with each feature, and brings few crates without them",
        features::run,
    ),
    job(
        "nostd",
        "the core links and runs without std, libc and allocator",
        nostd::run,
    ),
    job(
        "bare",
        "the core boots and runs on a board without an operating system, under emulation",
        bare::run_all,
    ),
    job("test", "all tests pass", cargo::test),
    job(
        "models",
        "loom finds nothing, looks often enough, and catches the canary",
        models::models,
    ),
    job(
        "schedules",
        "random schedules find nothing, and show the canary's bug",
        models::schedules,
    ),
    job(
        "explore",
        "the message explorer finds nothing and looks far enough",
        models::explore,
    ),
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
    Job {
        default: false,
        ..job(
            api::LIST,
            "writes the listings of public items that `api` compares with",
            api::list,
        )
    },
    Job {
        default: false,
        ..job(
            table::WRITE,
            "writes the tables that `tables` compares with",
            table::write,
        )
    },
    Job {
        default: false,
        ..job(
            "cost",
            "instructions of the core's operations, and how they synchronize, are those of the table, on x86-64, Arm, POWER and RISC-V",
            cost::check,
        )
    },
    Job {
        default: false,
        ..job(
            cost::LIST,
            "writes the table that `cost` compares with",
            cost::list,
        )
    },
    Job {
        default: false,
        ..job(
            "native",
            "compiled for this processor, the tree search is as fast as the default build",
            native::run_all,
        )
    },
    Job {
        default: false,
        ..job(
            "static",
            "the command is one static file, whose copy measures the machine",
            static_file::run_all,
        )
    },
    Job {
        default: false,
        ..job(
            MUTANTS,
            "every recorded mutant is killed by its model (mutants [NAME…]: those whose name contains one)",
            mutants::run,
        )
    },
    Job {
        default: false,
        ..job(
            LITMUS,
            "the memory models of the language and of processors forbid what the orderings exclude, and allow it without",
            litmus::run,
        )
    },
    Job {
        default: false,
        ..job(
            "soak",
            "a thousand million tasks in flat memory, a hundred thousand pools started and stopped",
            soak::run_all,
        )
    },
    Job {
        default: false,
        ..job(
            "package",
            "the crates are complete as they are published; a program and a backend outside of the workspace build and run",
            package::run,
        )
    },
    Job {
        default: false,
        ..job(
            CROSS,
            "tests on POWER, Arm, RISC-V, big-endian and 32-bit processors, emulated (cross [TARGET…]: some of them)",
            cross::run_all,
        )
    },
    Job {
        default: false,
        ..job(
            "cross-turn",
            "the quickest tests on one other processor, emulated: POWER, Arm and RISC-V take turns by commit",
            cross::in_turn,
        )
    },
    Job {
        default: false,
        ..job(
            "systems",
            "macOS: it compiles; Windows: the tests of threads pass under Wine",
            systems::run_all,
        )
    },
    Job {
        default: false,
        ..job(
            "mpi",
            "ranks over MPI: conformance of the link, and the applications, with Open MPI and MPICH",
            mpi::run_all,
        )
    },
    Job {
        default: false,
        ..job(
            "asan",
            "AddressSanitizer finds nothing in the tests of what is unsafe in the core and its threads (deep: in all)",
            sanitizers::asan,
        )
    },
    Job {
        default: false,
        ..job(
            "tsan",
            "ThreadSanitizer finds nothing in the tests of the core and of its threads",
            sanitizers::tsan,
        )
    },
    Job {
        default: false,
        ..job(
            "tsan-ranks",
            "ThreadSanitizer finds nothing in tests of several ranks in one process",
            sanitizers::tsan_ranks,
        )
    },
    Job {
        default: false,
        ..job(
            DEEP,
            "the tests and jobs that take minutes to hours (deep [NAME…]: those whose name contains one)",
            deep::run,
        )
    },
];

/// Turns what a text rule found into the job's end.
fn judge(findings: Vec<String>, holds: impl Into<String>) -> Result<Verdict> {
    match findings.len() {
        0 => Ok(Verdict::Holds(holds.into())),
        1 => bail!("1 finding\n{}", findings[0]),
        n => bail!("{n} findings\n{}", findings.join("\n")),
    }
}
