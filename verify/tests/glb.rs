//! Models of the workers of one place: the code that ships, on loom's threads.
//!
//! Work that is lost, or a wake-up that is lost, leaves a worker parked for ever, which loom reports
//! as a deadlock.
#![cfg(tautline_loom)]

#[path = "glb/world.rs"]
mod world;

use loom::thread;
use std::sync::Arc;
use tautline_core::PlaceId;
use tautline_core::finish::Report;
use tautline_core::glb::{Config, Control, Fairness, Message, Reason};
use tautline_core::grain::Tuning;
use tautline_verify::model::Model;
use world::{Job, Jobs, World};

/// Loot comes in while the last worker leaves; how many tasks are done in all.
fn loot_at_the_end(fairness: Fairness) -> u64 {
    let other = PlaceId(1);
    let world = World::new(2, 1, fairness, 2);
    // The report of the place that spawned the loot's activity. It may be taken in late, and the end then be
    // found too early, which close() leaves aside: the question here is whether the loot is lost.
    let announced = Report {
        number: 1,
        counts: vec![(PlaceId::HOME, 1)],
    };
    world
        .team
        .deliver(other, Message::Report(announced), &*world);
    world.run(Jobs::plain(1), |world| {
        world
            .team
            .deliver(other, Message::Loot(Jobs::plain(1)), world)
    })
}

/// V2: loot that comes in while the last worker leaves is worked off, and the finish sees the end.
#[test]
fn lost_work() {
    Model::new("lost_work").bound(3).floor(200).check(|| {
        assert_eq!(loot_at_the_end(Fairness::Inline), 2);
    });
}

/// Before the start: loot with one task, and the report of the place that spawned its activity.
fn loot_is_there(world: &World) {
    let announced = Report {
        number: 1,
        counts: vec![(PlaceId::HOME, 1)],
    };
    for message in [Message::Loot(Jobs::plain(1)), Message::Report(announced)] {
        world.team.deliver(PlaceId(1), message, world);
    }
}

/// One task, and loot with another that the server thread takes in; how many tasks are done in all.
fn loot_by_steward(fairness: Fairness) -> u64 {
    let world = World::new(2, 1, fairness, 2);
    loot_is_there(&world);
    world.run(Jobs::plain(1), |_| ())
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

/// V4 with the real turn: the worker yields, the server thread serves, the worker resumes.
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
        assert_eq!(world.run(Jobs::plain(2), |_| ()), 2);
    });
}

/// Two workers and a tuner that judges at every turn.
fn tuned(places: u32) -> Config {
    let always = Tuning {
        interval: 0,
        ..Tuning::default()
    };
    Config {
        grain: always.into(),
        ..World::config(places, 2, Fairness::Inline)
    }
}

/// The same as `two_workers` with a tuner that judges at every turn.
#[test]
fn tuned_workers() {
    Model::new("tuned_workers").bound(2).floor(1000).check(|| {
        assert_eq!(World::with(tuned(1), 2).run(Jobs::plain(2), |_| ()), 2);
    });
}

/// An idle worker takes in loot and starts, under the desk's lock, while the other one's grain is
/// judged. Locks are taken in one order: the desk's, the tuner's, a reserve's.
#[test]
fn tuned_loot() {
    Model::new("tuned_loot").bound(1).floor(3000).check(|| {
        let world = World::with(tuned(2), 2);
        loot_is_there(&world);
        assert_eq!(world.run(Jobs::plain(1), |_| ()), 2);
    });
}

/// Two workers find bounds at the same time: when the place is quiet, the best has been told. A worker
/// looks after its last grain, and a bound that it finds sent was sent by a worker.
#[test]
fn bound_told() {
    Model::new("bound_told").bound(1).floor(5000).check(|| {
        let world = World::bounded(2, 2);
        assert_eq!(
            world.run(Jobs::new([Job::Find(1), Job::Find(2)]), |_| ()),
            2
        );
        assert_eq!(world.stage.best_known(), 1);
        assert_eq!(world.stage.best_told(), 1, "the best was not told");
    });
}

/// Bounds come in while a worker finds others: what is taken in is passed on, and what a grain finds
/// is told before the next one begins.
#[test]
fn bound_comes_in() {
    Model::new("bound_comes_in").bound(3).floor(1000).check(|| {
        let world = World::bounded(1, 2);
        let jobs = Jobs::new([Job::Find(1), Job::Find(3)]);
        let done = world.run(jobs, |world| {
            for bound in [4, 2] {
                let other = PlaceId(1);
                world.team.deliver(other, Message::Bound(bound), world);
            }
        });
        assert_eq!(done, 2);
        assert_eq!(world.stage.best_told(), world.stage.best_known());
        assert_eq!(world.stage.best_known(), 1);
    });
}

/// Two reasons to stop at the same time: one is the first, for every reader and permanently.
#[test]
fn stop_first_counts() {
    Model::new("stop_first_counts").floor(10).check(|| {
        let control = Arc::new(Control::new());
        let theirs = Arc::clone(&control);
        let other = thread::spawn(move || {
            theirs.stop(Reason::Found);
            theirs.reason()
        });
        control.stop(Reason::Deadline);
        let mine = control.reason();
        assert!(matches!(mine, Some(Reason::Found | Reason::Deadline)));
        assert_eq!(mine, other.join().unwrap());
        assert_eq!(mine, control.reason(), "the reason has changed");
    });
}

/// Two workers want to stop while work is being divided: what was not done is found at the end.
#[test]
fn stop_leaves_the_rest() {
    Model::new("stop_leaves_the_rest")
        .bound(2)
        .floor(5000)
        .check(|| {
            let world = World::new(1, 2, Fairness::Inline, 4);
            let (found, given_up) = (Job::Stop(Reason::Found), Job::Stop(Reason::GivenUp));
            let done = world.run(Jobs::new([Job::Plain, found, Job::Plain, given_up]), |_| ());
            let reason = world.control.reason();
            assert!(matches!(reason, Some(Reason::Found | Reason::GivenUp)));
            let (_, left) = world.wind_up();
            assert_eq!(done as usize + left, 4, "lost or doubled");
        });
}
