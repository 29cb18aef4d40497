//! Name spaces: tasks that put and read keys at all ranks, in every order of deliveries.
//!
//! Chatterjee, acceptance facts 29, 30 and 32.

#[path = "space/program.rs"]
mod program;
#[path = "space/ranks.rs"]
mod ranks;
#[path = "space/steps.rs"]
mod steps;
#[path = "space/values.rs"]
mod values;

use super::{LIMIT, report};
use program::{Program, pass, put, read, take};
use ranks::{Fault, Ranks};
use std::time::Instant;
use tautline_verify::explore::{
    Delivery, Flaw, Network, NetworkFaults, Parts, explore, explore_to_end,
};

/// Each rank puts a key of its own, and reads both twice.
static PAIRS: Program = Program {
    tasks: &[
        &[put(0), read(&[0, 1]), read(&[1])],
        &[put(1), read(&[0]), read(&[1, 0])],
    ],
    homes: &[0, 1],
    readers: None,
};

/// One key, which all ranks read twice.
static ONE: Program = Program {
    tasks: &[
        &[put(0), read(&[0])],
        &[read(&[0]), read(&[0])],
        &[read(&[0]), read(&[0])],
    ],
    homes: &[0],
    readers: None,
};

/// The same, put at another rank than its home.
static REMOTE: Program = Program {
    tasks: &[
        &[read(&[0])],
        &[put(0), read(&[0])],
        &[read(&[0]), read(&[0])],
    ],
    homes: &[0],
    readers: None,
};

/// A value that becomes another one at each rank.
static CHAIN: Program = Program {
    tasks: &[
        &[put(0), read(&[2, 1])],
        &[pass(&[0], 1), read(&[2])],
        &[pass(&[1], 2)],
    ],
    homes: &[0, 1, 2],
    readers: None,
};

/// The same, each put at another rank than its home.
static TURNED: Program = Program {
    homes: &[1, 2, 0],
    ..CHAIN
};

static PUSHED_PAIRS: Program = Program {
    readers: Some(&[(0, 0), (1, 0), (1, 0), (0, 1), (1, 1), (0, 1)]),
    ..PAIRS
};

static PUSHED_REMOTE: Program = Program {
    readers: Some(&[(0, 0), (0, 1), (0, 2), (0, 2)]),
    ..REMOTE
};

/// As before, but neither home nor putter reads.
static PUSHED_AWAY: Program = Program {
    tasks: &[&[], &[put(0)], &[read(&[0]), read(&[0])]],
    homes: &[0],
    readers: Some(&[(0, 2), (0, 2)]),
};

static PUSHED_CHAIN: Program = Program {
    readers: Some(&[(2, 0), (1, 0), (0, 1), (2, 1), (1, 2)]),
    ..CHAIN
};

static PUSHED_TURNED: Program = Program {
    readers: Some(&[(2, 0), (1, 0), (0, 1), (2, 1), (1, 2)]),
    ..TURNED
};

/// Values that are taken, here and elsewhere.
static TAKEN: Program = Program {
    tasks: &[
        &[put(0), take(&[0])],
        &[put(1), put(2)],
        &[take(&[1]), read(&[2])],
    ],
    homes: &[0, 0, 1],
    readers: Some(&[(0, 0), (1, 2), (2, 2)]),
};

/// Rank 1 reads once more than is declared.
static UNDECLARED: Program = Program {
    tasks: &[
        &[put(0), read(&[0])],
        &[read(&[0]), read(&[0])],
        &[read(&[0])],
    ],
    homes: &[0],
    readers: Some(&[(0, 0), (0, 1)]),
};

/// Two puts of a key: of the home and another rank, of two other ranks, of one rank.
static TWICE_HOME: Program = Program {
    tasks: &[&[put(0), read(&[0])], &[put(0), read(&[0])], &[read(&[0])]],
    homes: &[0],
    readers: None,
};
static TWICE_AWAY: Program = Program {
    tasks: &[&[read(&[0])], &[put(0), read(&[0])], &[put(0), read(&[0])]],
    homes: &[0],
    readers: None,
};
static TWICE_HERE: Program = Program {
    tasks: &[
        &[put(0), put(0)],
        &[read(&[0]), put(1), put(1)],
        &[read(&[1])],
    ],
    homes: &[0, 0],
    readers: None,
};
static PUSHED_TWICE_HOME: Program = Program {
    readers: Some(&[(0, 0), (0, 1), (0, 2)]),
    ..TWICE_HOME
};
static PUSHED_TWICE_AWAY: Program = Program {
    readers: Some(&[(0, 0), (0, 1), (0, 2)]),
    ..TWICE_AWAY
};

