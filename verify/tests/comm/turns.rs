//! Models of a value of which one thread at a time runs turns.

use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use tautline_core::comm::Combiner;
use tautline_verify::model::Model;

/// The values that threads have prepared, each its own, without any order.
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

/// Work that a thread has prepared that finds the value taken is processed by a turn of the holder,
/// or by its own.
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
