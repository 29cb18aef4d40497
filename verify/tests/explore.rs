//! The balancer's protocol and its finish over every order of delivery.
//!
//! | fact | where |
//! |---|---|
//! | Saraswat, acceptance fact 3: at most one request a lifeline, one activity a place | every state of every configuration |
//! | Saraswat, acceptance fact 4: w = 0, ring and P = 1 terminate with the exact count | `p1`, `p2`, `p3`, `p4` |
//! | Saraswat, acceptance fact 7: termination by finish alone | `counts_*` and every configuration |
//! | Finnerty, acceptance fact 6: a place with work sends no request | every state of every configuration |
//! | Finnerty, acceptance fact 9: at most one request a lifeline, no thief twice | every state of every configuration |
//! | Lucco, acceptance fact 42: a position begins after those that it waits for | `dispatcher` |
//! | Chatterjee, acceptance fact 27: a place has one request without an answer at most, random or along a lifeline | every state of every configuration |
//! | Chatterjee, acceptance fact 28: the end is not found while a message is in flight, however late, and always in the end | every state of every configuration; `reports_without_numbers_end_too_early`, `uncounted_spawns_end_too_early` see an early one |
//! | Chatterjee, acceptance fact 29: a value travels to a rank at most once | every state of every configuration (`verify/tests/explore/space.rs`) |
//! | Chatterjee, acceptance fact 32: a close loses no message | `quiet_spaces_have_no_message_in_flight` |
//! | Finnerty, acceptance fact 11: loot restarts a quiet place, the end comes once and last | every state of every configuration |
//!
//! Each `EXPLORE` line has a floor: an exploration that shrinks below it has lost states.
//! The last tests break the protocol on purpose and must see it fail.

#[path = "explore/calls.rs"]
mod calls;
#[path = "explore/closing.rs"]
mod closing;
#[path = "explore/coherence.rs"]
mod coherence;
#[path = "explore/collective.rs"]
mod collective;
#[path = "explore/credit.rs"]
mod credit;
#[path = "explore/defer.rs"]
mod defer;
#[path = "explore/dispatch.rs"]
mod dispatch;
#[path = "explore/finish.rs"]
mod finish;
#[path = "explore/leaving.rs"]
mod leaving;
#[path = "explore/matching.rs"]
mod matching;
#[path = "explore/opening.rs"]
mod opening;
#[path = "explore/scenario.rs"]
mod scenario;
#[path = "explore/sequence.rs"]
mod sequence;
#[path = "explore/space.rs"]
mod space;
#[path = "explore/turnstile.rs"]
mod turnstile;

use std::time::Instant;
use tautline_core::glb::Steal;
use tautline_core::lifeline::Graph;
use tautline_verify::explore::{
    Balance, BalanceFault, Checks, Delivery, Flaw, Gossip, GossipFault, Ledgers, Network, Search,
    System, Tree, explore,
};

const CUBE: Graph = Graph::Hypercube { radix: 2 };
const LIMIT: usize = 20_000_000;

const CHAIN: &str = "((((()))))";
const FLAT: &str = "(()()()()()())";
const BUSH: &str = "((()())(()()))";
const MIXED: &str = "(()()(()()()))";
const ROOTS: &str = "()()()()()()";
const PAIR: &str = "((()()())(()()()))";
const LATE: &str = "(()()(()()()))()()";
const LARGE: &str = "((()()()())()()()(()()()()))";

const SMALL: [&str; 9] = [
    "()", "(())", "(()())", CHAIN, FLAT, BUSH, MIXED, ROOTS, PAIR,
];
const STEALS: [Steal; 3] = [Steal::Half, Steal::Count(1), Steal::Count(3)];

/// States of `system`, which must have no flaw.
fn flawless(name: &str, system: &mut impl System) -> usize {
    let explored = explore(system, LIMIT);
    if let Some((flaw, story)) = explored.found {
        panic!("{name}: {flaw:?}\n{story}");
    }
    explored.states
}

fn report(name: &str, states: usize, floor: usize, began: Instant) {
    let seconds = began.elapsed().as_secs_f64();
    println!("EXPLORE {name} states={states} floor={floor} seconds={seconds:.2}");
    assert!(states >= floor, "{name}: only {states} states");
}

/// Explores all `trees` with all steal policies.
fn balance(name: &str, places: u32, graph: Graph, w: usize, trees: &[&str], floor: usize) {
    let began = Instant::now();
    let mut states = 0;
    for tree in trees {
        for steal in STEALS {
            let mut system = Balance::new(places, graph, w, steal, Tree::new(tree));
            states += flawless(&format!("{name} {tree} {steal:?}"), &mut system);
        }
    }
    report(name, states, floor, began);
}

#[test]
fn p1() {
    balance("p1-w0", 1, CUBE, 0, &SMALL, 190);
    balance("p1-w1", 1, CUBE, 1, &SMALL, 190);
}

