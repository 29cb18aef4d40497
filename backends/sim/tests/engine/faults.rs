//! Effects of each fault on messages and steps, and balanced computations under faults.

use super::relay::{FREE, deliver_with};
use crate::tree::{Done, Tree};
use tautline_core::PlaceId;
use tautline_core::glb::{Config, Reason};
use tautline_sim::engine::{Crash, Fault, Faults, Loss, Noise, Partition, Slow, Spike, Stall};
use tautline_sim::{Cluster, Machine, Simulation};

const FAR: Cluster = Cluster {
    far_ns: 1_000,
    ..FREE
};

/// Arrivals at place 1 of `count` messages of place 0, all sent at time 0.
fn arrivals(faults: Faults, count: usize) -> Vec<u64> {
    let letters = vec![(0, 1, 8); count];
    let received = &deliver_with(FAR, 2, &letters, Some(faults))[1];
    received.iter().map(|&(_, at)| at).collect()
}

#[test]
fn spikes_and_losses_delay_some_messages() {
    let spike = Faults {
        spike: Some(Spike {
            per_million: 200_000,
            ns: 5_000,
        }),
        ..Faults::default()
    };
    let loss = Faults {
        loss: Some(Loss {
            per_million: 200_000,
        }),
        timeout_ns: 700,
        ..Faults::default()
    };
    let late = |faults, at: u64| arrivals(faults, 1_000).iter().filter(|&&t| t == at).count();
    assert!((150..250).contains(&late(spike, 6_000)));
    assert_eq!(late(spike, 1_000) + late(spike, 6_000), 1_000);
    // Lost once, and twice: the timeout doubles.
    assert!((120..200).contains(&late(loss, 1_700)));
    assert!((15..55).contains(&late(loss, 3_100)));
    assert_eq!(arrivals(loss, 1_000).len(), 1_000);
}

#[test]
fn a_stalled_place_receives_later_and_a_crashed_one_nothing() {
    let stall = Faults {
        stall: Some(Stall {
            place: PlaceId(1),
            from_ns: 900,
            until_ns: 4_000,
        }),
        ..Faults::default()
    };
    assert_eq!(arrivals(stall, 2), [4_000, 4_000]);
    let crash = |at_ns| Faults {
        crash: Some(Crash {
            place: PlaceId(1),
            at_ns,
        }),
        ..Faults::default()
    };
    assert_eq!(arrivals(crash(1_000), 2), [0; 0]);
    assert_eq!(arrivals(crash(1_001), 2), [1_000, 1_000]);
}

/// Messages that wait for the end of a stall precede one that arrives exactly then.
#[test]
fn a_stall_keeps_the_order() {
    let faults = Faults {
        stall: Some(Stall {
            place: PlaceId(1),
            from_ns: 900,
            until_ns: 1_402,
        }),
        ..Faults::default()
    };
    let cluster = Cluster {
        gap_ns: 200,
        ordered: true,
        ..FAR
    };
    let received = deliver_with(cluster, 2, &[(0, 1, 8); 4], Some(faults));
    assert_eq!(
        received[1],
        [(0, 1_402), (1, 1_402), (2, 1_402), (3, 1_603)]
    );
}

/// In order under every mixture of faults that loses nothing.
#[test]
fn ordered_messages_stay_so_under_faults() {
    let kinds = [Fault::Spike, Fault::Loss, Fault::Stall, Fault::Partition];
    let cluster = Cluster {
        gap_ns: 30,
        mb_per_s: 100,
        jitter_percent: 300,
        ordered: true,
        ..FAR
    };
    for seed in 0..200 {
        let faults = Faults {
            detect_ns: u64::MAX,
            ..Faults::draw(seed, &kinds, &cluster, 2, 10_000)
        };
        let received = &deliver_with(cluster, 2, &[(0, 1, 8); 100], Some(faults))[1];
        assert!(
            received.iter().map(|&(number, _)| number).eq(0..100),
            "{faults:?}"
        );
    }
}

