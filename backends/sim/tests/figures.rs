//! Figures of balanced computations, recorded when the balancer and the engine were one: they
//! change only if the model of the machine changes.

mod tree;

use tautline_core::glb::{Config, Fairness, Observer, State, Steal};
use tautline_core::lifeline::Graph;
use tautline_sim::{Cluster, Machine, Shape, Simulation};
use tree::{Done, Tree};

/// The states of a worker, with their bounds.
#[derive(Debug, Default)]
struct Story(Vec<(State, u64, u64)>);

impl Observer for Story {
    fn span(&mut self, state: State, from: u64, to: u64) {
        self.0.push((state, from, to));
    }
}

/// Virtual time, events, messages, reports, activities, and a checksum of the story of every
/// worker.
type Figures = [u64; 6];

fn figures(simulation: &Simulation, tree: &Tree) -> Figures {
    let run = simulation.run(
        tree.clone(),
        |_| (),
        Done::default(),
        |_, _| Story::default(),
    );
    assert_eq!(run.complete, run.output == tree.all());
    let spans = run.observers.iter().flat_map(|(_, _, story)| &story.0);
    let words = spans.flat_map(|&(state, from, to)| [state as u64, from, to]);
    let sum = words.chain(run.distances.iter().copied()).fold(0, fold);
    [
        run.virtual_ns,
        run.events,
        run.messages,
        run.reports,
        run.activities,
        sum,
    ]
}

/// Adds a word to a checksum (FNV-1a, by words).
fn fold(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3)
}

fn config(places: u32, workers: usize) -> Config {
    Config {
        places,
        workers,
        grain: 32.into(),
        ..Config::default()
    }
}

fn torus() -> Machine {
    Machine {
        cluster: Cluster {
            node_places: 2,
            shape: Shape::Torus([4, 4, 4]),
            hop_ns: 300,
            gap_ns: 900,
            ..Cluster::default()
        },
        ..Machine::default()
    }
}

fn scenarios() -> Vec<(&'static str, Simulation)> {
    let on = |config, machine| Simulation::new(config, machine);
    let default = Machine::default();
    let wild = Machine {
        cluster: Cluster {
            far_ns: 100_000,
            jitter_percent: 10_000,
            ..default.cluster
        },
        ..default
    };
    let free = Machine {
        look_ns: 0,
        serve_ns: 0,
        send_ns: 0,
        cluster: Cluster {
            near_ns: 0,
            far_ns: 0,
            gap_ns: 0,
            jitter_percent: 0,
            ..default.cluster
        },
        ..default
    };
    let fair = |fairness| Config {
        fairness,
        ..config(6, 3)
    };
    let ring = Config {
        lifelines: Graph::Ring,
        random_steals: 0,
        steal: Steal::Count(7),
        ..config(16, 1)
    };
    vec![
        ("64 places", on(config(64, 1), default)),
        ("8 places of 5 workers", on(config(8, 5), default)),
        ("a torus", on(config(128, 1), torus())),
        ("late messages", on(config(32, 2), wild)),
        ("free messages", on(config(32, 1), free)),
        ("a server", on(fair(Fairness::OneCoreFree), default)),
        ("yields", on(fair(Fairness::Yield), default)),
        ("served late", on(fair(Fairness::Never), default)),
        ("a ring", on(ring, default)),
        (
            "a deadline",
            on(config(64, 1), default).deadline_ns(150_000),
        ),
        ("no races", on(config(4, 8), default).raceless()),
    ]
}

#[test]
fn figures_are_as_recorded() {
    let tree = Tree::new(5, 9);
    let found: Vec<_> = scenarios()
        .iter()
        .map(|(name, simulation)| (*name, figures(simulation, &tree)))
        .collect();
    assert_eq!(found, RECORDED, "{found:#?}");
}

#[rustfmt::skip]
const RECORDED: [(&str, Figures); 11] = [
    ("64 places", [583_302, 13_920, 3_352, 99, 610, 12_185_580_585_118_979_575]),
    ("8 places of 5 workers", [699_311, 5_307, 387, 13, 53, 3_433_860_049_849_527_006]),
    ("a torus", [525_427, 17_759, 4_453, 173, 897, 12_120_432_733_632_151_825]),
    ("late messages", [48_854_830, 2_503, 455, 37, 85, 9_179_614_907_810_663_358]),
    ("free messages", [645_208, 5_901, 1_572, 58, 241, 17_523_611_397_661_426_435]),
    ("a server", [1_443_792, 2_231, 193, 7, 21, 17_392_497_698_388_055_859]),
    ("yields", [1_162_257, 2_658, 205, 10, 24, 16_510_568_527_569_759_587]),
    ("served late", [3_049_261, 1_465, 82, 11, 14, 2_934_906_756_822_166_870]),
    ("a ring", [1_872_668, 2_405, 426, 71, 72, 8_537_598_588_636_004_219]),
    ("a deadline", [150_000, 2_202, 497, 4, 226, 632_474_993_156_520_069]),
    ("no races", [750_717, 3_020, 134, 5, 14, 18_048_572_383_229_269_164]),
];
