//! Finishes over places: sparse, nested, combined, cancelled, and with a lost place.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_verify::explore::{
    Activities, Delivery, FinishFault, Flaw, Ledgers, Network, NetworkFaults, explore,
};

use Delivery::{Channels, Multiset};

/// Explores `actors`, which must have no flaw.
fn check(name: &str, actors: Activities, delivery: Delivery, faults: NetworkFaults, floor: usize) {
    let began = Instant::now();
    let mut system = Network::of(actors, delivery).with_faults(faults);
    report(name, flawless(name, &mut system), floor, began);
}

/// Explores `actors` with this fault, which must show `flaw`, and prints the history.
fn breaks(
    actors: Activities,
    delivery: Delivery,
    faults: NetworkFaults,
    fault: FinishFault,
    flaw: Flaw,
) {
    let actors = Activities {
        fault: Some(fault),
        ..actors
    };
    let mut system = Network::of(actors, delivery).with_faults(faults);
    let explored = explore(&mut system, 1_000_000);
    let (found, story) = explored.found.expect("the error must show");
    println!("{fault:?}: {found:?}\n{story}");
    assert_eq!(found, flaw, "{fault:?}");
}

const NONE: NetworkFaults = NetworkFaults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 0,
    spared: 0,
};
const CRASH: NetworkFaults = NetworkFaults { crash: 1, ..NONE };

#[test]
fn sparse() {
    for (places, spawns, floor) in [(2, 6, 47_600), (3, 5, 298_000), (4, 4, 132_000)] {
        let name = format!("finish-p{places}-a{spawns}");
        check(
            &name,
            Activities::new(places, spawns),
            Multiset,
            NONE,
            floor,
        );
    }
}