#[test]
fn messages_cross_a_partition_when_it_has_ended() {
    let cut = |until_ns| Faults {
        partition: Some(Partition {
            nodes: 1,
            from_ns: 0,
            until_ns,
        }),
        timeout_ns: 1_000,
        detect_ns: 10_000,
        ..Faults::default()
    };
    // Sent again after 1000, 3000, 7000 ns.
    assert_eq!(arrivals(cut(5_000), 1), [8_000]);
    // Reported as lost before that.
    assert_eq!(arrivals(cut(50_000), 1), [0; 0]);
}

fn run(config: Config, faults: Faults, tree: &Tree) -> tautline_sim::Outcome<Done> {
    let simulation = Simulation::new(config, MACHINE).faults(faults);
    let limit = simulation.deadline_ns(1_000_000_000);
    limit.run(tree.clone(), |_| (), Done::default(), |_, _| ())
}

const MACHINE: Machine = Machine {
    task_ns: 400,
    look_ns: 100,
    serve_ns: 500,
    send_ns: 200,
    split_ns: 300,
    merge_ns: 100,
    loot_task_ns: 6,
    message_bytes: 32,
    task_bytes: 32,
    cluster: Cluster {
        wake_ns: 5_000,
        spin_ns: 5_000,
        node_places: 2,
        near_ns: 600,
        far_ns: 2_500,
        jitter_percent: 20,
        ..FREE
    },
};

fn config(places: u32) -> Config {
    Config {
        places,
        grain: 8.into(),
        ..Config::default()
    }
}

#[test]
fn slow_nodes_and_noise_cost_time() {
    let tree = Tree::new(5, 8);
    let ns = |faults| {
        let run = run(config(1), faults, &tree);
        assert_eq!(run.output, tree.all());
        run.virtual_ns as f64
    };
    let alone = ns(Faults::default());
    let slow = ns(Faults {
        slow: Some(Slow {
            node: 0,
            percent: 300,
        }),
        ..Faults::default()
    });
    let noisy = ns(Faults {
        noise: Some(Noise {
            every_ns: 10_000,
            ns: 1_000,
        }),
        ..Faults::default()
    });
    assert!((2.9..3.1).contains(&(slow / alone)), "{slow} {alone}");
    assert!((1.08..1.12).contains(&(noisy / alone)), "{noisy} {alone}");
}

/// The right count, or a named loss; never a hang.
fn balance(seeds: std::ops::Range<u64>) {
    let tree = Tree::new(5, 6);
    let all = tree.all();
    let (mut right, mut lost) = (0, 0);
    for seed in seeds.clone() {
        let places = [2, 3, 5, 8, 16][seed as usize % 5];
        let faults = Faults::draw(seed, &Fault::ALL, &MACHINE.cluster, places, 100_000);
        let config = Config {
            seed,
            workers: 1 + seed as usize % 2,
            ..config(places)
        };
        let run = run(config, faults, &tree);
        match run.lost {
            None => {
                assert!(run.complete && run.stopped.is_none(), "{seed}: {faults:?}");
                assert_eq!(run.output, all, "{seed}: {faults:?}");
                right += 1;
            }
            Some(place) => {
                assert!(
                    faults.crash.is_some() || faults.partition.is_some(),
                    "{seed}"
                );
                assert_eq!(run.stopped, Some(Reason::Lost));
                assert!(place.0 < places);
                lost += 1;
            }
        }
    }
    let share = (seeds.end - seeds.start) / 8;
    assert!(right > share && lost > share, "{right} right, {lost} lost");
}

#[test]
fn a_computation_under_faults_ends_with_the_count_or_a_lost_place() {
    balance(0..300);
}

// Ignored by default, since tests run without optimization: too slow there for this many runs.
#[test]
#[ignore = "cargo ci deep: 10 000 seeds, with --release"]
fn ten_thousand_seeds_of_faults() {
    balance(0..10_000);
}
