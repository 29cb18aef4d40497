//! Phased tasks: more of them than workers, registered before they begin, deregistered however they
//! end.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;
#[path = "phaser/program.rs"]
mod program;

use crew::{Crew, Cx, on, panic_of};
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;
use tautline_core::phaser::{Accumulator, Config, Mode, Op, PhaserError, Registration};
use tautline_core::port::Spin;
use tautline_core::task::{Cancelled, JoinError};

/// As many workers as there are processors, fewer, and more.
const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Runs `tasks` tasks for `phases` phases, each asserting that no other task is behind.
fn barrier(cx: &mut Cx, tasks: usize, phases: usize) {
    let arrived: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    let arrived = &arrived;
    cx.scope(|cx| {
        let mut ph = cx.phaser(Mode::SignalWait).unwrap();
        for me in arrived {
            cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
                for phase in 1..=phases {
                    me.store(phase, SeqCst);
                    task.next().await.unwrap();
                    assert!(arrived.iter().all(|a| a.load(SeqCst) >= phase));
                }
            })
            .unwrap();
        }
    });
    assert!(arrived.iter().all(|a| a.load(SeqCst) == phases));
}

/// Fact 48.
#[test]
fn more_tasks_than_workers() {
    for workers in [1, 2] {
        on(workers, |cx| barrier(cx, 64, 1000));
    }
}

#[test]
fn any_number_of_tasks_and_workers() {
    for workers in WORKERS {
        for tasks in [1, 2, 5, 100] {
            on(workers, |cx| barrier(cx, tasks, 50));
        }
    }
}

/// Fact 39: the children's first phase requires the parent's signal or drop; then they continue
/// without it.
#[test]
fn children_wait_for_their_parent_once() {
    on(2, |cx| {
        let (begun, over) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        cx.scope(|cx| {
            let mut ph = cx.phaser(Mode::SignalWait).unwrap();
            for _ in 0..5 {
                cx.spawn_phased([ph.same()], move |mut task| async move {
                    begun.fetch_add(1, SeqCst);
                    task.next().await.unwrap();
                    over.fetch_add(1, SeqCst);
                    task.next().await.unwrap();
                    assert_eq!(over.load(SeqCst), 5);
                })
                .unwrap();
            }
            let parent = cx.task();
            cx.block_on(async {
                while begun.load(SeqCst) < 5 {
                    parent.yield_now().await;
                }
            });
            assert_eq!(over.load(SeqCst), 0);
            assert_eq!(ph.phaser().phase().0, 0);
        });
        assert_eq!(over.load(SeqCst), 5);
    });
}

/// Fact 38: the rule of the immediately enclosing finish.
#[test]
fn a_phaser_belongs_to_its_scope() {
    on(2, |cx| {
        let task = cx.task();
        cx.block_on(async {
            let mut ph = task.phaser(Mode::SignalWait).unwrap();
            let inner = task.finish(|inner| async move {
                let refused = inner.spawn_phased([ph.same()], |_| async {});
                assert_eq!(refused, Err(PhaserError::Scope));
                ph
            });
            let mut ph = inner.await.unwrap();
            task.spawn_phased([ph.same()], |_| async {}).unwrap();
        });
    });
}

/// Fact 38: not even a scope at the address of the phaser's.
#[test]
fn a_phaser_that_outlives_its_scope_is_refused() {
    on(1, |cx| {
        let task = cx.task();
        cx.block_on(async {
            let own = task.finish(|inner| async move { inner.phaser(Mode::SignalWait).unwrap() });
            let mut ph = own.await.unwrap();
            let other = task.finish(|inner| {
                let refused = inner.spawn_phased([ph.same()], |_| async {});
                async move { refused }
            });
            assert_eq!(other.await.unwrap(), Err(PhaserError::Scope));
        });
    });
}

