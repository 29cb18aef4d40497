//! Accumulators, and statements between two phases.

use super::scene::{Plain, Task, config, found, group, joined, marks};
use loom::thread;
use std::sync::Arc;
use tautline_core::phaser::Mode::{SignalWait, SignalWaitSingle};
use tautline_core::phaser::{Accumulator, Begin, Collective, Config, Op, Phase};
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
    Model::new("accumulator").bound(2).floor(100).check(|| {
        let (sum, [mut a, mut b]) = summing::<2>(1, 0);
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
        .bound(2)
        .floor(100)
        .check(|| {
            let (sum, [mut a, mut b, mut c]) = summing::<3>(1, 1);
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
        .bound(2)
        .floor(100)
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
