//! Finishes over places, with all messages delivered at once or as the test chooses.

use std::collections::VecDeque;
use tautline_core::finish::{
    Actions, Arrival, Combined, FinishId, Finishes, Message, Outcome, PeerErrorKind, Reason, Spawn,
};
use tautline_core::{PlaceId, Rank};

/// What the place that runs at the moment has done.
#[derive(Default)]
struct Around {
    sent: Vec<(PlaceId, Message)>,
    cancelled: Vec<FinishId>,
    done: Vec<(FinishId, Option<Outcome>)>,
}

impl Actions for Around {
    fn send(&mut self, to: PlaceId, message: Message) {
        self.sent.push((to, message));
    }
    fn cancel(&mut self, id: FinishId, _: &Outcome) {
        self.cancelled.push(id);
    }
    fn done(&mut self, id: FinishId, outcome: Option<Outcome>) {
        self.done.push((id, outcome));
    }
}

/// Places whose control messages are delivered in the order in which they were sent.
struct World {
    places: Vec<Finishes>,
    mail: VecDeque<(PlaceId, PlaceId, Message)>,
    done: Vec<(FinishId, Option<Outcome>)>,
    cancelled: Vec<(PlaceId, FinishId)>,
    reports: usize,
}

impl World {
    fn new(places: u32, radix: u32) -> Self {
        let place = |at| Finishes::with_radix(PlaceId(at), places, radix);
        Self {
            places: (0..places).map(place).collect(),
            mail: VecDeque::new(),
            done: Vec::new(),
            cancelled: Vec::new(),
            reports: 0,
        }
    }

    fn at<R>(&mut self, here: u32, act: impl FnOnce(&mut Finishes, &mut Around) -> R) -> R {
        let mut around = Around::default();
        let result = act(&mut self.places[here as usize], &mut around);
        let here = PlaceId(here);
        self.mail.extend(
            around
                .sent
                .into_iter()
                .map(|(to, message)| (here, to, message)),
        );
        self.cancelled
            .extend(around.cancelled.into_iter().map(|id| (here, id)));
        self.done.extend(around.done);
        result
    }

    /// Spawns at `to`, where the activity begins at once.
    fn spawn(&mut self, id: FinishId, from: u32, to: u32) {
        let spawned = self.at(from, |place, out| place.spawned(id, PlaceId(to), out));
        assert_eq!(spawned, Spawn::Counted);
        let arrived = self.at(to, |place, out| place.arrived(id, PlaceId(from), out));
        assert_eq!(arrived, Ok(Arrival::Run));
    }

    fn quiet(&mut self, id: FinishId, here: u32) {
        self.at(here, |place, out| place.quiet(id, out));
    }

    /// Delivers everything; each place forwards reports after all messages that were under way.
    fn settle(&mut self) {
        loop {
            for here in 0..self.places.len() as u32 {
                self.at(here, |place, out| place.flush(out));
            }
            if self.mail.is_empty() {
                return;
            }
            for (from, to, message) in std::mem::take(&mut self.mail) {
                self.reports += usize::from(matches!(message, Message::Report(..)));
                let taken = self.at(to.0, |place, out| place.on(from, message, out));
                assert_eq!(taken, Ok(()));
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.places.iter().all(Finishes::is_empty)
    }
}

fn cancelled(at: u32) -> Outcome {
    let reason = Reason::Found;
    Outcome::Cancelled {
        at: PlaceId(at),
        reason,
    }
}

fn panicked(at: u32) -> Outcome {
    let message = "no".into();
    Outcome::Panicked {
        at: PlaceId(at),
        message,
    }
}

#[test]
fn any_place_is_a_home() {
    for home in 0..5 {
        let mut world = World::new(5, 2);
        let id = world.at(home, |place, out| place.open(None, out));
        for to in (0..5).filter(|to| *to != home) {
            world.spawn(id, home, to);
        }
        world.quiet(id, home);
        world.settle();
        for here in (0..5).filter(|here| *here != home) {
            assert!(world.done.is_empty());
            world.quiet(id, here);
            world.settle();
        }
        assert_eq!(world.done, [(id, None)]);
        assert!(world.is_empty(), "nothing is kept");
    }
}

/// Reports of 40 places that end together pass 4 at the top: one message from each place.
#[test]
fn reports_are_combined() {
    let mut world = World::new(41, 4);
    let id = world.at(0, |place, out| place.open(None, out));
    for to in 1..41 {
        world.spawn(id, 0, to);
    }
    world.quiet(id, 0);
    for here in 5..41 {
        world.quiet(id, here);
    }
    world.settle();
    let below = world.reports;
    for here in 1..5 {
        world.quiet(id, here);
    }
    world.settle();
    assert_eq!(world.reports - below, 4);
    assert_eq!(world.done, [(id, None)]);
    assert!(world.is_empty());
}

/// The last report may arrive after quiet spells and new arrivals: numbers continue.
#[test]
fn a_place_may_begin_again() {
    let mut world = World::new(3, 3);
    let id = world.at(1, |place, out| place.open(None, out));
    for _ in 0..3 {
        world.spawn(id, 1, 2);
        world.spawn(id, 2, 0);
        world.quiet(id, 2);
        world.settle();
        world.quiet(id, 0);
        world.settle();
    }
    assert!(world.done.is_empty());
    world.quiet(id, 1);
    world.settle();
    assert_eq!(world.done, [(id, None)]);
    assert!(world.is_empty());
}

#[test]
fn cancellation_reaches_all_that_took_part() {
    let mut world = World::new(4, 4);
    let id = world.at(0, |place, out| place.open(None, out));
    world.spawn(id, 0, 1);
    world.spawn(id, 1, 2);
    world.at(2, |place, out| place.fail(id, cancelled(2), out));
    // Spawned before place 1 is informed, arrives after place 3 was.
    assert_eq!(
        world.at(1, |place, out| place.spawned(id, PlaceId(3), out)),
        Spawn::Counted
    );
    world.settle();
    let mut places: Vec<_> = world.cancelled.iter().map(|(at, _)| at.0).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3]);
    let late = world.at(3, |place, out| place.arrived(id, PlaceId(1), out));
    assert_eq!(late, Ok(Arrival::Skip));
    let refused = world.at(1, |place, out| place.spawned(id, PlaceId(2), out));
    assert_eq!(refused, Spawn::Refused(cancelled(2)));
    for here in [0, 1, 2] {
        world.quiet(id, here);
    }
    world.settle();
    assert_eq!(world.done, [(id, Some(cancelled(2)))]);
    assert!(world.is_empty());
}

