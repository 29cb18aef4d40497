//! The options of the simulated machine, for every application that runs on it.

use super::bounds::{COST_MAX_NS, bounded};
use super::engine::On;
use super::fault::Faulty;
use super::network::Connection;
use crate::command::Failure;
use crate::command::balancer::{Rules, whole};
use crate::command::duration::nanoseconds;
use crate::command::known::Known;
use clap::Args;
use clap::builder::StringValueParser;
use std::path::Path;
use tautline::FileError;
use tautline::balance::{Config, Graph, PlaceId};
use tautline::internal::checked;
use tautline::internal::{PLACES, WORKERS};
use tautline::machines::{self, Description};
use tautline_cli::text::Text;
use tautline_core::lifeline::Crew;
use tautline_sim::{Cluster, Machine, Shape};

/// More are refused: their tables alone would need gigabytes.
const PLACES_MAX: u32 = 1 << 17;
/// The same where every place has a lifeline to every other.
const PLACES_MAX_FULL: u32 = 4_096;
/// The maximum number of threads of all places: the same.
const THREADS_MAX: usize = 1 << 18;
/// The longest description, in bytes.
const FILE_MAX: u64 = 1 << 20;
const JITTER_MAX_PERCENT: u64 = 1_000;

/// How the work is balanced, and on what.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
pub(super) struct Setting {
    /// Places, 1 to 131072 [default: of the machine]
    #[arg(long, value_name = "P", env = PLACES.variable)]
    #[arg(value_parser = whole::<u32, { PLACES_MAX as u64 }>(), allow_negative_numbers = true, hide_env_values = true)]
    places: Option<u32>,
    /// Workers of a place, 1 to 64 [default: of the machine]
    #[arg(long, value_name = "W", env = WORKERS.variable)]
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
    costs: Costs,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    faulty: Faulty,
}

/// Returns the names of the machines that are built in.
fn built_in() -> Vec<String> {
    machines::names().map(str::to_owned).collect()
}

/// Costs that override those of the machine.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated machine: overrides, times in nanoseconds or with units")]
struct Costs {
    /// One task [default: its usual time by the machine's slowdown]
    #[arg(long, value_name = "TIME", value_parser = task, allow_hyphen_values = true)]
    task_ns: Option<u64>,
    /// A turn's poll when there is nothing to do
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    look_ns: Option<u64>,
    /// Receiving one message, and what follows from it except the division of a bag
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    serve_ns: Option<u64>,
    /// Passing one message to the network
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    send_ns: Option<u64>,
    /// Dividing a bag
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    split_ns: Option<u64>,
    /// Putting work into a reserve, or taking it out
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    merge_ns: Option<u64>,
    /// From starting an idle worker to its first turn
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    wake_ns: Option<u64>,
    /// How long a thread without work spins before it sleeps
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    spin_ns: Option<u64>,
    /// A message within a node
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    near_ns: Option<u64>,
    /// A message to another node, over the first hop
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    far_ns: Option<u64>,
    /// Each further hop: link of a torus, switch of other shapes
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    hop_ns: Option<u64>,
    /// How long a node's adapter is busy with one message to another node
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    gap_ns: Option<u64>,
    /// Additional time of a message for each task of its loot
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    loot_task_ns: Option<u64>,
    /// Bandwidth of a node's adapter, bytes a microsecond; 0: unlimited. With it, --loot-task-ns is 0 unless given
    #[arg(long, value_name = "N", value_parser = cost, allow_negative_numbers = true)]
    mb_per_s: Option<u64>,
    /// Bandwidth of a link between switches, bytes a microsecond; 0: unlimited, and links are not simulated
    #[arg(long, value_name = "N", value_parser = cost, allow_negative_numbers = true)]
    link_mb_per_s: Option<u64>,
    /// Size of a message without its loot, bytes
    #[arg(long, value_name = "BYTES", value_parser = cost, allow_negative_numbers = true)]
    message_bytes: Option<u64>,
    /// Size of a task of loot, bytes
    #[arg(long, value_name = "BYTES", value_parser = cost, allow_negative_numbers = true)]
    task_bytes: Option<u64>,
    /// Largest relative delay of a message, percent
    #[arg(long, value_name = "PERCENT", value_parser = jitter, allow_negative_numbers = true)]
    jitter_percent: Option<u64>,
}

