//! Exchanges between two processes: this command is started as their launcher and as their ranks.

use crate::command::{Failure, Outcome, deliver};
use clap::Args;
use std::ffi::OsString;
use tautline_cli::bench::{Exchange, Kind};

/// The number of processes.
#[cfg(target_os = "linux")]
const RANKS: usize = 2;

/// The processes that the benchmarks start.
#[derive(Args, Debug)]
pub(super) struct Ranks {
    /// The name of the exchange
    name: String,
    /// Turns
    iterations: u32,
    /// Processes
    ranks: u32,
}

/// Returns what a benchmark measures between processes; nothing where the system has no such ranks.
pub(super) fn kinds(bench: &str) -> Vec<Kind> {
    let Ok(own) = std::env::current_exe() else {
        return Vec::new();
    };
    let kind = |(name, _): (&str, Exchange)| {
        let words = ["bench", "ranks", name].map(OsString::from);
        Kind::program(
            format!("processes, {name}"),
            std::iter::once(own.clone().into()).chain(words),
        )
    };
    match cfg!(target_os = "linux") {
        true => Exchange::of(bench).map(kind).collect(),
        false => Vec::new(),
    }
}

impl Ranks {
    /// Starts two ranks, or is one of them, of which the first prints the nanoseconds of a turn.
    #[cfg(target_os = "linux")]
    pub(super) fn run(&self) -> Outcome {
        use tautline_cli::bench::Plan;
        use tautline_core::Rank;
        use tautline_core::port::Link;
        let Some(exchange) = Exchange::named(&self.name) else {
            let line = format!("{}: expected the name of an exchange", self.name);
            return Err(Failure::Usage(line));
        };
        let joined = tautline_process::join();
        let Some(link) = joined.map_err(|error| Failure::Ranks(error.to_string()))? else {
            return launch();
        };
        let plan = Plan {
            cpus: Vec::new(),
            iterations: self.iterations,
            delay: 0,
            stop: Default::default(),
        };
        let here = link.here();
        let ns = exchange.over(link, &plan);
        match here {
            Rank(0) => deliver(&format!("{ns}\n")),
            _ => Ok(()),
        }
    }

    /// Other systems have no such ranks.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn run(&self) -> Outcome {
        Err(Failure::Usage("ranks as processes need Linux".to_owned()))
    }
}

/// Starts this command as both ranks, on the processors that `OMP_PLACES` lists, in turn.
#[cfg(target_os = "linux")]
fn launch() -> Outcome {
    use tautline::Machine;
    use tautline::pinning::Pinning;
    use tautline_process::Launch;
    let cpus = Pinning::from_environment(&Machine::discover())?.cpus(RANKS);
    let own = std::env::current_exe().map_err(|error| Failure::Ranks(error.to_string()))?;
    let launch = Launch::new(own, RANKS as u32)
        .args(std::env::args_os().skip(1))
        .processors(cpus.into_iter().map(|cpu| vec![cpu]).collect());
    let ended = launch.run();
    match ended
        .map_err(|error| Failure::Ranks(error.to_string()))?
        .code()
    {
        0 => Ok(()),
        code => Err(Failure::Ended(code)),
    }
}