/// Rank 0 fetches three keys, the first of which waits for a task of its own.
static AHEAD: Program = Program {
    tasks: &[&[read(&[0]), pass(&[2], 1)], &[pass(&[1], 0), put(2)]],
    homes: &[1, 0, 1],
    readers: None,
};

/// Rank 0 needs two values at once.
static BOTH: Program = Program {
    tasks: &[
        &[read(&[0, 1]), read(&[2]), read(&[0])],
        &[put(0), put(1), put(2)],
    ],
    homes: &[1, 1, 1],
    readers: None,
};

/// Rank 0 puts a key whose fetch waits for its turn.
static OWN: Program = Program {
    tasks: &[&[read(&[0]), read(&[1]), put(1)], &[put(0), read(&[1])]],
    homes: &[1, 1],
    readers: None,
};

/// A key that no rank puts.
static MISSING: Program = Program {
    tasks: &[&[put(0), read(&[1])], &[read(&[0, 1])], &[pass(&[1], 2)]],
    homes: &[0, 1, 2],
    readers: None,
};

/// A value that rank 1 turns into another one, for both others.
static RELAY: Program = Program {
    tasks: &[&[put(0), read(&[1])], &[pass(&[0], 1)], &[read(&[1])]],
    homes: &[0, 1],
    readers: Some(&[(0, 1), (1, 0), (1, 2)]),
};

/// Tasks of two ranks that wait for each other.
static CROSSED: Program = Program {
    tasks: &[&[pass(&[0], 1)], &[pass(&[1], 0), read(&[2])], &[put(2)]],
    homes: &[0, 1, 2],
    readers: None,
};

fn of(program: &'static Program) -> Ranks {
    Ranks {
        program,
        ahead: None,
        cancels: 0,
        abandons: None,
        losses: 0,
        rounds: 0,
        fault: None,
    }
}

fn network(ranks: Ranks) -> Network<Parts<Ranks>> {
    let faults = NetworkFaults {
        crash: ranks.losses,
        ..NetworkFaults::default()
    };
    Network::of(ranks, Delivery::Channels).with_faults(faults)
}

/// Explores all states, from each of which the end must be reachable.
fn states(name: &str, ranks: Ranks, floor: usize) {
    let began = Instant::now();
    let explored = explore_to_end(&mut network(ranks), LIMIT);
    if let Some((flaw, story)) = explored.found {
        panic!("{name}: {flaw:?}\n{story}");
    }
    report(&format!("space-{name}"), explored.states, floor, began);
}

#[test]
fn values_are_fetched() {
    states("pairs", of(&PAIRS), 2_430);
    states("one", of(&ONE), 2_800);
    states("chain", of(&CHAIN), 1_100);
    states(
        "cancelled",
        Ranks {
            cancels: 1,
            ..of(&ONE)
        },
        35_100,
    );
}

#[test]
fn puts_elsewhere_reach_the_home() {
    states("remote", of(&REMOTE), 910);
    states("turned", of(&TURNED), 540);
    states(
        "remote-cancelled",
        Ranks {
            cancels: 1,
            ..of(&REMOTE)
        },
        7_540,
    );
}

#[test]
fn values_are_pushed_to_declared_readers() {
    states("pushed-pairs", of(&PUSHED_PAIRS), 1_470);
    states("pushed-remote", of(&PUSHED_REMOTE), 368);
    states("pushed-away", of(&PUSHED_AWAY), 28);
    states("pushed-chain", of(&PUSHED_CHAIN), 610);
    states("pushed-turned", of(&PUSHED_TURNED), 400);
    states(
        "pushed-cancelled",
        Ranks {
            cancels: 2,
            ..of(&PUSHED_REMOTE)
        },
        3_390,
    );
    states("taken", of(&TAKEN), 866);
    states("undeclared", of(&UNDECLARED), 164);
}

#[test]
fn second_puts_end_the_space() {
    states("twice-home", of(&TWICE_HOME), 21_300);
    states("twice-away", of(&TWICE_AWAY), 33_500);
    states("twice-here", of(&TWICE_HERE), 666);
    states("pushed-twice-home", of(&PUSHED_TWICE_HOME), 17_100);
    states("pushed-twice-away", of(&PUSHED_TWICE_AWAY), 18_600);
}

#[test]
fn fetches_wait_for_their_turn() {
    for (name, program, floors) in [
        ("own", &OWN, [288, 582, 542]),
        ("ahead", &AHEAD, [151, 152, 122]),
        ("both", &BOTH, [770, 1_150, 1_320]),
    ] {
        for (ahead, floor) in (0..).zip(floors) {
            let ranks = Ranks {
                ahead: Some(ahead),
                ..of(program)
            };
            states(&format!("{name}-{ahead}"), ranks, floor);
        }
    }
    let cancelled = Ranks {
        ahead: Some(1),
        cancels: 2,
        ..of(&BOTH)
    };
    states("both-cancelled", cancelled, 21_100);
}

