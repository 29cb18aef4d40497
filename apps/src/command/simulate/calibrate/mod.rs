//! `tautline simulate --calibrate`: measures the costs of this machine, as a file for `--machine`.

mod bench;
mod check;
mod encoding;

use crate::command::app::Speed;
use crate::command::show::{document, object};
use crate::command::{APPLICATIONS, Failure, Outcome, deliver};
use bench::words;
use clap::Args;
use encoding::Encoding;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use tautline::machines;
use tautline_cli::bench::Spread;
use tautline_node::Machine;

/// The application whose rate a machine file contains.
const SPEED: &str = "uts";
/// Runs of each application; the median counts.
const SPEED_RUNS: usize = 3;

/// The tree of a check unless one is named: seconds of work.
const CHECKED: &str = "T1L";

/// The options in place of a simulation.
#[derive(Args, Debug)]
pub(super) struct Calibrate {
    /// Measure the costs of this machine, and print a description for --machine FILE
    #[arg(long, conflicts_with = "list_machines")]
    calibrate: bool,
    /// The measurements as one JSON object
    #[arg(long, requires = "calibrate")]
    json: bool,
    /// Then search this tree for real, on 1 and 2 workers, 2 places and 2 ranks, beside the model
    /// with these costs
    #[arg(long, value_name = "TREE", requires = "calibrate")]
    #[arg(num_args = 0..=1, default_missing_value = CHECKED)]
    check: Option<String>,
}

/// The measurements.
struct Measured {
    /// Key of the machine file, description of the operation, and its duration.
    costs: Vec<(&'static str, &'static str, Spread)>,
    /// By application.
    speeds: Vec<(&'static str, &'static str, Spread)>,
    encoding: Encoding,
    /// A cache line that changes its owner, if there are two processors.
    near: Option<Spread>,
}

/// Returns a description of this machine for `--machine FILE`, with the samples of a cache line
/// that changes its owner and of a wake-up that were taken already, in nanoseconds; without lines
/// the time is assumed.
///
/// # Errors
/// No sample of a wake-up.
pub(in crate::command) fn machine_file(near: &[f64], wake: &[f64]) -> Result<String, Failure> {
    let Some(wake) = Spread::of(wake) else {
        return Err(Failure::Check(
            "--machine-file: not written, as no wake-up was measured".to_owned(),
        ));
    };
    Ok(Measured::now(wake, Spread::of(near)).toml())
}

impl Calibrate {
    /// Whether it was requested.
    pub(super) fn asked(&self) -> bool {
        self.calibrate
    }

    /// Measures and prints the results.
    pub(super) fn run(&self) -> Outcome {
        let refused = |error: io::Error| Failure::Check(format!("cannot start a thread: {error}"));
        let wake = bench::wake().map_err(refused)?;
        let measured = Measured::now(wake, bench::near().map_err(refused)?);
        if let Some(tree) = &self.check {
            let machine = machines::parse("the measured machine", &measured.toml())?;
            return check::run(tree, &machine, self.json);
        }
        match self.json {
            true => deliver(&document(measured.json())),
            false => deliver(&measured.toml()),
        }
    }
}

impl Measured {
    fn now(wake: Spread, near: Option<Spread>) -> Self {
        let [send, serve] = bench::message();
        let costs = vec![
            (
                "look_ns",
                "a turn of a worker that finds nothing, with an empty task",
                bench::look(),
            ),
            (
                "serve_ns",
                "a request served by a busy place, and its refusal",
                serve,
            ),
            ("send_ns", "a request put into the inbox of a place", send),
            ("split_ns", "a bag of tree search halved", bench::split()),
            (
                "merge_ns",
                "half of what feeding and emptying a reserve take",
                bench::merge(),
            ),
            ("wake_ns", "from waking a parked thread until it runs", wake),
        ];
        let mut speeds = Vec::new();
        for application in APPLICATIONS {
            let runs: Vec<Speed> = (0..SPEED_RUNS)
                .filter_map(|_| application.speed())
                .collect();
            let Some(first) = runs.first() else { continue };
            let spread = bench::spread(&runs.iter().map(|run| run.task_ns).collect::<Vec<_>>());
            speeds.push((application.name(), first.unit, spread));
        }
        let encoding = Encoding::measure();
        Self {
            costs,
            speeds,
            encoding,
            near,
        }
    }

