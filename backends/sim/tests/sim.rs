//! The balancer in virtual time.
//!
//! | fact | test |
//! |---|---|
//! | Saraswat, acceptance fact 3, Finnerty, acceptance fact 9: one request a lifeline, one activity a place | `every_configuration_counts_exactly` (the protocol's own assertions); exhaustively in `verify/tests/explore.rs` |
//! | Saraswat, acceptance fact 4: w = 0, ring and P = 1 terminate with the exact count | `every_configuration_counts_exactly` |
//! | Saraswat, acceptance fact 5, Finnerty, acceptance fact 7: a quiet place sends nothing and takes no time | `a_quiet_place_sends_nothing_unasked`, `a_quiet_place_takes_no_time` |
//! | Saraswat, acceptance fact 7: termination by finish alone, control messages bounded by activities | `reports_are_fewer_than_activities` |
//! | Finnerty, acceptance fact 6: requests only from dry places | `requests_come_from_dry_places_only` |
//! | Finnerty, acceptance fact 11: loot restarts a quiet place, the end comes once and last | `quiet_places_are_started_again`, and in every run: the simulation checks that nothing is on its way at the end |

mod tree;

use std::cell::RefCell;
use std::time::Instant;
use tautline_core::glb::{Config, Fairness, Observer, Reason, State, Steal};
use tautline_core::lifeline::Graph;
use tautline_sim::{Cluster, Interim, Machine, Outcome, Simulation};
use tree::{Done, Tree};

fn config(places: u32) -> Config {
    Config {
        places,
        grain: 32.into(),
        ..Config::default()
    }
}

fn run(config: Config, tree: &Tree) -> Outcome<Done> {
    run_on(Machine::default(), config, tree)
}

fn run_on(machine: Machine, config: Config, tree: &Tree) -> Outcome<Done> {
    let outcome =
        Simulation::new(config, machine).run(tree.clone(), |_| (), Done::default(), |_, _| ());
    let all = tree.all();
    assert_eq!(outcome.output, all, "{config:?}");
    assert_consistent(&outcome, all.nodes);
    outcome
}

/// The counts of the places add up, regardless of the outcome.
fn assert_consistent(outcome: &Outcome<Done>, size: u64) {
    let sum = |part: fn(&tautline_core::glb::PlaceRun) -> u64| -> u64 {
        outcome.places.iter().map(part).sum()
    };
    assert_eq!(sum(|p| p.tally.tasks), size);
    assert_eq!(outcome.tasks, size);
    assert_eq!(sum(|p| p.tally.sent.count), sum(|p| p.tally.received.count));
    assert_eq!(sum(|p| p.tally.sent.tasks), sum(|p| p.tally.received.tasks));
    let answered =
        |p: &tautline_core::glb::PlaceRun| p.tally.random.answered + p.tally.lifeline.answered;
    assert_eq!(
        outcome.places.iter().map(answered).sum::<u64>(),
        sum(|p| p.tally.sent.count)
    );
    assert_eq!(sum(|p| p.tally.messages), outcome.messages);
    assert_eq!(sum(|p| p.tally.unasked), 0, "a quiet place sent something");
    assert!(outcome.reports <= outcome.activities);
    assert!(outcome.efficiency >= 0.0 && outcome.efficiency <= 1.0);
    let threads = outcome.observers.len() / outcome.places.len();
    for place in &outcome.places {
        assert_eq!(
            place.times.total(),
            outcome.virtual_ns * threads as u64,
            "the whole time is accounted for"
        );
    }
}

const GRAPHS: [Graph; 4] = [
    Graph::Ring,
    Graph::Hypercube { radix: 2 },
    Graph::Hypercube { radix: 3 },
    Graph::Full,
];

#[test]
fn every_configuration_counts_exactly() {
    let trees = [Tree::new(1, 0), Tree::new(2, 3), Tree::new(3, 8)];
    for places in [1, 2, 3, 5, 8, 64] {
        for lifelines in GRAPHS {
            for random_steals in [0, 1, 4] {
                for steal in [Steal::Half, Steal::Count(1), Steal::Count(7)] {
                    for tree in &trees {
                        let config = Config {
                            lifelines,
                            random_steals,
                            steal,
                            ..config(places)
                        };
                        run(config, tree);
                    }
                }
            }
        }
    }
}

#[test]
fn a_thousand_places_count_exactly() {
    let tree = Tree::new(5, 10);
    for lifelines in [
        Graph::Ring,
        Graph::Hypercube { radix: 2 },
        Graph::Hypercube { radix: 32 },
    ] {
        for (random_steals, steal) in [(0, Steal::Half), (1, Steal::Half), (4, Steal::Count(7))] {
            let config = Config {
                lifelines,
                random_steals,
                steal,
                ..config(1024)
            };
            run(config, &tree);
        }
    }
    let full = Config {
        lifelines: Graph::Full,
        ..config(1024)
    };
    run(full, &Tree::new(5, 8));
}

