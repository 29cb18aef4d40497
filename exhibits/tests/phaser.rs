//! The reference phasers, on real threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::phaser::{Config, Mode, Phase, PhaserError, Registration};
use tautline_core::port::{Barrier, Relax};
use tautline_exhibits::phaser::{BaselineError, Flat, Member, Tiered, Tiers};

#[derive(Clone, Copy, Debug)]
struct Yield;

impl Relax for Yield {
    fn relax(&self, turn: u32) {
        if turn < 20 {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

impl Barrier for Yield {}

fn tiered(tiers: usize, degree: usize, mode: Mode) -> Result<Tiered<Yield>, BaselineError> {
    let help_after = 100;
    let shape = Tiers {
        tiers,
        degree,
        help_after,
    };
    Tiered::create(Yield, mode, shape)
}

const PHASES: usize = 300;
const MIDDLE: usize = PHASES / 2;

/// The number of phases that each task has signalled; the maximum for a task that is not
/// registered.
type Signalled = [AtomicUsize];

/// Runs tasks on a barrier; in the middle some deregister, and some register a child.
fn barrier<M: Member + Send>(mut first: M, tasks: usize) {
    let mut all: Vec<_> = (1..tasks)
        .map(|_| first.register(Mode::SignalWait).unwrap())
        .collect();
    all.push(first);
    let founders = (0..tasks).map(|_| AtomicUsize::new(0));
    let children = (0..tasks).map(|_| AtomicUsize::new(PHASES));
    let signalled: Vec<_> = founders.chain(children).collect();
    std::thread::scope(|s| {
        for (me, mut task) in all.into_iter().enumerate() {
            let signalled = &signalled;
            s.spawn(move || {
                pass(&mut task, me, 0..MIDDLE, signalled);
                if me % 4 == 3 {
                    let mut child = task.register(Mode::SignalWait).unwrap();
                    let child_me = tasks + me;
                    signalled[child_me].store(MIDDLE, SeqCst);
                    s.spawn(move || pass(&mut child, child_me, MIDDLE..PHASES, signalled));
                }
                if me % 3 == 2 {
                    signalled[me].store(PHASES, SeqCst);
                    return;
                }
                pass(&mut task, me, MIDDLE..PHASES, signalled);
            });
        }
    });
}

fn pass(task: &mut impl Member, me: usize, phases: Range<usize>, signalled: &Signalled) {
    for phase in phases {
        signalled[me].store(phase + 1, SeqCst);
        task.next_blocking().unwrap();
        assert!(signalled.iter().all(|s| s.load(SeqCst) > phase));
    }
}

#[test]
fn no_task_leaves_a_phase_before_all_have_signalled() {
    for tasks in [1, 2, 5, 9] {
        barrier(Flat::create(Yield, Mode::SignalWait), tasks);
        for (tiers, degree) in [(1, 2), (2, 2), (2, 4), (3, 2), (3, 3)] {
            barrier(tiered(tiers, degree, Mode::SignalWait).unwrap(), tasks);
        }
        let config = Config::default();
        barrier(
            Registration::create(Yield, Mode::SignalWait, config).unwrap(),
            tasks,
        );
    }
}

/// Forty tasks in leaves for four, and on a flat phaser beyond its first block.
#[test]
fn more_tasks_than_seats() {
    barrier(tiered(2, 2, Mode::SignalWait).unwrap(), 40);
    barrier(Flat::create(Yield, Mode::SignalWait), 40);
}

fn refusals<M: Member + std::fmt::Debug>(mut task: M) {
    let phase = Phase(0);
    let twice = task.wait_blocking().unwrap_err();
    assert_eq!(twice, PhaserError::DoubleWait { phase });
    let mut child = task.register(Mode::Wait).unwrap();
    let (held, asked) = (Mode::Wait, Mode::SignalWait);
    let refused = child.register(asked).unwrap_err();
    assert_eq!(refused, PhaserError::Capability { held, asked }.into());
    drop(child);
    task.signal().unwrap();
    task.signal().unwrap();
    task.wait_blocking().unwrap();
    let (twice, phase) = (task.wait_blocking().unwrap_err(), Phase(1));
    assert_eq!(twice, PhaserError::DoubleWait { phase });
}

#[test]
fn misuse_is_refused() {
    refusals(Flat::create(Yield, Mode::SignalWait));
    refusals(tiered(2, 2, Mode::SignalWait).unwrap());
}

#[test]
fn a_tiered_phaser_refuses_tasks_that_only_signal() {
    let asked = Mode::Signal;
    let refused = BaselineError::SignalOnly { asked };
    assert_eq!(tiered(2, 2, asked).err(), Some(refused));
    let mut task = tiered(2, 2, Mode::SignalWait).unwrap();
    assert_eq!(task.register(asked).err(), Some(refused));
    let message = refused.to_string();
    assert_eq!(
        message,
        "a tiered phaser accepts tasks that wait, not signal-only"
    );
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let error = |tiers, degree| tiered(tiers, degree, Mode::SignalWait).err();
    for (tiers, degree) in [(0, 2), (18, 2), (1000, 1024), (usize::MAX, 3)] {
        assert_eq!(
            error(tiers, degree),
            Some(BaselineError::Tiers { tiers, degree })
        );
    }
    for degree in [0, 1, 1025] {
        assert_eq!(
            error(2, degree),
            Some(PhaserError::Degree { degree }.into())
        );
    }
    assert_eq!(error(17, 2), None);
}

/// Producers run ahead on a flat phaser; a consumer follows, and continues alone after they have
/// deregistered.
#[test]
fn producers_run_ahead() {
    let mut consumer = Flat::create(Yield, Mode::SignalWait);
    let mut producers = [Mode::Signal; 2].map(|mode| consumer.register(mode).unwrap());
    let mut reader = consumer.register(Mode::Wait).unwrap();
    for producer in &mut producers {
        (0..10).for_each(|_| producer.next_blocking().unwrap());
    }
    drop(consumer);
    for phase in 1..=10 {
        reader.next_blocking().unwrap();
        assert_eq!(reader.phase(), Phase(phase));
    }
    drop(producers);
    reader.wait_blocking().unwrap();
    assert_eq!(reader.phase(), Phase(11));
}
