//! Phasers on real threads.

#[path = "phaser/between.rs"]
mod between;
#[path = "phaser/blocking.rs"]
mod blocking;
#[path = "phaser/churn.rs"]
mod churn;
#[path = "phaser/late.rs"]
mod late;
#[path = "phaser/lines.rs"]
mod lines;
#[path = "phaser/modes.rs"]
mod modes;
#[path = "phaser/ports.rs"]
mod ports;
#[path = "phaser/reduction.rs"]
mod reduction;
#[path = "phaser/ring.rs"]
mod ring;
#[path = "phaser/tree.rs"]
mod tree;

use ports::Yield;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::phaser::{Accumulator, Config, Mode, Op, Registration};

#[test]
fn no_task_leaves_a_phase_before_all_have_signalled() {
    for help_after in [0, 100, 100_000] {
        for n in [1, 2, 3, 5, 9] {
            let config = Config {
                degree: 2,
                help_after,
                ..Config::default()
            };
            let mut first = Registration::create(Yield, Mode::SignalWait, config).unwrap();
            let mut all: Vec<_> = (1..n)
                .map(|_| first.register(Mode::SignalWait).unwrap())
                .collect();
            all.push(first);
            let arrived: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            std::thread::scope(|s| {
                for (me, mut task) in all.into_iter().enumerate() {
                    let arrived = &arrived;
                    s.spawn(move || {
                        for phase in 1..=2000 {
                            arrived[me].store(phase, SeqCst);
                            task.next_blocking().unwrap();
                            assert!(arrived.iter().all(|a| a.load(SeqCst) >= phase));
                        }
                    });
                }
            });
        }
    }
}

#[test]
fn values_are_summed() {
    let (sum, mut first) =
        Accumulator::create(Yield, Op::Sum, Some(1000u64), Config::default()).unwrap();
    let mut all: Vec<_> = (1..5)
        .map(|_| first.register(Mode::SignalWait).unwrap())
        .collect();
    all.push(first);
    std::thread::scope(|s| {
        for (me, mut task) in all.into_iter().enumerate() {
            let sum = &sum;
            s.spawn(move || {
                for phase in 0..1000 {
                    sum.put(&mut task, phase + me as u64).unwrap();
                    task.next_blocking().unwrap();
                    assert_eq!(sum.get(), 1000 + 5 * phase + 10);
                }
            });
        }
    });
    assert_eq!(sum.get(), 1000 + 5 * 999 + 10);
}