#[test]
fn spaces_survive_ranks() {
    let lossy = |program| Ranks {
        losses: 1,
        ..of(program)
    };
    states("lost-pairs", lossy(&PAIRS), 15_600);
    states("lost-remote", lossy(&REMOTE), 13_400);
    states("lost-turned", lossy(&TURNED), 9_700);
    states("lost-pushed-remote", lossy(&PUSHED_REMOTE), 5_180);
    states("lost-pushed-chain", lossy(&PUSHED_CHAIN), 10_800);
    states("lost-twice", lossy(&TWICE_AWAY), 173_000);
    states(
        "lost-ahead",
        Ranks {
            ahead: Some(1),
            ..lossy(&BOTH)
        },
        7_160,
    );
    states(
        "lost-both",
        Ranks {
            losses: 2,
            ..of(&CHAIN)
        },
        126_000,
    );
}

#[test]
fn abandoned_spaces_end_at_all_ranks() {
    let abandoned = |by, program| Ranks {
        abandons: Some(by),
        ..of(program)
    };
    states("abandoned-pairs", abandoned(0, &PAIRS), 9_680);
    states("abandoned-remote", abandoned(2, &REMOTE), 33_800);
    states(
        "abandoned-lost",
        Ranks {
            losses: 1,
            ..abandoned(1, &PUSHED_REMOTE)
        },
        75_400,
    );
}

/// Chatterjee, acceptance fact 32, and reads of keys that no rank puts.
#[test]
fn quiet_spaces_have_no_message_in_flight() {
    let rounds = 4;
    let closed = |program| Ranks {
        rounds,
        ..of(program)
    };
    states("closed-pairs", closed(&PAIRS), 9_950);
    states("closed-remote", closed(&REMOTE), 10_000);
    states("closed-pushed-pairs", closed(&PUSHED_PAIRS), 4_780);
    states("closed-pushed-chain", closed(&PUSHED_CHAIN), 53_900);
    states("closed-turned", closed(&TURNED), 65_500);
    states(
        "closed-ahead",
        Ranks {
            ahead: Some(1),
            ..closed(&AHEAD)
        },
        2_340,
    );
    states("closed-relay", closed(&RELAY), 4_100);
    states("closed-missing", closed(&MISSING), 2_220);
    states("closed-crossed", closed(&CROSSED), 1_900);
    states("closed-twice", closed(&TWICE_HOME), 135_000);
    states(
        "closed-lost",
        Ranks {
            losses: 1,
            ..closed(&PUSHED_AWAY)
        },
        18_200,
    );
}

/// Returns the flaw of `ranks` under a fault.
fn found(ranks: Ranks, fault: Fault) -> Option<Flaw> {
    let ranks = Ranks {
        fault: Some(fault),
        ..ranks
    };
    let explored = explore(&mut network(ranks), LIMIT);
    println!("space, {fault:?}: {} states", explored.states);
    let (flaw, story) = explored.found?;
    println!("{flaw:?}\n{story}");
    Some(flaw)
}

#[test]
fn faults_are_found() {
    let ahead = Ranks {
        ahead: Some(1),
        ..of(&AHEAD)
    };
    for (ranks, fault, flaw) in [
        (of(&ONE), Fault::FetchEach, Flaw::Refused),
        (of(&ONE), Fault::ForgetFetch, Flaw::Stuck),
        (of(&ONE), Fault::SendTwice, Flaw::Refused),
        (of(&REMOTE), Fault::Echo, Flaw::Refused),
        (of(&REMOTE), Fault::KeepPut, Flaw::Count),
        (of(&REMOTE), Fault::ChangeValue, Flaw::Stale),
        (of(&REMOTE), Fault::WrongPutter, Flaw::Refused),
        (of(&PUSHED_REMOTE), Fault::EndEarly, Flaw::Stale),
        (ahead, Fault::NoIdle, Flaw::Stuck),
        (ahead, Fault::PatientIdle, Flaw::Stuck),
        (of(&TWICE_AWAY), Fault::KeepEnd, Flaw::Outcome),
        (
            Ranks {
                rounds: 4,
                ..of(&RELAY)
            },
            Fault::OneRound,
            Flaw::Early,
        ),
    ] {
        assert_eq!(found(ranks, fault), Some(flaw), "{fault:?}");
    }
}

/// A fetch that overtakes the put of its rank is refused.
#[test]
fn the_order_of_messages_matters() {
    let faults = NetworkFaults {
        overtake: 1,
        ..NetworkFaults::default()
    };
    let remote = Network::of(of(&REMOTE), Delivery::Channels);
    let explored = explore(&mut remote.with_faults(faults), LIMIT);
    println!("space, overtaken: {} states", explored.states);
    assert!(explored.found.is_some());
}
