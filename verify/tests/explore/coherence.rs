//! Accesses of one object by all ranks, in every order of deliveries: a protocol for each mode, and
//! the change between them.

#[path = "coherence/ranks.rs"]
mod ranks;
#[path = "coherence/replica.rs"]
mod replica;

use super::{LIMIT, report};
use ranks::{Fault, Ranks};
use std::time::Instant;
use tautline_core::coherence::{Kind, Mode};
use tautline_verify::explore::{
    Delivery, Flaw, Network, NetworkFaults, Parts, explore, explore_to_end,
};

const TWO_KINDS: &[Kind] = &[Kind::Read, Kind::Update];
const ALL_KINDS: &[Kind] = &[Kind::Read, Kind::Update, Kind::Modify];

const ONE: Ranks = Ranks {
    mode: Mode::Directory,
    remotes: 1,
    accesses: [2, 2],
    workers: 1,
    kinds: TWO_KINDS,
    switches: 0,
    evictions: 0,
    losses: 0,
    coarse: None,
    fault: None,
};

/// The network of `ranks`.
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
    report(&format!("coherence-{name}"), explored.states, floor, began);
}

fn remotes(mode: Mode, remotes: u32, accesses: [u8; 2]) -> Ranks {
    Ranks {
        mode,
        remotes,
        accesses,
        ..ONE
    }
}

#[test]
fn operations_travel_to_the_home() {
    let home = |count, accesses| remotes(Mode::Home, count, accesses);
    states("home-2x2", home(2, [2, 2]), 5_820);
    states("home-2x3", home(2, [3, 1]), 9_930);
    let kinds = ALL_KINDS;
    states(
        "home-closures-2x2",
        Ranks {
            kinds,
            ..home(2, [2, 1])
        },
        8_400,
    );
    let workers = 2;
    states(
        "home-workers-2x2",
        Ranks {
            kinds,
            workers,
            ..home(2, [2, 1])
        },
        62_900,
    );
}

#[test]
fn copies_are_coherent() {
    let directory = |count, accesses| remotes(Mode::Directory, count, accesses);
    states("directory-1x3", directory(1, [3, 3]), 1_140);
    states("directory-2x2", directory(2, [2, 2]), 15_100);
    states("directory-2x3", directory(2, [3, 1]), 25_000);
    states("directory-3x1", directory(3, [1, 1]), 5_940);
    states("directory-3x2", directory(3, [2, 1]), 367_000);
    let workers = 2;
    states(
        "directory-workers-2x2",
        Ranks {
            workers,
            ..directory(2, [2, 2])
        },
        31_500,
    );
    let evictions = 1;
    states(
        "directory-evicted-2x2",
        Ranks {
            evictions,
            ..directory(2, [2, 1])
        },
        19_200,
    );
}

#[test]
fn owners_pass_the_copy_on() {
    let migratory = |count, accesses| remotes(Mode::Migratory, count, accesses);
    states("migratory-2x2", migratory(2, [2, 2]), 20_300);
    states("migratory-2x3", migratory(2, [3, 1]), 33_400);
    states("migratory-3x1", migratory(3, [1, 1]), 8_490);
    states("migratory-3x2", migratory(3, [2, 1]), 357_000);
    let workers = 2;
    states(
        "migratory-workers-2x2",
        Ranks {
            workers,
            ..migratory(2, [2, 2])
        },
        42_200,
    );
    let evictions = 1;
    states(
        "migratory-evicted-2x2",
        Ranks {
            evictions,
            ..migratory(2, [2, 1])
        },
        24_000,
    );
    states(
        "migratory-evicted-3x1",
        Ranks {
            evictions: 2,
            ..migratory(3, [1, 1])
        },
        29_500,
    );
}

