//! Loops over ranks in every order of messages, chunks and beginnings.
//!
//! | fact | where |
//! |---|---|
//! | Lucco, acceptance fact 16: every iteration once, and an end | `epochs_begin_each_iteration_once`, `baselines_of_neighbours_begin_each_iteration_once`, `baselines_of_a_tree_begin_each_iteration_once`, `baselines_of_halving_begin_each_iteration_once`, `baselines_of_four_ranks_begin_each_iteration_once` |
//! | Lucco, acceptance fact 18: the epoch of a rank never decreases | every state of `epochs_begin_each_iteration_once` |
//! | Lucco, acceptance facts 30 and 31: a transfer takes effect once it is acknowledged, at one instance; until then the sender executes, and each instance executes each iteration once | `transfers_take_effect_at_one_instance`, `transfers_of_paced_ranks_take_effect_at_one_instance` |
//! | Lucco, acceptance facts 36 and 38: blocks stay contiguous, no more is in flight than the bandwidth permits | every state of the same |
//!
//! In every state, malformed messages are delivered too: those that are refused change nothing.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_core::defer::{Conditions, Geometry};
use tautline_core::taper::{Policy, Taper};
use tautline_exhibits::defer::{Rule, Tuning};
use tautline_verify::explore::{
    Compared, ComparedFault, DeferFault, Deferring, Delivery::Multiset, Effects, EpochFault, Flaw,
    Forecast, Network, SelfScheduled, explore, explore_to_end,
};

/// The policies whose chunks differ for a few iterations.
fn policies() -> [Policy; 4] {
    [
        Policy::SelfScheduling,
        Policy::Factoring,
        Policy::Guided,
        Policy::Taper(Taper::default()),
    ]
}

/// No prediction, or times of which the first is as long as several others.
fn forecasts(iterations: u64) -> [Vec<u64>; 2] {
    [
        vec![],
        (0..iterations)
            .map(|at| if at == 0 { 9 } else { 2 })
            .collect(),
    ]
}

#[test]
fn epochs_begin_each_iteration_once() {
    for (ranks, iterations, floor) in [
        (1, 4, 18),
        (2, 0, 52),
        (2, 5, 168_000),
        (3, 2, 6_860),
        (3, 3, 71_000),
        (4, 3, 393_000),
    ] {
        let began = Instant::now();
        let name = format!("epochs-p{ranks}-n{iterations}");
        let mut states = 0;
        for policy in policies() {
            let system = SelfScheduled {
                ranks,
                iterations,
                policy,
                forecast: Forecast::default(),
                is_placed: false,
                fault: None,
            };
            states += flawless(
                &format!("{name} {policy:?}"),
                &mut Network::of(system, Multiset),
            );
        }
        report(&name, states, floor, began);
    }
}

#[test]
fn epochs_of_predicted_work_begin_each_iteration_once() {
    for (ranks, iterations, is_placed, floor) in [
        (2, 3, false, 1_320),
        (2, 5, false, 20_000),
        (3, 3, false, 39_000),
        (2, 5, true, 5_350),
        (3, 3, true, 39_000),
    ] {
        let began = Instant::now();
        let kind = if is_placed { "placed" } else { "cached" };
        let name = format!("{kind}-epochs-p{ranks}-n{iterations}");
        let mut states = 0;
        for policy in policies() {
            let system = SelfScheduled {
                ranks,
                iterations,
                policy,
                forecast: Forecast::new(&forecasts(iterations)[1]),
                is_placed,
                fault: None,
            };
            states += flawless(
                &format!("{name} {policy:?}"),
                &mut Network::of(system, Multiset),
            );
        }
        report(&name, states, floor, began);
    }
}

