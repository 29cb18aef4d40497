//! Phasers and accumulators of the tasks of all ranks.
//!
//! | fact | where |
//! |---|---|
//! | Chatterjee, acceptance fact 53: no task leaves a phase before the last task of any rank has signalled it; one exchange a phase and rank | `no_task_leaves_early`; the messages: `team_messages.rs` |
//! | Chatterjee, acceptance fact 54: the global value at all ranks; only tasks that signal and wait | `sums_of_all_ranks`, `accumulators_need_signal_wait` |

mod ranks;

use ranks::{delay, mixed, runtime};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tautline::phaser::{Mode, Op, Phased, PhaserError};
use tautline::world::{self, Rank, World};

#[test]
fn no_task_leaves_early() {
    const PHASES: usize = 12;
    for (ranks, workers, tasks) in [
        (1, 2, 3),
        (2, 1, 1),
        (2, 2, 4),
        (3, 1, 2),
        (4, 2, 3),
        (5, 1, 2),
    ] {
        let signalled: [AtomicU32; PHASES] = [const { AtomicU32::new(0) }; PHASES];
        let waited = AtomicU32::new(0);
        let all = ranks * tasks;
        world::loopback(ranks, |world| {
            let (rt, mut team) = (runtime(world, workers), world.team());
            rt.run(|cx| {
                let mut barrier = team.phaser(cx).expect("all ranks make the call");
                for number in 0..tasks {
                    let (signalled, waited) = (&signalled, &waited);
                    let seed = u64::from(world.rank().0 * 8 + number);
                    let run = async move |mut task: Phased<'_, '_>| {
                        for (phase, count) in signalled.iter().enumerate() {
                            delay(mixed(seed, phase as u64));
                            let before = count.fetch_add(1, SeqCst);
                            assert!(before < all, "a task is ahead in phase {phase}");
                            if phase % 2 == 0 {
                                task.next().await.expect("a phase");
                            } else {
                                task.signal().expect("a phase");
                                waited.fetch_add(u32::from(count.load(SeqCst) < all), SeqCst);
                                task.wait().await.expect("a phase");
                            }
                            assert_eq!(count.load(SeqCst), all, "phase {phase} of {ranks} ranks");
                        }
                    };
                    cx.spawn_phased(barrier.signal_wait(), run)
                        .expect("in the scope");
                }
            });
        });
        assert!(
            all == 1 || waited.into_inner() > 0,
            "no task waited for another one"
        );
    }
}

/// A task that only signals starts the exchange, and one that only waits is released by it.
#[test]
fn producers_and_consumers_at_different_ranks() {
    const PHASES: u64 = 20;
    let sent: Vec<AtomicU64> = (0..PHASES).map(|_| AtomicU64::new(0)).collect();
    let seen = world::loopback(3, |world| {
        let (rt, mut team) = (runtime(world, 1), world.team());
        let seen = AtomicU64::new(0);
        rt.run(|cx| {
            let mut ready = team.phaser(cx).expect("all ranks make the call");
            if world.is_home() {
                let (sent, seen) = (&sent, &seen);
                cx.spawn_phased(ready.wait_only(), async move |mut task| {
                    for value in sent {
                        task.wait().await.expect("a phase");
                        let value = value.load(SeqCst);
                        assert!(value > 0, "the producers have not signalled");
                        seen.fetch_add(value, SeqCst);
                    }
                })
            } else {
                let (sent, seed) = (&sent, u64::from(world.rank().0));
                cx.spawn_phased(ready.signal_only(), async move |mut task| {
                    for (phase, value) in sent.iter().enumerate() {
                        delay(mixed(seed, phase as u64));
                        value.fetch_add(phase as u64 + 1, SeqCst);
                        task.signal().expect("a phase");
                    }
                })
            }
        })
        .expect("in the scope");
        seen.into_inner()
    });
    // Of two producers.
    assert_eq!(seen, [PHASES * (PHASES + 1), 0, 0]);
}

