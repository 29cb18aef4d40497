//! Messages between two processes: this command is started as their launcher and as their ranks.

use crate::command::{Failure, Outcome, deliver};
use std::ffi::OsString;
use tautline_cli::bench::Kind;

/// The number of processes.
#[cfg(target_os = "linux")]
const RANKS: usize = 2;

/// Returns what is measured between processes; nothing where the system has no such ranks.
pub(super) fn kinds() -> Vec<Kind> {
    let Ok(own) = std::env::current_exe() else {
        return Vec::new();
    };
    let kind = |(name, bytes): (&str, u32)| {
        let words = ["bench".to_owned(), "message".to_owned(), bytes.to_string()];
        let words = words.into_iter().map(OsString::from);
        Kind::program(name, std::iter::once(own.clone().into()).chain(words))
    };
    match cfg!(target_os = "linux") {
        true => [("processes, 8 bytes", 8), ("processes, 1 MiB", 1 << 20)]
            .map(kind)
            .into(),
        false => Vec::new(),
    }
}

/// Starts two ranks, or is one of them, of which the first prints the nanoseconds of a round trip of this many bytes.
#[cfg(target_os = "linux")]
pub(super) fn run(bytes: usize, iterations: u32) -> Outcome {
    use tautline_cli::bench::{Plan, round_trip};
    use tautline_core::Rank;
    let joined = tautline_process::join();
    let Some(mut link) = joined.map_err(|error| Failure::Ranks(error.to_string()))? else {
        return launch();
    };
    let plan = Plan {
        cpus: Vec::new(),
        iterations,
        delay: 0,
        stop: Default::default(),
    };
    let ns = round_trip(&mut link, bytes, &plan);
    match link.here() {
        Rank(0) => deliver(&format!("{ns}\n")),
        _ => Ok(()),
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

/// Other systems have no such ranks.
#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: usize, _: u32) -> Outcome {
    Err(Failure::Usage("ranks as processes need Linux".to_owned()))
}
