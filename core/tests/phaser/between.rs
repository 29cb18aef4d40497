//! Statements that run once between the last signal of a phase and the first release.

use super::ports::{Way, Yield, block_on, config, on_threads, tasks};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::{Mode, PhaserError, Registration};

fn next_single(way: Way, task: &mut Registration<Yield>, statement: impl FnOnce()) {
    let answer: Result<(), PhaserError> = match way {
        Way::Blocking => task.next_single_blocking(statement),
        Way::Parked | Way::Awaited => block_on(task.next_single(statement)),
    };
    answer.unwrap();
}

/// Fact 46: a statement runs once per phase, after the last signal and before the first release, in
/// all ways to wait, with tasks without a statement among them.
#[test]
fn a_statement_runs_once_between_signals_and_release() {
    let kinds: [&[Mode]; 4] = [
        &[SignalWaitSingle],
        &[SignalWaitSingle; 5],
        &[SignalWaitSingle, SignalWait, SignalWait, Signal, Wait],
        &[
            SignalWaitSingle,
            SignalWait,
            SignalWaitSingle,
            Wait,
            Wait,
            Signal,
            SignalWaitSingle,
        ],
    ];
    for help_after in [0, 1000] {
        for modes in kinds {
            let signalers = modes.iter().filter(|m| m.signals()).count();
            let all = tasks(Yield, config(2, help_after), modes);
            let signals = AtomicUsize::new(0);
            let ran = AtomicUsize::new(0);
            on_threads(all, |me, mut task| {
                for phase in 0..200 {
                    let way = Way::ALL[(me + phase / 7) % 3];
                    if task.mode().signals() {
                        signals.fetch_add(1, SeqCst);
                    }
                    if task.mode().singles() {
                        next_single(way, &mut task, || {
                            assert!(signals.load(SeqCst) >= (phase + 1) * signalers);
                            assert_eq!(ran.fetch_add(1, SeqCst), phase);
                        });
                    } else {
                        way.next(&mut task);
                    }
                    if task.mode().waits() {
                        assert!(
                            ran.load(SeqCst) > phase,
                            "released before the statement ran"
                        );
                    }
                }
            });
            assert_eq!(ran.into_inner(), 200);
        }
    }
}

/// Fact 46: no statement runs in a phase without a request; the two kinds of phases may alternate.
#[test]
fn statements_and_plain_phases_alternate() {
    for way in Way::ALL {
        let all = tasks(Yield, config(2, 0), &[SignalWaitSingle; 3]);
        let ran = AtomicUsize::new(0);
        on_threads(all, |_, mut task| {
            for phase in 0..100 {
                match phase % 3 {
                    0 => next_single(way, &mut task, || _ = ran.fetch_add(1, SeqCst)),
                    _ => way.next(&mut task),
                }
                assert_eq!(ran.load(SeqCst), phase / 3 + 1);
                // No task starts the next phase before this check.
                way.next(&mut task);
            }
        });
    }
}

/// Fact 46: a panic propagates in the task that ran the statement, in all ways to wait; the others
/// continue, in this phase and later.
#[test]
fn a_panic_reaches_the_task_that_ran_the_statement() {
    for way in [Way::Blocking, Way::Awaited] {
        let all = tasks(Yield, config(2, 0), &[SignalWaitSingle; 4]);
        let panics = on_threads(all, |_, mut task| {
            let once = || next_single(way, &mut task, || panic!("the statement"));
            let panics = catch_unwind(AssertUnwindSafe(once)).is_err();
            if panics {
                // The task has signalled, and can wait again.
                way.wait(&mut task);
            }
            for _ in 0..10 {
                next_single(way, &mut task, || {});
            }
            panics
        });
        assert_eq!(panics.iter().filter(|&&p| p).count(), 1, "{way:?}");
    }
}

/// Fact 46: if the last task to signal parks, it runs the statement, or wakes a task that holds it.
#[test]
fn a_holder_is_woken_for_the_statement() {
    let mut all = tasks(Yield, config(2, 0), &[SignalWaitSingle, Signal]);
    let ran = AtomicUsize::new(0);
    let (alarm, waker) = super::ports::alarm();
    let mut producer = all.pop().unwrap();
    let mut single = Box::pin(all[0].next_single(|| _ = ran.fetch_add(1, SeqCst)));
    let mut context = Context::from_waker(&waker);
    assert!(single.as_mut().poll(&mut context).is_pending());
    producer.signal().unwrap();
    assert_eq!((ran.load(SeqCst), alarm.rung.load(SeqCst)), (0, 1));
    assert!(single.as_mut().poll(&mut context).is_ready());
    assert_eq!(ran.load(SeqCst), 1);
    drop(single);
    assert_eq!(all[0].phaser().phase().0, 1);
}

/// Woken tasks, the most recent one last.
#[derive(Default)]
struct Woken(Mutex<Vec<usize>>);

struct Bell(Arc<Woken>, usize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.0.lock().unwrap().push(self.1);
    }
}

/// Fact 46: tasks without a statement do not wake each other repeatedly until the task with the
/// statement runs: a worker that runs the task woken last first would never run that task.
#[test]
fn tasks_without_a_statement_do_not_wake_each_other_repeatedly() {
    let mut all = tasks(
        Yield,
        config(4, 0),
        &[SignalWaitSingle, SignalWait, SignalWait],
    );
    let (ran, woken) = (AtomicUsize::new(0), Arc::new(Woken::default()));
    let once = || _ = ran.fetch_add(1, SeqCst);
    let [z, x, y] = &mut all[..] else { panic!() };
    let (mut z, mut x, mut y) = (z.next_single(once), x.next(), y.next());
    let mut poll = |task: usize| {
        let waker = Waker::from(Arc::new(Bell(Arc::clone(&woken), task)));
        let mut context = Context::from_waker(&waker);
        match task {
            0 => Pin::new(&mut z).poll(&mut context),
            1 => Pin::new(&mut x).poll(&mut context),
            _ => Pin::new(&mut y).poll(&mut context),
        }
        .is_ready()
    };
    let mut ready = (0..3).filter(|&task| poll(task)).count();
    let next = || woken.0.lock().unwrap().pop();
    for _ in 0..20 {
        ready += next().map_or(0, |task| usize::from(poll(task)));
    }
    assert_eq!((ran.load(SeqCst), ready), (1, 3));
}

/// Fact 46: a statement whose task no longer waits is not waited for, whether that task stays
/// registered or not.
#[test]
fn a_dropped_statement_blocks_no_task() {
    for stays in [true, false] {
        let mut all = tasks(Yield, config(4, 0), &[SignalWaitSingle, SignalWait]);
        let (alarm, waker) = super::ports::alarm();
        let mut context = Context::from_waker(&waker);
        let mut other = all.pop().unwrap();
        let mut next = other.next();
        assert!(Pin::new(&mut next).poll(&mut context).is_pending());
        // Otherwise the task with the statement would be the last, and run it.
        let mut third = all[0].register(Signal).unwrap();
        let mut given_up = all[0].next_single(|| unreachable!());
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut given_up).poll(&mut context).is_pending());
        third.signal().unwrap();
        drop(given_up);
        drop(third);
        if !stays {
            all.clear();
        }
        assert!(alarm.rung.load(SeqCst) > 0);
        assert!(Pin::new(&mut next).poll(&mut context).is_ready());
        assert!(all.iter_mut().all(super::ports::is_released));
    }
}
