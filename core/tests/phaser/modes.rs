//! The operations of each mode, the rules of registration, and misuse. One thread acts for all
//! tasks.

use super::ports::{Yield, config, is_released, on_threads, polled, tasks};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::{Config, Mode, Phase, PhaserError, Registration};

type Task = Registration<Yield>;

/// Creates a task in `mode`, and the only other task that signals.
fn pair(mode: Mode) -> (Task, Task) {
    let mut other = Registration::create(Yield, SignalWaitSingle, config(2, 0)).unwrap();
    (other.register(mode).unwrap(), other)
}

fn signalled(task: &Task) -> usize {
    task.signalled().0
}

/// Fact 37, the column `signal`: all but consumers signal; tasks that wait must wait in between.
#[test]
fn signal_signals_unless_wait_only() {
    for mode in Mode::ALL {
        let (mut task, mut other) = pair(mode);
        task.signal().unwrap();
        assert_eq!(signalled(&task), usize::from(mode != Wait), "{mode}");
        other.signal().unwrap();
        assert!(is_released(&mut other), "{mode}");
        assert!(is_released(&mut task), "{mode}");
        task.signal().unwrap();
        assert_eq!(signalled(&task), 2 * usize::from(mode != Wait), "{mode}");
    }
}

/// Fact 37, the column `wait`: all but producers wait for the others' signals.
#[test]
fn wait_waits_unless_signal_only() {
    for mode in Mode::ALL {
        let (mut task, mut other) = pair(mode);
        task.signal().unwrap();
        assert_eq!(is_released(&mut task), mode == Signal, "{mode}");
        other.signal().unwrap();
        assert!(is_released(&mut task), "{mode}");
        task.signal().unwrap();
        assert_eq!(
            is_released(&mut task),
            mode == Signal,
            "the next phase, {mode}"
        );
    }
}

/// Fact 37, the column `next`: signals and waits, each if the mode permits it; blocking and as a
/// future.
#[test]
fn next_signals_and_waits_by_mode() {
    for mode in Mode::ALL {
        let (mut task, mut other) = pair(mode);
        other.signal().unwrap();
        assert_eq!(is_released(&mut other), mode == Wait, "{mode}");
        task.next_blocking().unwrap();
        assert_eq!(signalled(&task), usize::from(mode != Wait), "{mode}");
        assert!(mode == Wait || is_released(&mut other), "{mode}");

        let mut next = Box::pin(task.next());
        let mut poll = || {
            next.as_mut()
                .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
        };
        assert_eq!(poll().is_ready(), mode == Signal, "{mode}");
        if mode != Signal {
            other.signal().unwrap();
            assert_eq!(poll(), Poll::Ready(Ok(())), "{mode}");
        }
        drop(next);
        assert_eq!(signalled(&task), 2 * usize::from(mode != Wait), "{mode}");
    }
}

/// Facts 37 and 38, the column `next_single`: only for tasks registered for it; for others an error
/// without effect.
#[test]
fn next_single_is_for_single_only() {
    for mode in Mode::ALL {
        let (mut task, mut other) = pair(mode);
        other.signal().unwrap();
        let mut ran = 0;
        let answer = task.next_single_blocking(|| ran += 1);
        if mode == SignalWaitSingle {
            assert_eq!((answer, ran, signalled(&task)), (Ok(()), 1, 1));
        } else {
            assert_eq!(answer, Err(PhaserError::Single { mode }));
            assert_eq!((ran, signalled(&task)), (0, 0), "{mode}");
        }
    }
}

/// Fact 38: the capability rule for all sixteen pairs of modes. A refusal registers no task.
#[test]
fn no_task_registers_a_stronger_mode() {
    for held in Mode::ALL {
        let mut task = Registration::create(Yield, held, Config::default()).unwrap();
        for asked in Mode::ALL {
            let has = |what: fn(Mode) -> bool| what(held) || !what(asked);
            let allowed = has(Mode::signals) && has(Mode::waits) && has(Mode::singles);
            match task.register(asked) {
                Ok(child) => assert!(allowed && child.mode() == asked, "{held} {asked}"),
                Err(error) => {
                    assert!(!allowed, "{held} {asked}");
                    assert_eq!(error, PhaserError::Capability { held, asked });
                    let message = error.to_string();
                    assert!(message.contains(held.name()) && message.contains(asked.name()));
                }
            }
        }
        // No task is left that owes a signal.
        task.signal().unwrap();
        assert!(is_released(&mut task), "{held}");
    }
    let of_single = [Signal, Wait, SignalWait].map(|asked| SignalWaitSingle.allows(asked));
    assert_eq!(of_single, [true; 3]);
}

