//! The simulator as the command uses it: apart from its machine and the watcher, only this file
//! uses `tautline_sim`.

use super::watcher::Watcher;
use crate::command::app::{AnyOutput, AnyProblem};
use std::time::Duration;
use tautline::balance::{Config, PlaceId, PlaceRun, Reason, WorkerId};
use tautline::story::Recorder;
use tautline_sim::Simulation;

pub(super) use tautline_sim::engine::Faults;
pub(super) use tautline_sim::{Bound, Machine, Phases};

/// The balancer, machine and faults of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    /// The balancer.
    pub config: Config,
    /// The machine.
    pub machine: Machine,
    /// The injected faults.
    pub faults: Option<Faults>,
}

/// The outcome of a simulated run.
#[derive(Debug)]
pub(super) struct Simulated {
    /// The output that the bags submitted.
    pub output: AnyOutput,
    /// Whether all work was done.
    pub complete: bool,
    /// The reason why work was left undone, if any was.
    pub stopped: Option<Reason>,
    /// From the start to the end.
    pub virtual_seconds: f64,
    /// Tasks done by all places.
    pub tasks: u64,
    /// Sequential over parallel virtual time.
    pub efficiency: f64,
    /// The parts of the run.
    pub phases: Phases,
    /// The place that could not be reached, if the run was stopped by that.
    pub lost: Option<PlaceId>,
    /// Messages sent, of all kinds.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these messages, the messages of the finish.
    pub reports: u64,
    /// Loot by the number of hops; hop 0 is within a node.
    pub distances: Vec<u64>,
    /// Events simulated.
    pub events: u64,
    /// The counts of each place.
    pub places: Vec<PlaceRun>,
    /// The recording of each worker.
    pub observers: Vec<(PlaceId, WorkerId, Recorder)>,
}

/// Runs `problem` until `deadline` of virtual time if there is one or the user interrupts it, every
/// worker observed by a `recorder`.
pub(super) fn run(
    problem: &dyn AnyProblem,
    on: On,
    deadline: Option<Duration>,
    recorder: &dyn Fn() -> Recorder,
    watcher: &Watcher,
) -> Simulated {
    let mut simulation = Simulation::new(on.config, on.machine);
    if let Some(faults) = on.faults {
        simulation = simulation.faults(faults);
    }
    if let Some(deadline) = deadline {
        let ns = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
        simulation = simulation.deadline_ns(ns);
    }
    let _progress = watcher.show("", problem);
    let outcome = simulation.run_watched(
        problem.bag(),
        |_| problem.shared(),
        problem.output(),
        |_, _| recorder(),
        &|interim| watcher.look(interim),
    );
    Simulated {
        phases: outcome.phases,
        output: outcome.output,
        complete: outcome.complete,
        stopped: outcome.stopped,
        virtual_seconds: outcome.virtual_ns as f64 / 1e9,
        tasks: outcome.tasks,
        efficiency: outcome.efficiency,
        lost: outcome.lost,
        messages: outcome.messages,
        bytes: outcome.bytes,
        reports: outcome.reports,
        distances: outcome.distances,
        events: outcome.events,
        places: outcome.places,
        observers: outcome.observers,
    }
}

/// Schedules the tasks of `problem` on as many workers, where balancing is free and immediate.
/// Returns `None` if the user interrupts it.
pub(super) fn bound(problem: &dyn AnyProblem, on: On, watcher: &Watcher) -> Option<Bound> {
    let simulation = Simulation::new(on.config, on.machine);
    let shared = problem.shared();
    let _progress = watcher.show("the bound, ", problem);
    simulation.bound_watched(problem.bag(), &shared, &|interim| watcher.look(interim))
}
