//! `tautline bench MECHANISM` and `tautline bench all`: what mechanisms cost on this machine.

use super::barrier::DEADLINE_MIN_NS;
use super::measuring::{Measuring, Shares, ended, failure, stop_in_time};
use super::outputs::Outputs;
use super::ranks::{self, Leader};
use super::{processes, table};
use crate::command::balancer::within;
use crate::command::duration::seconds;
use crate::command::show::story::Pending;
use crate::command::simulate::machine_file;
use crate::command::{Failure, Outcome, deliver};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};
use tautline::Machine;
use tautline::balance::Reason;
use tautline::world::World;
use tautline_cli::bench::{
    Comparison, Kind, Lines, MECHANISMS, Mechanism, PARKED_WORKER, Record, RoundTrips, Setting,
    check_clock, pairs,
};

/// Fewer than 8 are insufficient for a comparison with another run.
const SAMPLES: RangeInclusive<u64> = 8..=100_000;
/// The samples without and with `--quick`, and the deadlines.
const USUAL: (u64, Duration) = (20, Duration::from_secs(300));
const QUICK: (u64, Duration) = (10, Duration::from_secs(30));
/// The pairs of processors of each distance that are measured at most: all of 128 processors.
const PAIRS: usize = 8_192;

/// The options of all benchmarks of the suite.
#[derive(Args, Debug)]
pub(super) struct Suite {
    /// Samples of each figure [default: 20; with --quick 10]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = |text: &str| within(text, SAMPLES), allow_negative_numbers = true)]
    samples: Option<u64>,
    /// Fewer samples, within 30 seconds
    #[arg(long)]
    quick: bool,
    /// End after this time, seconds or with units as in 5m [default: 5m; with --quick 30s]
    #[arg(long, value_name = "TIME")]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Option<Duration>,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    outputs: Outputs,
}

/// A part of the suite.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// Round trips of a cache line between all pairs of processors, whose home is the memory of a
    /// node.
    Line { home: Option<usize> },
    /// One mechanism.
    Mechanism(&'static Mechanism),
    /// A mechanism between ranks, which `leader` leads.
    Ranks {
        bench: &'static str,
        leader: &'a Leader,
    },
}

/// Returns the part of the mechanism of this name.
pub(super) fn one(name: &str) -> Vec<Part<'static>> {
    Mechanism::named(name)
        .map(Part::Mechanism)
        .into_iter()
        .collect()
}

