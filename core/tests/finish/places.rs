//! Finishes over places, with all messages delivered at once or as the test chooses.

mod refused;

use std::collections::VecDeque;
use tautline_core::finish::{
    Arrival, Combined, Effect, Event, FinishId, Finishes, Message, Outcome, Reason, Refusal, Spawn,
};
use tautline_core::machine::{Action, Machine, Step, Tolerance};
use tautline_core::{Layout, PlaceId, Rank};

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
        let layout = Layout::new(places, 1);
        let place = |at| Finishes::with_radix(PlaceId(at), layout, radix);
        Self {
            places: (0..places).map(place).collect(),
            mail: VecDeque::new(),
            done: Vec::new(),
            cancelled: Vec::new(),
            reports: 0,
        }
    }

    fn at<R>(
        &mut self,
        here: u32,
        take: impl FnOnce(&mut Finishes, &mut Step<'_, Finishes>) -> R,
    ) -> R {
        let (place, here) = (&mut self.places[here as usize], PlaceId(here));
        let mut act = |action: Action<Finishes>| match action {
            Action::Send(to, message) => self.mail.push_back((here, to, message)),
            Action::Effect(Effect::Cancel(id, _)) => self.cancelled.push((here, id)),
            Action::Effect(Effect::Done(id, outcome)) => self.done.push((id, outcome)),
        };
        take(place, &mut Step::new(&mut (), &mut act))
    }

    fn event(&mut self, here: u32, event: Event) {
        self.at(here, |place, step| place.event(event, step));
    }

    /// Spawns at `to`, where the activity begins at once.
    fn spawn(&mut self, id: FinishId, from: u32, to: u32) {
        let spawned = self.at(from, |place, step| place.spawned(id, PlaceId(to), step));
        assert_eq!(spawned, Spawn::Counted);
        let arrived = self.at(to, |place, step| place.arrived(id, PlaceId(from), step));
        assert_eq!(arrived, Ok(Arrival::Run));
    }

    fn quiet(&mut self, id: FinishId, here: u32) {
        self.event(here, Event::Quiet(id));
    }

    /// Delivers everything; each place forwards reports after all messages that were in flight.
    fn settle(&mut self) {
        loop {
            for here in 0..self.places.len() as u32 {
                self.event(here, Event::Flush);
            }
            if self.mail.is_empty() {
                return;
            }
            for (from, to, message) in std::mem::take(&mut self.mail) {
                self.reports += usize::from(matches!(message, Message::Report(..)));
                let taken = self.at(to.0, |place, step| place.receive(from, message, step));
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
        let id = world.at(home, |place, step| place.open(None, step));
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
    let id = world.at(0, |place, step| place.open(None, step));
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

/// The home knows the activities that it waits for as far as they are reported, and its own at
/// once.
#[test]
fn a_home_counts_the_activities_that_it_awaits() {
    let awaited = |world: &World, id| {
        let counts = world.places[1].awaited(id).into_iter();
        counts.map(|(at, count)| (at.0, count)).collect::<Vec<_>>()
    };
    let mut world = World::new(4, 8);
    let id = world.at(1, |place, step| place.open(None, step));
    assert_eq!(awaited(&world, id), [(1, 1)]);
    world.spawn(id, 1, 2);
    world.spawn(id, 1, 2);
    world.spawn(id, 1, 3);
    assert_eq!(awaited(&world, id), [(1, 1), (2, 2), (3, 1)]);
    world.spawn(id, 2, 0);
    // What place 2 has spawned is not reported.
    assert_eq!(awaited(&world, id), [(1, 1), (2, 2), (3, 1)]);
    world.quiet(id, 2);
    world.settle();
    assert_eq!(awaited(&world, id), [(0, 1), (1, 1), (3, 1)]);
    assert_eq!(world.places[0].awaited(id), [], "it is no home");
    assert!(world.places[0].is_active(id) && !world.places[2].is_active(id));
    world.quiet(id, 1);
    assert_eq!(awaited(&world, id), [(0, 1), (3, 1)]);
    // An activity at the home, whose spawn is reported before it arrives.
    let spawned = world.at(3, |place, step| place.spawned(id, PlaceId(1), step));
    assert_eq!(spawned, Spawn::Counted);
    world.quiet(id, 3);
    world.settle();
    assert_eq!(awaited(&world, id), [(0, 1), (1, 1)]);
    let arrived = world.at(1, |place, step| place.arrived(id, PlaceId(3), step));
    assert_eq!(arrived, Ok(Arrival::Run));
    assert_eq!(awaited(&world, id), [(0, 1), (1, 1)]);
    world.quiet(id, 1);
    world.quiet(id, 0);
    assert_eq!(awaited(&world, id), [(0, 1)]);
    world.settle();
    assert_eq!(awaited(&world, id), []);
    assert_eq!(world.done, [(id, None)]);
}

/// The last report may arrive after quiet spells and new arrivals: numbers continue.
#[test]
fn a_place_may_begin_again() {
    let mut world = World::new(3, 3);
    let id = world.at(1, |place, step| place.open(None, step));
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
    let id = world.at(0, |place, step| place.open(None, step));
    world.spawn(id, 0, 1);
    world.spawn(id, 1, 2);
    world.event(2, Event::Fail(id, cancelled(2)));
    // Spawned before place 1 is informed, arrives after place 3 was.
    assert_eq!(
        world.at(1, |place, step| place.spawned(id, PlaceId(3), step)),
        Spawn::Counted
    );
    world.settle();
    let mut places: Vec<_> = world.cancelled.iter().map(|(at, _)| at.0).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3]);
    let late = world.at(3, |place, step| place.arrived(id, PlaceId(1), step));
    assert_eq!(late, Ok(Arrival::Skip));
    let refused = world.at(1, |place, step| place.spawned(id, PlaceId(2), step));
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
        let id = world.at(0, |place, step| place.open(None, step));
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
            world.event(here, Event::Fail(id, outcome));
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
    let outer = world.at(0, |place, step| place.open(None, step));
    world.spawn(outer, 0, 1);
    let inner = world.at(1, |place, step| place.open(Some(outer), step));
    world.spawn(inner, 1, 2);
    world.event(0, Event::Fail(outer, cancelled(0)));
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
    let id = world.at(0, |place, step| place.open(None, step));
    let spared = world.at(0, |place, step| place.open(None, step));
    world.spawn(id, 0, 2);
    world.spawn(id, 2, 3);
    world.spawn(spared, 0, 3);
    world.quiet(id, 3);
    world.quiet(spared, 3);
    // The reports of place 3 pass place 2, which is lost.
    world.event(3, Event::Flush);
    world.mail.clear();
    for here in [0, 1, 3] {
        let tolerance = world.at(here, |place, step| place.lost(PlaceId(2), step));
        assert_eq!(tolerance, Tolerance::Tolerated);
    }
    world.places[2] = Finishes::new(PlaceId(2), Layout::new(4, 1));
    // The body, and the places that must report.
    let counts = [(0, 1), (1, 0), (3, 1)].map(|(at, count)| (PlaceId(at), count));
    assert_eq!(world.places[0].awaited(spared), counts);
    world.quiet(id, 0);
    world.quiet(spared, 0);
    world.mail.retain(|(_, to, _)| *to != PlaceId(2));
    world.settle();
    let outcome = Outcome::Lost {
        at: PlaceId(2),
        rank: Rank(2),
    };
    world.done.sort_by_key(|(id, _)| *id);
    assert_eq!(world.done, [(id, Some(outcome)), (spared, None)]);
    assert!(world.is_empty());
}
