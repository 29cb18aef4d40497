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
use tautline_core::{PlaceId, WorkerId};
use tautline_verify::model::{Model, Turns};

/// A number of equal tasks.
struct Units(usize);

impl Bag for Units {
    type Shared = ();
    type Output = ();
    fn process(&mut self, n: usize, (): &()) -> usize {
        let done = n.min(self.0);
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
    /// Sticky, as the port demands. (Loom's own parking forgets a wake-up that finds its thread in a
    /// spinning wait.)
    permits: Vec<Notify>,
}

impl World {
    fn new(places: u32, workers: usize, fairness: Fairness) -> Arc<Self> {
        let config = Config {
            places,
            workers,
            random_steals: 0,
            lifelines: Graph::Ring,
            grain: 1,
            fairness,
            ..Config::default()
        };
        let team = Team::new(PlaceId::HOME, &config, ());
        Arc::new(Self {
            permits: (0..team.threads()).map(|_| Notify::new()).collect(),
            team,
            control: Control::new(),
            closed: AtomicBool::new(false),
        })
    }

    /// Runs the team's workers on threads while `meanwhile` runs here; how many tasks were done.
    fn run(self: &Arc<Self>, units: usize, meanwhile: impl FnOnce(&Self)) -> u64 {
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
        self.team.begin(Units(units), &**self);
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
        self.permits[worker.index()].wait();
    }

    fn unpark(&self, _: PlaceId, worker: WorkerId) {
        self.permits[worker.index()].notify();
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
    let world = World::new(2, 1, fairness);
    // The loot's activity is announced first, as if its spawner's report had come in already.
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
    Model::new("lost_work").bound(3).floor(1000).check(|| {
        assert_eq!(loot_at_the_end(Fairness::Inline), 2);
    });
}

/// The same when another thread takes the loot in: it may find no worker idle, and the worker that
/// then leaves has looked into the reserve already.
#[test]
fn lost_work_steward() {
    Model::new("lost_work_steward")
        .bound(2)
        .floor(1000)
        .check(|| {
            assert_eq!(loot_at_the_end(Fairness::OneCoreFree), 2);
        });
}

/// V3 with the real turn: one worker starts the other; both leave; the last finds the end.
#[test]
fn two_workers() {
    Model::new("two_workers").bound(2).floor(1000).check(|| {
        let world = World::new(1, 2, Fairness::Inline);
        assert_eq!(world.run(2, |_| ()), 2);
    });
}
