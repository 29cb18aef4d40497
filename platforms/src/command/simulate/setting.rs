//! The options of the simulated machine, for every application that runs on it.

use crate::command::Failure;
use crate::command::balancer::{Rules, whole};
use clap::Args;
use serde_json::json;
use tautline::FileError;
use tautline::glb::{Config, Glb, Graph, PlaceId};
use tautline::machines::{self, Description};
use tautline::spelling;
use tautline_core::lifeline::Crew;
use tautline_sim::{Machine, Shape};

/// More are refused: their tables alone would need gigabytes.
const PLACES_MAX: u32 = 1 << 17;
/// The same where every place has a lifeline to every other.
const PLACES_MAX_FULL: u32 = 4_096;
/// The maximum number of threads of all places: the same.
const THREADS_MAX: usize = 1 << 18;
/// One second: more would overflow the virtual clock.
const COST_MAX_NS: u64 = 1_000_000_000;
const JITTER_MAX_PERCENT: u64 = 1_000;

/// How the work is balanced, and on what.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
pub(super) struct Setting {
    /// Places, 1 to 131072 [default: of the machine]
    #[arg(long, value_name = "P", env = "TAUTLINE_PLACES")]
    #[arg(value_parser = whole::<u32, { PLACES_MAX as u64 }>(), allow_negative_numbers = true, hide_env_values = true)]
    places: Option<u32>,
    /// Workers of a place, 1 to 64 [default: of the machine]
    #[arg(long, value_name = "W", env = "TAUTLINE_WORKERS")]
    #[arg(value_parser = whole::<u32, { Crew::MAX as u64 }>(), allow_negative_numbers = true, hide_env_values = true)]
    workers: Option<u32>,
    #[command(flatten)]
    rules: Rules,
    /// A machine of `tautline simulate --list-machines`, or a file that describes one
    #[arg(long, value_name = "NAME|FILE", default_value = "cluster")]
    #[arg(help_heading = "Simulated machine")]
    machine: String,
    #[command(flatten)]
    costs: Costs,
}

/// Costs that override those of the machine.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated machine: overrides, times in nanoseconds")]
struct Costs {
    /// One task [default: its usual time by the machine's slowdown]
    #[arg(long, value_name = "NS", value_parser = task, allow_negative_numbers = true)]
    task_ns: Option<u64>,
    /// A turn's poll when there is nothing to do
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    look_ns: Option<u64>,
    /// Receiving one message, and what follows from it except the division of a bag
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    serve_ns: Option<u64>,
    /// Passing one message to the network
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    send_ns: Option<u64>,
    /// Dividing a bag
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    split_ns: Option<u64>,
    /// Putting work into a reserve, or taking it out
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    merge_ns: Option<u64>,
    /// From starting an idle worker to its first turn
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    wake_ns: Option<u64>,
    /// How long a thread without work spins before it sleeps
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    spin_ns: Option<u64>,
    /// A message within a node
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    near_ns: Option<u64>,
    /// A message to another node, over the first hop
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    far_ns: Option<u64>,
    /// Each further hop of a torus
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    hop_ns: Option<u64>,
    /// How long a node's adapter is busy with one message to another node
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    gap_ns: Option<u64>,
    /// Additional time of a message for each task of its loot
    #[arg(long, value_name = "NS", value_parser = cost, allow_negative_numbers = true)]
    loot_task_ns: Option<u64>,
    /// Largest relative delay of a message, percent
    #[arg(long, value_name = "PERCENT", value_parser = jitter, allow_negative_numbers = true)]
    jitter_percent: Option<u64>,
}

impl Setting {
    /// The balancer and the machine that the options describe, for tasks of an application that take
    /// `task_ns` on the machine that slowdowns refer to.
    pub(super) fn choose(&self, task_ns: u64) -> Result<(Config, Machine), Failure> {
        let described = machines::find(&self.machine).map_err(|error| match error {
            // The others begin with the file.
            FileError::Unknown { .. } => Failure::Usage(format!("--machine {error}")),
            _ => Failure::Usage(error.to_string()),
        })?;
        let workers = self.workers.unwrap_or(described.workers);
        // Of one place, so that only the rules are judged.
        let glb = Glb::on(&tautline::Machine::discover()).places(1);
        let glb = self.rules.of(glb, 1).workers(workers as usize);
        let mut config = glb.config()?;
        if workers > described.cores {
            let Description { name, cores, .. } = &described;
            return Err(Failure::Usage(format!(
                "--workers {workers}: at most the {cores} cores of a node of {name}"
            )));
        }
        let places = self.places(&described, workers)?;
        config.places = places;
        config.lifelines = self.rules.lifelines(places);
        config.random_steals = self.rules.random_steals(places);
        let threads = config.all_threads();
        if threads > THREADS_MAX {
            return Err(Failure::Usage(format!(
                "--places {places}: at most {THREADS_MAX} threads in all, and {} a place make {threads}",
                config.threads_of(PlaceId::HOME)
            )));
        }
        let machine = described.machine(places, workers, described.task_ns(task_ns));
        Ok((config, self.costs.over(machine)))
    }

