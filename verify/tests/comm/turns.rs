//! Models of what makes threads step communication workers.

use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use tautline_core::comm::{Combiner, Notifier};
use tautline_core::port::Bell;
use tautline_verify::model::Model;

/// What threads have prepared, each its own, without any order.
struct Prepared<const N: usize>([AtomicBool; N]);

impl<const N: usize> Prepared<N> {
    fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicBool::new(false)))
    }

    fn put(&self, at: usize) {
        self.0[at].store(true, Relaxed);
    }

    /// Marks in `done` what is visible.
    fn process(&self, done: &mut [bool; N]) {
        for (done, put) in done.iter_mut().zip(&self.0) {
            *done |= put.load(Relaxed);
        }
    }
}

/// Each of `N` threads prepares something, and runs turns.
fn missed<const N: usize>() {
    let scene = Arc::new((Combiner::new([false; N]), Prepared::<N>::new()));
    let run = |(combiner, prepared): &(Combiner<_>, Prepared<N>), at| {
        prepared.put(at);
        combiner.run(|done| {
            prepared.process(done);
            true
        });
    };
    let others: Vec<_> = (1..N)
        .map(|at| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || run(&scene, at))
        })
        .collect();
    run(&scene, 0);
    others.into_iter().for_each(|other| other.join().unwrap());
    let done = scene.0.try_with(|done| *done);
    assert_eq!(done, Some([true; N]), "no turn has processed it");
}

/// What a thread has prepared that finds the value taken is processed by a turn of the holder, or by its own.
#[test]
fn comm_missed() {
    Model::new("comm_missed")
        .bound(3)
        .floor(300)
        .check(missed::<2>);
}

/// The same, where two threads find it taken.
#[test]
fn comm_missed_by_two() {
    Model::new("comm_missed_by_two")
        .bound(2)
        .floor(1_150)
        .check(missed::<3>);
}

/// Two threads prepare something and signal it: whatever takes the signal processes both, or finds the signal again.
#[test]
fn comm_due() {
    Model::new("comm_due").floor(1_000).check(|| {
        let notifier = Notifier::new(Arc::new(|| ()));
        let scene = Arc::new((notifier, Prepared::<2>::new()));
        let setters = [0, 1].map(|at| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.1.put(at);
                scene.0.set_due();
            })
        });
        let mut done = [false; 2];
        if scene.0.take_due() {
            scene.1.process(&mut done);
        }
        for setter in setters {
            setter.join().unwrap();
        }
        if scene.0.take_due() {
            scene.1.process(&mut done);
        }
        assert_eq!(done, [true; 2], "the signal is gone, and it was not done");
    });
}

struct Ringer(Notify);

impl Bell for Ringer {
    fn ring(&self) {
        self.0.notify();
    }
}

/// The progress thread takes over while another thread notifies: it finds what that has prepared, or its bell is rung.
#[test]
fn comm_take_over() {
    Model::new("comm_take_over").floor(90).check(|| {
        let bell = Arc::new(Ringer(Notify::new()));
        let scene = Arc::new((Notifier::new(bell.clone()), Prepared::<1>::new()));
        let theirs = Arc::clone(&scene);
        scene.0.leave();
        let other = thread::spawn(move || {
            theirs.1.put(0);
            theirs.0.notify();
        });
        scene.0.take_over();
        let mut done = [false];
        loop {
            if scene.0.take_due() {
                scene.1.process(&mut done);
            }
            if done == [true] {
                break;
            }
            // A signal that is lost is a deadlock, which loom reports.
            bell.0.wait();
        }
        other.join().unwrap();
    });
}
