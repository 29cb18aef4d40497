//! The phaser as printed, on real threads: among fixed members it keeps phases apart, once its
//! increments are correct. Models and random schedules in `verify/tests` find its errors.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::phaser::Mode;
use tautline_exhibits::printed::Printed;

const PHASES: usize = 50;

/// Three tasks in two leaves.
#[test]
fn fixed_members_meet_in_each_phase() {
    let mut first = Printed::mended(2, Mode::SignalWait);
    let others = [(); 2].map(|()| first.register(Mode::SignalWait));
    first.found();
    let signalled: [AtomicUsize; 3] = Default::default();
    let signalled = &signalled;
    thread::scope(|s| {
        let tasks = [first].into_iter().chain(others).zip(signalled);
        for (mut task, own) in tasks {
            s.spawn(move || {
                for phase in 1..=PHASES {
                    own.store(phase, SeqCst);
                    task.signal();
                    task.wait();
                    let all = signalled.iter().map(|word| word.load(SeqCst));
                    assert!(all.into_iter().all(|count| count >= phase), "phase {phase}");
                }
            });
        }
    });
}

/// A consumer, which signals early, waits for a producer, which does not wait for it.
#[test]
fn a_consumer_waits_for_its_producer() {
    let mut consumer = Printed::mended(2, Mode::SignalWait);
    let mut producer = consumer.register(Mode::Signal);
    consumer.found();
    let made = &AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(move || {
            for phase in 1..=PHASES {
                made.store(phase, SeqCst);
                producer.signal();
            }
        });
        for phase in 1..=PHASES {
            consumer.signal_early();
            consumer.signal();
            consumer.wait();
            assert!(made.load(SeqCst) >= phase, "phase {phase}");
        }
    });
}

#[test]
#[should_panic(expected = "a tree of degree 1")]
fn a_tree_without_branches_is_refused() {
    Printed::create(1, Mode::SignalWait);
}

#[test]
#[should_panic(expected = "takes 32 tasks")]
fn a_task_too_many_is_refused() {
    let mut first = Printed::create(2, Mode::SignalWait);
    let _others: Vec<Printed> = (0..32).map(|_| first.register(Mode::SignalWait)).collect();
}