/// From instant messages in order to a network on which nearly everything overtakes.
#[test]
fn any_machine_counts_exactly() {
    let tree = Tree::new(7, 8);
    let free = Machine {
        look_ns: 0,
        serve_ns: 0,
        send_ns: 0,
        split_ns: 0,
        merge_ns: 0,
        loot_task_ns: 0,
        cluster: Cluster {
            wake_ns: 0,
            near_ns: 0,
            far_ns: 0,
            gap_ns: 0,
            jitter_percent: 0,
            ..Cluster::default()
        },
        ..Machine::default()
    };
    let wild = Machine {
        cluster: Cluster {
            far_ns: 100_000,
            jitter_percent: 10_000,
            ..Cluster::default()
        },
        ..Machine::default()
    };
    for machine in [free, wild] {
        for places in [2, 7, 64] {
            for seed in 0..20 {
                run_on(
                    machine,
                    Config {
                        seed,
                        ..config(places)
                    },
                    &tree,
                );
            }
        }
    }
}

#[test]
fn an_empty_bag_ends_at_once() {
    for places in [1, 2, 64] {
        let outcome = run(config(places), &Tree::default());
        assert_eq!(outcome.tasks, 0);
    }
}

#[test]
fn a_bag_that_cannot_be_divided_is_done_by_one_place() {
    let outcome = run(config(8), &Tree::new(1, 0));
    assert_eq!(outcome.places[0].tally.tasks, 1);
    assert_eq!(outcome.activities, 1);
}

#[test]
fn one_place_sends_no_message() {
    let outcome = run(config(1), &Tree::new(4, 8));
    assert_eq!(outcome.messages, 0);
    assert_eq!(outcome.reports, 0);
    assert!(outcome.efficiency > 0.98, "{}", outcome.efficiency);
}