/// Fact 38: a second wait without a signal in between is an error, except for consumers.
#[test]
fn a_second_wait_is_refused() {
    for mode in [SignalWait, SignalWaitSingle] {
        let (mut task, mut other) = pair(mode);
        let error = |phase| {
            Err(PhaserError::DoubleWait {
                phase: Phase(phase),
            })
        };
        assert_eq!(task.wait_blocking(), error(0));
        assert_eq!(polled(&mut task), Poll::Ready(error(0)));
        other.signal().unwrap();
        task.next_blocking().unwrap();
        assert_eq!(task.wait_blocking(), error(1));
        assert_eq!(signalled(&task), 1);
    }
    let (mut consumer, mut other) = pair(Wait);
    for _ in 0..3 {
        other.signal().unwrap();
        assert!(is_released(&mut other));
        consumer.wait_blocking().unwrap();
    }
}

/// Fact 38: the phase counter does not overflow.
#[test]
fn the_last_phase_is_not_passed() {
    let near = |first| Config {
        first: Phase(first),
        ..config(2, 0)
    };
    let last = Phase::LAST.0;
    for mode in Mode::ALL {
        let mut task = Registration::create(Yield, mode, near(last - 2)).unwrap();
        task.next_blocking().unwrap();
        task.next_blocking().unwrap();
        assert_eq!(task.next_blocking(), Err(PhaserError::Overflow), "{mode}");
        let reached = if mode == Signal { last - 2 } else { last };
        assert_eq!(
            task.phaser().phase(),
            Phase(reached),
            "{mode}: no task ends phases for producers"
        );
    }
    let beyond = Registration::create(Yield, SignalWait, near(last + 1));
    assert_eq!(beyond.unwrap_err(), PhaserError::Overflow);
}

/// Facts 38 and 42: degrees are 2 to 1024.
#[test]
fn degrees_have_limits() {
    for degree in [0, 1, 1025, usize::MAX] {
        let refused = Registration::create(Yield, SignalWait, config(degree, 0));
        assert_eq!(refused.unwrap_err(), PhaserError::Degree { degree });
    }
    for degree in [2, 1024] {
        let mut all = tasks(Yield, config(degree, 0), &[SignalWait; 5]);
        for task in &mut all {
            task.signal().unwrap();
        }
        assert!(all.iter_mut().all(is_released));
    }
}

/// Fact 39: the children's first phase ends with the parent's signal, or when the parent
/// deregisters; then they continue without it.
#[test]
fn children_go_on_without_the_parent() {
    for drops in [false, true] {
        let mut children = tasks(Yield, config(2, 0), &[SignalWait; 6]);
        let mut parent = children.remove(0);
        let phase = |children: &mut [Task]| {
            children.iter_mut().for_each(|c| c.signal().unwrap());
        };
        phase(&mut children);
        assert!(
            !children.iter_mut().any(is_released),
            "the parent owes a signal"
        );
        if !drops {
            parent.signal().unwrap();
            assert!(children.iter_mut().all(is_released) && is_released(&mut parent));
            phase(&mut children);
            assert!(!children.iter_mut().any(is_released));
        }
        drop(parent);
        assert!(children.iter_mut().all(is_released));
        for _ in 0..10 {
            phase(&mut children);
            assert!(children.iter_mut().all(is_released));
        }
    }
}

/// Fact 40: the second signal of a phase is ignored.
#[test]
fn a_second_signal_is_ignored() {
    for mode in [SignalWait, SignalWaitSingle] {
        let (mut task, mut other) = pair(mode);
        for phase in 0..5 {
            for _ in 0..3 {
                task.signal().unwrap();
                assert_eq!(signalled(&task), phase + 1);
            }
            assert!(!is_released(&mut task));
            other.signal().unwrap();
            assert!(is_released(&mut other));
            task.next_blocking().unwrap();
            assert_eq!(signalled(&task), phase + 1, "the signal of `next` too");
        }
    }
}

/// Fact 40: a task that has signalled early and computes blocks no other task, even if it is the
/// master of all nodes, or the only one.
#[test]
fn work_between_signal_and_wait_overlaps() {
    for help_after in [0, Config::default().help_after] {
        for early in 0..4 {
            let all = tasks(Yield, config(2, help_after), &[SignalWait; 4]);
            let masters: Vec<_> = all.iter().map(Registration::is_master).collect();
            assert_eq!(masters, [true, false, true, true]);
            let through = AtomicUsize::new(0);
            on_threads(all, |me, mut task| {
                task.next_blocking().unwrap();
                task.signal().unwrap();
                while me == early && through.load(SeqCst) < 3 {
                    thread::yield_now();
                }
                task.next_blocking().unwrap();
                through.fetch_add(1, SeqCst);
            });
        }
    }
}

/// A statement by a task that has signalled is refused: the phase may have ended.
#[test]
fn a_statement_after_the_signal_is_refused() {
    let (mut task, mut other) = pair(SignalWaitSingle);
    task.signal().unwrap();
    let refused = task.next_single_blocking(|| unreachable!());
    assert_eq!(refused, Err(PhaserError::Signalled { phase: Phase(0) }));
    other.signal().unwrap();
    assert!(is_released(&mut task));
}

