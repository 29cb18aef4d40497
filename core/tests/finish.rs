//! The finish, on one thread.

#[path = "finish/places.rs"]
mod places;

use tautline_core::PlaceId;
use tautline_core::finish::{Counter, End, Home, Ledger, Refusal, Report};

#[test]
fn counter_ends_once() {
    let finish = Counter::new();
    finish.spawn();
    finish.spawn();
    assert_eq!([finish.end(), finish.end()], [End::More; 2]);
    assert!(!finish.is_done());
    assert_eq!(finish.end(), End::Last);
    assert!(finish.is_done());
}

/// The last activity to end learns whether the owner sleeps; an owner that is too late does not
/// sleep.
#[test]
fn counter_wakes_its_owner() {
    let finish = Counter::new();
    assert!(finish.sleep());
    assert_eq!(finish.end(), End::Wake);
    assert!(finish.is_done() && !finish.sleep());
}

#[test]
fn ledger_sends_only_what_changed() {
    let mut ledger = Ledger::new(PlaceId(1));
    ledger.spawned(PlaceId(2));
    ledger.spawned(PlaceId(2));
    ledger.spawned(PlaceId(1));
    ledger.ended();
    let report = ledger.report();
    assert_eq!(
        report,
        Report {
            number: 1,
            counts: vec![(PlaceId(2), 2)]
        },
        "zeros are not sent"
    );
    ledger.ended();
    assert_eq!(
        ledger.report(),
        Report {
            number: 2,
            counts: vec![(PlaceId(1), -1)]
        }
    );
}

/// A spawn that is reported after its end keeps the finish open, in either order.
#[test]
fn home_waits_for_both_sides() {
    let root = Report {
        number: 1,
        counts: vec![(PlaceId(0), -1), (PlaceId(1), 1)],
    };
    let child = Report {
        number: 1,
        counts: vec![(PlaceId(1), -1)],
    };
    for child_first in [false, true] {
        let mut home = Home::new(PlaceId::HOME, 2);
        let mut reports = [(PlaceId(0), root.clone()), (PlaceId(1), child.clone())];
        if child_first {
            reports.reverse();
        }
        let [first, second] = reports;
        assert!(home.on(first.0, first.1) == Ok(false) && !home.is_done());
        assert!(home.on(second.0, second.1) == Ok(true) && home.is_done());
    }
}

/// The history at the head of the module: later reports cancel out while u still runs at place 3.
#[test]
fn overtaking_reports_do_not_end_early() {
    let at = PlaceId;
    let report = |number, counts: &[(u32, i64)]| {
        let counts = counts.iter().map(|&(q, n)| (at(q), n)).collect();
        Report { number, counts }
    };
    let mut home = Home::new(PlaceId::HOME, 4);
    assert_eq!(
        home.on(at(0), report(1, &[(0, -1), (1, 1)])),
        Ok(false),
        "the root spawned x at 1"
    );
    assert_eq!(
        home.on(at(1), report(2, &[(1, -1), (2, 1)])),
        Ok(false),
        "y at 1 spawned v at 2"
    );
    assert_eq!(
        home.on(at(2), report(2, &[(2, -1)])),
        Ok(false),
        "v ended; the sums are zero, two reports are missing"
    );
    assert_eq!(
        home.on(at(1), report(1, &[(1, -1), (2, 1)])),
        Ok(false),
        "x at 1 spawned w at 2"
    );
    assert_eq!(
        home.on(at(2), report(1, &[(2, -1), (1, 1), (3, 1)])),
        Ok(false),
        "w at 2 spawned y at 1 and u at 3"
    );
    assert_eq!(home.on(at(3), report(1, &[(3, -1)])), Ok(true), "u ended");
}

/// Everything that no correct place sends is refused, and leaves the sums as they were.
#[test]
fn home_refuses_false_reports() {
    let at = PlaceId;
    let report = |number, counts: &[(u32, i64)]| {
        let counts = counts.iter().map(|&(q, n)| (at(q), n)).collect();
        Report { number, counts }
    };
    let mut home = Home::new(PlaceId::HOME, 3);
    assert_eq!(
        home.on(at(0), report(2, &[(0, -1), (1, 1), (2, 1)])),
        Ok(false)
    );
    let before = home.clone();
    for (from, report, kind) in [
        (3, report(1, &[]), Refusal::Place(at(3))),
        (u32::MAX, report(1, &[]), Refusal::Place(at(u32::MAX))),
        (1, report(1, &[(7, 1)]), Refusal::Place(at(7))),
        (
            1,
            report(1, &[(1, -1), (2, -1)]),
            Refusal::EndedElsewhere(at(2)),
        ),
        (1, report(0, &[]), Refusal::Doubled(at(1), 0)),
        (0, report(2, &[]), Refusal::Doubled(at(0), 2)),
        (
            1,
            report(1, &[(0, 4), (1, i64::MAX)]),
            Refusal::Overflow(at(1)),
        ),
        (
            1,
            report(1, &[(0, 4), (1, i64::MIN)]),
            Refusal::Overflow(at(1)),
        ),
        (
            1,
            report(1, &[(2, 1 << 62), (2, 1 << 62)]),
            Refusal::Overflow(at(2)),
        ),
    ] {
        let error = home.on(at(from), report).expect_err("refused");
        assert_eq!(error, kind);
        assert_eq!(home, before);
    }
    // A number that leaves a gap of any size is possible, and keeps the finish open.
    assert_eq!(home.on(at(1), report(u64::MAX, &[(1, -1)])), Ok(false));
    assert_eq!(home.on(at(1), report(1 << 40, &[])), Ok(false));
    assert!(home.on(at(1), report(1 << 40, &[])).is_err());
    assert_eq!(home.on(at(2), report(1, &[(2, -1)])), Ok(false));
}