/// Stopped before any step, within the run, and just before its end: each poll is a point to stop
/// at.
#[test]
fn a_watch_stops_a_run_and_its_counts_are_those_of_the_tasks_done() {
    let tree = Tree::new(9, 9);
    for (places, workers) in [(1, 1), (64, 1), (16, 3)] {
        let config = Config {
            workers,
            ..config(places)
        };
        let simulation = Simulation::new(config, Machine::default());
        let watched = |watch: &dyn Fn(Interim) -> Option<Reason>| {
            simulation.run_watched(tree.clone(), |_| (), Done::default(), |_, _| (), watch)
        };
        let looks = RefCell::new(Vec::new());
        let whole = watched(&|interim| {
            looks.borrow_mut().push(interim);
            None
        });
        assert_eq!(whole, run(config, &tree), "polls change nothing");
        let looks = looks.into_inner();
        assert_eq!(looks[0].tasks, 0);
        assert!(looks.is_sorted_by_key(|look| look.tasks), "{looks:?}");
        let last = looks[looks.len() - 1];
        assert!(looks.len() > 3 && last.tasks <= whole.tasks);
        assert!(last.tasks > whole.tasks / 2 && last.virtual_ns > whole.virtual_ns / 2);
        for (at, look) in looks.iter().enumerate() {
            let left = RefCell::new(at);
            let outcome = watched(&|interim| {
                let mut left = left.borrow_mut();
                if *left == 0 {
                    assert_eq!(interim, *look, "the same run up to there");
                    return Some(Reason::Interrupted);
                }
                *left -= 1;
                None
            });
            assert_eq!(outcome.stopped, Some(Reason::Interrupted));
            assert_eq!(outcome.output.nodes, outcome.tasks, "each task counts once");
            assert_eq!(outcome.complete, outcome.tasks == whole.tasks);
            // Tasks that have begun are done: a grain of each worker at most.
            let grains = 32 * u64::from(places) * workers as u64;
            let range = look.tasks..=look.tasks + grains;
            assert!(range.contains(&outcome.tasks), "{range:?}: {outcome:?}");
            assert!(
                at > 0 || outcome.tasks == 0,
                "stopped before the first step"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let tree = Tree::new(9, 9);
    let seeded = |seed| run(Config { seed, ..config(64) }, &tree);
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
}

#[test]
fn efficiency_rises_with_the_tree() {
    let of = |depth| run(config(16), &Tree::new(5, depth)).efficiency;
    let [small, medium, large] = [of(6), of(9), of(12)];
    assert!(small < medium && medium < large, "{small} {medium} {large}");
    assert!(large > 0.8, "{large}");
}

#[test]
fn reports_are_fewer_than_activities() {
    for places in [2, 8, 64] {
        let outcome = run(config(places), &Tree::new(6, 9));
        assert!(outcome.reports > 0);
        assert!(outcome.reports < outcome.activities);
        let sent: u64 = outcome.places.iter().map(|p| p.tally.sent.count).sum();
        assert!(outcome.activities <= sent + 1);
    }
}

/// Random requests find quiet places all the time; those answer and send nothing else.
#[test]
fn a_quiet_place_sends_nothing_unasked() {
    let config = Config {
        random_steals: 4,
        ..config(64)
    };
    let outcome = run(config, &Tree::new(6, 7));
    let idle: u64 = outcome.places.iter().map(|p| p.times.of(State::Idle)).sum();
    assert!(idle > outcome.virtual_ns, "places were quiet");
    assert!(outcome.places.iter().all(|p| p.tally.unasked == 0));
}

/// A place that never gets work is idle from start to end: with lifelines alone nothing reaches it.
#[test]
fn a_quiet_place_takes_no_time() {
    let config = Config {
        random_steals: 0,
        lifelines: Graph::Ring,
        ..config(64)
    };
    let outcome = run(config, &Tree::new(2, 3));
    let last = &outcome.places[40];
    assert_eq!(last.tally.tasks, 0);
    assert_eq!(last.tally.messages, 0);
    assert_eq!(last.times.of(State::Idle), outcome.virtual_ns);
}

#[test]
fn quiet_places_are_started_again() {
    let outcome = run(config(8), &Tree::new(6, 9));
    let later: u64 = outcome
        .places
        .iter()
        .map(|p| p.tally.lifeline.answered)
        .sum();
    assert!(
        later > 8,
        "each place is started by a lifeline, some more than once"
    );
    assert!(outcome.places.iter().all(|p| p.tally.tasks > 0));
}

/// The states a place went through, with their lengths.
#[derive(Debug, Default, PartialEq)]
struct Story(Vec<(State, u64, u64)>);

impl Observer for Story {
    fn span(&mut self, state: State, from: u64, to: u64) {
        self.0.push((state, from, to));
    }
}

#[test]
fn the_life_story_has_no_gaps() {
    let tree = Tree::new(6, 8);
    let machine = Machine {
        look_ns: 0,
        ..Machine::default()
    };
    let simulation = Simulation::new(config(16), machine);
    let outcome = simulation.run(tree, |_| (), Done::default(), |_, _| Story::default());
    for ((_, _, story), place) in outcome.observers.iter().zip(&outcome.places) {
        let mut now = 0;
        for &(state, from, to) in &story.0 {
            assert!(
                from == now && to >= from,
                "{state:?} from {from}, not {now}"
            );
            now = to;
        }
        assert_eq!(now, outcome.virtual_ns);
        let computing = place.times.of(State::Computing);
        assert_eq!(computing, place.tally.tasks * Machine::default().task_ns);
    }
}

/// Every request is followed by a stretch of stealing: a place that asked with work at hand would
/// go on computing.
#[test]
fn requests_come_from_dry_places_only() {
    let tree = Tree::new(6, 9);
    let simulation = Simulation::new(config(16), Machine::default());
    let outcome = simulation.run(tree, |_| (), Done::default(), |_, _| Story::default());
    for ((_, _, story), place) in outcome.observers.iter().zip(&outcome.places) {
        let stealing = |(state, ..): &&(State, u64, u64)| *state == State::Stealing;
        let waits = story.0.iter().filter(stealing).count() as u64;
        let asked = place.tally.random.asked + place.tally.lifeline.asked;
        assert!(
            asked <= waits,
            "{asked} requests in {waits} stretches of stealing"
        );
    }
}

/// Served only when dry, thieves wait longer; the count is the same.
#[test]
fn messages_served_late_cost_efficiency() {
    let tree = Tree::new(5, 10);
    let of = |fairness| {
        run(
            Config {
                fairness,
                ..config(16)
            },
            &tree,
        )
        .efficiency
    };
    let (inline, never) = (of(Fairness::Inline), of(Fairness::Never));
    assert!(never < inline, "{never} {inline}");
}

#[test]
#[should_panic(expected = "virtual time overflows")]
fn the_clock_does_not_wrap_around() {
    let machine = Machine {
        task_ns: u64::MAX,
        ..Machine::default()
    };
    run_on(machine, config(2), &Tree::new(2, 3));
}

/// Does every task of a large tree once, and prints the speed of the simulator.
// Ignored by default, since tests run without optimization: too slow there for this many tasks.
#[test]
#[ignore = "cargo ci deep: 24 million tasks, with --release"]
fn a_thousand_places_on_a_large_tree() {
    for (depth, grain) in [(15, 511), (15, 32), (13, 1)] {
        let tree = Tree::new(5, depth);
        let config = Config {
            grain: grain.into(),
            ..config(1024)
        };
        let began = Instant::now();
        let outcome = Simulation::new(config, Machine::default()).run(
            tree.clone(),
            |_| (),
            Done::default(),
            |_, _| (),
        );
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "SIM places=1024 grain={grain} tasks={} efficiency={:.3} virtual_ms={:.3} messages={} events={} \
             seconds={seconds:.2} events/s={:.0}",
            outcome.tasks,
            outcome.efficiency,
            outcome.virtual_ns as f64 / 1e6,
            outcome.messages,
            outcome.events,
            outcome.events as f64 / seconds
        );
        assert_eq!(
            (outcome.output, outcome.tasks),
            (tree.all(), tree.all().nodes)
        );
    }
}
