//! A computation in virtual time and what its tuners did.

use tautline::balance::PlaceRun;
use tautline::balance::{Bag, Config, Fairness, Grain, PlaceId};
use tautline::balance::{Observer, State};
use tautline::machines;
use tautline_cli::uts::variant::{Fragments, Whole};
use tautline_cli::uts::{self, named};
use tautline_sim::Simulation;

use crate::tree::Tree;

/// The outcome of one run.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub tasks: u64,
    pub ns: u64,
    pub fed: u64,
    pub split: u64,
    pub emptied: u64,
    pub efficiency: f64,
    /// By place: when its grain became what, in order.
    pub grains: Vec<Vec<(u64, usize)>>,
}

impl Reading {
    pub(crate) fn merge_empty(&self) -> f64 {
        self.fed as f64 / self.emptied as f64
    }

    pub(crate) fn split_merge(&self) -> f64 {
        self.split as f64 / self.fed as f64
    }

    /// The part of the run before `place` changed its grain for the first time.
    pub(crate) fn kept(&self, place: usize) -> f64 {
        let first = self.grains[place].first();
        first.map_or(1.0, |&(at, _)| at as f64 / self.ns as f64)
    }
}

/// The changes that one worker made to the grain of its place.
#[derive(Debug, Default)]
struct Changes(Vec<(u64, usize)>);

impl Observer for Changes {
    fn span(&mut self, _: State, _: u64, _: u64) {}

    fn grain(&mut self, tasks: usize, now: u64) {
        self.0.push((now, tasks));
    }
}

/// Runs a bag that counts its tasks.
pub(crate) fn run<B: Bag<Shared = (), Output = u64>>(simulation: &Simulation, bag: B) -> Reading {
    read(simulation, bag, || (), 0, |&tasks| tasks)
}

/// Runs a bag from whose output `count` gets the number of its tasks.
fn read<B: Bag>(
    simulation: &Simulation,
    bag: B,
    shared: impl Fn() -> B::Shared,
    output: B::Output,
    count: impl Fn(&B::Output) -> u64,
) -> Reading {
    let outcome = simulation.run(bag, |_| shared(), output, |_, _| Changes::default());
    assert!(outcome.complete);
    let done = count(&outcome.output);
    // The benchmark's root is counted when its bag is made.
    assert!(done - outcome.tasks <= 1, "{done} {}", outcome.tasks);
    let mut grains = vec![Vec::new(); outcome.places.len()];
    for (PlaceId(place), _, changes) in outcome.observers {
        grains[place as usize].extend(changes.0);
    }
    for history in &mut grains {
        history.sort_by_key(|&(now, _)| now);
    }
    let sum = |part: fn(&PlaceRun) -> u64| outcome.places.iter().map(part).sum();
    Reading {
        tasks: done,
        ns: outcome.virtual_ns,
        fed: sum(|place| place.tally.reserve.fed),
        split: sum(|place| place.tally.reserve.split),
        emptied: sum(|place| place.tally.reserve.emptied),
        efficiency: outcome.efficiency,
        grains,
    }
}

/// The machine of the thesis' figures on which `places` places of `workers` workers walk a tree.
pub(crate) fn on(name: &str, places: u32, workers: u32, grain: impl Into<Grain>) -> Simulation {
    let description = machines::find(name).expect("a built-in machine");
    let config = Config {
        places,
        workers: workers as usize,
        grain: grain.into(),
        fairness: Fairness::Inline,
        ..Config::default()
    };
    let task_ns = description.unit_ns("uts_geometric_nodes");
    let mut machine = description.machine(places, workers, task_ns);
    // The thesis' workers end when they are dry, and a pool starts them again.
    machine.cluster.spin_ns = 0;
    Simulation::new(config, machine)
}

/// 16 places of 64 workers of Oakforest-PACS.
pub(crate) fn manycore(grain: impl Into<Grain>) -> Simulation {
    on("oakforest-pacs", 16, 64, grain)
}

/// The division of the bags of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Plain,
    Whole,
    Fragments,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::Plain, Kind::Whole, Kind::Fragments];

/// Walks `tree` divided in this way.
pub(crate) fn walk(kind: Kind, simulation: &Simulation, tree: &Tree) -> Reading {
    let tree = tree.clone();
    let size = tree.size();
    let reading = match kind {
        Kind::Plain => run(simulation, tree),
        Kind::Whole => run(simulation, Whole(tree)),
        Kind::Fragments => run(simulation, Fragments::from(tree)),
    };
    assert_eq!(reading.tasks, size, "{kind:?}");
    reading
}

/// Walks the benchmark's own tree of this name, node by node, divided in this way.
pub(crate) fn walk_uts(kind: Kind, simulation: &Simulation, name: &str) -> Reading {
    let known = named::find(name).expect("a tree with a name");
    let tree = || uts::Tree::new(known.params).expect("named trees are valid");
    let bag = uts::Uts::root(&tree());
    let (counts, nodes) = (uts::Counts::default, |counts: &uts::Counts| counts.nodes);
    let reading = match kind {
        Kind::Plain => read(simulation, bag, tree, counts(), nodes),
        Kind::Whole => read(simulation, Whole(bag), tree, counts(), nodes),
        Kind::Fragments => read(simulation, Fragments::from(bag), tree, counts(), nodes),
    };
    assert_eq!(reading.tasks, known.nodes, "{kind:?} {name}");
    reading
}