/// Fact 38: a child may do nothing that its parent may not.
#[test]
fn a_refused_child_is_not_spawned() {
    on(1, |cx| {
        cx.scope(|cx| {
            let mut ph = cx.phaser(Mode::Signal).unwrap();
            let (held, asked) = (Mode::Signal, Mode::SignalWait);
            let refused = cx.spawn_phased([ph.signal_wait()], |_| async { unreachable!() });
            assert_eq!(refused, Err(PhaserError::Capability { held, asked }));
        });
    });
}

#[test]
fn a_task_on_several_phasers() {
    for workers in WORKERS {
        on(workers, |cx| {
            cx.scope(|cx| {
                let mut a = cx.phaser(Mode::SignalWait).unwrap();
                let mut b = cx.phaser(Mode::SignalWait).unwrap();
                let phaser = a.phaser();
                for turn in 0..20 {
                    let (first, second) = match turn % 2 {
                        0 => (a.signal_wait(), b.signal_wait()),
                        _ => (b.signal_wait(), a.signal_wait()),
                    };
                    let phaser = phaser.clone();
                    cx.spawn_phased([first, second], move |mut task| async move {
                        for _ in 0..turn {
                            task.next().await.unwrap();
                        }
                        task.drop_from(&phaser).unwrap();
                        assert_eq!(task.drop_from(&phaser), Err(PhaserError::NotRegistered));
                        assert!(task.on(&phaser).is_err());
                        task.next().await.unwrap();
                    })
                    .unwrap();
                }
            });
        });
    }
}

#[test]
fn tasks_register_tasks() {
    type Grown<'s> = Pin<Box<dyn Future<Output = ()> + Send + 's>>;
    fn grow<'s, 'e: 's>(
        mut task: Phased<'s, 'e>,
        depth: usize,
        count: &'s AtomicUsize,
    ) -> Grown<'s> {
        Box::pin(async move {
            count.fetch_add(1, SeqCst);
            for _ in 0..depth {
                task.next().await.unwrap();
                let cx = task.task().clone();
                let on = task.members()[0].same();
                cx.spawn_phased([on], |child| grow(child, depth - 1, count))
                    .unwrap();
            }
        })
    }
    for workers in WORKERS {
        let count = AtomicUsize::new(0);
        let count = &count;
        on(workers, |cx| {
            cx.scope(|cx| {
                let mut ph = cx.phaser(Mode::SignalWait).unwrap();
                cx.spawn_phased([ph.same()], |task| grow(task, 4, count))
                    .unwrap();
            });
        });
        // 1, then each of depth d has d children of depth d - 1.
        assert_eq!(count.load(SeqCst), 1 + 4 + 4 * 3 + 4 * 3 * 2 + 4 * 3 * 2);
    }
}

type Phased<'s, 'e> = tautline_core::phased::Phased<'s, 'e, Crew>;

#[test]
fn a_panic_reaches_the_owner_and_the_others_go_on() {
    for workers in WORKERS {
        let payload = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| {
                    let mut ph = cx.phaser(Mode::SignalWait).unwrap();
                    for me in 0..10 {
                        cx.spawn_phased([ph.same()], move |mut task| async move {
                            for phase in 0..100 {
                                if me == 3 && phase == 50 {
                                    panic_any("the fourth, in phase 50");
                                }
                                task.next().await.unwrap();
                            }
                        })
                        .unwrap();
                    }
                });
            });
        });
        assert_eq!(payload, Some("the fourth, in phase 50"));
    }
}

#[test]
fn a_cancelled_finish_ends_phased_tasks() {
    for workers in WORKERS {
        on(workers, |cx| {
            let ended = cx.finish(|cx| {
                let mut ph = cx.phaser(Mode::SignalWait).unwrap();
                for me in 0..10 {
                    cx.spawn_phased([ph.same()], move |mut task| async move {
                        for phase in 0.. {
                            if me == 3 && phase == 20 {
                                task.task().cancel(Reason::Found);
                            }
                            task.next().await.unwrap();
                        }
                    })
                    .unwrap();
                }
            });
            let reason = Reason::Found;
            assert_eq!(ended, Err(Cancelled { reason }));
        });
    }
}