#[test]
fn p2() {
    let trees: Vec<&str> = SMALL.into_iter().chain([LATE, LARGE]).collect();
    for (w, floor) in [(0, 12_000), (1, 19_000), (2, 28_000)] {
        balance(&format!("p2-w{w}"), 2, Graph::Ring, w, &trees, floor);
    }
}

#[test]
fn p3() {
    let trees: Vec<&str> = SMALL.into_iter().chain([LATE]).collect();
    for (name, graph, floors) in [
        ("ring", Graph::Ring, [12_000, 61_000, 164_000]),
        ("cube", CUBE, [26_000, 96_000, 244_000]),
        ("full", Graph::Full, [62_000, 264_000, 674_000]),
    ] {
        for (w, floor) in floors.into_iter().enumerate() {
            balance(&format!("p3-{name}-w{w}"), 3, graph, w, &trees, floor);
        }
    }
}

#[test]
fn p4() {
    for (name, graph, floors) in [
        ("ring", Graph::Ring, [5_200, 36_000]),
        ("cube", CUBE, [30_000, 263_000]),
        ("cube3", Graph::Hypercube { radix: 3 }, [25_000, 244_000]),
        ("full", Graph::Full, [118_000, 985_000]),
    ] {
        for (w, floor) in floors.into_iter().enumerate() {
            balance(&format!("p4-{name}-w{w}"), 4, graph, w, &SMALL, floor);
        }
    }
}

/// The driver of all machines visits as many states as that of the balancer.
#[test]
fn searches() {
    for (places, graph) in [(2, Graph::Ring), (3, Graph::Ring), (3, CUBE)] {
        for (tree, steal) in SMALL.into_iter().zip(STEALS.into_iter().cycle()) {
            let name = format!("search-p{places} {graph:?} {tree} {steal:?}");
            let mut balance = Balance::new(places, graph, 0, steal, Tree::new(tree));
            let search = Search {
                places,
                graph,
                steal,
                tree: Tree::new(tree),
            };
            let states = flawless(&name, &mut Network::of(search, Delivery::Multiset));
            assert_eq!(states, flawless(&name, &mut balance), "{name}");
        }
    }
}

#[test]
fn large() {
    for (name, places, graph, w, tree, floor) in [
        ("p3-ring-w2-large", 3, Graph::Ring, 2, LARGE, 98_000),
        ("p3-cube-w1-large", 3, CUBE, 1, LARGE, 427_000),
        ("p3-full-w0-large", 3, Graph::Full, 0, LARGE, 2_971_000),
        ("p4-cube-w1-late", 4, CUBE, 1, LATE, 38_000),
        ("p4-full-w1-late", 4, Graph::Full, 1, LATE, 400_000),
    ] {
        let began = Instant::now();
        let mut system = Balance::new(places, graph, w, Steal::Half, Tree::new(tree));
        report(name, flawless(name, &mut system), floor, began);
    }
}

/// Every program of a few activities over two and three places, spawns at the own place included.
#[test]
fn counts() {
    for (places, activities, floor) in [(2, 5, 8_400), (3, 5, 71_000), (4, 4, 13_000)] {
        let name = format!("counts-p{places}-a{activities}");
        let began = Instant::now();
        let ledgers = Ledgers::new(places, activities);
        let states = flawless(&name, &mut Network::of(ledgers, Delivery::Multiset));
        report(&name, states, floor, began);
    }
}

#[test]
fn counts_large() {
    let began = Instant::now();
    let ledgers = Ledgers::new(3, 6);
    let states = flawless(
        "counts-p3-a6",
        &mut Network::of(ledgers, Delivery::Multiset),
    );
    report("counts-p3-a6", states, 1_048_000, began);
}

/// One to three improvements, equal ones and worse ones: every order of finding them is explored.
const FINDS: [&[u128]; 8] = [
    &[],
    &[1],
    &[1, 1],
    &[1, 2],
    &[1, 1, 1],
    &[1, 1, 2],
    &[1, 2, 2],
    &[1, 2, 3],
];

/// The number of different bounds.
fn values(finds: &[u128]) -> u128 {
    finds.iter().max().copied().unwrap_or(0)
}

/// The best bound reaches every place, no place sends one twice, and termination does not wait for
/// bounds.
#[test]
fn gossip() {
    const WIDE: Graph = Graph::Hypercube { radix: 3 };
    for (name, places, graph, most, floor) in [
        ("p2-ring", 2, Graph::Ring, 3, 4_800),
        ("p3-ring", 3, Graph::Ring, 3, 24_000),
        ("p3-cube", 3, CUBE, 3, 126_000),
        ("p4-ring", 4, Graph::Ring, 3, 95_000),
        ("p4-wide", 4, WIDE, 3, 603_000),
        // Three different ones are more than 20 million states here.
        ("p4-cube", 4, CUBE, 2, 3_670_000),
        ("p1", 1, CUBE, 3, 180),
    ] {
        let began = Instant::now();
        let mut states = 0;
        for finds in FINDS.iter().filter(|finds| values(finds) <= most) {
            let name = format!("gossip-{name} {finds:?}");
            states += flawless(
                &name,
                &mut Network::of(Gossip::new(places, graph, finds), Delivery::Multiset),
            );
        }
        report(&format!("gossip-{name}"), states, floor, began);
    }
}