    /// Returns the requested name of the machine.
    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    fn places(&self, described: &Description, workers: u32) -> Result<u32, Failure> {
        let room = described.places_max(workers);
        let usual = u64::from(described.default_places).min(room) as u32;
        let places = self.places.unwrap_or(usual);
        let (most, why) = match self.rules.lifelines(usual.max(1)) {
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
            let line = format!("--places {places}: from 1 to {most}{why}");
            return Err(Failure::Usage(line));
        }
        Ok(places)
    }
}

impl Costs {
    /// Returns `machine` with the overrides.
    fn over(&self, machine: Machine) -> Machine {
        Machine {
            task_ns: self.task_ns.unwrap_or(machine.task_ns),
            look_ns: self.look_ns.unwrap_or(machine.look_ns),
            serve_ns: self.serve_ns.unwrap_or(machine.serve_ns),
            send_ns: self.send_ns.unwrap_or(machine.send_ns),
            split_ns: self.split_ns.unwrap_or(machine.split_ns),
            merge_ns: self.merge_ns.unwrap_or(machine.merge_ns),
            wake_ns: self.wake_ns.unwrap_or(machine.wake_ns),
            spin_ns: self.spin_ns.unwrap_or(machine.spin_ns),
            near_ns: self.near_ns.unwrap_or(machine.near_ns),
            far_ns: self.far_ns.unwrap_or(machine.far_ns),
            hop_ns: self.hop_ns.unwrap_or(machine.hop_ns),
            gap_ns: self.gap_ns.unwrap_or(machine.gap_ns),
            loot_task_ns: self.loot_task_ns.unwrap_or(machine.loot_task_ns),
            jitter_percent: self.jitter_percent.unwrap_or(machine.jitter_percent),
            ..machine
        }
    }
}

/// Returns the machine in one line, under its requested name.
pub(super) fn line(name: &str, machine: &Machine) -> String {
    let Machine {
        task_ns,
        look_ns,
        serve_ns,
        send_ns,
        split_ns,
        merge_ns,
        wake_ns,
        spin_ns,
        node_places,
        shape,
        near_ns,
        far_ns,
        hop_ns,
        loot_task_ns,
        gap_ns,
        jitter_percent,
    } = machine;
    let network = match shape {
        Shape::Flat => format!("far {far_ns}"),
        Shape::Torus([x, y, z]) => format!("far {far_ns} + {hop_ns} a hop on {x} x {y} x {z}"),
    };
    format!(
        "{name}: {node_places} places a node; ns: task {task_ns}, look {look_ns}, serve {serve_ns}, \
         send {send_ns}, split {split_ns}, merge {merge_ns}, wake {wake_ns} after {spin_ns}, near {near_ns}, \
         {network}, gap {gap_ns}, task of loot {loot_task_ns}; jitter {jitter_percent} %"
    )
}

/// Returns the machine as data.
pub(super) fn json(name: &str, machine: &Machine) -> serde_json::Value {
    json!({
        "name": name,
        "task_ns": machine.task_ns, "look_ns": machine.look_ns, "serve_ns": machine.serve_ns,
        "send_ns": machine.send_ns, "split_ns": machine.split_ns, "merge_ns": machine.merge_ns,
        "wake_ns": machine.wake_ns, "spin_ns": machine.spin_ns, "node_places": machine.node_places,
        "torus": match machine.shape {
            Shape::Flat => None,
            Shape::Torus(extents) => Some(extents),
        },
        "near_ns": machine.near_ns, "far_ns": machine.far_ns, "hop_ns": machine.hop_ns,
        "gap_ns": machine.gap_ns, "loot_task_ns": machine.loot_task_ns,
        "jitter_percent": machine.jitter_percent,
    })
}

fn bounded(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = spelling::whole::<u64, { u64::MAX }>(text);
    match value {
        Err(reason) if !reason.starts_with("at most") => Err(reason),
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("from {least} to {most}")),
    }
}

/// A task that takes no time has no efficiency.
fn task(text: &str) -> Result<u64, String> {
    bounded(text, 1, COST_MAX_NS)
}

fn cost(text: &str) -> Result<u64, String> {
    bounded(text, 0, COST_MAX_NS)
}

fn jitter(text: &str) -> Result<u64, String> {
    bounded(text, 0, JITTER_MAX_PERCENT)
}