/// The home accesses the object as often as each other rank.
#[test]
fn accesses_of_the_home_compete() {
    for (mode, name, floors) in [
        (Mode::Directory, "directory", [136_000, 999_000, 50_200]),
        (Mode::Migratory, "migratory", [195_000, 1_076_000, 68_800]),
    ] {
        let of = |count, accesses| remotes(mode, count, [accesses; 2]);
        let evictions = 1;
        let evicted = Ranks {
            evictions,
            ..of(2, 2)
        };
        states(&format!("{name}-home-2x3"), of(2, 3), floors[0]);
        states(&format!("{name}-home-3x2"), of(3, 2), floors[1]);
        states(&format!("{name}-home-evicted-2x2"), evicted, floors[2]);
    }
    states(
        "switched-home-2x2",
        Ranks {
            switches: 3,
            ..remotes(Mode::Home, 2, [2, 2])
        },
        1_532_000,
    );
}

/// Invalidations reach ranks without a copy.
#[test]
fn coarse_sets_suffice() {
    let coarse = |mode, count, accesses, listed, span| Ranks {
        coarse: Some((listed, span)),
        evictions: 1,
        ..remotes(mode, count, accesses)
    };
    let directory = Mode::Directory;
    states("coarse-2x2", coarse(directory, 2, [2, 2], 0, 3), 56_200);
    states(
        "coarse-listed-2x2",
        coarse(directory, 2, [2, 2], 1, 3),
        50_700,
    );
    states("coarse-3x1", coarse(directory, 3, [1, 1], 0, 4), 24_600);
    states(
        "coarse-listed-3x1",
        coarse(directory, 3, [1, 1], 1, 2),
        15_800,
    );
    states(
        "coarse-migratory-2x2",
        coarse(Mode::Migratory, 2, [2, 2], 0, 3),
        76_400,
    );
    states(
        "coarse-switched-2x1",
        Ranks {
            switches: 2,
            kinds: ALL_KINDS,
            ..coarse(directory, 2, [1, 1], 0, 3)
        },
        90_000,
    );
    let lossy = |mode, count, accesses, span| Ranks {
        evictions: 0,
        losses: 1,
        ..coarse(mode, count, accesses, 0, span)
    };
    states("coarse-lost-2x2", lossy(directory, 2, [2, 1], 3), 72_600);
    states("coarse-lost-3x1", lossy(directory, 3, [1, 1], 2), 239_000);
}

#[test]
fn modes_change() {
    let one = |mode| remotes(mode, 1, [3, 2]);
    let switches = 3;
    states(
        "switched-1x3",
        Ranks {
            switches,
            ..one(Mode::Home)
        },
        30_600,
    );
    let two = |mode| remotes(mode, 2, [1, 1]);
    let kinds = ALL_KINDS;
    states(
        "switched-closures-2x1",
        Ranks {
            switches: 2,
            kinds,
            ..two(Mode::Directory)
        },
        39_300,
    );
    states(
        "switched-2x2",
        Ranks {
            switches: 2,
            ..remotes(Mode::Home, 2, [2, 1])
        },
        178_000,
    );
    states(
        "switched-evicted-2x1",
        Ranks {
            switches: 2,
            evictions: 1,
            kinds,
            ..two(Mode::Home)
        },
        30_600,
    );
    states(
        "switched-workers-2x2",
        Ranks {
            switches: 2,
            workers: 2,
            kinds,
            ..remotes(Mode::Home, 1, [3, 1])
        },
        34_800,
    );
}