/// Section 6.3.6 of the source: only producers and consumers, so no node has a master.
#[test]
fn producers_and_consumers_only() {
    let modes = [SignalWait, Signal, Wait, Signal, Wait, Signal];
    let mut all = tasks(Yield, config(2, 0), &modes);
    drop(all.remove(0));
    for phase in 0..10 {
        for me in [0, 2, 4] {
            assert!(!is_released(&mut all[1]) && !is_released(&mut all[3]));
            all[me].signal().unwrap();
        }
        all[1].wait_blocking().unwrap();
        assert!(is_released(&mut all[3]));
        assert_eq!(all[1].phaser().phase(), Phase(phase + 1));
    }
}

/// The same section: one member among producers gathers all nodes.
#[test]
fn one_member_among_producers() {
    let mut modes = vec![Signal; 20];
    modes[0] = SignalWait;
    let mut all = tasks(Yield, config(2, 0), &modes);
    let mut member = all.remove(0);
    for _ in 0..10 {
        member.signal().unwrap();
        for producer in &mut all {
            assert!(!is_released(&mut member));
            producer.signal().unwrap();
        }
        member.wait_blocking().unwrap();
    }
}

/// Once all tasks that signal have deregistered, consumers do not block.
#[test]
fn consumers_alone_do_not_block() {
    let mut all = tasks(Yield, config(3, 0), &[SignalWait, Wait, Wait, Signal]);
    assert!(!is_released(&mut all[1]));
    all.pop();
    all.remove(0);
    for _ in 0..100 {
        assert!(all.iter_mut().all(is_released));
    }
    let mut never = Registration::create(Yield, Wait, config(2, 0)).unwrap();
    for _ in 0..100 {
        never.next_blocking().unwrap();
    }
}

/// A producer never blocks, and a consumer may lag by any number of phases.
#[test]
fn a_consumer_lags_by_many_phases() {
    let mut all = tasks(Yield, config(2, 0), &[SignalWait, Signal, Wait]);
    let (mut late, mut producer) = (all.pop().unwrap(), all.pop().unwrap());
    let mut member = all.pop().unwrap();
    for _ in 0..1000 {
        producer.signal().unwrap();
    }
    for _ in 0..700 {
        member.next_blocking().unwrap();
    }
    drop(member);
    for _ in 0..1000 {
        late.wait_blocking().unwrap();
    }
    assert!(!is_released(&mut late), "no further phase was signalled");
}

/// A task that deregisters within a split phase has signalled it, and owes nothing afterwards.
#[test]
fn drops_in_the_middle_of_a_phase() {
    for early in [false, true] {
        for slept in [false, true] {
            let mut all = tasks(Yield, config(2, 0), &[SignalWait; 3]);
            let mut goes = all.remove(0);
            if early {
                goes.signal().unwrap();
                assert!(!slept || !is_released(&mut goes));
            }
            all[0].signal().unwrap();
            assert!(!is_released(&mut all[0]));
            drop(goes);
            assert!(!is_released(&mut all[0]));
            all[1].signal().unwrap();
            assert!(all.iter_mut().all(is_released));
            all.iter_mut().for_each(|t| t.signal().unwrap());
            assert!(all.iter_mut().all(is_released));
        }
    }
}

/// A child starts at its parent's phase: it owes what the parent owes, even if the parent
/// deregisters before the child first runs.
#[test]
fn a_child_starts_where_its_parent_stands() {
    for early in [false, true] {
        let mut all = tasks(Yield, config(2, 0), &[SignalWait; 2]);
        let (mut other, mut parent) = (all.pop().unwrap(), all.pop().unwrap());
        if early {
            parent.signal().unwrap();
        }
        let mut child = parent.register(SignalWait).unwrap();
        drop(parent);
        other.signal().unwrap();
        assert_eq!(
            is_released(&mut other),
            early,
            "the child owes phase 0 unless its parent has signalled it"
        );
        child.signal().unwrap();
        assert!(early || is_released(&mut other));
        assert!(is_released(&mut child));
        other.signal().unwrap();
        assert!(!is_released(&mut other));
        child.signal().unwrap();
        assert!(is_released(&mut other) && is_released(&mut child));
    }
}

/// A task that panics is deregistered.
#[test]
fn a_panic_takes_a_task_off() {
    let mut all = tasks(Yield, config(2, 0), &[SignalWait; 2]);
    let panics = all.pop().unwrap();
    all[0].signal().unwrap();
    let body = move || {
        let _mine = panics;
        panic!("a task's own");
    };
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    assert!(is_released(&mut all[0]));
}

/// Dropping an unfinished `next` does not undo its signal; the wait can follow later.
#[test]
fn an_unfinished_next_can_be_made_up_for() {
    let (mut task, mut other) = pair(SignalWait);
    let once = AtomicBool::new(false);
    {
        let mut next = Box::pin(task.next());
        let waker = std::task::Waker::noop();
        assert!(
            next.as_mut()
                .poll(&mut std::task::Context::from_waker(waker))
                .is_pending()
        );
        once.store(true, SeqCst);
    }
    assert_eq!((signalled(&task), once.load(SeqCst)), (1, true));
    other.signal().unwrap();
    assert!(is_released(&mut other));
    task.next_blocking().unwrap();
    assert_eq!(signalled(&task), 1);
}
