//! One program with all features of phasers, for tasks of any pool. Tests of several crates include
//! this file.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::Op;
use tautline_core::port::Host;
use tautline_core::task::Cx;

const PHASES: usize = 50;

/// The statements run, the phases that three tasks have passed, and the last sum of two tasks.
pub(crate) const RESULTS: (usize, usize, u64) = (PHASES, 3 * PHASES, 2 * (PHASES as u64 - 1));

/// Runs the program; returns its results.
pub(crate) fn program<P: Host>(cx: &mut Cx<'_, '_, P>) -> (usize, usize, u64) {
    (statements(cx), barrier(cx), sums(cx))
}

/// Tasks in all modes, and a statement in each phase.
fn statements<P: Host>(cx: &mut Cx<'_, '_, P>) -> usize {
    let statements = &AtomicUsize::new(0);
    cx.scope(|cx| {
        let mut single = cx.phaser(SignalWaitSingle).unwrap();
        for mode in [SignalWaitSingle, SignalWait, SignalWait, Signal, Wait] {
            let spawned = cx.spawn_phased([single.register(mode)], move |mut task| async move {
                for phase in 1..=PHASES {
                    if mode != SignalWaitSingle {
                        task.next().await.unwrap();
                        continue;
                    }
                    let statement = || _ = statements.fetch_add(1, SeqCst);
                    let member = &mut task.members()[0];
                    member.next_single(statement).await.unwrap();
                    assert_eq!(statements.load(SeqCst), phase);
                }
            });
            spawned.unwrap();
        }
    });
    statements.load(SeqCst)
}

/// Three tasks that all signal and wait.
fn barrier<P: Host>(cx: &mut Cx<'_, '_, P>) -> usize {
    let arrived = &AtomicUsize::new(0);
    let passed = &AtomicUsize::new(0);
    cx.scope(|cx| {
        let mut member = cx.phaser(SignalWait).unwrap();
        for _ in 0..3 {
            let spawned = cx.spawn_phased([member.signal_wait()], move |mut task| async move {
                for phase in 1..=PHASES {
                    arrived.fetch_add(1, SeqCst);
                    task.next().await.unwrap();
                    assert!(arrived.load(SeqCst) >= 3 * phase);
                    passed.fetch_add(1, SeqCst);
                }
            });
            spawned.unwrap();
        }
    });
    passed.load(SeqCst)
}

/// Two tasks that add their numbers in each phase.
fn sums<P: Host>(cx: &mut Cx<'_, '_, P>) -> u64 {
    let last = &AtomicU64::new(0);
    cx.scope(|cx| {
        let (sum, mut member) = cx.accumulator::<u64>(Op::Sum).unwrap();
        for _ in 0..2 {
            let sum = sum.clone();
            let spawned = cx.spawn_phased([member.signal_wait()], move |mut task| async move {
                for phase in 0..PHASES as u64 {
                    task.accum_next(&sum, phase).await.unwrap();
                    assert_eq!(sum.get(), 2 * phase);
                }
                last.store(sum.get(), SeqCst);
            });
            spawned.unwrap();
        }
    });
    last.load(SeqCst)
}
