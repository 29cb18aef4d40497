//! The orders that the tables of `apps/tables` show, in miniature: which is faster, which has more
//! failed requests, what grows. The figures themselves are in the tables, with the commands that
//! print them.

use serde_json::Value;
use std::process::Command;
use tautline::balance::{Config, Fairness, Graph, Rule, State, Steal, Tuning};
use tautline::machines::{self, Description};
use tautline_cli::synthetic::{Cost, Found, Params, Synthetic, Work};
use tautline_sim::Simulation;

/// The figures by which a run is judged.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ns: u64,
    efficiency: f64,
    /// Requests that brought no work.
    fails: u64,
    stealing: f64,
    /// Reserves fed for each that was emptied.
    merge_empty: f64,
}

fn named(machine: &str) -> Description {
    machines::find(machine).expect("a built-in machine")
}

/// Side by side, or one geometric tree of four children a node down to a depth.
#[derive(Clone, Copy, Debug)]
enum Tree {
    Binomial { roots: u32 },
    Geometric { depth: u32 },
}

impl Tree {
    fn params(self) -> Params {
        let (children, roots, depth) = match self {
            Self::Binomial { roots } => ("binomial:2,0.4995", roots, u32::MAX),
            Self::Geometric { depth } => ("geometric:4", 1, depth),
        };
        Params {
            children: children.parse().expect("a distribution"),
            depth,
            roots,
            cost: Cost::Fixed(1),
            seed: 1,
        }
    }
}

fn run(config: Config, machine: &Description, task_ns: u64, tree: Tree) -> Reading {
    let work = Work {
        params: tree.params(),
        spins: false,
    };
    let machine = machine.machine(config.places, config.workers as u32, task_ns);
    let bag = Synthetic::new(&work.params);
    let run = Simulation::new(config, machine).run(bag, |_| work, Found::default(), |_, _| ());
    assert!(run.complete && run.output.tasks == run.tasks);
    let sum =
        |part: fn(&tautline::balance::PlaceRun) -> u64| run.places.iter().map(part).sum::<u64>();
    let all = sum(|place| place.times.total());
    let stealing = sum(|place| place.times.of(State::Stealing));
    let [fed, emptied] = [
        sum(|place| place.tally.reserve.fed),
        sum(|place| place.tally.reserve.emptied),
    ];
    Reading {
        ns: run.virtual_ns,
        efficiency: run.efficiency,
        fails: sum(|place| {
            let [random, lifeline] = [place.tally.random, place.tally.lifeline];
            random.asked + lifeline.asked - random.answered - lifeline.answered
        }),
        stealing: stealing as f64 / all as f64,
        merge_empty: fed as f64 / emptied as f64,
    }
}

/// One worker a place, a grain of 511 and `w` random steals before `z` lifelines.
fn lifelines(machine: &str, [places, w, z]: [u32; 3], task_ns: u64, tree: Tree) -> Reading {
    let config = Config {
        places,
        workers: 1,
        random_steals: w as usize,
        lifelines: Graph::of_dimensions(z, places),
        grain: 511.into(),
        ..Config::default()
    };
    run(config, &named(machine), task_ns, tree)
}

/// Saraswat, figures 1 to 3: many random steals take more time than lifelines, and find less.
#[test]
fn lifelines_beat_many_random_steals_on_binomial_trees() {
    let tree = Tree::Binomial { roots: 12_800 };
    let few = lifelines("triloka", [128, 1, 3], 476, tree);
    let many = lifelines("triloka", [128, 83, 1], 476, tree);
    assert!(few.efficiency > many.efficiency, "{few:?} {many:?}");
    assert!(few.stealing < many.stealing, "{few:?} {many:?}");
    assert!(4 * few.fails < many.fails, "{few:?} {many:?}");
}

/// Saraswat, figures 7 and 8.
#[test]
fn lifelines_beat_many_random_steals_on_geometric_trees() {
    let tree = Tree::Geometric { depth: 10 };
    let few = lifelines("bluegene-p", [256, 1, 3], 2_703, tree);
    let many = lifelines("bluegene-p", [256, 169, 1], 2_703, tree);
    assert!(few.efficiency > many.efficiency, "{few:?} {many:?}");
    assert!(4 * few.fails < many.fails, "{few:?} {many:?}");
}