/// Whichever report comes first, a panic precedes a cancellation and a lower place a higher one.
#[test]
fn the_outcome_does_not_depend_on_the_order() {
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
        let mut world = World::new(4, 4);
        let id = world.at(0, |place, out| place.open(None, out));
        for to in 1..4 {
            world.spawn(id, 0, to);
        }
        world.quiet(id, 0);
        for here in order {
            let outcome = if here == 1 {
                cancelled(here)
            } else {
                panicked(here)
            };
            world.at(here, |place, out| place.fail(id, outcome, out));
            world.settle();
        }
        for here in order {
            world.quiet(id, here);
        }
        world.settle();
        assert_eq!(world.done, [(id, Some(panicked(2)))]);
        assert!(world.is_empty());
    }
}

#[test]
fn a_nested_finish_is_cancelled_with_the_outer_one() {
    let mut world = World::new(3, 3);
    let outer = world.at(0, |place, out| place.open(None, out));
    world.spawn(outer, 0, 1);
    let inner = world.at(1, |place, out| place.open(Some(outer), out));
    world.spawn(inner, 1, 2);
    world.at(0, |place, out| place.fail(outer, cancelled(0), out));
    world.settle();
    assert!(world.cancelled.contains(&(PlaceId(2), inner)));
    world.quiet(inner, 2);
    world.quiet(inner, 1);
    world.settle();
    world.quiet(outer, 1);
    world.quiet(outer, 0);
    world.settle();
    let outcome = Some(cancelled(0));
    assert_eq!(world.done, [(inner, outcome.clone()), (outer, outcome)]);
    assert!(world.is_empty());
}

#[test]
fn a_lost_place_ends_the_finish_with_its_loss() {
    let mut world = World::new(4, 1);
    let id = world.at(0, |place, out| place.open(None, out));
    let spared = world.at(0, |place, out| place.open(None, out));
    world.spawn(id, 0, 2);
    world.spawn(id, 2, 3);
    world.spawn(spared, 0, 3);
    world.quiet(id, 3);
    world.quiet(spared, 3);
    // The reports of place 3 pass place 2, which is lost.
    world.at(3, |place, out| place.flush(out));
    world.mail.clear();
    for here in [0, 1, 3] {
        world.at(here, |place, out| place.lost(PlaceId(2), Rank(1), out));
    }
    world.places[2] = Finishes::new(PlaceId(2), 4);
    world.quiet(id, 0);
    world.quiet(spared, 0);
    world.mail.retain(|(_, to, _)| *to != PlaceId(2));
    world.settle();
    let outcome = Outcome::Lost {
        at: PlaceId(2),
        rank: Rank(1),
    };
    world.done.sort_by_key(|(id, _)| *id);
    assert_eq!(world.done, [(id, Some(outcome)), (spared, None)]);
    assert!(world.is_empty());
}