/// The same bits at all ranks, in every run, and whatever the workers.
#[test]
fn sums_of_all_ranks() {
    const PHASES: u64 = 8;
    let sums = |ranks: u32, workers| {
        world::loopback(ranks, |world| {
            let (rt, mut team) = (runtime(world, workers), world.team());
            let sums: Vec<_> = (0..PHASES).map(|_| AtomicU64::new(0)).collect();
            rt.run(|cx| {
                let (sum, mut member) = team.accumulator::<f64>(cx, Op::Sum)?;
                for number in 0..3 {
                    let (sum, sums, here) = (sum.clone(), &sums, u64::from(world.rank().0));
                    cx.spawn_phased(member.signal_wait(), async move |mut task| {
                        for phase in 0..PHASES {
                            let own = mixed(here * 3 + number, phase);
                            delay(own);
                            sum.put(&mut task, own as f64 * 1e-3).expect("registered");
                            task.next().await.expect("a phase");
                            let bits = sum.get().to_bits();
                            let before = sums[phase as usize].swap(bits, SeqCst);
                            assert!(before == 0 || before == bits, "tasks have other sums");
                        }
                    })?;
                }
                Ok::<_, tautline::Error>(())
            })
            .expect("all ranks make the call");
            sums.into_iter()
                .map(AtomicU64::into_inner)
                .collect::<Vec<_>>()
        })
    };
    for ranks in 1..=5 {
        let first = sums(ranks, 1);
        assert!(
            first.iter().all(|of_rank| *of_rank == first[0]),
            "ranks differ"
        );
        for (phase, bits) in first[0].iter().enumerate() {
            let exact: f64 = (0..u64::from(ranks) * 3)
                .map(|task| mixed(task, phase as u64) as f64 * 1e-3)
                .sum();
            let sum = f64::from_bits(*bits);
            assert!((sum - exact).abs() <= exact * 1e-12, "{sum}, not {exact}");
        }
        assert_eq!(sums(ranks, 2), first, "another run has other bits");
    }
}

/// Ranks whose tasks leave keep no other one waiting, and their values are in no later result.
#[test]
fn ranks_leave() {
    const PHASES: u32 = 9;
    let counts = world::loopback(3, |world| {
        let (rt, mut team) = (runtime(world, 1), world.team());
        let here = world.rank().0;
        // 3, 6 and 9 phases.
        let own = 3 * (here + 1);
        let counted = AtomicU32::new(0);
        rt.run(|cx| {
            let (count, mut member) = team.accumulator::<u32>(cx, Op::Sum)?;
            let counted = &counted;
            cx.spawn_phased(member.signal_wait(), async move |mut task| {
                for phase in 0..own {
                    count.put(&mut task, 1 << (8 * here)).expect("registered");
                    task.next().await.expect("a phase");
                    let still = (0..3).filter(|rank| 3 * (rank + 1) > phase);
                    let expected: u32 = still.map(|rank| 1 << (8 * rank)).sum();
                    assert_eq!(count.get(), expected, "phase {phase} at rank {here}");
                    counted.fetch_add(1, SeqCst);
                }
            })?;
            Ok::<_, tautline::Error>(())
        })
        .expect("all ranks make the call");
        // The rank makes other calls of the team.
        rt.run(|cx| team.barrier().wait(cx)).expect("all live");
        counted.into_inner()
    });
    assert_eq!(counts, [3, 6, PHASES]);
}

/// Tasks register others, which are waited for from their first phase on.
#[test]
fn tasks_register_others() {
    const PHASES: usize = 5;
    let counts: Vec<AtomicU32> = (0..PHASES).map(|_| AtomicU32::new(0)).collect();
    world::loopback(2, |world| {
        let (rt, mut team) = (runtime(world, 2), world.team());
        rt.run(|cx| {
            let mut barrier = team.phaser(cx).expect("all ranks make the call");
            let counts = &counts;
            let one = async move |task: &mut Phased<'_, '_>, phase: usize| {
                counts[phase].fetch_add(1, SeqCst);
                task.next().await.expect("a phase");
                // At each rank, the first task and one for each phase so far.
                let all = 2 * (phase as u32 + 2);
                assert_eq!(counts[phase].load(SeqCst), all, "phase {phase}");
            };
            cx.spawn_phased(barrier.signal_wait(), async move |mut task| {
                for phase in 0..PHASES {
                    let cx = task.task().clone();
                    let both = task.members().iter_mut().map(|member| member.same());
                    let run = async move |mut task: Phased<'_, '_>| {
                        for phase in phase..PHASES {
                            one(&mut task, phase).await;
                        }
                    };
                    cx.spawn_phased(both, run).expect("in the scope");
                    one(&mut task, phase).await;
                }
            })
            .expect("in the scope");
        });
    });
}

#[test]
fn accumulators_need_signal_wait() {
    world::loopback(2, |world| {
        let (rt, mut team) = (runtime(world, 1), world.team());
        rt.run(|cx| {
            let (_, mut member) = team.accumulator::<u32>(cx, Op::Sum).expect("both");
            for mode in [Mode::Signal, Mode::Wait] {
                let refused = cx.spawn_phased(member.register(mode), async |_| ());
                assert_eq!(refused, Err(PhaserError::Accumulates { asked: mode }));
            }
        });
    });
}

