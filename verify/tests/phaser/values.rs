//! Accumulators, and statements between two phases.

use super::scene::{
    AGAIN, HELP, MASTERS, Mark, Plain, Task, all_set, config, found, joined, marks, rest, wide,
};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle};
use tautline_core::phaser::{Accumulator, Begin, Collective, Config, Element, Op, Phase};
use tautline_verify::model::Model;

type Sum = Accumulator<u64, Plain>;

/// `N` tasks that accumulate a sum from phase `first` on; everybody gathers for everybody.
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

/// V19b: a newcomer brings a value in, in a leaf that may have been gathered: it counts once.
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

/// A task that signalled early registers a child, by which the tree grows, while the phase ends.
#[test]
fn accumulator_growth() {
    Model::new("accumulator_growth")
        .bound(3)
        .floor(600)
        .check(|| {
            let (sum, [mut a, mut b]) = summing::<2>(1, 0);
            // Behind the first phase the tree has the values, not the landing pad.
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

/// A task that has brought a value in is gone, and its slot is free when somebody registers another in the next phase, while one that
/// is late still brings the values of this one together.
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
            // From now on the slot is known to be free.
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

/// The last one that owes a signal drops; it brings nothing together itself, but wakes the one who sleeps.
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

/// V22: two who have seen all signals: one does what is to be done, and who finds it done sees it.
#[test]
fn collective() {
    Model::new("collective").floor(12).check(|| {
        let scene = Arc::new((Collective::new(), Mark::default(), AtomicUsize::new(0)));
        let meet = |(collective, mark, done): &(Collective, Mark, AtomicUsize)| match collective
            .begin(0)
        {
            Begin::Do => {
                done.fetch_add(1, Relaxed);
                mark.set();
                collective.done(0);
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

/// Two tasks with a statement each, of which one is run, between the last signal and the first release.
#[test]
fn single() {
    Model::new("single").bound(3).floor(2_300).check(|| {
        let founder = found(SignalWaitSingle, 1, HELP);
        let [mut a, mut b] = joined([SignalWaitSingle; 2], founder);
        let marks = marks::<3>();
        let theirs = Arc::clone(&marks);
        let statement = |marks: &[Mark]| {
            all_set(&marks[..2]);
            assert!(!marks[2].is_set(), "run twice");
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

/// The only one who knows the statement sleeps when the other, who does not, has signalled last.
#[test]
fn single_parked() {
    Model::new("single_parked").bound(3).floor(9_300).check(|| {
        let founder = found(SignalWaitSingle, 0, HELP);
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

/// The same; the other gathers and has no fence, and a third has signalled last.
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

/// The statement panics; who finds that its task has given it up sees what it did.
#[test]
fn single_panics() {
    Model::new("single_panics").bound(3).floor(100).check(|| {
        let founder = found(SignalWaitSingle, 1, HELP);
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

/// A value whose halves are the same, which only a value that was put together from two of them is not.
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

/// A task that is not registered asks for the result while phases end that write over it, word by word.
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

/// Its last task for a phase is gone; its slot is known to be free, and a child that owes the next phase first was in it. A newcomer in
/// that phase brings its value in from another slot.
#[test]
fn accumulator_reuse_early() {
    Model::new("accumulator_reuse_early")
        .bound(2)
        .floor(24)
        .check(|| {
            let (sum, [mut a, mut b]) = summing::<2>(0, 0);
            a.signal().unwrap();
            // It owes phase 1 first, and is gone; the next registration finds that out, in phase 0.
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
