//! Models of the workers of one place: the code that ships, on loom's threads.
//!
//! Work that is lost, or a wake-up that is lost, leaves a worker parked for ever, which loom reports
//! as a deadlock.
#![cfg(tautline_loom)]

use loom::sync::Notify;
use loom::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use loom::thread;
use std::sync::Arc;
use tautline_core::finish::Report;
use tautline_core::glb::{Bag, Config, Control, Fairness, Message, Share, Team, Worker};
use tautline_core::lifeline::Graph;
use tautline_core::port::{Clock, Park, Relax, Transport};
use tautline_core::sync::Permit;
use tautline_core::tuning::Tuning;
use tautline_core::{PlaceId, WorkerId};
use tautline_verify::model::{Model, Turns};

/// A number of equal tasks.
struct Units(usize);

impl Bag for Units {
    /// Tasks done so far; loom need not know.
    type Shared = Arc<std::sync::atomic::AtomicUsize>;
    type Output = ();
    fn process(&mut self, n: usize, worked: &Self::Shared) -> usize {
        let done = n.min(self.0);
        worked.fetch_add(done, std::sync::atomic::Ordering::Relaxed);
        self.0 -= done;
        done
    }
    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0);
        self.0 -= taken;
        (taken > 0).then_some(Self(taken))
    }
    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }
    fn len(&self) -> usize {
        self.0
    }
    fn submit(self, (): &mut ()) {}
}

/// The home place, and another place of which only the messages are there.
struct World {
    team: Team<Units>,
    control: Control,
    closed: AtomicBool,
    worked: <Units as Bag>::Shared,
    /// Tasks in all: an end that is found before they are done is not believed.
    expected: usize,
    /// The shipped permit over a sleep that is sticky too, as in the node backend. (Loom's own parking
    /// forgets a wake-up that finds its thread in a spinning wait.)
    permits: Vec<(Permit, Notify)>,
}

impl World {
    fn new(places: u32, workers: usize, fairness: Fairness, expected: usize) -> Arc<Self> {
        let config = Config {
            places,
            workers,
            random_steals: 0,
            lifelines: Graph::Ring,
            grain: 1.into(),
            fairness,
            ..Config::default()
        };
        Self::with(config, expected)
    }

    fn with(config: Config, expected: usize) -> Arc<Self> {
        let worked = <Units as Bag>::Shared::default();
        let team = Team::new(PlaceId::HOME, &config, Arc::clone(&worked));
        Arc::new(Self {
            permits: (0..config.threads())
                .map(|_| (Permit::new(), Notify::new()))
                .collect(),
            team,
            control: Control::new(),
            closed: AtomicBool::new(false),
            worked,
            expected,
        })
    }

    /// Runs the team's workers on threads while `meanwhile` runs here; how many tasks were done.
    fn run(self: &Arc<Self>, units: usize, meanwhile: impl FnOnce(&Self)) -> u64 {
        self.team.begin(Units(units), &**self);
        let workers: Vec<_> = (0..self.permits.len())
            .map(|i| {
                let world = Arc::clone(self);
                let me = WorkerId(i as u32);
                thread::spawn(move || {
                    Worker::new(&world.team, me, &*world, &world.control, ())
                        .run()
                        .tasks
                })
            })
            .collect();
        meanwhile(self);
        workers.into_iter().map(|w| w.join().unwrap()).sum()
    }
}

impl Clock for World {
    fn now(&self) -> u64 {
        0
    }
}

impl Relax for World {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

impl Park for World {
    fn park(&self, _: PlaceId, worker: WorkerId) {
        let (permit, sleep) = &self.permits[worker.index()];
        while !permit.try_take() {
            sleep.wait();
        }
    }

    fn unpark(&self, _: PlaceId, worker: WorkerId) {
        let (permit, sleep) = &self.permits[worker.index()];
        permit.give();
        sleep.notify();
    }
}

impl Transport<Message<Units>> for World {
    /// The other place never has work.
    fn send(&self, from: PlaceId, to: PlaceId, message: Message<Units>) {
        if let Message::Request { .. } = message {
            self.team.deliver(to, Message::Answer(None), self);
        }
        assert_eq!(from, PlaceId::HOME);
    }

    fn close(&self) {
        if self.worked.load(std::sync::atomic::Ordering::Relaxed) < self.expected {
            return;
        }
        self.closed.store(true, Release);
        (0..self.permits.len()).for_each(|w| self.unpark(PlaceId::HOME, WorkerId(w as u32)));
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Acquire)
    }
}

/// Loot comes in while the last worker leaves; how many tasks are done in all.
fn loot_at_the_end(fairness: Fairness) -> u64 {
    let other = PlaceId(1);
    let world = World::new(2, 1, fairness, 2);
    // The report of whoever spawned the loot's activity. It may be taken in late, and the end then be
    // found too early, which close() leaves aside: the question here is whether the loot is lost.
    let announced = Report {
        number: 1,
        counts: vec![(PlaceId::HOME, 1)],
    };
    world
        .team
        .deliver(other, Message::Report(announced), &*world);
    world.run(1, |world| {
        world.team.deliver(other, Message::Loot(Units(1)), world)
    })
}

/// V2: loot that comes in while the last worker leaves is worked off, and the finish sees the end.
#[test]
fn lost_work() {
    Model::new("lost_work").bound(3).floor(200).check(|| {
        assert_eq!(loot_at_the_end(Fairness::Inline), 2);
    });
}

/// One task, and loot with another that a steward takes in; how many tasks are done in all.
fn loot_by_steward(fairness: Fairness) -> u64 {
    let world = World::new(2, 1, fairness, 2);
    let announced = Report {
        number: 1,
        counts: vec![(PlaceId::HOME, 1)],
    };
    for message in [Message::Loot(Units(1)), Message::Report(announced)] {
        world.team.deliver(PlaceId(1), message, &*world);
    }
    world.run(1, |_| ())
}

/// V2 when another thread takes the loot in: it may find no worker idle, and the worker that then
/// leaves has looked into the reserve already.
#[test]
fn lost_work_steward() {
    Model::new("lost_work_steward")
        .bound(1)
        .floor(10_000)
        .check(|| {
            assert_eq!(loot_by_steward(Fairness::OneCoreFree), 2);
        });
}

/// V4 with the real turn: the worker steps back, the steward serves, the worker goes on.
#[test]
fn step_back() {
    Model::new("step_back").bound(1).floor(1000).check(|| {
        assert_eq!(loot_by_steward(Fairness::Yield), 2);
    });
}

/// V3 with the real turn: one worker starts the other; both leave; the last finds the end.
#[test]
fn two_workers() {
    Model::new("two_workers").bound(3).floor(1000).check(|| {
        let world = World::new(1, 2, Fairness::Inline, 2);
        assert_eq!(world.run(2, |_| ()), 2);
    });
}

/// The same with a tuner that judges at every turn. Locks are taken in one order: the desk's, the
/// tuner's, a reserve's.
#[test]
fn tuned_workers() {
    Model::new("tuned_workers").bound(2).floor(1000).check(|| {
        let always = Tuning {
            interval: 0,
            ..Tuning::default()
        };
        let config = Config {
            workers: 2,
            grain: always.into(),
            ..Config::default()
        };
        assert_eq!(World::with(config, 2).run(2, |_| ()), 2);
    });
}
