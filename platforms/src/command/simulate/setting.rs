//! The options of the simulated machine, for every application that runs on it.

use crate::command::Failure;
use crate::command::balancer::{Rules, Spelled, whole};
use clap::{Arg, Args};
use serde_json::json;
use tautline::glb::{Config, Fairness, Graph};
use tautline_sim::Machine;

/// More are refused: their tables alone would need gigabytes.
const PLACES_MAX: u32 = 65_536;
/// The same where every place has a lifeline to every other.
const PLACES_MAX_FULL: u32 = 4_096;
/// A second: more would not fit the virtual clock.
const COST_MAX_NS: u64 = 1_000_000_000;
const JITTER_MAX_PERCENT: u64 = 1_000;

/// How the work is balanced, and on what.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer", arg = workers())]
pub struct Setting {
    /// Places, 1 to 65536, of one worker each
    #[arg(
        long,
        value_name = "P",
        env = "TAUTLINE_PLACES",
        default_value = "1024"
    )]
    #[arg(value_parser = whole::<u32, { PLACES_MAX as u64 }>, allow_negative_numbers = true, hide_env_values = true)]
    places: u32,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    costs: Costs,
}

/// What things cost on the simulated machine. The defaults are assumed, not measured.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated machine, times in nanoseconds")]
struct Costs {
    /// One task, whatever else is asked of it (-g)
    #[arg(long, value_name = "NS", default_value_t = Machine::default().task_ns)]
    #[arg(value_parser = task, allow_negative_numbers = true)]
    task_ns: u64,
    /// One look for messages, whether there are any or not
    #[arg(long, value_name = "NS", default_value_t = Machine::default().look_ns)]
    #[arg(value_parser = cost, allow_negative_numbers = true)]
    look_ns: u64,
    /// Taking in one message, and what follows from it but the division of a bag
    #[arg(long, value_name = "NS", default_value_t = Machine::default().serve_ns)]
    #[arg(value_parser = cost, allow_negative_numbers = true)]
    serve_ns: u64,
    /// Dividing a bag for another place
    #[arg(long, value_name = "NS", default_value_t = Machine::default().split_ns)]
    #[arg(value_parser = cost, allow_negative_numbers = true)]
    split_ns: u64,
    /// From the sending of a message to its arrival
    #[arg(long, value_name = "NS", default_value_t = Machine::default().far_ns)]
    #[arg(value_parser = cost, allow_negative_numbers = true)]
    far_ns: u64,
    /// What each task of a loot adds to the latency
    #[arg(long, value_name = "NS", default_value_t = Machine::default().loot_task_ns)]
    #[arg(value_parser = cost, allow_negative_numbers = true)]
    loot_task_ns: u64,
    /// A message takes up to so many percent longer
    #[arg(long, value_name = "PERCENT", default_value_t = Machine::default().jitter_percent)]
    #[arg(value_parser = jitter, allow_negative_numbers = true)]
    jitter_percent: u64,
}

impl Setting {
    /// The balancer and the machine that the options describe.
    pub fn choose(&self) -> Result<(Config, Machine), Failure> {
        // Of one place with one worker, so that only the rules are judged.
        let glb = self.rules.glb().places(1).workers(1);
        let most = match self.rules.lifelines() {
            Graph::Full => PLACES_MAX_FULL,
            _ => PLACES_MAX,
        };
        let places = self.places;
        if !(1..=most).contains(&places) {
            let all = match most {
                PLACES_MAX => "",
                _ => " with full lifelines",
            };
            let line = format!("--places {places}: from 1 to {most}{all}");
            return Err(Failure::Usage(line));
        }
        let fairness = self.rules.fairness();
        if !matches!(fairness, Fairness::Inline | Fairness::Never) {
            return Err(Failure::Usage(format!(
                "--fairness {}: inline or never; a simulated place has one thread",
                Spelled(fairness)
            )));
        }
        let config = Config {
            places,
            ..glb.config()?
        };
        Ok((config, self.costs.machine()))
    }
}

impl Costs {
    fn machine(&self) -> Machine {
        Machine {
            task_ns: self.task_ns,
            look_ns: self.look_ns,
            serve_ns: self.serve_ns,
            split_ns: self.split_ns,
            far_ns: self.far_ns,
            loot_task_ns: self.loot_task_ns,
            jitter_percent: self.jitter_percent,
            ..Machine::default()
        }
    }
}

/// The machine in one line.
pub fn line(machine: &Machine) -> String {
    format!(
        "task {} ns, poll {} ns, serve {} ns, split {} ns, latency {} ns + {} ns a task of loot, \
         jitter {} %",
        machine.task_ns,
        machine.look_ns,
        machine.serve_ns,
        machine.split_ns,
        machine.far_ns,
        machine.loot_task_ns,
        machine.jitter_percent
    )
}

/// The machine as data.
pub fn json(machine: &Machine) -> serde_json::Value {
    json!({
        "task_ns": machine.task_ns, "look_ns": machine.look_ns, "serve_ns": machine.serve_ns,
        "split_ns": machine.split_ns, "far_ns": machine.far_ns,
        "loot_task_ns": machine.loot_task_ns, "jitter_percent": machine.jitter_percent,
    })
}

/// Known only to be refused with the reason.
fn workers() -> Arg {
    let refuse = |_: &str| Err::<usize, _>("not an option, one worker a place is simulated");
    Arg::new("workers")
        .long("workers")
        .hide(true)
        .value_parser(refuse)
}

fn bounded(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = whole::<u64, { u64::MAX }>(text);
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
