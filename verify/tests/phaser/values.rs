//! Accumulators, and statements between two phases.

use super::scene::{
    AGAIN, HELP, MASTERS, Mark, Plain, Task, all_set, config, create, joined, marks, rest, wide,
};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle};
use tautline_core::phaser::{Accumulator, Begin, Config, Element, Op, Phase, Single};
use tautline_verify::model::Model;

type Sum = Accumulator<u64, Plain>;

/// `N` tasks that accumulate a sum from phase `first` on; all tasks gather for all.
fn summing<const N: usize>(turns: u32, first: usize) -> (Sum, [Task; N]) {
    let config = Config {
        first: Phase(first),
        ..config(0)
    };
    let sum = Accumulator::create(Plain(turns), Op::Sum, Some(1000), config);
    let (sum, founder) = sum.expect("integers have sums");
    (sum, joined([SignalWait; N], founder))
}

/// V19: two tasks, two phases, each gathers for both.
#[test]
fn accumulator() {
    Model::new("accumulator").bound(3).floor(10_000).check(|| {
        let (sum, [mut a, mut b]) = summing::<2>(0, 0);
        let theirs = sum.clone();
        let other = thread::spawn(move || {
            for (mine, all) in [(1, 1011), (2, 1022)] {
                theirs.put(&mut b, mine).unwrap();
                b.next_blocking().unwrap();
                assert_eq!(theirs.get(), all);
            }
        });
        for (mine, all) in [(10, 1011), (20, 1022)] {
            sum.put(&mut a, mine).unwrap();
            a.next_blocking().unwrap();
            assert_eq!(sum.get(), all);
        }
        other.join().unwrap();
    });
}

/// V19b: a newcomer contributes a value, in a leaf that may have been gathered: it counts once.
#[test]
fn accumulator_registration() {
    Model::new("accumulator_registration")
        .floor(6_100)
        .check(|| {
            let (sum, [mut a, mut b, mut c]) = summing::<3>(AGAIN, 1);
            b.signal().unwrap();
            let theirs = sum.clone();
            let other = thread::spawn(move || {
                theirs.put(&mut c, 1).unwrap();
                c.next_blocking().unwrap();
                assert_eq!(theirs.get(), 1111);
            });
            let mut child = a.register(SignalWait).unwrap();
            sum.put(&mut a, 10).unwrap();
            sum.put(&mut child, 100).unwrap();
            child.signal().unwrap();
            a.signal().unwrap();
            other.join().unwrap();
            assert_eq!(sum.get(), 1111);
        });
}

/// A task that signalled early registers a child, which makes the tree grow, while the phase ends.
#[test]
fn accumulator_growth() {
    Model::new("accumulator_growth")
        .bound(3)
        .floor(600)
        .check(|| {
            let (sum, [mut a, mut b]) = summing::<2>(1, 0);
            // After the first phase the tree has the values, not the landing pad.
            a.signal().unwrap();
            b.signal().unwrap();
            a.wait_blocking().unwrap();
            b.wait_blocking().unwrap();
            let theirs = sum.clone();
            let other = thread::spawn(move || {
                theirs.put(&mut b, 1).unwrap();
                b.next_blocking().unwrap();
                assert_eq!(theirs.get(), 1011);
            });
            sum.put(&mut a, 10).unwrap();
            a.signal().unwrap();
            let child = a.register(SignalWait).unwrap();
            other.join().unwrap();
            drop(child);
        });
}

/// A task that has contributed a value has left, and its slot is free when another task is
/// registered in the next phase, while a delayed task still combines the values of this one.
#[test]
fn accumulator_reuse() {
    Model::new("accumulator_reuse")
        .bound(1)
        .floor(6_000)
        .check(|| {
            let (sum, [mut a, mut b, mut c]) = summing::<3>(0, 1);
            sum.put(&mut b, 100).unwrap();
            b.signal().unwrap();
            drop(b);
            // From here on the slot is known to be free.
            drop(a.register(SignalWait));
            sum.put(&mut a, 10).unwrap();
            a.signal().unwrap();
            let theirs = sum.clone();
            let other = thread::spawn(move || {
                theirs.put(&mut c, 1).unwrap();
                c.next_blocking().unwrap();
                assert_eq!(theirs.get(), 1111);
                c
            });
            a.wait_blocking().unwrap();
            let child = a.register(SignalWait).unwrap();
            assert_eq!(sum.get(), 1111);
            drop((child, other.join().unwrap()));
            assert_eq!(sum.get(), 1111);
        });
}

/// The last task that owes a signal drops; it combines nothing itself, but wakes the sleeper.
#[test]
fn accumulator_parked() {
    Model::new("accumulator_parked")
        .bound(3)
        .floor(170)
        .check(|| {
            let (sum, [mut a, b]) = summing::<2>(0, 0);
            let other = thread::spawn(move || drop(b));
            sum.put(&mut a, 1).unwrap();
            rest(a.next()).unwrap();
            assert_eq!(sum.get(), 1001);
            other.join().unwrap();
        });
}

/// V22: two tasks that have seen all signals: one runs the statement, and a task that finds it done
/// sees its effects.
#[test]
fn single_word() {
    Model::new("single_word").floor(12).check(|| {
        let scene = Arc::new((Single::new(), Mark::default(), AtomicUsize::new(0)));
        let meet = |(single, mark, done): &(Single, Mark, AtomicUsize)| match single.begin(0) {
            Begin::Do => {
                done.fetch_add(1, Relaxed);
                mark.set();
                single.complete(0);
            }
            Begin::Done => assert!(mark.is_set()),
            Begin::Wait => {}
        };
        let theirs = Arc::clone(&scene);
        let other = thread::spawn(move || meet(&theirs));
        meet(&scene);
        other.join().unwrap();
        assert_eq!(scene.2.load(Relaxed), 1);
        assert_eq!(scene.0.begin(0), Begin::Done);
        assert_eq!(scene.0.begin(1), Begin::Do);
    });
}

