//! `tautline simulate team --check`: calls of real ranks on this machine against the same calls in
//! the model.
//!
//! # Algorithm
//! Rounds, so that a drift of the machine affects all alike: in each, ranks of one worker and one
//! processor make every call, many times in a row, and all of that once before to warm up. Medians
//! are compared. Two measurements give the two costs of a message: the barrier of 2 ranks takes its
//! latency and its service, the all-to-all of 4 ranks one latency and three services. These are not
//! predicted. Everything else is, by the simulator with these costs; each call of 2 ranks takes a
//! multiple of their sum, so it needs no more than the barrier. Nothing is adapted to a prediction
//! that fails.

mod call;
mod real;
mod report;

use crate::command::balancer::within;
use crate::command::show::document;
use crate::command::simulate::watcher::Watcher;
use crate::command::{Failure, Outcome, deliver};
use call::{CALLS, Call, SERVICES};
use clap::Args;
use report::{Calibration, Report, Row};
use tautline::Machine;
use tautline::internal::costs::KEYS;
use tautline::world::World;
use tautline_cli::bench::Spread;
use tautline_sim::teams::TeamCosts;

/// The numbers of ranks.
const RANKS: [u32; 2] = [2, 4];

/// The options of the comparison.
#[derive(Args, Debug)]
pub(super) struct Check {
    /// Measure calls of real ranks on this machine, processes of one worker, and compare them with
    /// the model, whose costs are those of two of the calls
    #[arg(long, conflicts_with_all = others())]
    check: bool,
    /// Rounds of --check, of which the medians count
    #[arg(long, value_name = "N", default_value = "7", requires = "check")]
    #[arg(value_parser = |text: &str| within(text, 1..=10_000), allow_negative_numbers = true)]
    rounds: u64,
    /// Calls that each rank makes in a row
    #[arg(
        long,
        value_name = "N",
        default_value = "10000",
        requires = "check",
        hide = true
    )]
    #[arg(value_parser = |text: &str| within(text, 1..=1 << 30), allow_negative_numbers = true)]
    calls: u64,
    /// Run as the ranks of a round
    #[arg(long, value_name = "N", requires = "check", hide = true)]
    #[arg(value_parser = |text: &str| within(text, 2..=4), allow_negative_numbers = true)]
    as_ranks: Option<u64>,
}

/// Returns the options of simulated programs.
fn others() -> Vec<&'static str> {
    let own = [
        "programs",
        "ranks",
        "radix",
        "value_bytes",
        "skew",
        "serve",
        "tasks",
        "seed",
        "ideal",
        "machine",
        "set",
    ];
    let costs = KEYS.iter().filter(|key| key.is_option());
    own.into_iter().chain(costs.map(|key| key.name)).collect()
}

impl Check {
    /// Whether it was requested.
    pub(super) fn is_asked(&self) -> bool {
        self.check
    }

    /// Compares, and prints a table or data.
    pub(super) fn run(&self, as_json: bool) -> Outcome {
        if !cfg!(target_os = "linux") {
            return Err(Failure::Usage(
                "--check: ranks as processes need Linux".to_owned(),
            ));
        }
        if let Some(ranks) = self.as_ranks {
            return real::take_part(ranks as u32, self.calls);
        }
        refuse_ranks()?;
        let watcher = Watcher::start(true);
        let processors = Machine::discover().allowed().len();
        let mut groups: Vec<_> = RANKS.map(|ranks| Group::new(ranks, processors)).into();
        let mut rounds = 0;
        while rounds < self.rounds
            && !watcher.is_interrupted()
            && self.round(&mut groups, &watcher)?
        {
            rounds += 1;
        }
        let complete = rounds == self.rounds;
        let report = compared(
            &groups,
            rounds,
            Report {
                calls: self.calls,
                processors,
                complete,
                ..Report::default()
            },
        );
        deliver(&match as_json {
            true => document(report.json()),
            false => report.table(),
        })?;
        match complete {
            true => watcher.outcome(),
            false => Err(Failure::Interrupted),
        }
    }

    /// Adds a sample of each call; returns false, and adds nothing, after an interrupt.
    fn round(&self, groups: &mut [Group], watcher: &Watcher) -> Result<bool, Failure> {
        let mut taken = Vec::new();
        for group in groups.iter_mut().filter(|group| group.fits) {
            let Some(all) = real::round(group.ranks, self.calls, watcher)? else {
                return Ok(false);
            };
            taken.push((group, all));
        }
        for (group, all) in taken {
            for ((_, samples), ns) in group.calls.iter_mut().zip(all) {
                samples.push(ns);
            }
        }
        Ok(true)
    }
}

/// # Errors
/// This process is a rank: its children would be, too.
fn refuse_ranks() -> Outcome {
    let world = World::join()?;
    match (world.rank(), world.ranks()) {
        (_, 1) => Ok(()),
        (here, all) => Err(Failure::Usage(format!(
            "--check: this is {here} of {all} that were launched"
        ))),
    }
}