    /// Returns nodes a second of tree search.
    fn uts_nodes_per_s(&self) -> Option<u64> {
        let uts = self.speeds.iter().find(|(name, ..)| *name == SPEED);
        uts.map(|(.., spread)| ((1e9 / spread.median) as u64).max(1))
    }

    /// Returns the file.
    fn toml(&self) -> String {
        let here = Machine::discover();
        let (cores, cpu) = (here.cores(), std::env::consts::ARCH);
        let bytes: u64 = here.nodes().iter().map(|node| node.bytes).sum();
        let memory = bytes.div_ceil(1 << 30).max(1);
        let mut text = format!(
            "# Measured by `tautline`; assumed values are marked.\n\
             name = \"calibrated\"\n\
             title = \"A machine with {cores} {cpu} cores, as measured\"\n\
             sources = [\"measured on the machine itself, with the shipped code, each figure a median\"]\n\
             nodes = {{ value = 1, assumed = \"one node\" }}\n\
             cores = {{ value = {cores}, source = \"discovered when it was measured\" }}\n\
             workers = {workers}\n\
             default_places = {{ value = {places}, assumed = \"all cores in use\" }}\n\
             memory_gib = {memory}\n\n[speed]\n",
            workers = cores.min(64),
            places = cores / cores.min(64),
        );
        let _ = match self.uts_nodes_per_s() {
            Some(rate) => writeln!(
                text,
                "uts_geometric_nodes_per_s = {{ value = {rate}, source = \"measured: tautline uts, one thread\" }}"
            ),
            None => writeln!(
                text,
                "slowdown = {{ value = 1, assumed = \"not measured\" }}"
            ),
        };
        for (name, unit, spread) in &self.speeds {
            let _ = writeln!(text, "# {name}: {:.1} ns each of its {unit}", spread.median);
        }
        text.push_str("\n[costs]\n");
        for (key, what, spread) in &self.costs {
            let value = spread.median.round() as u64;
            let source = format!("measured: {what}; {}", words(spread));
            let _ = writeln!(text, "{key} = {{ value = {value}, source = \"{source}\" }}");
        }
        let near = match &self.near {
            Some(spread) => format!(
                "{{ value = {:.0}, source = \"measured: a cache line that changes its owner; {}\" }}",
                spread.median,
                words(spread)
            ),
            None => NEAR_ASSUMED.to_owned(),
        };
        let _ = write!(text, "\n[network]\nnear_ns = {near}\n{ASSUMED}");
        text.push_str(&self.encoding.toml());
        text
    }

    fn json(&self) -> Value {
        let spread = |spread: &Spread| {
            json!({
                "median": spread.median, "min": spread.least, "max": spread.most,
                "measurements": spread.samples,
            })
        };
        let spreads = |of: &[(&'static str, &str, Spread)]| {
            Value::Object(object(of.iter().map(|(key, _, of)| (*key, spread(of)))))
        };
        json!({
            "costs": spreads(&self.costs),
            "encoding": {
                "message_ns": spread(&self.encoding.message), "encode_loot_ns": spread(&self.encoding.loot[0]),
                "decode_loot_ns": spread(&self.encoding.loot[1]), "request_bytes": self.encoding.request_bytes,
                "loot_bytes": self.encoding.loot_bytes, "loot_tasks": self.encoding.tasks,
            },
            "task_ns": spreads(&self.speeds),
            "machine_file": self.toml(),
        })
    }
}

/// Of one processor.
const NEAR_ASSUMED: &str = "{ value = 100, assumed = \"a cache line that changes its owner\" }";
/// The costs that are not measured.
const ASSUMED: &str = "\
loot_task_ns = { value = 3, assumed = \"32 bytes a task, copied at 10 GB/s\" }\n\
jitter_percent = { value = 20, assumed = \"as on the commodity cluster\" }\n";