/// Reports that pass other places on their way.
#[test]
fn combined() {
    for (places, radix, spawns, floor) in [(3, 1, 4, 111_000), (4, 1, 3, 36_500), (4, 2, 3, 19_600)]
    {
        let name = format!("finish-combined-p{places}-r{radix}-a{spawns}");
        let actors = Activities {
            radix,
            combine: true,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
}

#[test]
fn cancelled() {
    for (places, spawns, failures, floor) in [
        (2, 3, 2, 86_800),
        (3, 2, 2, 129_000),
        (3, 3, 1, 384_000),
        (4, 2, 1, 35_700),
    ] {
        let name = format!("finish-cancelled-p{places}-a{spawns}-f{failures}");
        let actors = Activities {
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
}

#[test]
fn nested() {
    for (places, spawns, nested, failures, floor) in [
        (2, 3, 2, 0, 12_800),
        (3, 3, 1, 0, 20_100),
        (2, 2, 1, 1, 16_000),
        (3, 2, 1, 1, 114_000),
    ] {
        let name = format!("finish-nested-p{places}-a{spawns}-n{nested}-f{failures}");
        let actors = Activities {
            nested,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
}

/// An activity at every place from the start, of which no place is notified.
#[test]
fn everywhere() {
    for (places, spawns, nested, failures, floor) in [
        (2, 3, 1, 0, 14_700),
        (3, 2, 1, 0, 56_600),
        (3, 3, 0, 0, 95_800),
        (4, 1, 0, 0, 2_810),
        (2, 2, 1, 1, 146_000),
        (3, 1, 0, 1, 102_000),
    ] {
        let name = format!("finish-everywhere-p{places}-a{spawns}-n{nested}-f{failures}");
        let actors = Activities {
            everywhere: true,
            nested,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
}

/// A home whose activities spawn again after it has reported.
#[test]
fn resumed() {
    for (places, spawns, resumes, failures, floor) in [
        (2, 4, 2, 0, 8_580),
        (3, 3, 2, 0, 9_860),
        (2, 2, 1, 1, 5_500),
    ] {
        let name = format!("finish-resumed-p{places}-a{spawns}-r{resumes}-f{failures}");
        let actors = Activities {
            resumes,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
    // As a finish of a team does it: nested in one with an activity everywhere.
    for (places, spawns, radix, failures, floor) in [
        (2, 2, 2, 0, 6_200),
        (3, 1, 1, 0, 18_800),
        (2, 1, 2, 1, 42_900),
    ] {
        let name = format!("finish-resumed-nested-p{places}-a{spawns}-f{failures}");
        let actors = Activities {
            everywhere: true,
            nested: 1,
            resumes: 1,
            combine: radix < places,
            radix,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
    let actors = Activities {
        resumes: 1,
        ..Activities::new(3, 2)
    };
    check(
        "finish-resumed-lost-p3-a2-r1",
        actors,
        Channels,
        CRASH,
        19_500,
    );
}

#[test]
fn two() {
    for (places, spawns, failures, floor) in
        [(2, 4, 0, 15_500), (3, 3, 0, 16_200), (2, 2, 1, 10_900)]
    {
        let name = format!("finish-two-p{places}-a{spawns}-f{failures}");
        let actors = Activities {
            two: true,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Multiset, NONE, floor);
    }
}

#[test]
fn lost() {
    for (places, radix, spawns, failures, floor) in [
        (2, 2, 3, 0, 1_540),
        (3, 3, 3, 0, 85_900),
        (4, 4, 2, 0, 105_000),
        (4, 1, 2, 0, 144_000),
        (3, 1, 2, 0, 7_470),
        (3, 3, 1, 1, 5_570),
    ] {
        let name = format!("finish-lost-p{places}-r{radix}-a{spawns}-f{failures}");
        let actors = Activities {
            radix,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Channels, CRASH, floor);
    }
}

/// A place of a finish of a team is lost: one that has an activity everywhere.
#[test]
fn lost_everywhere() {
    for (places, spawns, nested, failures, floor) in [
        (2, 2, 0, 0, 1_480),
        (3, 1, 0, 0, 14_500),
        (3, 2, 0, 0, 227_000),
        (4, 0, 0, 0, 11_100),
        (2, 1, 1, 0, 1_520),
        (3, 1, 1, 0, 145_000),
        (3, 0, 0, 1, 23_400),
    ] {
        let name = format!("finish-lost-everywhere-p{places}-a{spawns}-n{nested}-f{failures}");
        let actors = Activities {
            everywhere: true,
            nested,
            failures,
            ..Activities::new(places, spawns)
        };
        check(&name, actors, Channels, CRASH, floor);
    }
    let actors = Activities {
        everywhere: true,
        ..Activities::new(3, 1)
    };
    let faults = NetworkFaults { crash: 2, ..NONE };
    let name = "finish-lost-everywhere-twice-p3-a1";
    check(name, actors, Channels, faults, 50_900);
}

/// Two places are lost, or one while activities fail.
#[test]
fn lost_twice() {
    let faults = NetworkFaults { crash: 2, ..NONE };
    for (places, spawns, floor) in [(3, 2, 25_900), (4, 1, 62_900)] {
        let name = format!("finish-lost-twice-p{places}-a{spawns}");
        check(
            &name,
            Activities::new(places, spawns),
            Channels,
            faults,
            floor,
        );
    }
    let nested = Activities {
        nested: 1,
        ..Activities::new(3, 2)
    };
    check("finish-lost-nested-p3-a2", nested, Channels, CRASH, 72_500);
}

/// A doubled report is refused, and changes nothing.
#[test]
fn doubled() {
    for (places, spawns, floor) in [(2, 4, 5_860), (3, 3, 6_960)] {
        let name = format!("finish-doubled-p{places}-a{spawns}");
        let actors = Activities {
            tolerant: true,
            ..Activities::new(places, spawns)
        };
        check(
            &name,
            actors,
            Multiset,
            NetworkFaults { double: 1, ..NONE },
            floor,
        );
    }
}

#[test]
fn errors_are_found() {
    let one = Activities::new;
    let failing = Activities {
        failures: 1,
        ..one(3, 2)
    };
    let nested = Activities {
        nested: 1,
        ..failing
    };
    let chain = Activities {
        radix: 1,
        combine: true,
        ..one(3, 4)
    };
    breaks(
        one(2, 4),
        Multiset,
        NONE,
        FinishFault::Renumber,
        // By its home, where an activity runs that is in no report.
        Flaw::Refused,
    );
    breaks(
        failing,
        Multiset,
        NONE,
        FinishFault::SpawnWhenCancelled,
        Flaw::Stuck,
    );
    breaks(
        failing,
        Multiset,
        NONE,
        FinishFault::KeepCancellation,
        Flaw::Untold,
    );
    breaks(
        failing,
        Multiset,
        NONE,
        FinishFault::HideFailure,
        Flaw::Outcome,
    );
    breaks(nested, Multiset, NONE, FinishFault::OpenAlone, Flaw::Untold);
    breaks(
        chain,
        Multiset,
        NONE,
        FinishFault::DropNumbers,
        Flaw::Refused,
    );
    breaks(
        one(2, 2),
        Multiset,
        NONE,
        FinishFault::SwapFinishes,
        Flaw::Stuck,
    );
    breaks(
        one(3, 2),
        Channels,
        CRASH,
        FinishFault::NoRecount,
        Flaw::Stuck,
    );
    breaks(
        one(3, 3),
        Channels,
        CRASH,
        FinishFault::RunStale,
        Flaw::Early,
    );
}

#[test]
fn faults_of_the_network_are_found() {
    let found = |actors: Activities, delivery, faults| {
        let mut system = Network::of(actors, delivery).with_faults(faults);
        explore(&mut system, LIMIT).flaw()
    };
    let lose = NetworkFaults { lose: 1, ..NONE };
    assert_eq!(
        found(Activities::new(2, 1), Multiset, lose),
        Some(Flaw::Stuck)
    );
    let double = NetworkFaults { double: 1, ..NONE };
    assert!(found(Activities::new(2, 2), Multiset, double).is_some());
    // The protocol does not need channels; what a lost place had sent is another matter.
    let overtake = NetworkFaults {
        overtake: 2,
        ..NONE
    };
    assert_eq!(found(Activities::new(2, 3), Channels, overtake), None);
}

/// The finish of `counts` with the senders of activities: more states; fewer over channels. A
/// doubled report is refused and changes nothing.
#[test]
fn ledgers() {
    for (places, activities, floor) in [(2, 5, 9_360), (3, 4, 5_080)] {
        let counts = Ledgers::new(places, activities);
        let ledgers = Ledgers {
            senders: true,
            ..counts
        };
        let name = format!("ledgers-p{places}-a{activities}");
        let began = Instant::now();
        let states = flawless(&name, &mut Network::of(ledgers, Multiset));
        let fewer = flawless(&name, &mut Network::of(ledgers, Channels));
        let counts = flawless(&name, &mut Network::of(counts, Multiset));
        assert!(fewer < counts && counts < states);
        report(&name, states, floor, began);
        let doubled = Ledgers {
            tolerant: true,
            ..ledgers
        };
        let faults = NetworkFaults { double: 1, ..NONE };
        let mut doubled = Network::of(doubled, Multiset).with_faults(faults);
        flawless(&name, &mut doubled);
    }
}