/// The efficiency grows with the tree: its losses do not grow in proportion.
#[test]
fn efficiency_grows_with_the_tree() {
    let of = |roots| lifelines("p7hv32", [64, 10, 10], 370, Tree::Binomial { roots });
    let grown = [1_280, 12_800, 51_200].map(|roots| of(roots).efficiency);
    assert!(grown.is_sorted(), "{grown:?}");
    assert!(grown[2] > 0.9, "{grown:?}");
}

/// Finnerty, figure 3.6 and the comparison with the best fixed grain, on four places of 64 workers.
#[test]
fn the_measured_grain_is_nearest_to_the_best_in_a_short_run() {
    let machine = named("oakforest-pacs");
    let tuned = |grain| {
        let config = Config {
            places: 4,
            workers: 64,
            grain,
            ..Config::default()
        };
        run(config, &machine, 625, Tree::Geometric { depth: 10 })
    };
    let fixed = [1, 16, 256, 4096].map(|grain: usize| tuned(grain.into()));
    assert!(
        fixed
            .windows(2)
            .all(|pair| pair[0].merge_empty > pair[1].merge_empty),
        "{fixed:?}"
    );
    let best = fixed.iter().map(|run| run.ns).min().expect("some");
    assert!(fixed[3].ns > 2 * best, "{fixed:?}");
    let measured = tuned(Tuning::default().into());
    let merge_empty = tuned(Tuning::thesis(Rule::MergeEmpty).into());
    assert!(measured.ns < merge_empty.ns, "{measured:?} {merge_empty:?}");
    assert!(2 * measured.ns < 3 * best, "{measured:?} {fixed:?}");
}

/// A rank a core that serves between tasks, against a rank a node whose last core only serves, on
/// nodes of this number of cores.
fn ranks(nodes: u32, cores: u32, tree: Tree) -> [Reading; 2] {
    let mut machine = named("jaguar");
    machine.cores = cores;
    let of = |places, workers, fairness| {
        let config = Config {
            places,
            workers,
            fairness,
            random_steals: places as usize,
            lifelines: Graph::Ring,
            steal: Steal::Count(8),
            grain: 8.into(),
            ..Config::default()
        };
        run(config, &machine, 682, tree)
    };
    [
        of(nodes * cores, 1, Fairness::Inline),
        of(nodes, cores as usize, Fairness::OneCoreFree),
    ]
}

/// Chatterjee, table 4.5: of two cores a node none can be spared, of sixteen one can, and fewer
/// ranks ask one another far less often.
#[test]
fn a_rank_a_node_wins_with_many_cores() {
    let tree = Tree::Geometric { depth: 9 };
    let [single, node] = ranks(16, 2, tree);
    assert!(node.ns > single.ns, "{single:?} {node:?}");
    let few = single.fails as f64 / node.fails as f64;
    let [single, node] = ranks(16, 16, tree);
    assert!(node.ns < single.ns, "{single:?} {node:?}");
    assert!(node.stealing < single.stealing, "{single:?} {node:?}");
    let many = single.fails as f64 / node.fails as f64;
    assert!(many > 4.0 * few, "{few} {many}");
}

/// Saraswat's own family of trees, up to 2.8 thousand million nodes, on 1024 places: exact counts,
/// and the efficiencies that `apps/tables/saraswat.md` states. Virtual time is the same on every
/// machine.
#[test]
#[ignore = "cargo ci deep: 3 thousand million nodes, with --release"]
fn the_papers_own_trees() {
    for (tree, percent) in [
        ("triloka", 42.9),
        ("T3L", 47.1),
        ("p7", 83.4),
        ("T3XXL", 93.1),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
        command.args(["simulate", "uts", tree, "--machine", "bluegene-p"]);
        command.args(["--places", "1024", "--workers", "1", "--json"]);
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tree}: {said}");
        let run: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let bound = &run["bound"]["efficiency"];
        println!("TREE {tree} efficiency={} bound={bound}", run["efficiency"]);
        let known = tautline_cli::uts::named::find(tree).expect("a tree with a name");
        assert_eq!(run["nodes"], known.nodes, "{tree}");
        let found = run["efficiency"].as_f64().expect("a number") * 100.0;
        assert!((found - percent).abs() < 0.1, "{tree}: {found} %");
    }
}
