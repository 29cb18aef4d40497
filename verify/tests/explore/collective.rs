//! Collective operations in every order of messages and beginnings.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_verify::explore::{
    Collective, Delivery::Multiset, Explored, Faults, Flaw, Kind, Mistake, Network, Tokens, explore,
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
            mistake: None,
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

/// What becomes of 4 ranks under a mistake or a fault, and the history.
fn found(explored: Explored, what: &str) -> Option<Flaw> {
    let (flaw, story) = explored.found?;
    println!("{what}: {flaw:?}\n{story}");
    Some(flaw)
}

#[test]
fn mistakes_are_found() {
    for (kind, mistake, flaw) in [
        (Kind::Barrier, Mistake::EndWhenSent, Flaw::Early),
        (Kind::AllReduce, Mistake::OrderOfArrival, Flaw::Count),
        (Kind::Pairs, Mistake::EndWithFirst, Flaw::Early),
        (Kind::Pairs, Mistake::RoundsInReverse, Flaw::Count),
        (Kind::Scan, Mistake::OrderOfArrival, Flaw::Count),
        (Kind::Scatter, Mistake::DealInReverse, Flaw::Count),
        (Kind::AllToAll, Mistake::EndWithFirst, Flaw::Early),
    ] {
        let collective = Collective {
            kind,
            ranks: 4,
            radix: 2,
            mistake: Some(mistake),
        };
        let explored = explore(&mut Network::of(collective, Multiset), LIMIT);
        assert_eq!(
            found(explored, &format!("{kind:?}, {mistake:?}")),
            Some(flaw)
        );
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
            mistake: None,
        };
        for (faults, flaw) in [
            (
                Faults {
                    lose: 1,
                    ..Faults::default()
                },
                Flaw::Stuck,
            ),
            (
                Faults {
                    double: 1,
                    ..Faults::default()
                },
                Flaw::Refused,
            ),
        ] {
            let mut network = Network::of(collective, Multiset).with_faults(faults);
            assert_eq!(explore(&mut network, LIMIT).flaw(), Some(flaw), "{kind:?}");
        }
    }
}