#[test]
fn false_messages_name_the_peer() {
    let at = PlaceId;
    let mut world = World::new(7, 2);
    let id = world.at(0, |place, out| place.open(None, out));
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
    let before = world.places[0].clone();
    for (from, message, kind) in [
        (7, Message::Over(id), PeerErrorKind::Place(at(7))),
        (
            1,
            Message::Over(FinishId {
                root: at(8),
                number: 0,
            }),
            PeerErrorKind::Place(at(8)),
        ),
        (1, Message::Over(id), PeerErrorKind::NotFromHome(id)),
        (
            1,
            Message::Cancel(never, cancelled(1)),
            PeerErrorKind::Unknown(never),
        ),
        (
            1,
            Message::Fail(never, cancelled(1)),
            PeerErrorKind::Unknown(never),
        ),
        (1, Message::Fail(id, elsewhere), PeerErrorKind::Place(at(9))),
        (
            1,
            Message::Recount(id, vec![]),
            PeerErrorKind::NotFromHome(id),
        ),
        (
            1,
            Message::Report(never, report(&[(1, 1)], &[])),
            PeerErrorKind::Unknown(never),
        ),
        (
            1,
            Message::Report(id, report(&[], &[])),
            PeerErrorKind::Path(at(1)),
        ),
        (
            3,
            Message::Report(id, report(&[(3, 1)], &[])),
            PeerErrorKind::Path(at(3)),
        ),
        (
            1,
            Message::Report(id, report(&[(5, 1)], &[])),
            PeerErrorKind::Path(at(5)),
        ),
        (
            1,
            Message::Report(id, report(&[(1, 0)], &[])),
            PeerErrorKind::Doubled(at(1), 0),
        ),
        (
            1,
            Message::Report(id, report(&[(9, 1)], &[])),
            PeerErrorKind::Place(at(9)),
        ),
        (
            1,
            Message::Report(id, report(&[(1, 2), (1, 1)], &[])),
            PeerErrorKind::Order,
        ),
        (
            1,
            Message::Report(id, report(&[(1, 1)], &[(2, 1), (2, 1)])),
            PeerErrorKind::Order,
        ),
        (
            1,
            Message::Report(id, report(&[(1, 1)], &[(2, -1)])),
            PeerErrorKind::EndedElsewhere(at(2)),
        ),
        (
            1,
            Message::Report(id, report(&[(1, 1)], &[(1, i64::MAX)])),
            PeerErrorKind::Overflow(at(1)),
        ),
        (1, Message::Report(id, later), PeerErrorKind::Epoch(1)),
    ] {
        let shown = format!("{message:?}");
        let error = world.at(0, |place, out| place.on(at(from), message, out));
        let error = error.expect_err(&shown);
        assert_eq!((error.from, error.kind), (at(from), kind), "{shown}");
        assert!(error.to_string().contains(&format!("place {from}")));
        assert_eq!(world.places[0], before, "{shown}");
    }
    let to_member = [
        (0, Message::Over(id), PeerErrorKind::Running(id)),
        (0, Message::Over(never), PeerErrorKind::Unknown(never)),
        (2, Message::Fail(id, cancelled(2)), PeerErrorKind::NotHome),
        (
            0,
            Message::Recount(id, vec![(at(1), Rank(1))]),
            PeerErrorKind::Place(at(1)),
        ),
        (
            0,
            Message::Recount(id, vec![(at(3), Rank(1)), (at(2), Rank(1))]),
            PeerErrorKind::Order,
        ),
    ];
    for (from, message, kind) in to_member {
        let error = world.at(1, |place, out| place.on(at(from), message, out));
        assert_eq!(
            error.map_err(|error| (error.from, error.kind)),
            Err((at(from), kind))
        );
    }
}

/// Random messages, most of them nearly right, to places in the middle of a run: no panic.
#[test]
fn garbled_messages_do_no_harm() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    for _ in 0..2_000 {
        let mut world = World::new(5, 1 + random(3) as u32);
        let first = world.at(0, |place, out| place.open(None, out));
        world.spawn(first, 0, 1);
        let nested = world.at(1, |place, out| place.open(Some(first), out));
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
                    rank: Rank(1),
                },
                1 => panicked(random(6) as u32),
                _ => cancelled(random(6) as u32),
            };
            let message = match random(8) {
                0 => Message::Fail(id, outcome),
                1 => Message::Cancel(id, outcome),
                2 => Message::Over(id),
                3 => Message::Recount(id, vec![(place(&mut random), Rank(7))]),
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
            let _ = world.at(to, |place, out| place.on(from, message, out));
            let _ = world.at(to, |place, out| place.arrived(id, from, out));
            world.at(to, |place, out| place.flush(out));
            if let Some((from, to, message)) = world.mail.pop_front()
                && to.index() < world.places.len()
            {
                let _ = world.at(to.0, |place, out| place.on(from, message, out));
            }
        }
    }
}
