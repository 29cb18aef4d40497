//! Balanced computations whose tasks take unequal times.

mod tree;

use tautline_core::glb::{Bag, Config, State};
use tautline_sim::{Machine, Simulation, Worked};
use tree::{Done, Tree};

/// A task in sixteen takes a hundred times as long as the others; the time of all counts as work.
#[test]
fn tasks_may_take_unequal_times() {
    let work = |tree: &mut Tree, n: usize, shared: &()| {
        let first = tree.nodes.len().saturating_sub(n);
        let long = tree.nodes[first..]
            .iter()
            .filter(|(node, _)| node % 16 == 0);
        let long = long.count() as u64;
        let tasks = tree.process(n.min(1), shared);
        Worked {
            tasks,
            ns: 100 * tasks as u64 + 10_000 * long,
        }
    };
    let tree = Tree::new(5, 8);
    let config = Config {
        grain: 1.into(),
        places: 16,
        ..Config::default()
    };
    let machine = Machine {
        look_ns: 0,
        ..Machine::default()
    };
    let simulation = Simulation::new(config, machine);
    let run = simulation.run_timed(tree.clone(), |_| (), Done::default(), |_, _| (), work);
    assert_eq!(run.output, tree.all());
    let computing: u64 = run
        .places
        .iter()
        .map(|p| p.times.of(State::Computing))
        .sum();
    assert!(computing > 300 * run.tasks, "{computing}");
    let share = computing as f64 / (16 * run.virtual_ns) as f64;
    assert!(
        (run.efficiency - share).abs() < 1e-9,
        "{} {share}",
        run.efficiency
    );
}
