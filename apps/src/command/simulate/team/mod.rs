//! `tautline simulate team`: the calls, finishes and phases of a team, at any number of ranks.

mod check;
mod program;
mod report;

use super::costs::Overrides;
use super::engine::Faults;
use super::setting::{built_in, described};
use super::watcher::Watcher;
use crate::command::balancer::within;
use crate::command::duration::nanoseconds;
use crate::command::known::Known;
use crate::command::list::{List, names, numbers};
use crate::command::show::document;
use crate::command::{Failure, Outcome, deliver};
use check::Check;
use clap::Args;
use clap::builder::StringValueParser;
use program::Program;
use report::{Report, Row};
use tautline::internal::costs::{Costs, Section};
use tautline_sim::memory::{CYCLOPS64, NIAGARA2, POWER7, XEON};
use tautline_sim::teams::{Hybrid, Storm, TeamCosts, Teamed};

/// More would take gigabytes.
const RANKS_MAX: u64 = 1 << 17;
/// The threads of the smallest described node.
const TASKS_MAX: u64 = 128;
const NS_MAX: u64 = 1 << 40;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline simulate team                          all programs at 1024 ranks
  tautline simulate team barrier --ranks 16..65536..x4
                                                  a row for each number of ranks
  tautline simulate team barrier,scan --machine jaguar --ranks 100000
                                                  on another machine
  tautline simulate team all-reduce --radix 2     a binary tree
  tautline simulate team --ideal                  messages take their latency, and nothing else
  tautline simulate team barrier --skew 1ms       ranks that come late
  tautline simulate team storm --ranks 64,1024    finishes over ranks, with activities at random
  tautline simulate team phase --tasks 16         phases of the tasks of all ranks
  tautline simulate team --set wake_ns=0 --json   for programs
  tautline simulate team --check                  calls of real ranks here, beside the model

PROGRAM is a call of a team: barrier, broadcast, reduce, all-reduce, gather, all-gather, scatter, scan,
all-reduce-pairs (of at most 16 ranks), all-to-all (of at most 1024); storm: random activities that spawn
others at any rank, some under finishes of their own; or phase: a phaser of the tasks of all ranks, whose
tasks meet on the hardware threads of four described nodes. The machines are those that ship; in a team,
a call with a root returns only once all ranks have made it, so it takes the time of an all-reduce, and up to
16 ranks barriers and sums meet in pairs.
The time of a call is that from the last entry to the last return; of a storm, from the end of the last
activity until all ranks know it; of a phase, from the last signal to the last return. Its bound is that
of latencies alone: log P up a tree and as many down, to the base of its radix; in pairs, log2 P.
--check starts 2 ranks, and 4 on as many processors: processes with a worker and a processor each. The
barrier of 2 ranks gives the sum of latency and service of a message, the all-to-all of 4 ranks a latency
and three services; all other calls are predicted with these, and stand beside their real times.
The same options always give the same run. The first Ctrl-C ends it with the complete rows, the second
at once.";

/// The calls, finishes and phases of a team of ranks, in virtual time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Team {
    /// Calls of a team, storm, phase, with commas [default: all]
    #[arg(value_name = "PROGRAM", hide_possible_values = true)]
    #[arg(value_parser = Known::new(names, Program::names))]
    programs: Vec<List<String>>,
    /// Numbers of ranks, as in 64,1024 or 16..4096..x4
    #[arg(long, value_name = "LIST", default_value = "1024")]
    #[arg(value_parser = |text: &str| numbers(text, 1..=RANKS_MAX), allow_negative_numbers = true)]
    ranks: Vec<List<u64>>,
    /// Radix of the tree, of a storm also that of its reports [default: of the library]
    #[arg(long, value_name = "N", value_parser = |text: &str| within(text, 2..=1024), allow_negative_numbers = true)]
    radix: Option<u64>,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value = "8")]
    #[arg(value_parser = |text: &str| within(text, 0..=1 << 20), allow_negative_numbers = true)]
    value_bytes: u64,
    /// The ranks enter a call at random times up to this one, in nanoseconds or with units
    #[arg(long, value_name = "TIME", default_value = "0")]
    #[arg(value_parser = |text: &str| nanoseconds(text, 0..=NS_MAX), allow_hyphen_values = true)]
    skew: u64,
    /// Time in which a rank serves a message
    #[arg(long, value_name = "TIME", default_value = "500ns")]
    #[arg(value_parser = |text: &str| nanoseconds(text, 0..=NS_MAX), allow_hyphen_values = true)]
    serve: u64,
    /// Tasks of a rank, in a phase
    #[arg(long, value_name = "N", default_value = "64")]
    #[arg(value_parser = |text: &str| within(text, 1..=TASKS_MAX), allow_negative_numbers = true)]
    tasks: u64,
    /// Selects delays, entries, and the activities of a storm
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = |text: &str| within(text, 0..=u64::MAX), allow_negative_numbers = true)]
    seed: u64,
    /// Messages take their latency, and nothing else takes time, as in the bounds
    #[arg(long, conflicts_with = "serve")]
    ideal: bool,
    /// A machine of `tautline simulate --list-machines`, or a file that describes one
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "cluster",
        hide_possible_values = true
    )]
    #[arg(value_parser = Known::new(StringValueParser::new(), built_in))]
    machine: String,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    check: Check,
    #[command(flatten)]
    overrides: Overrides,
}

