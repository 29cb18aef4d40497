//! A round of real ranks: a launch of this program, by a process of its own, since a launcher has
//! no other threads.

use super::call::CALLS;
use crate::command::simulate::watcher::Watcher;
use crate::command::{Failure, Outcome, deliver};
use serde_json::Value;
use std::env;
use std::ffi::OsStr;
use std::process::{self, Command, Stdio};
use tautline::Machine;
use tautline::runtime::{Cx, Runtime};
use tautline::team::Team;
use tautline::world::{Rank, World};
use tautline_cli::program::interrupts;
use tautline_node::signal::is_ignored;
use tautline_process::Launch;

/// The exit codes after `SIGHUP`, `SIGINT` and `SIGTERM`.
const INTERRUPTED: [i32; 3] = [129, 130, 143];

/// The names of variables that would change the workers of a rank begin so.
const VARIABLES: [&str; 2] = ["TAUTLINE_", "OMP_"];

/// Returns the nanoseconds of each of the calls by this number of ranks, in their order; `None`
/// after an interrupt of this process, which `watcher` reports, or of all of them.
///
/// # Errors
/// Ranks that cannot be started, or that have failed; they have printed why.
pub(super) fn round(
    ranks: u32,
    calls: u64,
    watcher: &Watcher,
) -> Result<Option<Vec<f64>>, Failure> {
    let mut command = Command::new(own()?);
    command.args(["simulate", "team", "--check", "--as-ranks"]);
    command.args([ranks.to_string(), "--calls".to_owned(), calls.to_string()]);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if VARIABLES.iter().any(|first| text.starts_with(first)) {
            command.env_remove(&name);
        }
    }
    // Once is enough for warnings, of which each round has the same.
    command.env("TAUTLINE_WARN", "0");
    let ended = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let ended = ended.map_err(|error| refused(&error))?;
    let missing = || Failure::Ranks(format!("--check: {ranks} ranks ended without their times"));
    match ended.status.code() {
        Some(0) => {}
        Some(code) if INTERRUPTED.contains(&code) => return Ok(None),
        _ if watcher.is_interrupted() => return Ok(None),
        Some(code) => return Err(Failure::Ended(code as u8)),
        None => return Err(missing()),
    }
    let measured = serde_json::from_slice(&ended.stdout).ok();
    let measured = measured.filter(|all: &Vec<f64>| all.len() == CALLS.len());
    measured.map(Some).ok_or_else(missing)
}

/// Launches `ranks` ranks, or is one of them, of which the first prints the times.
pub(super) fn take_part(ranks: u32, calls: u64) -> Outcome {
    let world = World::join()?;
    if world.ranks() == 1 {
        return launch(ranks);
    }
    // All ranks are interrupted: the command reports it.
    interrupts::on_first(|| process::exit(INTERRUPTED[1]));
    let builder = Runtime::builder().world(&world).places(1).workers(1);
    let runtime = builder.build()?;
    let measured = runtime.run(|cx| {
        let mut team = world.team();
        // The first of both warms up.
        pass(cx, &mut team, calls)?;
        pass(cx, &mut team, calls)
    });
    // Its worker communicates: it ends before the world.
    drop(runtime);
    let measured = measured?;
    match world.is_home() {
        true => deliver(&format!("{}\n", Value::from(measured))),
        false => Ok(()),
    }
}

/// Makes all calls; returns the nanoseconds of each kind.
fn pass(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> tautline::Result<Vec<f64>> {
    let last = Rank(team.ranks() - 1);
    let mut all = Vec::new();
    for call in &CALLS {
        team.barrier().wait(cx)?;
        let ns = (call.measure)(cx, team, calls)?;
        // The last rank waits for a message in each of the calls.
        all.push(team.broadcast(last, ns).wait(cx)?);
    }
    Ok(all)
}

fn launch(ranks: u32) -> Outcome {
    let launch = Launch::new(own()?, ranks)
        .args(env::args_os().skip(1))
        .processors(processors(ranks as usize))
        .ignoring(is_ignored);
    let ended = launch.run();
    match ended
        .map_err(|error| Failure::Usage(format!("--check: {error}")))?
        .code()
    {
        0 => Ok(()),
        code => Err(Failure::Ended(code)),
    }
}

/// Returns a processor for each rank, of different cores as far as there are.
fn processors(ranks: usize) -> Vec<Vec<usize>> {
    let machine = Machine::discover();
    let mut cpus: Vec<_> = machine.allowed().iter().collect();
    cpus.sort_by_key(|cpu| (cpu.thread, cpu.id));
    let of = |rank: usize| vec![cpus[rank % cpus.len()].id];
    (0..ranks).map(of).collect()
}

fn own() -> Result<impl AsRef<OsStr>, Failure> {
    env::current_exe().map_err(|error| refused(&error))
}

fn refused(error: &std::io::Error) -> Failure {
    Failure::Usage(format!("--check: cannot start this program: {error}"))
}