#[test]
fn ranks_are_lost() {
    let lossy = |mode, count, accesses| Ranks {
        losses: 1,
        ..remotes(mode, count, accesses)
    };
    states(
        "lost-directory-2x2",
        lossy(Mode::Directory, 2, [2, 1]),
        74_700,
    );
    states(
        "lost-directory-3x1",
        lossy(Mode::Directory, 3, [1, 1]),
        209_000,
    );
    states(
        "lost-migratory-2x2",
        lossy(Mode::Migratory, 2, [2, 1]),
        101_000,
    );
    states(
        "lost-migratory-3x1",
        lossy(Mode::Migratory, 3, [1, 1]),
        314_000,
    );
    let kinds = ALL_KINDS;
    states(
        "lost-home-2x2",
        Ranks {
            kinds,
            ..lossy(Mode::Home, 2, [2, 1])
        },
        131_000,
    );
    states(
        "lost-evicted-2x1",
        Ranks {
            evictions: 1,
            ..lossy(Mode::Migratory, 2, [2, 1])
        },
        302_000,
    );
    states(
        "lost-switched-2x1",
        Ranks {
            switches: 2,
            ..lossy(Mode::Home, 2, [1, 1])
        },
        39_800,
    );
    states(
        "lost-twice-3x1",
        Ranks {
            losses: 2,
            ..lossy(Mode::Migratory, 3, [1, 0])
        },
        495_000,
    );
}

/// Returns the flaw of `ranks` under a fault, after how many states.
fn found(ranks: Ranks, fault: Fault) -> Option<Flaw> {
    let ranks = Ranks {
        fault: Some(fault),
        ..ranks
    };
    let explored = explore(&mut network(ranks), LIMIT);
    println!("coherence, {fault:?}: {} states", explored.states);
    let (flaw, story) = explored.found?;
    println!("{flaw:?}\n{story}");
    Some(flaw)
}

#[test]
fn faults_are_found() {
    let two = |mode| remotes(mode, 2, [2, 1]);
    let directory = two(Mode::Directory);
    assert_eq!(found(directory, Fault::BareUpgrade), Some(Flaw::Stale));
    assert_eq!(found(directory, Fault::BareWrite), Some(Flaw::Stale));
    assert_eq!(
        found(directory, Fault::PerformLater),
        Some(Flaw::Unperformed)
    );
    assert_eq!(found(directory, Fault::KeepCopy), Some(Flaw::Copies));
    let kinds = ALL_KINDS;
    let closures = Ranks {
        kinds,
        ..two(Mode::Home)
    };
    assert!(found(closures, Fault::LendTwice).is_some());
    let migratory = Ranks {
        evictions: 1,
        ..two(Mode::Migratory)
    };
    assert_eq!(
        found(migratory, Fault::IgnoreEarlyRecall),
        Some(Flaw::Stuck)
    );
    assert_eq!(found(migratory, Fault::DropEvicted), Some(Flaw::Stuck));
    assert_eq!(found(migratory, Fault::AnswerRecall), Some(Flaw::Refused));
    let lossy = Ranks {
        losses: 1,
        ..two(Mode::Migratory)
    };
    assert_eq!(found(lossy, Fault::WaitForLost), Some(Flaw::Stuck));
    let switched = Ranks {
        switches: 2,
        ..directory
    };
    assert_eq!(found(switched, Fault::GrantCopy), Some(Flaw::Copies));
    let coarse = Ranks {
        coarse: Some((0, 3)),
        ..directory
    };
    assert_eq!(found(coarse, Fault::MissLast), Some(Flaw::Copies));
    assert_eq!(found(coarse, Fault::CoarseUpgrade), Some(Flaw::Refused));
}

/// The largest configuration with a loss.
#[test]
#[ignore = "cargo ci deep: thirteen million states"]
fn one_of_three_ranks_is_lost_while_each_accesses_twice() {
    states(
        "lost-directory-3x2",
        Ranks {
            losses: 1,
            ..remotes(Mode::Directory, 3, [2, 1])
        },
        11_598_000,
    );
}

/// An invalidation that overtakes the copy leaves a stale one.
#[test]
fn the_order_of_messages_matters() {
    let faults = NetworkFaults {
        overtake: 1,
        ..NetworkFaults::default()
    };
    let two = Network::of(remotes(Mode::Directory, 2, [2, 1]), Delivery::Channels);
    let explored = explore(&mut two.with_faults(faults), LIMIT);
    println!("coherence, overtaken: {} states", explored.states);
    assert!(explored.found.is_some());
}