impl Team {
    /// Runs the programs and prints the cost of each, beside its bound.
    pub(super) fn run(&self) -> Outcome {
        if self.check.is_asked() {
            return self.check.run(self.json);
        }
        let runs = self.runs()?;
        let watcher = Watcher::start(true);
        let uninterrupted = runs.iter().take_while(|_| !watcher.is_interrupted());
        let done = uninterrupted.map(|&(program, costs)| self.rows(program, costs));
        let done: Vec<_> = done.collect();
        let report = Report {
            machine: &self.machine,
            is_ideal: self.ideal,
            complete: done.len() == runs.len(),
            rows: done.into_iter().flatten().collect(),
        };
        deliver(&match self.json {
            true => document(report.json()),
            false => report.table(),
        })
        .and(watcher.outcome())
    }

    /// Returns the programs, each with what its number of ranks costs.
    fn runs(&self) -> Result<Vec<(Program, TeamCosts)>, Failure> {
        let asked = List::join(&self.programs);
        let programs: Result<Vec<_>, _> = asked.iter().map(|name| Program::named(name)).collect();
        let programs = programs?;
        let mut runs = Vec::new();
        for ranks in List::join(&self.ranks) {
            let costs = self.costs(ranks as u32)?;
            if programs.is_empty() {
                let fit = Program::all().filter(|program| ranks <= program.most_ranks());
                runs.extend(fit.map(|program| (program, costs)));
            }
            for &program in &programs {
                let most = program.most_ranks();
                if ranks > most {
                    let line = format!("--ranks {ranks}: at most {most} for {program}");
                    return Err(Failure::Usage(line));
                }
                runs.push((program, costs));
            }
        }
        Ok(runs)
    }

    /// Returns the costs of a team of `ranks` on the machine, a core each.
    fn costs(&self, ranks: u32) -> Result<TeamCosts, Failure> {
        self.overrides.only(
            |key| key.section == Section::Network || ["wake_ns", "spin_ns"].contains(&key.name),
            "messages of a team have no such cost",
        )?;
        let described = described(&self.machine)?;
        let room = described.places_max(1);
        if u64::from(ranks) > room {
            let (nodes, cores) = (described.nodes, described.cores);
            let name = &described.name;
            let line = format!(
                "--ranks {ranks}: at most {room}, as {name} has {nodes} nodes of {cores} cores"
            );
            return Err(Failure::Usage(line));
        }
        let machine = described.machine(ranks, 1, 1);
        let nodes = ranks.div_ceil(machine.cluster.node_places.max(1));
        let costs = Costs {
            machine,
            faults: Faults::default(),
        };
        let costs = self
            .overrides
            .over(costs, (&described.name, nodes), false)?;
        let cluster = costs.machine.cluster;
        let costs = TeamCosts {
            cluster,
            serve_ns: self.serve,
            seed: self.seed,
            ..TeamCosts::of(ranks)
        };
        Ok(match self.ideal {
            true => TeamCosts {
                seed: self.seed,
                ..TeamCosts::latency_alone(ranks, costs.latency_ns())
            },
            false => costs,
        })
    }

    fn rows(&self, program: Program, costs: TeamCosts) -> Vec<Row> {
        match program {
            Program::Call(call) => vec![Row::of_call(
                program,
                costs.ranks,
                &self.team(costs).run(call),
            )],
            Program::Storm => {
                let radix = self.radix.map(|radix| radix as u32);
                let storm = Storm::of(costs);
                let radix = radix.unwrap_or(storm.radix);
                vec![Row::of_storm(costs.ranks, &Storm { radix, ..storm }.run())]
            }
            Program::Phase => self.phases(costs),
        }
    }

    /// Runs a phase on each of the described nodes.
    fn phases(&self, costs: TeamCosts) -> Vec<Row> {
        let tasks = self.tasks as usize;
        let row = |machine| {
            let hybrid = Hybrid {
                costs,
                tasks,
                machine,
                radix: self.radix.map(|radix| radix as u32),
                skew_ns: self.skew,
            };
            Row::of_phase(machine.name, tasks, costs.ranks, &hybrid.run())
        };
        [CYCLOPS64, NIAGARA2, POWER7, XEON].map(row).into()
    }

    fn team(&self, costs: TeamCosts) -> Teamed {
        Teamed {
            radix: self.radix.map(|radix| radix as u32),
            value_bytes: self.value_bytes,
            skew_ns: self.skew,
            ..Teamed::of(costs)
        }
    }
}
