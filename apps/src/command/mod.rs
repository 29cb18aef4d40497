//! The command: one file or folder a subcommand; `app` has what the applications share, `spmd` what
//! those of messages share.
//!
//! Results go to stdout, diagnostics to stderr. Exit codes: 0, 1 for a wrong answer or a failed
//! check, 2 for a request that cannot be carried out, 3 for a result that cannot be written, 4 for
//! a lost rank, 101 for a panic, 130 for an interrupt. A launch ends with the highest code of its
//! ranks; that of a signal is 128 and its number. A run that ends early by its own finding or at
//! its deadline does what was requested: 0, and the result is marked as partial.

mod app;
mod bc;
mod bench;
mod launch;
mod loops;
mod manual;
mod nqueens;
mod pentomino;
mod recorded;
mod simulate;
mod spmd;
mod synthetic;
mod topo;
mod tsp;
mod uts;

use app::{Application, Chosen, Threads};
use spmd::{OnRanks, Ranked, on_ranks};
use tautline_cli::program::show::terminal::is_terminal;
use tautline_cli::program::show::{self, number, place, story};
use tautline_cli::program::{
    Failure, Outcome, balancer, deliver, duration, end, help, known, list, quote, refusal, usage,
};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io;
use std::process::ExitCode;
use std::sync::LazyLock;
use tautline::variables;
use tautline_node::signal::ignore_file_size_limit;

const NAME: &str = "tautline";

const EXAMPLES: &str = "\
EXAMPLES:
  tautline uts                       count the 102 181 082 nodes of T1L on all processors
  tautline uts T3L --places 4        the same for a binomial tree, four places
  tautline uts --life story.html     and draw where the time went
  tautline uts T1WL --deadline 10s   as much of a huge one as ten seconds allow
  tautline uts --ranks 2             by two processes
  tautline stencil --ranks 2         rows of a plate that two processes send each other
  tautline gups --ranks 2            HPCC RandomAccess: random updates of a distributed table
  tautline bfs --ranks 2             Graph500: breadth-first search of a distributed graph
  tautline heat --ranks 2            heat on a plate, whose tasks of all processes meet in each step
  tautline selftest --ranks 4        random programs over four processes, against an interpreter
  tautline launch -n 4 -- PROGRAM    four processes of a program of one's own
  tautline simulate uts              1024 places in virtual time, on this one machine
  tautline topo                      what the runtime sees of this machine
  tautline bench all --quick         what barriers, steals and messages cost on it
  tautline loops exponential         how evenly chunk policies divide a loop
  tautline completions bash          completions for a shell; tautline man: the manual

EXIT CODES: 0 all well (a deadline included), 1 wrong answer, 2 bad request,
3 unwritten result, 4 lost rank, 101 panic, 130 interrupted (also by SIGTERM and SIGHUP).

Every option of the balancer has a variable: TAUTLINE_PLACES, TAUTLINE_WORKERS, ... The option wins.

NO_COLOR: the verdict has no colour on a terminal either.";

/// Every application that is balanced, on threads and in virtual time.
const APPLICATIONS: &[Application] = &[
    Application::of::<uts::Uts>(),
    Application::of::<nqueens::NQueens>(),
    Application::of::<pentomino::Pentomino>(),
    Application::of::<tsp::Tsp>(),
    Application::of::<bc::Bc>(),
    Application::of::<synthetic::Synthetic>(),
    Application::of::<recorded::Recorded>(),
];

/// Every application whose ranks exchange messages.
const ON_RANKS: &[Application<dyn Ranked>] = &[
    on_ranks::<spmd::Stencil>(),
    on_ranks::<spmd::SmithWaterman>(),
    on_ranks::<spmd::Gups>(),
    on_ranks::<spmd::Bfs>(),
    on_ranks::<spmd::Heat>(),
    on_ranks::<spmd::Programs>(),
    #[cfg(feature = "dense")]
    on_ranks::<spmd::Cholesky>(),
];

