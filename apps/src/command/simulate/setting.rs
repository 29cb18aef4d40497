//! The options of the simulated machine, for every application that runs on it.

use super::costs::{Given, Overrides};
use super::engine::{Faults, On};
use super::fault::Faulty;
use crate::command::Failure;
use crate::command::balancer::{Rules, whole};
use crate::command::known::Known;
use clap::Args;
use clap::builder::StringValueParser;
use std::path::Path;
use tautline::FileError;
use tautline::balance::{Config, Graph, PlaceId};
use tautline::internal::costs::Costs;
use tautline::internal::{self, PLACES, WORKERS};
use tautline::machines::{self, Description};
use tautline_cli::text::Text;
use tautline_core::lifeline::Crew;

/// More are refused: their tables alone would need gigabytes.
const PLACES_MAX: u32 = 1 << 17;
/// The same where every place has a lifeline to every other.
const PLACES_MAX_FULL: u32 = 4_096;
/// The maximum number of threads of all places: the same.
const THREADS_MAX: usize = 1 << 18;
/// The longest description, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// The balancer's settings, and the machine.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
pub(super) struct Setting {
    #[arg(long, value_name = "P", env = PLACES.variable, help = of_machine(&PLACES))]
    #[arg(value_parser = whole::<u32, { PLACES_MAX as u64 }>(), allow_negative_numbers = true, hide_env_values = true)]
    places: Option<u32>,
    #[arg(long, value_name = "W", env = WORKERS.variable, help = of_machine(&WORKERS))]
    #[arg(value_parser = whole::<u32, { Crew::MAX as u64 }>(), allow_negative_numbers = true, hide_env_values = true)]
    workers: Option<u32>,
    #[command(flatten)]
    rules: Rules,
    /// A machine of `tautline simulate --list-machines`, or a file that describes one
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "cluster",
        hide_possible_values = true
    )]
    #[arg(value_parser = Known::new(StringValueParser::new(), built_in))]
    #[arg(help_heading = "Simulated machine")]
    machine: String,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    faulty: Faulty,
}

/// Returns the help of a setting for which the machine has a default.
fn of_machine(setting: &internal::Setting) -> String {
    format!("{} [default: of the machine]", setting.help)
}

/// Returns the names of the machines that are built in.
pub(super) fn built_in() -> Vec<String> {
    machines::names().map(str::to_owned).collect()
}

/// Returns the machine that a value of `--machine` describes.
pub(super) fn described(machine: &str) -> Result<Description, Failure> {
    let path = Path::new(machine);
    let is_file = path.exists() && machines::names().all(|name| name != machine);
    let described = match is_file {
        true => Text::read(path, FILE_MAX, |line| line.trim_start().starts_with('#'))
            .and_then(|text| machines::parse(text.name(), text.as_str())),
        false => machines::find(machine),
    };
    described.map_err(|error| match error {
        // The others begin with the file.
        FileError::Unknown { .. } => Failure::Usage(format!("--machine {error}")),
        _ => Failure::Usage(error.to_string()),
    })
}

impl Setting {
    /// Returns the described machine.
    pub(super) fn described(&self) -> Result<Description, Failure> {
        described(&self.machine)
    }

    /// Returns the requested faults, with what these have in common.
    pub(super) fn faults(&self, faults: &Faults) -> String {
        self.faulty.line(faults)
    }

    /// Sets a cost, in place of the requested value of it.
    pub(super) fn set(&mut self, given: Given) {
        self.overrides.replace(given);
    }

    /// The balancer and the machine that the options describe, for tasks of an application that
    /// take `task_ns` on the machine that slowdowns refer to.
    pub(super) fn choose(&self, task_ns: u64) -> Result<On, Failure> {
        let described = self.described()?;
        let workers = self.workers.unwrap_or(described.workers);
        // Of one place, so that only the rules are judged.
        let mut config = internal::checked(self.rules.over(Config {
            workers: workers as usize,
            ..Config::default()
        }))?;
        if workers > described.cores {
            let Description { name, cores, .. } = &described;
            return Err(Failure::Usage(format!(
                "--workers {workers}: at most the {cores} cores of a node of {name}"
            )));
        }
        let places = self.places(&described, workers)?;
        config.places = places;
        config = self.rules.over(config);
        let threads = config.all_threads();
        if threads > THREADS_MAX {
            return Err(Failure::Usage(format!(
                "--places {places}: at most {THREADS_MAX} threads in all, and {} a place make {threads}",
                config.threads_of(PlaceId::HOME)
            )));
        }
        let machine = described.machine(places, workers, described.task_ns(task_ns));
        let nodes = machine.cluster.node(PlaceId(places - 1)) + 1;
        let costs = Costs {
            machine,
            faults: Faults::default(),
        };
        let has_faults = self.faulty.asked();
        let costs = self
            .overrides
            .over(costs, (&described.name, nodes), has_faults)?;
        let faults = || self.faulty.over(costs.faults, places, nodes);
        Ok(On {
            config,
            machine: costs.machine,
            faults: has_faults.then(faults).transpose()?,
        })
    }

    /// Returns the requested name of the machine.
    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    fn places(&self, described: &Description, workers: u32) -> Result<u32, Failure> {
        let room = described.places_max(workers);
        let usual = u64::from(described.default_places).min(room) as u32;
        let places = self.places.unwrap_or(usual);
        let shape = Config {
            places: usual.max(1),
            ..Config::default()
        };
        let (most, why) = match self.rules.over(shape).lifelines {
            Graph::Full => (PLACES_MAX_FULL, " with full lifelines".to_owned()),
            _ => (PLACES_MAX, String::new()),
        };
        let (most, why) = match u32::try_from(room) {
            Ok(room) if room < most => {
                let Description {
                    name, nodes, cores, ..
                } = described;
                (
                    room,
                    format!(", as {name} has {nodes} nodes of {cores} cores"),
                )
            }
            _ => (most, why),
        };
        if !(1..=most).contains(&places) {
            let line = format!("--places {places}: expected a number from 1 to {most}{why}");
            return Err(Failure::Usage(line));
        }
        Ok(places)
    }
}
