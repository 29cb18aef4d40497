//! Models of the workers of one place: the code that ships, on loom's threads.
//!
//! Work that is lost, or a wake-up that is lost, leaves a worker parked for ever, which loom
//! reports as a deadlock.
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

/// Loot arrives while the last worker leaves; returns how many tasks are done in all.
fn loot_at_the_end(fairness: Fairness) -> u64 {
    let other = PlaceId(1);
    let world = World::new(2, 1, fairness, 2);
    // The report of the place that spawned the loot's activity. It may be served late, and the end
    // then be detected too early, which close() ignores: this model checks whether the loot is
    // lost.
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

/// V2: loot that arrives while the last worker leaves is processed, and the finish detects the end.
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

/// One task, and loot with another that the server thread serves; returns how many tasks are done
/// in all.
fn loot_by_server(fairness: Fairness) -> u64 {
    let world = World::new(2, 1, fairness, 2);
    loot_is_there(&world);
    world.run(Jobs::plain(1), |_| ())
}

/// V2 when another thread serves the loot: it may find no worker idle, and the worker that then
/// leaves has checked the reserve already.
#[test]
fn lost_work_server() {
    Model::new("lost_work_server")
        .bound(1)
        .floor(10_000)
        .check(|| {
            assert_eq!(loot_by_server(Fairness::OneCoreFree), 2);
        });
}

/// V4 with the real turn: the worker yields, the server thread serves, the worker resumes.
#[test]
fn step_back() {
    Model::new("step_back").bound(1).floor(1000).check(|| {
        assert_eq!(loot_by_server(Fairness::Yield), 2);
    });
}

/// V3 with the real turn: one worker starts the other; both leave; the last one detects the end.
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

/// An idle worker takes loot and starts, under the protocol's lock, while the other one's grain is
/// judged. Locks are acquired in one order: the protocol's, the tuner's, a reserve's.
#[test]
fn tuned_loot() {
    Model::new("tuned_loot").bound(1).floor(3000).check(|| {
        let world = World::with(tuned(2), 2);
        loot_is_there(&world);
        assert_eq!(world.run(Jobs::plain(1), |_| ()), 2);
    });
}

/// Two workers find bounds concurrently: when the place is quiet, the best one has been sent. A
/// worker reads the bound after its last grain, and a bound that it reads as sent was sent by a
/// worker.
#[test]
fn bound_sent() {
    Model::new("bound_sent").bound(1).floor(5000).check(|| {
        let world = World::bounded(2, 2);
        assert_eq!(
            world.run(Jobs::new([Job::Find(1), Job::Find(2)]), |_| ()),
            2
        );
        assert_eq!(world.stage.best_known(), 1);
        assert_eq!(world.stage.best_sent(), 1, "the best bound was not sent");
    });
}

/// Bounds arrive while a worker finds others: those that are received are sent on, and those that a
/// grain finds are sent before the next one begins.
#[test]
fn bound_arrives() {
    Model::new("bound_arrives").bound(3).floor(1000).check(|| {
        let world = World::bounded(1, 2);
        let jobs = Jobs::new([Job::Find(1), Job::Find(3)]);
        let done = world.run(jobs, |world| {
            for bound in [4, 2] {
                let other = PlaceId(1);
                world.team.deliver(other, Message::Bound(bound), world);
            }
        });
        assert_eq!(done, 2);
        assert_eq!(world.stage.best_sent(), world.stage.best_known());
        assert_eq!(world.stage.best_known(), 1);
    });
}

/// Two concurrent reasons to stop: one is the first, for every reader and permanently.
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

/// Two workers stop the computation while work is being divided: the remaining tasks are reported
/// at the end.
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
            assert_eq!(done as usize + left, 4, "lost or duplicated");
        });
}