/// Two tasks with a statement each, one of which runs, between the last signal and the first
/// release.
#[test]
fn single() {
    Model::new("single").bound(3).floor(2_300).check(|| {
        let founder = create(SignalWaitSingle, 1, HELP);
        let [mut a, mut b] = joined([SignalWaitSingle; 2], founder);
        let marks = marks::<3>();
        let theirs = Arc::clone(&marks);
        let statement = |marks: &[Mark]| {
            all_set(&marks[..2]);
            assert!(!marks[2].is_set(), "the statement ran twice");
            marks[2].set();
        };
        let other = thread::spawn(move || {
            theirs[1].set();
            b.next_single_blocking(|| statement(&theirs[..])).unwrap();
            all_set(&theirs[..]);
        });
        marks[0].set();
        a.next_single_blocking(|| statement(&marks[..])).unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
    });
}

/// The only holder of the statement is parked when the other task has signalled last.
#[test]
fn single_parked() {
    Model::new("single_parked").bound(3).floor(9_300).check(|| {
        let founder = create(SignalWaitSingle, 0, HELP);
        let [mut a, mut b] = joined([SignalWaitSingle, SignalWait], founder);
        let marks = marks::<3>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            theirs[1].set();
            rest(b.next()).unwrap();
            all_set(&theirs[..]);
        });
        marks[0].set();
        let statement = || {
            all_set(&marks[..2]);
            marks[2].set();
        };
        rest(a.next_single(statement)).unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
    });
}

/// The same; the other task gathers without a fence, and a third has signalled last.
#[test]
fn single_parked_behind_a_master() {
    Model::new("single_parked_behind_a_master")
        .bound(2)
        .floor(14_000)
        .check(|| {
            let founder = Task::create(Plain(2), SignalWaitSingle, wide(5, MASTERS)).unwrap();
            let modes = [SignalWaitSingle, SignalWait, SignalWaitSingle, Signal];
            let [first, mut master, mut sleeper, mut last] = joined(modes, founder);
            drop(first);
            let gathers = thread::spawn(move || master.next_blocking().unwrap());
            let sleeps = thread::spawn(move || rest(sleeper.next_single(|| {})).unwrap());
            last.signal().unwrap();
            gathers.join().unwrap();
            sleeps.join().unwrap();
        });
}

/// The statement panics; a task that finds its request withdrawn sees its effects.
#[test]
fn single_panics() {
    Model::new("single_panics").bound(3).floor(100).check(|| {
        let founder = create(SignalWaitSingle, 1, HELP);
        let [mut a, mut b] = joined([SignalWaitSingle, SignalWait], founder);
        let marks = marks::<1>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
        });
        let statement = || {
            marks[0].set();
            resume_unwind(Box::new(()));
        };
        let call = AssertUnwindSafe(|| a.next_single_blocking(statement));
        assert!(catch_unwind(call).is_err());
        other.join().unwrap();
    });
}

/// A value with equal halves, except when torn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Twice(pub u64);

impl Element for Twice {
    fn pack(self) -> u128 {
        u128::from(self.0) << 64 | u128::from(self.0)
    }

    fn unpack(bits: u128) -> Self {
        assert_eq!((bits >> 64) as u64, bits as u64, "bits that no value has");
        Self(bits as u64)
    }

    fn identity(_: Op) -> Option<Self> {
        Some(Self(0))
    }

    fn combine(_: Op, a: Self, b: Self) -> Self {
        Self(a.0.max(b.0))
    }
}

/// A task that is not registered reads the result while phases end that overwrite it, word by word.
#[test]
fn outsider() {
    Model::new("outsider").bound(3).floor(500).check(|| {
        let max = Accumulator::<Twice, _>::create(Plain(1), Op::Max, None, config(HELP));
        let (max, mut task) = max.expect("the operator is allowed");
        let theirs = max.clone();
        let other = thread::spawn(move || theirs.get().0);
        for value in 1..=3 {
            max.put(&mut task, Twice(value)).unwrap();
            task.next_blocking().unwrap();
        }
        assert!(other.join().unwrap() <= 3);
        assert_eq!(max.get(), Twice(3));
    });
}

/// The last task of a slot has left in a phase; the slot is known to be free, and was that of a
/// child that owed the next phase first. A newcomer in that phase contributes its value from
/// another slot.
#[test]
fn accumulator_reuse_early() {
    Model::new("accumulator_reuse_early")
        .bound(2)
        .floor(24)
        .check(|| {
            let (sum, [mut a, mut b]) = summing::<2>(0, 0);
            a.signal().unwrap();
            // It owes phase 1 first, and has left; the next registration detects that, in phase 0.
            drop(a.register(SignalWait));
            drop(a.register(SignalWait));
            b.signal().unwrap();
            a.wait_blocking().unwrap();
            b.wait_blocking().unwrap();
            let mut child = a.register(SignalWait).unwrap();
            let theirs = sum.clone();
            let other = thread::spawn(move || {
                theirs.put(&mut b, 10).unwrap();
                b.signal().unwrap();
            });
            sum.put(&mut child, 100).unwrap();
            child.signal().unwrap();
            sum.put(&mut a, 1).unwrap();
            a.next_blocking().unwrap();
            assert_eq!(sum.get(), 1111);
            other.join().unwrap();
        });
}
