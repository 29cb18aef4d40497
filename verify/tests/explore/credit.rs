//! Activities that spawn at each other's rank within bounds: no wait is for ever. The stack of a
//! worker, cancellation and the end are those of the tests over ranks.

use super::{LIMIT, flawless, report};
use std::time::Instant;
use tautline_core::Rank;
use tautline_core::finish::{Credit, CreditEvent, Ungranted};
use tautline_core::machine::{Action, Machine, Step, no_calls};
use tautline_verify::explore::{
    At, Checked, Delivery, Flaw, Network, Part, PartOf, Parts, View, explore,
};

/// Ranks whose bodies spawn at the next rank, where each activity spawns back.
#[derive(Clone, Copy, Debug)]
struct Spawning {
    ranks: u32,
    window: u64,
    /// Spawns of each body.
    spawns: u32,
    /// Spawns of each activity that a body has spawned.
    back: u32,
    fault: Option<Fault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Activities that have arrived wait for credit, too.
    ArrivalsWait,
    /// Bodies never wait.
    BodiesDoNot,
}

/// A rank's credit, and the activities that pass between it and others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Traffic {
    credit: Credit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    /// An activity of one byte, and whether a body has spawned it.
    Activity(bool),
    Grant(u64),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Spawn(Rank, bool),
    Taken(Rank),
}

#[derive(Clone, Copy, Debug)]
enum Effect {
    Arrived(Rank, bool),
}

impl Traffic {
    fn step<R>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Credit, &mut Step<'_, Credit>) -> R,
    ) -> R {
        let mut act = |action| match action {
            Action::Send(to, bytes) => step.send(to, Message::Grant(bytes)),
            // A body checks before each spawn.
            Action::Effect(_) => {}
        };
        take(&mut self.credit, &mut Step::new(no_calls(), &mut act))
    }
}

impl Machine for Traffic {
    type Peer = Rank;
    type Message = Message;
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Ungranted;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        let event = match event {
            Event::Spawn(to, is_first) => {
                step.send(to, Message::Activity(is_first));
                CreditEvent::Sent(to, 1)
            }
            Event::Taken(from) => CreditEvent::Taken(from, 1),
        };
        self.step(step, |credit, step| credit.event(event, step));
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Ungranted> {
        match message {
            Message::Activity(is_first) => {
                step.effect(Effect::Arrived(from, is_first));
                Ok(())
            }
            Message::Grant(bytes) => {
                self.step(step, |credit, step| credit.receive(from, bytes, step))
            }
        }
    }
}

/// The tasks of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Tasks {
    spawned: u32,
    /// Activities that have arrived and not run, with their senders.
    arrived: Vec<(Rank, bool)>,
    /// Spawns left to the one that runs, and its sender.
    runs: Option<(Rank, u32)>,
    ended: u32,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    SpawnNext,
    /// The next activity begins: it has been taken.
    Begin,
    /// The one that runs spawns back, or ends.
    Continue,
}

impl Spawning {
    fn next(&self, here: Rank) -> Rank {
        Rank((here.0 + 1) % self.ranks)
    }
}

impl Checked for Spawning {
    type Machine = Traffic;
    type Driver = Tasks;
    type Act = Act;
    type Ghost = ();

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, _: Rank) -> PartOf<Self> {
        let credit = Credit::new(self.ranks, self.window);
        Part {
            machine: Traffic { credit },
            driver: Tasks::default(),
        }
    }

    fn acts(&self, here: Rank, Part { machine, driver }: &PartOf<Self>, (): &()) -> Vec<Act> {
        let waits = |to| machine.credit.is_full(to);
        let next = self.next(here);
        let body_waits = waits(next) && self.fault != Some(Fault::BodiesDoNot);
        let spawns = driver.spawned < self.spawns && !body_waits;
        // One worker: an activity that waits keeps others from running.
        let begins = driver.runs.is_none() && !driver.arrived.is_empty();
        let continues = driver.runs.is_some_and(|(to, left)| {
            left == 0 || self.fault != Some(Fault::ArrivalsWait) || !waits(to)
        });
        let acts = [
            (spawns, Act::SpawnNext),
            (begins, Act::Begin),
            (continues, Act::Continue),
        ];
        let possible = acts.into_iter().filter(|(is_possible, _)| *is_possible);
        possible.map(|(_, act)| act).collect()
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event> {
        let driver = &mut *at.driver;
        match act {
            Act::SpawnNext => {
                driver.spawned += 1;
                Some(Event::Spawn(self.next(at.here), true))
            }
            Act::Begin => {
                let (from, is_first) = driver.arrived.remove(0);
                driver.runs = Some((from, if is_first { self.back } else { 0 }));
                Some(Event::Taken(from))
            }
            Act::Continue => {
                let (from, left) = driver.runs.take()?;
                let Some(left) = left.checked_sub(1) else {
                    driver.ended += 1;
                    return None;
                };
                driver.runs = Some((from, left));
                Some(Event::Spawn(from, false))
            }
        }
    }

    fn calls(_: &mut Tasks) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Traffic, effect: Effect) -> Option<Event> {
        let Effect::Arrived(from, is_first) = effect;
        at.driver.arrived.push((from, is_first));
        None
    }

    /// Bodies keep to the window between each two ranks: beyond it are only activities of
    /// activities.
    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let beyond = (0..self.ranks).map(Rank).find(|from| {
            let to = self.next(*from);
            let of_bodies = view.parcels.iter().filter(|parcel| {
                let is_between = (parcel.from.0, parcel.to.0) == (from.0, to.0);
                is_between && parcel.message == Some(Message::Activity(true))
            });
            let arrived = &view.sites[to.index()].driver.arrived;
            let arrived = arrived.iter().filter(|arrived| **arrived == (*from, true));
            (of_bodies.count() + arrived.count()) as u64 > self.window
        });
        beyond.map(|_| Flaw::Repeated)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let each = self.spawns * (1 + self.back);
        let ended: u32 = view.sites.iter().map(|part| part.driver.ended).sum();
        ended == self.ranks * each
    }
}

const TWO: Spawning = Spawning {
    ranks: 2,
    window: 1,
    spawns: 2,
    back: 2,
    fault: None,
};

/// Whatever the order: all activities run.
#[test]
fn activities_that_spawn_at_each_other_end() {
    for (ranks, window, spawns, back, floor) in [
        (2, 1, 2, 2, 23_418),
        (2, 2, 3, 1, 60_366),
        (2, 8, 3, 2, 1_355_708),
        (3, 1, 2, 1, 656_776),
    ] {
        let began = Instant::now();
        let name = format!("credit-p{ranks}-w{window}-n{spawns}-b{back}");
        let spawning = Spawning {
            ranks,
            window,
            spawns,
            back,
            fault: None,
        };
        let mut system = Network::of(spawning, Delivery::Channels);
        report(&name, flawless(&name, &mut system), floor, began);
    }
}

#[test]
fn faults_in_credit_are_found() {
    for (fault, flaw) in [
        (Fault::ArrivalsWait, Flaw::Stuck),
        (Fault::BodiesDoNot, Flaw::Repeated),
    ] {
        let fault = Some(fault);
        let found = explore(
            &mut Network::of(Spawning { fault, ..TWO }, Delivery::Channels),
            LIMIT,
        )
        .found;
        let found = found.expect("the fault must show");
        assert_eq!(found.0, flaw, "{fault:?}\n{}", found.1);
    }
}