#[test]
fn faults_in_epochs_are_found() {
    for (fault, flaw) in [
        (EpochFault::KeepWhatIsSent, Flaw::Count),
        (EpochFault::DropWhatArrives, Flaw::Stuck),
        (EpochFault::StarveInSilence, Flaw::Stuck),
        (EpochFault::EndWithFirst, Flaw::Refused),
    ] {
        let system = SelfScheduled {
            ranks: 2,
            iterations: 5,
            policy: Policy::SelfScheduling,
            forecast: Forecast::default(),
            is_placed: false,
            fault: Some(fault),
        };
        let explored = explore(&mut Network::of(system, Multiset), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}

const TUNING: Tuning = Tuning { sync: 1, min: 0 };
const COARSE: Tuning = Tuning { sync: 2, min: 1 };

/// Ranks, iterations, the tuning, and the least number of states.
type Size = (u32, u64, Tuning, usize);

/// Loops of one rule, without and with predicted work.
fn baselines(rule: Rule, sizes: &[Size]) {
    let mut transfers = [0, 0];
    for &(ranks, iterations, tuning, floor) in sizes {
        let began = Instant::now();
        let name = format!("{rule:?}-p{ranks}-n{iterations}-k{}", tuning.sync);
        let mut states = 0;
        for (times, transfers) in forecasts(iterations).iter().zip(&mut transfers) {
            let system = Compared::new(ranks, iterations, rule, tuning, times);
            let (all, moved) = compared(&format!("{name} {times:?}"), system);
            *transfers += moved;
            states += all;
        }
        report(&name, states, floor, began);
    }
    assert!(
        !transfers.contains(&0),
        "some histories move iterations: {transfers:?}"
    );
}

/// Explores a loop; returns the numbers of states and of transfers. Ranks without iterations that
/// decline each other's requests are not stuck; so an end must be reachable from every state.
fn compared(name: &str, system: Compared) -> (usize, u64) {
    let mut network = Network::of(system, Multiset);
    let explored = explore_to_end(&mut network, LIMIT);
    if let Some((flaw, story)) = explored.found {
        panic!("{name}: {flaw:?}\n{story}");
    }
    (explored.states, network.protocol().transfers())
}

/// Of 4 ranks, rank 1 passes on the sums, reports and the end of rank 2; ranks 0 and 3 are no
/// neighbours, nor are 1 and 2.
#[test]
fn baselines_of_four_ranks_begin_each_iteration_once() {
    let mut transfers = 0;
    for (rule, iterations, floor) in [
        (Rule::Neighbours, 4, 12_200),
        (Rule::Neighbours, 5, 343_000),
        (Rule::Tree, 8, 23_300),
        (Rule::Tree, 9, 152_000),
        (Rule::Halving, 0, 233_000),
    ] {
        let began = Instant::now();
        let name = format!("{rule:?}-p4-n{iterations}");
        let system = Compared::new(4, iterations, rule, TUNING, &[]);
        let (states, moved) = compared(&name, system);
        transfers += moved;
        println!("{name}: {moved} transfers");
        report(&name, states, floor, began);
    }
    assert!(transfers > 0, "some histories move iterations");
}

#[test]
fn baselines_of_neighbours_begin_each_iteration_once() {
    let sizes = [
        (1, 3, TUNING, 9),
        (2, 0, TUNING, 12),
        (2, 7, TUNING, 50_000),
        (2, 8, COARSE, 1_500),
        (3, 2, TUNING, 190),
        (3, 6, TUNING, 211_000),
    ];
    baselines(Rule::Neighbours, &sizes);
}

#[test]
fn baselines_of_a_tree_begin_each_iteration_once() {
    let sizes = [
        (1, 3, TUNING, 9),
        (2, 0, TUNING, 12),
        (2, 8, TUNING, 7_000),
        (2, 12, COARSE, 600),
        (3, 2, TUNING, 190),
        (3, 9, TUNING, 144_000),
    ];
    baselines(Rule::Tree, &sizes);
}

#[test]
fn baselines_of_halving_begin_each_iteration_once() {
    let sizes = [
        (1, 3, TUNING, 9),
        (2, 0, TUNING, 12),
        (2, 8, TUNING, 1_380),
        (2, 9, COARSE, 1_120),
        (3, 2, TUNING, 71_000),
        (3, 3, TUNING, 168_000),
    ];
    baselines(Rule::Halving, &sizes);
}

#[test]
fn faults_in_baselines_are_found() {
    for (rule, fault, flaw) in [
        (Rule::Neighbours, ComparedFault::KeepWhatIsSent, Flaw::Count),
        (
            Rule::Neighbours,
            ComparedFault::DropWhatArrives,
            Flaw::Stuck,
        ),
        (Rule::Tree, ComparedFault::EndWithFirst, Flaw::Refused),
        (Rule::Tree, ComparedFault::ReportNothing, Flaw::Stuck),
        (Rule::Halving, ComparedFault::KeepWhatIsSent, Flaw::Count),
        (Rule::Halving, ComparedFault::DropWhatArrives, Flaw::Endless),
        (Rule::Halving, ComparedFault::ReportNothing, Flaw::Endless),
        (Rule::Halving, ComparedFault::EndWithFirst, Flaw::Early),
    ] {
        let system = Compared::new(2, 8, rule, TUNING, &[]).with_fault(fault);
        let explored = explore_to_end(&mut Network::of(system, Multiset), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{rule:?} {fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{rule:?} {fault:?}");
    }
}

/// Every plan counts, whatever was before.
fn eager(geometry: Geometry, capacity: u64) -> Conditions {
    Conditions {
        coherence: 0,
        capacity,
        geometry,
        ..Conditions::default()
    }
}

#[test]
fn transfers_take_effect_at_one_instance() {
    let mut all = Effects::default();
    // Transfers take effect at the instances whose bits are given.
    for (ranks, iterations, instances, capacity, effective, floors) in [
        (1, 3, 3, 1, 0, [8, 8]),
        (2, 1, 3, 1, 0, [66, 66]),
        (2, 6, 4, 8, 0b11100, [3_700, 7_200]),
        (2, 8, 4, 1, 0b11100, [3_000, 740]),
        (3, 6, 3, 2, 0b1100, [40_000, 79_000]),
        (3, 9, 2, 1, 0b100, [5_200, 5_500]),
        (4, 8, 2, 8, 0b100, [41_000, 45_000]),
    ] {
        for (geometry, floor) in [Geometry::Contiguous, Geometry::Free]
            .into_iter()
            .zip(floors)
        {
            let name = format!("deferred-{geometry:?}-p{ranks}-n{iterations}-c{capacity}");
            let system = Deferring::new(ranks, iterations, instances, eager(geometry, capacity));
            let effects = deferred(&name, system, effective, floor);
            all.late += effects.late;
            all.chained += effects.chained;
        }
    }
    // Transfers that span instances, and plans announced with the effect of the one before.
    assert!(all.late > 0 && all.chained > 0, "{all:?}");
}

/// Ranks report after each chunk, and plans are made in the course of an instance.
#[test]
fn transfers_of_paced_ranks_take_effect_at_one_instance() {
    for (ranks, iterations, instances, effective, floors) in [
        (1, 3, 3, 0, [8, 8]),
        (2, 4, 3, 0b1100, [15_000, 28_000]),
        (2, 6, 2, 0b100, [41_000, 20_000]),
        (3, 6, 2, 0b100, [109_000, 109_000]),
    ] {
        for (geometry, floor) in [Geometry::Contiguous, Geometry::Free]
            .into_iter()
            .zip(floors)
        {
            let conditions = Conditions {
                pace: Some(Taper::default()),
                ..eager(geometry, 8)
            };
            let name = format!("paced-{geometry:?}-p{ranks}-n{iterations}");
            let system = Deferring::new(ranks, iterations, instances, conditions);
            let effects = deferred(&name, system.varying(1), effective, floor);
            assert_eq!(effects.early > 0, effective != 0, "{name}: {effects:?}");
        }
    }
}

/// Explores a loop, in which transfers take effect at the instances whose bits are given; returns
/// what has occurred.
fn deferred(name: &str, system: Deferring, effective: u32, floor: usize) -> Effects {
    let began = Instant::now();
    let mut network = Network::of(system, Multiset);
    let states = flawless(name, &mut network);
    let effects = network.protocol().effects();
    println!("{name}: {effects:?}");
    assert_eq!(effects.instances, effective, "{name}: {effects:?}");
    // Once a plan is done, its bandwidth is free for another.
    let is_again = effective.count_ones() > 1;
    assert_eq!(effects.again > 0, is_again, "{name}: {effects:?}");
    report(name, states, floor, began);
    effects
}

#[test]
fn faults_in_deferred_loops_are_found() {
    for (fault, flaw) in [
        (DeferFault::DropWhatArrives, Flaw::Late),
        (DeferFault::ExecuteWhatArrives, Flaw::Count),
        (DeferFault::AcknowledgeEarly, Flaw::Early),
        (DeferFault::ReportNothing, Flaw::Stuck),
    ] {
        let system = Deferring::new(2, 6, 4, eager(Geometry::Contiguous, 8)).with_fault(fault);
        let explored = explore(&mut Network::of(system, Multiset), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}