impl Suite {
    /// Measures the parts in turn, and prints the figures.
    pub(super) fn run(&self, parts: &[Part<'_>]) -> Outcome {
        self.run_for(parts, None)
    }

    /// Measures a mechanism between the two ranks that a launcher has started; as a single process,
    /// as [`run`](Self::run).
    pub(super) fn run_by_ranks(&self, bench: &'static str) -> Outcome {
        let world = World::join()?;
        match (world.ranks(), world.is_home()) {
            (1, _) => self.run(&one(bench)),
            (2, true) => {
                let leader = &Leader::of(world);
                self.run(&[Part::Ranks { bench, leader }])
            }
            (2, false) => ranks::follow(&world),
            (ranks, _) => Err(Failure::Usage(format!(
                "{ranks} ranks: expected 2, or one process without a launcher"
            ))),
        }
    }

    /// Measures everything, and describes the machine in the file for simulations.
    pub(super) fn run_all(&self, machine_file: Option<&Path>) -> Outcome {
        let file = Pending::open("--machine-file", machine_file)?;
        let mechanisms = MECHANISMS.iter().map(Part::Mechanism);
        let line = [Part::Line { home: None }];
        self.run_for(
            &line.into_iter().chain(mechanisms).collect::<Vec<_>>(),
            file,
        )
    }

    fn run_for(&self, parts: &[Part<'_>], file: Option<Pending>) -> Outcome {
        let machine = Machine::discover();
        let (samples, _) = self.usual();
        let setting = Setting {
            samples: self.samples.unwrap_or(samples) as usize,
            ..self.measuring.setting(&machine)?
        };
        check_clock().map_err(failure)?;
        let mut record = Record::of(&machine, &setting.cpus);
        let outputs = self.outputs.open(&record)?;
        stop_in_time(&setting, self.deadline())?;
        let print = |text: &str| match outputs.json {
            true => Ok(()),
            false => deliver(text),
        };
        print(&table::title(&record))?;
        let mut share = Shares::new(self.deadline(), parts.len());
        for &part in parts {
            let until = share.next();
            if setting.stop.is_stopped() {
                break;
            }
            let before = record.figures.len();
            let name = self.measure(part, &machine, &setting, until, &mut record)?;
            print(&table::part(name, &record.figures[before..]))?;
        }
        let stopped = setting.stop.reason().map(Reason::name);
        if let Some(reason) = stopped {
            print(&format!("\npartial: {reason}\n"))?;
        }
        let more = json!({
            "samples": setting.samples, "complete": stopped.is_none(), "stopped": stopped,
        });
        // Of an interrupted run there is no file.
        let reason = setting.stop.reason();
        if let Some(file) = file.filter(|_| reason != Some(Reason::Interrupted)) {
            let text = described(&record)?;
            file.write(|out| out.write_all(text.as_bytes()))?;
        }
        outputs.finish(&record, more)?;
        ended(&setting)
    }

    /// Measures a part into the record, and returns its name.
    fn measure(
        &self,
        part: Part<'_>,
        machine: &Machine,
        setting: &Setting,
        until: Option<Instant>,
        record: &mut Record,
    ) -> Result<&'static str, Failure> {
        Ok(match part {
            Part::Line { home } => {
                let taken = self.line(machine, setting, home, until)?;
                record.add_round_trips(machine, ["line", ""], &taken);
                "line"
            }
            Part::Mechanism(mechanism) => {
                let (name, tasks) = (mechanism.name, mechanism.tasks(setting.processors));
                let kinds = mechanism.kinds().into_iter().chain(processes::kinds(name));
                let kinds: Vec<Kind> = kinds.collect();
                let compared = self.compare(setting, (name, &kinds), tasks, until)?;
                record.add_rows([name, ""], &compared);
                name
            }
            Part::Ranks { bench, leader } => {
                let kinds = leader.kinds(bench);
                let compared = self.compare(setting, (bench, &kinds), 1, until)?;
                record.add_rows([bench, ""], &compared);
                bench
            }
        })
    }

    fn usual(&self) -> (u64, Duration) {
        if self.quick { QUICK } else { USUAL }
    }

    fn deadline(&self) -> Duration {
        self.deadline.unwrap_or(self.usual().1)
    }

    /// Measures round trips between all pairs of processors.
    fn line(
        &self,
        machine: &Machine,
        setting: &Setting,
        home: Option<usize>,
        until: Option<Instant>,
    ) -> Result<RoundTrips, Failure> {
        let lines = Lines::new(home_cpu(machine, home)?).map_err(|error| {
            let option = home.map_or(String::new(), |node| format!("--home {node}: "));
            Failure::Usage(format!("{option}{error}"))
        })?;
        let pairs = pairs(machine, &setting.cpus, PAIRS).into_iter();
        let pairs: Vec<_> = pairs.flat_map(|(_, pairs)| pairs).collect();
        let (samples, _) = setting.effort(pairs.len());
        let total = pairs.len() * samples;
        let _progress = self
            .measuring
            .progress("round trips", setting, total, self.deadline());
        setting.ping_pong(&lines, &pairs, until).map_err(failure)
    }

    /// Measures the kinds of a mechanism, each with this many threads of this process.
    fn compare(
        &self,
        setting: &Setting,
        (name, kinds): (&str, &[Kind]),
        tasks: usize,
        until: Option<Instant>,
    ) -> Result<Comparison, Failure> {
        let total = (kinds.len() + 1) * setting.samples;
        let _progress = self
            .measuring
            .progress(name, setting, total, self.deadline());
        setting.compare(kinds, tasks, until).map_err(failure)
    }
}

/// Returns the description of the machine for simulations.
fn described(record: &Record) -> Result<String, Failure> {
    let round_trips = record.pairs.iter().flat_map(|pair| &pair.samples_ns);
    let transfers: Vec<f64> = round_trips.map(|ns| ns / 2.0).collect();
    let mut figures = record.figures.iter();
    let wake = figures.find(|one| one.bench == "wake" && one.figure == PARKED_WORKER);
    machine_file(&transfers, wake.map_or(&[], |figure| &figure.samples_ns))
}

/// Returns a processor of the memory node `home`.
fn home_cpu(machine: &Machine, home: Option<usize>) -> Result<Option<usize>, Failure> {
    let Some(home) = home else { return Ok(None) };
    let nodes = machine.nodes();
    let cpu = nodes
        .iter()
        .find(|node| node.id == home)
        .and_then(|node| node.cpus.first());
    match cpu {
        Some(&cpu) => Ok(Some(cpu)),
        None => {
            let known: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
            let known = match known.is_empty() {
                true => "this machine has no known memory node".to_owned(),
                false => format!(
                    "expected a memory node with allowed processors: {}",
                    known.join(", ")
                ),
            };
            Err(Failure::Usage(format!("--home {home}: {known}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline::machines;
    use tautline_cli::bench::{Figure, Pair};

    #[test]
    fn a_machine_file_has_the_costs_that_were_measured() {
        let machine = Machine::discover();
        let mut record = Record::of(&machine, &machine.cpus());
        record.pairs = vec![Pair {
            cpus: [0, 1],
            samples_ns: vec![300.0, 310.0, 900.0],
        }];
        let missing = described(&record);
        assert!(missing.is_err(), "a machine without wake-ups");
        record.figures = vec![Figure {
            bench: "wake".to_owned(),
            figure: PARKED_WORKER.to_owned(),
            samples_ns: vec![39_000.0, 40_000.0, 41_000.0],
            doubts: Vec::new(),
            line_ns: None,
        }];
        let text = described(&record).unwrap();
        let described = machines::parse("the file", &text).unwrap();
        let cluster = &described.costs().cluster;
        assert_eq!((cluster.near_ns, cluster.wake_ns), (155, 40_000), "{text}");
    }

    #[test]
    fn an_unknown_memory_node_is_refused_with_the_known_ones() {
        let machine = Machine::discover();
        assert!(matches!(home_cpu(&machine, None), Ok(None)));
        let unknown = home_cpu(&machine, Some(4_711));
        let Err(Failure::Usage(line)) = unknown else {
            panic!("{unknown:?}");
        };
        assert!(line.starts_with("--home 4711: "), "{line}");
        for node in machine.nodes() {
            let cpu = home_cpu(&machine, Some(node.id));
            assert!(matches!(cpu, Ok(Some(cpu)) if node.cpus.contains(&cpu)));
        }
    }
}
