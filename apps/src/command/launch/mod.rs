//! `launch`: a program as several processes of this machine; and the command itself, for `--ranks`.

mod program;

use super::balancer::{self, within};
use super::duration::seconds;
use super::known::Known;
use super::{Failure, Outcome};
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::{OsStr, OsString};
use std::time::Duration;
use tautline::Machine;
use tautline::internal::PIN;
use tautline::pinning::{Bind, Pinning, PlaceList, divided, in_order};
use tautline::world::World;
use tautline_cli::text::STANDARD_INPUT;
use tautline_node::signal::is_ignored;
use tautline_process::{Error, Launch as Launcher, Output};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline launch -n 4 -- ./program --size 20    four processes of a program that joins its ranks
  tautline launch -n 2 -- tautline uts T1L       the same as: tautline uts T1L --ranks 2
  tautline launch -n 2 --pin sockets -- ./program    a socket each
  tautline launch -n 4 --output all -- ./program     what every rank prints

Rank 0 has the standard output, unless --output requests that of all; each line of standard error has its rank in front. Each rank
has its share of the processors. The exit code is the highest of the ranks'; a signal counts as 128 and its number. A rank that
fails ends the others.

There is no list of hosts: all ranks are on this machine. Ranks on several machines need a program that was built with the feature
mpi, and the launcher of MPI: mpirun -n 4 --hostfile HOSTS ./program";

/// The most ranks.
const RANKS_MAX: u64 = 256;

/// Start a program as several processes of this machine, which find each other by World::join
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Launch {
    /// Ranks: processes of the program, 1 to 256
    #[arg(short = 'n', long, visible_alias = "np", value_name = "N")]
    #[arg(value_parser = ranks, allow_negative_numbers = true)]
    ranks: u32,
    #[arg(long, value_name = "LIST", env = PIN.variable, help = format!("{}; divided among the ranks", PIN.help))]
    #[arg(value_parser = Known::new(balancer::list, balancer::parts), hide_possible_values = true)]
    #[arg(allow_hyphen_values = true, hide_env_values = true)]
    pin: Option<PlaceList>,
    /// The longest time for which a rank may be stopped, as by SIGSTOP, before it is killed
    /// [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = seconds::<0>, allow_hyphen_values = true)]
    stop_limit: Option<Duration>,
    /// Which ranks have a standard output
    #[arg(long, value_name = "WHICH", default_value = "first")]
    output: Printed,
    /// The program, and its arguments
    #[arg(
        required = true,
        value_hint = ValueHint::CommandWithArguments,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

/// [`Output`] in the spelling of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Printed {
    /// Rank 0
    First,
    /// All, each line with the rank in front
    All,
}

impl Launch {
    /// Launches the program.
    pub(crate) fn run(&self) -> Outcome {
        let (program, arguments) = self.program.split_first().expect("it is required");
        let launcher = Launcher::new(program, self.ranks).args(arguments);
        let launcher = match self.stop_limit {
            Some(limit) => launcher.stop_limit(limit),
            None => launcher,
        };
        let launcher = launcher.output(match self.output {
            Printed::First => Output::Home,
            Printed::All => Output::All,
        });
        launch(launcher, program, self.ranks, self.pin.as_ref())
    }
}

/// Returns `arguments`, in which `launch` has `-np 2`, as launchers of MPI, or `-n2`, in the form
/// that is read here. To clap these are the program, which may begin with a hyphen.
pub(crate) fn spelled(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|command| command != "launch") {
        return arguments;
    }
    let mut at = 2;
    while let Some(argument) = arguments.get_mut(at) {
        let text = argument.to_string_lossy().into_owned();
        // What follows the first other word, or `--`, is the program's.
        if !text.starts_with('-') || text == "--" {
            break;
        }
        match text.strip_prefix("-n") {
            Some("p") => *argument = OsString::from("--np"),
            Some(ranks) if !ranks.is_empty() => {
                *argument = OsString::from(format!("--ranks={}", ranks.trim_start_matches('=')));
            }
            _ => {}
        }
        let has_its_value = argument.to_string_lossy().contains('=');
        at += if has_its_value { 1 } else { 2 };
    }
    arguments
}