impl Setting {
    /// Returns the described machine.
    pub(super) fn described(&self) -> Result<Description, Failure> {
        let path = Path::new(&self.machine);
        let is_file = path.exists() && machines::names().all(|name| name != self.machine);
        let described = match is_file {
            true => Text::read(path, FILE_MAX, |line| line.trim_start().starts_with('#'))
                .and_then(|text| machines::parse(text.name(), text.as_str())),
            false => machines::find(&self.machine),
        };
        described.map_err(|error| match error {
            // The others begin with the file.
            FileError::Unknown { .. } => Failure::Usage(format!("--machine {error}")),
            _ => Failure::Usage(error.to_string()),
        })
    }

    /// Returns the faults as requested.
    pub(super) fn faults(&self) -> String {
        self.faulty.line()
    }

    /// The balancer and the machine that the options describe, for tasks of an application that take
    /// `task_ns` on the machine that slowdowns refer to.
    pub(super) fn choose(&self, task_ns: u64) -> Result<On, Failure> {
        let described = self.described()?;
        let workers = self.workers.unwrap_or(described.workers);
        // Of one place, so that only the rules are judged.
        let mut config = checked(self.rules.over(Config {
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
        let mut machine = described.machine(places, workers, described.task_ns(task_ns));
        let nodes = machine.cluster.node(PlaceId(places - 1)) + 1;
        machine.cluster = self.connection.over(machine.cluster, nodes)?;
        if machine.cluster.shape == Shape::Flat && self.costs.link_mb_per_s.is_some() {
            return Err(Failure::Usage(format!(
                "--link-mb-per-s: the network of {} has no links; see --network",
                described.name
            )));
        }
        Ok(On {
            config,
            machine: self.costs.over(machine),
            faults: self.faulty.choose(places, nodes)?,
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

impl Costs {
    /// Returns `machine` with the overrides.
    fn over(&self, machine: Machine) -> Machine {
        let cluster = machine.cluster;
        let loot_task_ns = match self.mb_per_s {
            Some(1..) => 0,
            _ => machine.loot_task_ns,
        };
        Machine {
            task_ns: self.task_ns.unwrap_or(machine.task_ns),
            look_ns: self.look_ns.unwrap_or(machine.look_ns),
            serve_ns: self.serve_ns.unwrap_or(machine.serve_ns),
            send_ns: self.send_ns.unwrap_or(machine.send_ns),
            split_ns: self.split_ns.unwrap_or(machine.split_ns),
            merge_ns: self.merge_ns.unwrap_or(machine.merge_ns),
            loot_task_ns: self.loot_task_ns.unwrap_or(loot_task_ns),
            message_bytes: self.message_bytes.unwrap_or(machine.message_bytes),
            task_bytes: self.task_bytes.unwrap_or(machine.task_bytes),
            cluster: Cluster {
                wake_ns: self.wake_ns.unwrap_or(cluster.wake_ns),
                spin_ns: self.spin_ns.unwrap_or(cluster.spin_ns),
                near_ns: self.near_ns.unwrap_or(cluster.near_ns),
                far_ns: self.far_ns.unwrap_or(cluster.far_ns),
                hop_ns: self.hop_ns.unwrap_or(cluster.hop_ns),
                gap_ns: self.gap_ns.unwrap_or(cluster.gap_ns),
                mb_per_s: self.mb_per_s.unwrap_or(cluster.mb_per_s),
                link_mb_per_s: self.link_mb_per_s.unwrap_or(cluster.link_mb_per_s),
                jitter_percent: self.jitter_percent.unwrap_or(cluster.jitter_percent),
                ..cluster
            },
        }
    }
}

/// A task that takes no time has no efficiency.
fn task(text: &str) -> Result<u64, String> {
    nanoseconds(text, 1..=COST_MAX_NS)
}

fn time(text: &str) -> Result<u64, String> {
    nanoseconds(text, 0..=COST_MAX_NS)
}

fn cost(text: &str) -> Result<u64, String> {
    bounded(text, 0, COST_MAX_NS)
}

fn jitter(text: &str) -> Result<u64, String> {
    bounded(text, 0, JITTER_MAX_PERCENT)
}
