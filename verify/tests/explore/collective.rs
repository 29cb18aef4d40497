//! Collective operations in every order of messages and beginnings.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_verify::explore::{
    Collective, CollectiveFault, Delivery::Multiset, Explored, Flaw, Kind, Network, NetworkFaults,
    Tokens, explore,
};

/// Numbers of ranks, and of children of a rank.
const SHAPES: [(u32, u32); 9] = [
    (1, 1),
    (2, 1),
    (3, 1),
    (3, 2),
    (4, 1),
    (4, 2),
    (4, 3),
    (5, 2),
    (6, 2),
];

fn check(name: &str, kind: Kind, shapes: &[(u32, u32)], floor: usize) {
    let began = Instant::now();
    let mut states = 0;
    for &(ranks, radix) in shapes {
        let collective = Collective {
            kind,
            ranks,
            radix,
            fault: None,
        };
        let name = format!("{name}-p{ranks}-r{radix}");
        states += flawless(&name, &mut Network::of(collective, Multiset));
    }
    report(name, states, floor, began);
}

#[test]
fn operations() {
    check("barrier", Kind::Barrier, &SHAPES, 573);
    check("allreduce", Kind::AllReduce, &SHAPES, 573);
    let flat = [1, 2, 3, 4, 5].map(|ranks| (ranks, 1));
    check("pairs", Kind::Pairs, &flat, 612);
    check("scan", Kind::Scan, &SHAPES, 573);
    check("scatter", Kind::Scatter, &SHAPES, 61);
    // More ranks are too many states; they form no tree.
    check(
        "all-to-all",
        Kind::AllToAll,
        &[(1, 1), (2, 1), (3, 1), (4, 1)],
        6_690,
    );
}

#[test]
fn quiesce() {
    for (ranks, radix, passes, rounds, floor) in [
        (1, 1, 0, 3, 17),
        (2, 1, 4, 6, 29_500),
        (3, 1, 3, 5, 98_000),
        (3, 2, 3, 5, 173_000),
        (4, 2, 2, 4, 95_400),
    ] {
        let began = Instant::now();
        let name = format!("quiesce-p{ranks}-r{radix}-t{passes}");
        let tokens = Tokens {
            ranks,
            radix,
            passes,
            rounds,
            one_round: false,
        };
        let states = flawless(&name, &mut Network::of(tokens, Multiset));
        report(&name, states, floor, began);
    }
}

/// Returns the flaw of 4 ranks under an injected fault or one of the network, and prints the
/// history.
fn found(explored: Explored, what: &str) -> Option<Flaw> {
    let (flaw, story) = explored.found?;
    println!("{what}: {flaw:?}\n{story}");
    Some(flaw)
}

#[test]
fn faults_are_found() {
    for (kind, fault, flaw) in [
        (Kind::Barrier, CollectiveFault::EndWhenSent, Flaw::Early),
        (
            Kind::AllReduce,
            CollectiveFault::OrderOfArrival,
            Flaw::Count,
        ),
        (Kind::Pairs, CollectiveFault::EndWithFirst, Flaw::Early),
        (Kind::Pairs, CollectiveFault::RoundsInReverse, Flaw::Count),
        (Kind::Scan, CollectiveFault::OrderOfArrival, Flaw::Count),
        (Kind::Scatter, CollectiveFault::DealInReverse, Flaw::Count),
        (Kind::AllToAll, CollectiveFault::EndWithFirst, Flaw::Early),
    ] {
        let collective = Collective {
            kind,
            ranks: 4,
            radix: 2,
            fault: Some(fault),
        };
        let explored = explore(&mut Network::of(collective, Multiset), LIMIT);
        assert_eq!(found(explored, &format!("{kind:?}, {fault:?}")), Some(flaw));
    }
    let tokens = Tokens {
        ranks: 3,
        radix: 2,
        passes: 2,
        rounds: 3,
        one_round: true,
    };
    let explored = explore(&mut Network::of(tokens, Multiset), LIMIT);
    assert_eq!(
        found(explored, "quiesce after one round"),
        Some(Flaw::Early)
    );
}

#[test]
fn lost_and_doubled_messages_are_found() {
    for kind in [
        Kind::Barrier,
        Kind::AllReduce,
        Kind::Pairs,
        Kind::Scan,
        Kind::Scatter,
        Kind::AllToAll,
    ] {
        let collective = Collective {
            kind,
            ranks: 3,
            radix: 2,
            fault: None,
        };
        for (faults, flaw) in [
            (
                NetworkFaults {
                    lose: 1,
                    ..NetworkFaults::default()
                },
                Flaw::Stuck,
            ),
            (
                NetworkFaults {
                    double: 1,
                    ..NetworkFaults::default()
                },
                Flaw::Refused,
            ),
        ] {
            let mut network = Network::of(collective, Multiset).with_faults(faults);
            assert_eq!(explore(&mut network, LIMIT).flaw(), Some(flaw), "{kind:?}");
        }
    }
}