/// Each injected fault in the spreading of bounds is found.
#[test]
fn a_fault_in_gossip_is_detected() {
    for (fault, flaw) in [
        (GossipFault::SendNothing, Flaw::Untold),
        (GossipFault::ApplyNothing, Flaw::Untold),
        (GossipFault::SendEverything, Flaw::Chatter),
        (GossipFault::Lose, Flaw::Untold),
        (GossipFault::WaitAtTheEnd, Flaw::Late),
    ] {
        let gossip = Gossip::new(3, Graph::Ring, &[1, 2]).with_fault(fault);
        let explored = explore(&mut Network::of(gossip, Delivery::Multiset), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}

/// Explores the balancer under `fault`, which must show a flaw of this kind, with its history.
fn breaks(places: u32, graph: Graph, tree: &str, fault: BalanceFault, checks: Checks, flaw: Flaw) {
    let system = Balance::new(places, graph, 0, Steal::Half, Tree::new(tree));
    let explored = explore(&mut system.with_fault(fault, checks), LIMIT);
    let (found, story) = explored.found.expect("the fault must show");
    println!("{fault:?} ({checks:?}): {found:?}\n{story}");
    assert_eq!(found, flaw, "{fault:?} ({checks:?})");
}

/// Without report numbers an overtaking report ends the computation while a place still works.
#[test]
fn reports_without_numbers_end_too_early() {
    breaks(
        2,
        Graph::Ring,
        LARGE,
        BalanceFault::IgnoreNumbers,
        Checks::Every,
        Flaw::Early,
    );
    for (places, spawn_here, activities) in [(2, true, 3), (2, false, 4)] {
        let make = |n| {
            let ledgers = Ledgers {
                spawn_here,
                ignore_numbers: true,
                ..Ledgers::new(places, n)
            };
            Network::of(ledgers, Delivery::Multiset)
        };
        let fewer = explore(&mut make(activities - 1), LIMIT);
        assert_eq!(fewer.flaw(), None, "{activities} activities are the fewest");
        let explored = explore(&mut make(activities), LIMIT);
        let (flaw, story) = explored.found.expect("the fault must show");
        println!("IgnoreNumbers, {activities} activities: {flaw:?}\n{story}");
        assert_eq!(flaw, Flaw::Early);
    }
}

#[test]
fn a_lost_request_is_seen() {
    for (places, graph) in [(2, Graph::Ring), (3, Graph::Full)] {
        let fault = BalanceFault::LoseRequest;
        breaks(places, graph, FLAT, fault, Checks::Every, Flaw::Lifeline);
        breaks(places, graph, FLAT, fault, Checks::Ends, Flaw::Stuck);
    }
}

/// The computation still ends, but the thief would starve: only the check of every state sees it.
#[test]
fn a_forgotten_thief_is_seen() {
    let fault = BalanceFault::ForgetThief;
    breaks(2, Graph::Ring, FLAT, fault, Checks::Every, Flaw::Lifeline);
    breaks(3, Graph::Full, PAIR, fault, Checks::Every, Flaw::Lifeline);
    let system = Balance::new(3, Graph::Full, 0, Steal::Half, Tree::new(PAIR));
    let explored = explore(&mut system.with_fault(fault, Checks::Ends), LIMIT);
    assert_eq!(explored.flaw(), None);
}

#[test]
fn a_lost_answer_is_seen() {
    for (places, graph) in [(2, Graph::Ring), (3, Graph::Full)] {
        let fault = BalanceFault::LoseAnswer;
        breaks(places, graph, FLAT, fault, Checks::Every, Flaw::Stuck);
    }
}

/// Its tasks are done twice, and its activity ends more often than it was spawned.
#[test]
fn doubled_loot_is_seen() {
    let fault = BalanceFault::DoubleLoot;
    breaks(3, Graph::Full, FLAT, fault, Checks::Every, Flaw::Count);
    breaks(3, Graph::Full, FLAT, fault, Checks::Ends, Flaw::Stuck);
}

#[test]
fn uncounted_spawns_end_too_early() {
    let fault = BalanceFault::HideSpawns;
    breaks(2, Graph::Ring, PAIR, fault, Checks::Ends, Flaw::Early);
    breaks(2, Graph::Ring, PAIR, fault, Checks::Every, Flaw::Early);
}