/// The version and the capabilities of this build and machine.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\ncommit: {}\nbuild: {}\ntransports: {}\nSHA-1: {}\ntarget: {}-{}",
        env!("CARGO_PKG_VERSION"),
        option_env!("BUILD_COMMIT").unwrap_or("unknown"),
        if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        },
        if cfg!(target_os = "linux") {
            "threads, processes"
        } else {
            "threads"
        },
        sha_hardware().unwrap_or("software"),
        std::env::consts::ARCH,
        std::env::consts::OS,
    )
});

/// Irregular parallel programs, balanced by lifelines.
#[derive(Debug, Parser)]
#[command(name = NAME, version, long_version = VERSION.as_str(), after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Application(Chosen<Threads>),
    #[command(flatten)]
    OnRanks(Chosen<OnRanks>),
    Simulate(Box<simulate::Simulate>),
    Topo(topo::Topo),
    Bench(bench::Bench),
    Loops(loops::Loops),
    Launch(launch::Launch),
    Completions(manual::Completions),
    Man(manual::Man),
}

/// Runs the command that the arguments ask for.
pub(crate) fn main() -> ExitCode {
    let command = help::arranged(Cli::command());
    variables::warn_of_unknown();
    let arguments = launch::spelled(std::env::args_os());
    if let [_, name, rest @ ..] = &arguments[..]
        && name == "simulate"
        && let Err(failure) = simulate::refuse_former(rest)
    {
        return end(NAME, Err(failure));
    }
    let read = usage::read(&command, arguments, |matches| {
        Ok((
            Cli::from_arg_matches(matches)?,
            usage::settings(&command, matches),
        ))
    });
    let (cli, settings) = match read {
        Ok(read) => read,
        Err(code) => return code,
    };
    if cfg!(debug_assertions) && is_terminal(&io::stderr()) {
        eprintln!("tautline: a debug build: rates are a fraction of those of cargo run --release");
    }
    // A result that cannot be written is reported. Programs of a launch are as they would be
    // without it.
    if !matches!(cli.command, Command::Launch(_)) {
        ignore_file_size_limit();
    }
    let outcome = match cli.command {
        Command::Application(application) => application.run(&settings),
        Command::OnRanks(application) => application.run(&settings),
        Command::Simulate(simulate) => simulate.run(),
        Command::Topo(topo) => topo.run(),
        Command::Bench(bench) => bench.run(),
        Command::Loops(loops) => loops.run(),
        Command::Launch(launch) => launch.run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
    };
    end(NAME, outcome)
}

/// Returns the line for a command without the one that should follow it.
fn missing_command() -> String {
    refusal::missing_command(&Cli::command())
}

/// Returns the SHA-1 instructions of this processor, if it has any.
fn sha_hardware() -> Option<&'static str> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1") {
        return Some("x86 SHA extensions");
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("sha2") {
        return Some("ARMv8 SHA extensions");
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_arguments_are_consistent() {
        <super::Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn each_example_fits_into_a_line_of_100_columns() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            for line in text.lines().take_while(|line| !line.is_empty()) {
                assert!(line.chars().count() <= 100, "{line}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&<super::Cli as clap::CommandFactory>::command());
    }

    #[test]
    fn every_application_describes_itself_and_gives_examples_on_both_grounds() {
        let root = <super::Cli as clap::CommandFactory>::command();
        let simulate = root.find_subcommand("simulate").expect("there is one");
        for application in super::APPLICATIONS {
            for ground in [&root, simulate] {
                let command = ground.find_subcommand(application.name());
                let command = command.expect("every application is a command");
                let about = command.get_about().expect("a description").to_string();
                assert!(about.len() > 20, "{about}");
                let examples = command.get_after_help().expect("examples").to_string();
                let own = format!("tautline {}", application.name());
                let simulated = format!("tautline simulate {}", application.name());
                assert!(examples.starts_with("EXAMPLES:\n"), "{examples}");
                assert!(
                    examples.contains(&own) || examples.contains(&simulated),
                    "{examples}"
                );
            }
        }
    }
}