/// Parses a number of ranks.
pub(crate) fn ranks(text: &str) -> Result<u32, String> {
    within(text, 1..=RANKS_MAX).map(|ranks| ranks as u32)
}

/// Whether this process is to launch the `ranks` that an option requests: it is the only one of
/// `world`.
///
/// # Errors
/// Another number of ranks than were launched; an input that only one process can read.
pub(crate) fn is_launcher(ranks: Option<u32>, world: &World) -> Result<bool, Failure> {
    let all = ranks.unwrap_or(1).max(world.ranks());
    if all > 1 && std::env::args_os().any(|argument| argument == STANDARD_INPUT) {
        return Err(Failure::Usage(format!(
            "{STANDARD_INPUT}: one process reads standard input, not {all} ranks: name a file"
        )));
    }
    match (ranks, world.ranks()) {
        (Some(ranks), 1) if ranks > 1 => Ok(true),
        (Some(ranks), launched) if ranks != launched => {
            let here = world.rank();
            Err(Failure::Usage(format!(
                "--ranks {ranks}: this is {here} of {launched} that were launched"
            )))
        }
        _ => Ok(false),
    }
}

/// Launches this command, with its arguments, as several ranks, whose workers are to be pinned to
/// their parts of `list`.
pub(crate) fn again(ranks: u32, list: Option<&PlaceList>) -> Outcome {
    let program = std::env::current_exe().map_err(|error| {
        Failure::Usage(format!(
            "--ranks {ranks}: cannot find this program: {error}"
        ))
    })?;
    let arguments = std::env::args_os().skip(1);
    let launcher = Launcher::new(&program, ranks).args(arguments);
    launch(launcher, program.as_os_str(), ranks, list)
}

fn launch(launcher: Launcher, program: &OsStr, ranks: u32, list: Option<&PlaceList>) -> Outcome {
    let shares = shares(&Machine::discover(), ranks as usize, list)?;
    let ended = launcher.processors(shares).ignoring(is_ignored).run();
    let ended = ended.map_err(|error| match error {
        Error::Program { source, .. } => Failure::Usage(program::refusal(program, &source)),
        Error::Output { .. } => Failure::Undelivered(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    })?;
    match ended.code() {
        0 => Ok(()),
        code => Err(Failure::Ended(code)),
    }
}

/// Divides the processors of `machine` among the ranks: neighbours to the same one. More ranks than
/// processors share them.
///
/// With a list its places are divided instead, in their order. A rank may then use the processors
/// of its places alone, so that the same list denotes these places there.
///
/// # Errors
/// A list without an allowed processor, or with fewer places than ranks.
pub(super) fn shares(
    machine: &Machine,
    ranks: usize,
    list: Option<&PlaceList>,
) -> Result<Vec<Vec<usize>>, Failure> {
    let Some(list) = list else {
        return Ok(divided(&in_order(machine), ranks));
    };
    let pinning = Pinning::listed(machine, list, Bind::Close)?;
    let places = pinning.places();
    if places.len() < ranks {
        let found = match places.len() {
            1 => "1 place".to_owned(),
            found => format!("{found} places"),
        };
        return Err(Failure::Usage(format!(
            "--pin {list}: {found}, fewer than --ranks {ranks}"
        )));
    }
    let distinct = |places: Vec<Vec<usize>>| {
        let mut cpus = places.concat();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    };
    Ok(divided(places, ranks).into_iter().map(distinct).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_divided() {
        let machine = Machine::discover();
        let mut all = machine.cpus();
        all.sort_unstable();
        for ranks in 1..=2 * all.len() {
            let shares = shares(&machine, ranks, None).expect("no list is refused");
            assert_eq!(shares.len(), ranks);
            let sizes = shares.iter().map(Vec::len);
            let (least, most) = (sizes.clone().min(), sizes.max());
            assert!(
                least >= Some(1) && most <= least.map(|least| least + 1),
                "{shares:?}"
            );
            let mut used = shares.concat();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used, all, "{ranks} ranks");
        }
    }
}
