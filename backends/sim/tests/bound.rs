//! The bound of an efficiency, and the parts in which a run loses time.

mod tree;

use std::cell::Cell;
use tautline_core::glb::{Bag, Config, Reason};
use tautline_sim::{Bound, Machine, Simulation};
use tree::Tree;

const TASK_NS: u64 = 1_000;

fn simulation(places: u32, workers: usize) -> Simulation {
    let config = Config {
        places,
        workers,
        ..Config::default()
    };
    let machine = Machine {
        task_ns: TASK_NS,
        ..Machine::default()
    };
    Simulation::new(config, machine)
}

fn bound(tree: &Tree, places: u32, workers: usize) -> Bound {
    simulation(places, workers).bound(tree.clone(), &())
}

/// Graham's theorem: a schedule without an idle worker where a task waits takes at most the time of
/// the work, evenly divided, and of the longest path. No schedule takes less than either.
#[test]
fn the_bound_is_a_greedy_schedule() {
    for seed in 0..40 {
        let depth = 6;
        let tree = Tree::new(seed, depth);
        let tasks = tree.all().nodes;
        for (places, workers) in [(1, 1), (2, 1), (3, 2), (16, 1), (7, 9), (2_000, 1)] {
            let found = bound(&tree, places, workers);
            let count = u64::from(places) * workers as u64;
            let (even, path) = (tasks.div_ceil(count), u64::from(depth) + 1);
            let turns = found.virtual_ns / TASK_NS;
            assert_eq!(found.tasks, tasks, "seed {seed}");
            assert!(turns >= even.max(path), "seed {seed}: {turns} on {count}");
            assert!(
                turns <= tasks / count + path,
                "seed {seed}: {turns} on {count}, {tasks} tasks"
            );
        }
    }
}

#[test]
fn a_watch_stops_the_schedule() {
    let tree = Tree::new(5, 9);
    for places in [1, 16, 2_000] {
        let simulation = simulation(places, 1);
        let looks = Cell::new(0);
        let stopped_at = |last: u32| {
            looks.set(0);
            simulation.bound_watched(tree.clone(), &(), &|interim| {
                assert!(interim.tasks <= tree.all().nodes);
                looks.set(looks.get() + 1);
                (looks.get() == last).then_some(Reason::Interrupted)
            })
        };
        assert_eq!(stopped_at(u32::MAX), Some(bound(&tree, places, 1)));
        let all = looks.get();
        assert!(all > 1, "{all} looks");
        for last in [1, all / 2 + 1, all] {
            assert_eq!(stopped_at(last), None);
            // A pass over all workers is completed.
            assert!(
                looks.get() < last + 1 + places / 256 + 1,
                "stopped at {last}"
            );
        }
    }
}

#[test]
fn a_chain_uses_one_worker_and_no_task_takes_no_time() {
    // Number 0 has one child each time, as 0 is its own successor.
    let mut chain = Tree::new(0, 99);
    chain.nodes = vec![(0, 0)];
    let found = bound(&chain, 4, 1);
    assert_eq!((found.virtual_ns, found.tasks), (100 * TASK_NS, 100));
    assert_eq!((found.efficiency, found.phases.workless), (0.25, 3));
    let nothing = bound(&Tree::default(), 4, 1);
    assert_eq!((nothing.virtual_ns, nothing.efficiency), (0, 1.0));
}

/// Runs with costs stay below it, and all that they lose is in one of the parts.
#[test]
fn a_run_loses_more_than_its_bound() {
    for (seed, places, workers) in [(1, 8, 1), (3, 64, 1), (4, 8, 4), (5, 4, 1)] {
        let tree = Tree::new(seed, 9);
        let simulation = simulation(places, workers);
        let outcome = simulation.run(tree.clone(), |_| (), Default::default(), |_, _| ());
        let bound = simulation.bound(tree, &());
        assert!(outcome.complete && outcome.tasks == bound.tasks);
        assert!(
            outcome.efficiency < bound.efficiency,
            "{outcome:?} {bound:?}"
        );
        for (phases, efficiency, end) in [
            (outcome.phases, outcome.efficiency, outcome.virtual_ns),
            (bound.phases, bound.efficiency, bound.virtual_ns),
        ] {
            let all = phases.lost.iter().sum::<f64>() + efficiency;
            assert!((all - 1.0).abs() < 1e-6, "{phases:?} {efficiency}");
            assert!(phases.start_ns + phases.end_ns <= end, "{phases:?}");
            assert_eq!(phases.workless, 0);
        }
        assert!(outcome.phases.start_ns > bound.phases.start_ns);
    }
}

/// Work that is at every place's disposal at once has no start; of equal leaves the last turn alone
/// is partly idle.
#[test]
fn independent_tasks_lose_at_most_one_turn() {
    let mut leaves = Tree::new(1, 0);
    leaves.nodes = (0..1_001).map(|leaf| (leaf, 0)).collect();
    assert_eq!(leaves.len(), 1_001);
    let found = bound(&leaves, 10, 1);
    assert_eq!(found.virtual_ns, 101 * TASK_NS);
    assert_eq!(found.phases.start_ns, 0);
}