/// The calls of a number of ranks, each with its samples.
struct Group {
    ranks: u32,
    /// Whether each rank has a processor of its own.
    fits: bool,
    calls: Vec<(&'static Call, Vec<f64>)>,
}

impl Group {
    fn new(ranks: u32, processors: usize) -> Self {
        let calls = CALLS.iter().map(|call| (call, Vec::new()));
        Self {
            ranks,
            fits: ranks as usize <= processors,
            calls: calls.collect(),
        }
    }
}

/// Returns `report` with the calls that calibrate, the costs, and the others beside the model.
fn compared(groups: &[Group], rounds: u64, report: Report) -> Report {
    let mut report = Report { rounds, ..report };
    let samples = |group: &Group| {
        let all = group.calls.iter();
        let ranks = group.ranks;
        let spreads = all.filter_map(move |(call, all)| Some((ranks, *call, Spread::of(all)?)));
        spreads.collect::<Vec<_>>()
    };
    let all: Vec<_> = groups.iter().flat_map(samples).collect();
    for (ranks, call, measured) in &all {
        if let Some(gives) = call.gives(*ranks) {
            report.calibrations.push(Calibration {
                call: call.name,
                ranks: *ranks,
                measured: *measured,
                gives,
            });
        }
    }
    report.costs = MessageCosts::of(&report.calibrations);
    for (ranks, call, measured) in all {
        let Some(costs) = report.costs.filter(|_| call.gives(ranks).is_none()) else {
            continue;
        };
        report.rows.push(Row {
            call: call.name,
            ranks,
            measured,
            predicted_ns: call.predicted_ns(costs.of_team(ranks)),
        });
    }
    let unfit = groups.iter().filter(|group| !group.fits);
    report.needing = unfit.map(|group| group.ranks).collect();
    report
}

/// The costs of a message.
#[derive(Clone, Copy, Debug)]
struct MessageCosts {
    /// Latency and service.
    sum_ns: u64,
    /// The service, if it is known.
    serve_ns: Option<u64>,
}

impl MessageCosts {
    /// Returns the costs that the calibrating calls give: the sum, then latency and services.
    fn of(calibrations: &[Calibration]) -> Option<Self> {
        let mut medians = calibrations.iter().map(|of| of.measured.median);
        let sum = medians.next()?;
        let serve = medians.next().map(|several| {
            let serve = (several - sum) / f64::from(SERVICES - 1);
            serve.clamp(0.0, sum).round() as u64
        });
        Some(Self {
            sum_ns: sum.round() as u64,
            serve_ns: serve,
        })
    }

    /// Returns the latency, if the service is known.
    fn latency_ns(self) -> Option<u64> {
        Some(self.sum_ns - self.serve_ns?)
    }

    /// Returns the costs of a team. A service that is not known counts as latency.
    fn of_team(self, ranks: u32) -> TeamCosts {
        let serve_ns = self.serve_ns.unwrap_or(0);
        TeamCosts {
            serve_ns,
            ..TeamCosts::latency_alone(ranks, self.sum_ns - serve_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the comparison on a machine of this many processors, where the calibrating calls
    /// take these times, and each other one 1000 ns.
    fn report(processors: usize, [sum, several]: [f64; 2]) -> Report {
        let mut groups = RANKS.map(|ranks| Group::new(ranks, processors));
        for group in groups.iter_mut().filter(|group| group.fits) {
            for (call, samples) in &mut group.calls {
                samples.push(match (call.gives(group.ranks), group.ranks) {
                    (None, _) => 1_000.0,
                    (_, 2) => sum,
                    _ => several,
                });
            }
        }
        compared(&groups, 1, Report::default())
    }

    fn predicted(report: &Report) -> Vec<(u32, &'static str, u64)> {
        let rows = report.rows.iter();
        rows.map(|row| (row.ranks, row.call, row.predicted_ns))
            .collect()
    }

    #[test]
    fn calls_are_predicted_with_the_costs_that_others_give() {
        // A latency of 900 ns and a service of 100 ns; the root of 4 ranks serves 3 messages.
        let all = predicted(&report(4, [1_000.0, 1_200.0]));
        for row in [
            (2, "all-reduce", 1_000),
            (2, "broadcast", 2_000),
            (2, "all-to-all", 1_000),
            (2, "gather, then scatter", 4_000),
            (4, "barrier", 2_000),
            (4, "scan", 2 * 900 + 4 * 100),
        ] {
            assert!(all.contains(&row), "{row:?}: {all:?}");
        }
        let calibrates = |(ranks, call, _): &(u32, &str, u64)| {
            [(2, "barrier"), (4, "all-to-all")].contains(&(*ranks, *call))
        };
        assert!(!all.iter().any(calibrates), "{all:?}");
        assert_eq!(all.len(), 7 + 7);
    }

    #[test]
    fn two_ranks_need_the_sum_of_latency_and_service_alone() {
        let alone = report(2, [1_000.0, 0.0]);
        let seen = (&alone.needing[..], alone.calibrations.len());
        assert_eq!(seen, (&[4][..], 1));
        let two = |report: &Report| {
            let mut all = predicted(report);
            all.retain(|(ranks, ..)| *ranks == 2);
            all
        };
        assert_eq!(two(&alone).len(), 7);
        for several in [1_000.0, 1_500.0, 3_000.0] {
            assert_eq!(two(&alone), two(&report(4, [1_000.0, several])));
        }
    }

    #[test]
    fn costs_are_not_negative() {
        let of = |several| {
            let costs = report(4, [1_000.0, several]).costs.expect("a barrier");
            (costs.latency_ns(), costs.serve_ns)
        };
        assert_eq!(of(900.0), (Some(1_000), Some(0)));
        assert_eq!(of(9_000.0), (Some(0), Some(1_000)));
    }

    #[test]
    fn predictions_hold_within_their_limit() {
        let within = |sum| {
            let rows = report(2, [sum, 0.0]).json()["rows"].clone();
            rows[0]["within"].as_bool().expect("it is judged")
        };
        let judged = [849.0, 851.0, 1_149.0, 1_151.0].map(within);
        assert_eq!(judged, [false, true, true, false]);
    }
}