/// Ranks that make different phasers get an error that names both calls.
#[test]
fn calls_that_differ() {
    let errors = world::loopback(2, |world| {
        let (rt, mut team) = (runtime(world, 1), world.team());
        rt.run(|cx| {
            let op = if world.is_home() { Op::Sum } else { Op::Max };
            let made = team.accumulator::<u32>(cx, op);
            made.map(|_| ())
                .expect_err("the operators differ")
                .to_string()
        })
    });
    for error in errors {
        assert!(error.contains("accumulator"), "{error}");
        assert!(error.contains("team_phaser.rs"), "{error}");
    }
}

/// Returns the texts with which ranks 0 and 1 end if rank 2 ends with a panic.
fn texts_of_others(program: impl Fn(&World) + Sync) -> Vec<String> {
    let texts = Mutex::new(Vec::new());
    let run = || {
        world::loopback(3, |world| {
            let ended = catch_unwind(AssertUnwindSafe(|| program(world)));
            let payload = ended.expect_err("rank 2 is lost");
            match payload.downcast::<tautline::Error>() {
                Ok(error) => texts.lock().expect("no panic").push(error.to_string()),
                Err(payload) => resume_unwind(payload),
            }
        })
    };
    assert!(
        catch_unwind(AssertUnwindSafe(run)).is_err(),
        "rank 2 panics"
    );
    let texts = texts.into_inner().expect("no panic");
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts.iter().all(|text| text.contains("rank 2")),
        "{texts:?}"
    );
    texts
}

/// The loss of a rank ends no phase: the scopes of the others get its error.
#[test]
fn a_rank_that_is_lost() {
    for workers in [1, 2] {
        let phases = AtomicU32::new(0);
        texts_of_others(|world| {
            let is_lost = world.rank() == Rank(2);
            // Its only worker does not run its carrier any more: the rank does not leave first.
            let rt = runtime(world, if is_lost { 1 } else { workers });
            let mut team = world.team();
            rt.run(|cx| {
                let mut barrier = team.phaser(cx).expect("all ranks make the call");
                if is_lost {
                    resume_unwind(Box::new("lost"));
                }
                for _ in 0..workers {
                    let phases = &phases;
                    cx.spawn_phased(barrier.signal_wait(), async move |mut task| {
                        task.next().await.expect("a phase");
                        phases.fetch_add(1, SeqCst);
                    })
                    .expect("in the scope");
                }
            });
        });
        assert_eq!(phases.into_inner(), 0, "a phase has ended without rank 2");
    }
}

/// Sets a flag when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// A task that panics leaves its phaser, and the scopes of all ranks end with its rank's error.
#[test]
fn a_task_that_panics() {
    for (workers, delayed) in [(1, false), (1, true), (2, false), (2, true)] {
        let is_cancelled = AtomicBool::new(false);
        let is_cancelled = &is_cancelled;
        texts_of_others(|world| {
            let (rt, mut team) = (runtime(world, workers), world.team());
            rt.run(|cx| {
                let (sum, mut member) = team.accumulator::<u32>(cx, Op::Sum).expect("all");
                for number in 0..2 {
                    let sum = sum.clone();
                    let fails = world.rank() == Rank(2) && number == 0;
                    let is_other = world.rank() == Rank(2) && number == 1;
                    cx.spawn_phased(member.signal_wait(), async move |mut task| {
                        // Dropped before the task leaves its phaser.
                        let _ends = is_other.then(|| Ends(is_cancelled));
                        for phase in 0.. {
                            if fails && phase == 3 {
                                if delayed {
                                    // A sleep, so that the other ranks wait in an exchange.
                                    thread::sleep(Duration::from_millis(5));
                                }
                                resume_unwind(Box::new("a task fails"));
                            }
                            sum.put(&mut task, 1).expect("registered");
                            task.next().await.expect("a phase");
                            // Without it only after its panic, until its scope has noticed, and
                            // without the other task of its rank, which the scope cancels, until
                            // the other ranks have.
                            let sum = sum.get();
                            let others = if is_cancelled.load(SeqCst) {
                                4..6
                            } else {
                                5..6
                            };
                            let is_without = phase >= 3 && others.contains(&sum);
                            assert!(sum == 6 || is_without, "{sum} in phase {phase}");
                        }
                    })
                    .expect("in the scope");
                }
            });
        });
    }
}
