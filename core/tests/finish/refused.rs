//! Messages that no correct place sends.

use super::*;

#[test]
fn false_messages_are_refused() {
    let at = PlaceId;
    let mut world = World::new(7, 2);
    let id = world.at(0, |place, step| place.open(None, step));
    world.spawn(id, 0, 1);
    let never = FinishId {
        root: at(0),
        number: 9,
    };
    let report = |parts: &[(u32, u64)], counts: &[(u32, i64)]| Combined {
        parts: parts.iter().map(|&(p, n)| (at(p), n)).collect(),
        counts: counts.iter().map(|&(p, n)| (at(p), n)).collect(),
        ..Combined::default()
    };
    let later = Combined {
        epoch: 1,
        ..report(&[(1, 1)], &[])
    };
    let elsewhere = Outcome::Cancelled {
        at: at(9),
        reason: Reason::Found,
    };
    let false_rank = Outcome::Lost {
        at: at(1),
        rank: Rank(5),
    };
    let before = world.places[0].clone();
    for (from, message, kind) in [
        (7, Message::Over(id), Refusal::Place(at(7))),
        (
            1,
            Message::Over(FinishId {
                root: at(8),
                number: 0,
            }),
            Refusal::Place(at(8)),
        ),
        (1, Message::Over(id), Refusal::NotFromHome(id)),
        (
            1,
            Message::Cancel(never, cancelled(1)),
            Refusal::Unknown(never),
        ),
        (
            1,
            Message::Fail(never, cancelled(1)),
            Refusal::Unknown(never),
        ),
        (1, Message::Fail(id, elsewhere), Refusal::Place(at(9))),
        (1, Message::Fail(id, false_rank), Refusal::Place(at(1))),
        (1, Message::Recount(id, vec![]), Refusal::NotFromHome(id)),
        (
            1,
            Message::Report(never, report(&[(1, 1)], &[])),
            Refusal::Unknown(never),
        ),
        (
            1,
            Message::Report(id, report(&[], &[])),
            Refusal::Path(at(1)),
        ),
        (
            3,
            Message::Report(id, report(&[(3, 1)], &[])),
            Refusal::Path(at(3)),
        ),
        (
            1,
            Message::Report(id, report(&[(5, 1)], &[])),
            Refusal::Path(at(5)),
        ),
        (
            1,
            Message::Report(id, report(&[(1, 0)], &[])),
            Refusal::Doubled(at(1), 0),
        ),
        (
            1,
            Message::Report(id, report(&[(9, 1)], &[])),
            Refusal::Place(at(9)),
        ),
        (
            1,
            Message::Report(id, report(&[(1, 2), (1, 1)], &[])),
            Refusal::Order,
        ),
        (
            1,
            Message::Report(id, report(&[(1, 1)], &[(2, 1), (2, 1)])),
            Refusal::Order,
        ),
        (
            1,
            Message::Report(id, report(&[(1, 1)], &[(2, -1)])),
            Refusal::EndedElsewhere(at(2)),
        ),
        (
            1,
            Message::Report(id, report(&[(1, 1)], &[(1, i64::MAX)])),
            Refusal::Overflow(at(1)),
        ),
        (1, Message::Report(id, later), Refusal::Epoch(1)),
    ] {
        let shown = format!("{message:?}");
        let error = world.at(0, |place, step| place.receive(at(from), message, step));
        let error = error.expect_err(&shown);
        assert_eq!(error, kind, "{shown}");
        assert_eq!(world.places[0], before, "{shown}");
    }
    let to_member = [
        (0, Message::Over(id), Refusal::Running(id)),
        (0, Message::Over(never), Refusal::Unknown(never)),
        (2, Message::Fail(id, cancelled(2)), Refusal::NotHome),
        (0, Message::Recount(id, vec![at(1)]), Refusal::Place(at(1))),
        (0, Message::Recount(id, vec![at(3), at(2)]), Refusal::Order),
    ];
    for (from, message, kind) in to_member {
        let error = world.at(1, |place, step| place.receive(at(from), message, step));
        assert_eq!(error, Err(kind));
    }
}

/// A report that conceals an activity cannot end the finish while that one runs at the home.
#[test]
fn a_false_report_ends_no_finish_that_runs() {
    let mut world = World::new(2, 1);
    let id = world.at(0, |place, step| place.open(None, step));
    world.spawn(id, 0, 1);
    world.quiet(id, 0);
    world.spawn(id, 1, 0);
    let report = Combined {
        parts: vec![(PlaceId(1), 1)],
        counts: vec![(PlaceId(1), -1)],
        ..Combined::default()
    };
    let message = Message::Report(id, report);
    let received = world.at(0, |place, step| place.receive(PlaceId(1), message, step));
    assert_eq!(received, Err(Refusal::Running(id)));
    let spawned = world.at(0, |place, step| place.spawned(id, PlaceId(1), step));
    assert_eq!(spawned, Spawn::Counted);
    world.quiet(id, 0);
    assert!(world.done.is_empty());
}

/// Random messages, most of them nearly right, to places in the middle of a run: no panic.
#[test]
fn malformed_messages_do_no_harm() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    for _ in 0..2_000 {
        let mut world = World::new(5, 1 + random(3) as u32);
        let first = world.at(0, |place, step| place.open(None, step));
        world.spawn(first, 0, 1);
        let nested = world.at(1, |place, step| place.open(Some(first), step));
        world.spawn(nested, 1, 3);
        world.quiet(nested, 1);
        world.quiet(nested, 3);
        for _ in 0..30 {
            let place = |random: &mut dyn FnMut(u64) -> u64| PlaceId(random(6) as u32);
            let root = place(&mut random);
            let id = FinishId {
                root,
                number: random(2),
            };
            let extreme = [i64::MIN, i64::MAX, i64::MAX / 2, -1, 1, 0][random(6) as usize];
            let outcome = match random(3) {
                0 => Outcome::Lost {
                    at: place(&mut random),
                    rank: Rank(random(6) as u32),
                },
                1 => panicked(random(6) as u32),
                _ => cancelled(random(6) as u32),
            };
            let message = match random(8) {
                0 => Message::Fail(id, outcome),
                1 => Message::Cancel(id, outcome),
                2 => Message::Over(id),
                3 => Message::Recount(id, vec![place(&mut random)]),
                _ => Message::Report(
                    id,
                    Combined {
                        epoch: (random(8) / 6) as u32,
                        parts: vec![(place(&mut random), random(3))],
                        counts: vec![(place(&mut random), extreme)],
                        outcome: (random(4) == 0).then_some(outcome),
                    },
                ),
            };
            let (from, to) = (place(&mut random), random(5) as u32);
            // Refused or not, the place continues.
            let _ = world.at(to, |place, step| place.receive(from, message, step));
            let _ = world.at(to, |place, step| place.arrived(id, from, step));
            world.event(to, Event::Flush);
            if let Some((from, to, message)) = world.mail.pop_front()
                && to.index() < world.places.len()
            {
                let _ = world.at(to.0, |place, step| place.receive(from, message, step));
            }
        }
    }
}