/// Fact 47: also after all tasks have ended.
#[test]
fn sums_of_tasks() {
    for workers in WORKERS {
        let sum = on(workers, |cx| {
            cx.scope(|cx| {
                let (sum, first) =
                    Accumulator::create(Spin, Op::Sum, None, Config::default()).unwrap();
                let mut first = cx.task().adopt(first);
                for me in 0..50u64 {
                    let sum = sum.clone();
                    cx.spawn_phased([first.same()], move |mut task| async move {
                        for phase in 0..20 {
                            task.accum_next(&sum, me + phase).await.unwrap();
                            assert_eq!(sum.get(), 49 * 25 + 50 * phase);
                        }
                    })
                    .unwrap();
                }
                sum
            })
        });
        assert_eq!(sum.get(), 49 * 25 + 50 * 19);
    }
}

/// Fact 52: one program, as on the pools of `backends/node` and `backends/manycore`.
#[test]
fn the_program_of_all_pools_has_the_same_results() {
    for workers in WORKERS {
        assert_eq!(on(workers, |cx| program::program(cx)), program::RESULTS);
    }
}

/// Fact 46, for tasks.
#[test]
fn a_statement_between_two_phases() {
    for workers in WORKERS {
        let statements = AtomicUsize::new(0);
        let statements = &statements;
        on(workers, |cx| {
            cx.scope(|cx| {
                let first = Registration::create(Spin, Mode::SignalWaitSingle, Config::default());
                let mut first = cx.task().adopt(first.unwrap());
                for _ in 0..20 {
                    cx.spawn_phased([first.same()], move |mut task| async move {
                        for phase in 0..50 {
                            let count = || _ = statements.fetch_add(1, SeqCst);
                            task.members()[0].next_single(count).await.unwrap();
                            assert_eq!(statements.load(SeqCst), phase + 1);
                            task.next().await.unwrap();
                        }
                    })
                    .unwrap();
                }
            });
        });
        assert_eq!(statements.load(SeqCst), 50);
    }
}

/// Phased tasks return values; a panic of one ends the wait for it; one that is refused is not
/// spawned.
#[test]
fn phased_tasks_return_values() {
    const PHASES: usize = 5;
    for workers in WORKERS {
        on(workers, |cx| {
            let values = cx.scope(|cx| {
                let (max, mut barrier) = cx.accumulator::<u64>(Op::Max).unwrap();
                let tasks: Vec<_> = (0..20u64)
                    .map(|number| {
                        let (max, request) = (max.clone(), barrier.signal_wait());
                        let task = cx.spawn_phased_value([request], async move |mut task| {
                            let mut sum = 0;
                            for _ in 0..PHASES {
                                task.accum_next(&max, number).await?;
                                sum += max.get();
                            }
                            Ok::<_, PhaserError>((number, sum))
                        });
                        task.unwrap()
                    })
                    .collect();
                // A member that waits for them would not signal.
                drop(barrier);
                let joined = tasks.into_iter().map(|task| task.join(cx));
                joined.collect::<Vec<_>>()
            });
            let expected = (0..20).map(|number| Ok(Ok((number, 19 * PHASES as u64))));
            assert!(values.into_iter().eq(expected), "{workers} workers");

            let word = panic_of(|| {
                cx.scope(|cx| {
                    let mut barrier = cx.phaser(Mode::SignalWait).unwrap();
                    let broken =
                        cx.spawn_phased_value([barrier.signal_wait()], async |mut task| {
                            task.next().await.unwrap();
                            if true {
                                panic_any("phased");
                            }
                        });
                    barrier.signal().unwrap();
                    assert_eq!(broken.unwrap().join(cx), Err(JoinError::Panicked));
                })
            });
            assert_eq!(word, Some("phased"), "{workers} workers");

            let refused = cx.scope(|cx| {
                let mut signals = cx.phaser(Mode::Signal).unwrap();
                let spawned = cx.spawn_phased_value([signals.wait_only()], async |_| 1);
                spawned.err()
            });
            let (held, asked) = (Mode::Signal, Mode::Wait);
            assert_eq!(refused, Some(PhaserError::Capability { held, asked }));
        });
    }
}
