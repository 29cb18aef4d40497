//! Phasers and accumulators of the threads of all ranks.
//!
//! | fact | where |
//! |---|---|
//! | Chatterjee, acceptance fact 53: no thread leaves a phase before the last one of any rank has signalled it; the exchange begins at the last signal of a rank; one exchange a phase and rank | `no_thread_leaves_early`, `the_last_signal_begins_the_exchange`; the messages: `team_messages.rs` |
//! | Chatterjee, acceptance fact 54: the global value at all ranks; only threads that signal and wait | `sums_of_all_ranks`, `accumulators_need_signal_wait` |

mod ranks;

use ranks::{delay, mixed};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;
use tautline::phaser::{Mode, Op, PhaserError};
use tautline::team::ThreadRegistration;
use tautline::world::{self, Rank, RankErrorKind, World};

/// Runs `run` in `threads` threads, each with a registration by `first`, which leaves.
fn in_threads<R: Send>(
    threads: u32,
    mut first: ThreadRegistration,
    run: impl Fn(u32, ThreadRegistration) -> R + Sync,
) -> Vec<R> {
    let own = (0..threads).map(|_| first.register(Mode::SignalWait).expect("signal-wait"));
    let own = own.collect::<Vec<_>>();
    drop(first);
    thread::scope(|scope| {
        let run = &run;
        let spawn = |(number, own)| scope.spawn(move || run(number, own));
        let spawned: Vec<_> = (0..).zip(own).map(spawn).collect();
        let joined = spawned.into_iter().map(|thread| thread.join());
        joined
            .map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Each thread reads what the threads of all ranks have written, by relaxed accesses: a stale value
/// is found.
#[test]
fn no_thread_leaves_early() {
    const PHASES: u64 = 24;
    let configurations = (1..=5).flat_map(|ranks| [1, 2, 4].map(|threads| (ranks, threads)));
    for (ranks, threads) in configurations {
        let all = ranks * threads;
        // One of two sets of values is written while late threads may read the other one.
        let values = || (0..all).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let values = [values(), values()];
        world::loopback(ranks, |world| {
            let first = world.team().phaser_for_threads(threads as usize);
            let here = world.rank().0;
            in_threads(threads, first.expect("all make it"), |number, mut own| {
                let id = here * threads + number;
                for phase in 0..PHASES {
                    let values = &values[(phase % 2) as usize];
                    delay(mixed(id.into(), phase));
                    values[id as usize].store(mixed(id.into(), !phase), Relaxed);
                    if phase % 3 == 0 {
                        own.next_blocking().expect("a phase");
                    } else {
                        own.signal().expect("a phase");
                        delay(mixed(id.into(), phase + 1));
                        own.wait_blocking().expect("a phase");
                    }
                    for (of, value) in (0..).zip(values) {
                        let read = value.load(Relaxed);
                        assert_eq!(read, mixed(of, !phase), "phase {phase} of {ranks} ranks");
                    }
                }
            });
        });
    }
}

/// No thread of the ranks that have signalled waits, so the progress threads end the exchange.
#[test]
fn the_last_signal_begins_the_exchange() {
    for ranks in 2..=5 {
        let has_ended = Barrier::new(ranks as usize);
        world::loopback(ranks, |world| {
            let mut team = world.team();
            let mut first = team.phaser_for_threads(2).expect("all make it");
            let mut second = first.register(Mode::Signal).expect("signal-wait");
            second.signal().expect("a phase");
            first.signal().expect("a phase");
            if world.is_home() {
                first.wait_blocking().expect("a phase");
            }
            has_ended.wait();
            first.wait_blocking().map_or_else(
                |error| assert!(world.is_home(), "{error}"),
                |()| assert!(!world.is_home(), "a second wait"),
            );
        });
    }
}

/// A thread that only signals starts the exchange, and one that only waits is released by it.
#[test]
fn producers_and_consumers_at_different_ranks() {
    const PHASES: u64 = 20;
    let sent: Vec<AtomicU64> = (0..PHASES).map(|_| AtomicU64::new(0)).collect();
    let seen = world::loopback(3, |world| {
        let first = world.team().phaser_for_threads(1);
        let mut first = first.expect("all make it");
        let mode = match world.is_home() {
            true => Mode::Wait,
            false => Mode::Signal,
        };
        let mut own = first.register(mode).expect("signal-wait");
        assert_eq!(own.mode(), mode);
        drop(first);
        let mut seen = 0;
        for (phase, value) in (0..).zip(&sent) {
            if world.is_home() {
                own.wait_blocking().expect("a phase");
                let value = value.load(SeqCst);
                assert_eq!(value, 2 * (phase + 1), "the producers have not signalled");
                seen += value;
            } else {
                delay(mixed(world.rank().0.into(), phase));
                value.fetch_add(phase + 1, SeqCst);
                own.next_blocking().expect("a phase");
            }
        }
        seen
    });
    assert_eq!(seen, [PHASES * (PHASES + 1), 0, 0]);
}

/// The same bits at all ranks and in every run.
#[test]
fn sums_of_all_ranks() {
    const PHASES: u64 = 12;
    let sums = |ranks: u32, threads: u32| {
        let sums = world::loopback(ranks, |world| {
            let mut team = world.team();
            let made = team.accumulator_for_threads::<f64>(threads as usize, Op::Sum);
            let (sum, first) = made.expect("all make it");
            let here = world.rank().0;
            in_threads(threads, first, |number, mut own| {
                let (sum, id) = (sum.clone(), u64::from(here * threads + number));
                let phase = |phase| {
                    let value = mixed(id, phase);
                    delay(value);
                    sum.put(&mut own, value as f64 * 1e-3).expect("registered");
                    own.next_blocking().expect("a phase");
                    sum.get().to_bits()
                };
                (0..PHASES).map(phase).collect::<Vec<_>>()
            })
        });
        let all = sums.concat();
        assert!(all.iter().all(|own| *own == all[0]), "threads differ");
        all[0].clone()
    };
    for ranks in 1..=5 {
        for threads in [1, 2, 4] {
            let first = sums(ranks, threads);
            for (phase, bits) in (0..).zip(&first) {
                let of = |id| mixed(id, phase) as f64 * 1e-3;
                let exact: f64 = (0..u64::from(ranks * threads)).map(of).sum();
                let sum = f64::from_bits(*bits);
                assert!((sum - exact).abs() <= exact * 1e-12, "{sum}, not {exact}");
            }
            assert_eq!(sums(ranks, threads), first, "another run has other bits");
        }
    }
}

/// Ranks whose threads leave keep no other one waiting, and their values are in no later result;
/// their worlds end when all have left.
#[test]
fn ranks_leave() {
    const PHASES: u32 = 9;
    let counts = world::loopback(3, |world| {
        let here = world.rank().0;
        let made = world.team().accumulator_for_threads::<u32>(2, Op::Sum);
        let (count, first) = made.expect("all make it");
        // 3, 6 and 9 phases.
        let own_phases = 3 * (here + 1);
        in_threads(2, first, |_, mut own| {
            for phase in 0..own_phases {
                let still = (0..3u32).filter(|rank| 3 * (rank + 1) > phase);
                let expected: u32 = still.map(|rank| 2 << (8 * rank)).sum();
                if phase % 3 == 0 {
                    delay(mixed(here.into(), phase.into()));
                }
                count.put(&mut own, 1 << (8 * here)).expect("registered");
                own.next_blocking().expect("a phase");
                assert_eq!(count.get(), expected, "phase {phase} at rank {here}");
            }
            own_phases
        })
    });
    assert_eq!(counts, [[3; 2], [6; 2], [PHASES; 2]]);
}

/// A rank that has left makes other calls of its team, before the others leave.
#[test]
fn a_rank_that_has_left_makes_other_calls() {
    world::loopback(2, |world| {
        let mut team = world.team();
        let own = team.phaser_for_threads(1).expect("all make it");
        // Rank 0 leaves.
        let mut own = Some(own).filter(|_| !world.is_home());
        let mut phases = || {
            let own = own.iter_mut();
            own.for_each(|own| (0..5).for_each(|_| own.next_blocking().expect("a phase")));
        };
        phases();
        world.barrier().expect("all live");
        phases();
    });
}

/// Threads register others, which are waited for from their first phase on.
#[test]
fn threads_register_others() {
    const PHASES: usize = 5;
    let counts: Vec<AtomicU32> = (0..PHASES).map(|_| AtomicU32::new(0)).collect();
    let one = |own: &mut ThreadRegistration, phase: usize| {
        counts[phase].fetch_add(1, SeqCst);
        own.next_blocking().expect("a phase");
        // At each rank, the first thread and one for each phase so far.
        let all = 2 * (phase as u32 + 2);
        assert_eq!(counts[phase].load(SeqCst), all, "phase {phase}");
    };
    world::loopback(2, |world| {
        let mut first = world.team().phaser_for_threads(1).expect("all make it");
        thread::scope(|scope| {
            let one = &one;
            for phase in 0..PHASES {
                let mut own = first.register(Mode::SignalWait).expect("signal-wait");
                scope.spawn(move || (phase..PHASES).for_each(|phase| one(&mut own, phase)));
                one(&mut first, phase);
            }
            drop(first);
        });
    });
}

#[test]
fn accumulators_need_signal_wait() {
    world::loopback(2, |world| {
        let made = world.team().accumulator_for_threads::<u32>(1, Op::Sum);
        let (_, mut own) = made.expect("all make it");
        for asked in [Mode::Signal, Mode::Wait] {
            let refused = own.register(asked).map(|_| ());
            assert_eq!(refused, Err(PhaserError::Accumulates { asked }));
        }
    });
}

/// Ranks that make different phasers get an error that names both calls.
#[test]
fn calls_that_differ() {
    type Make = fn(&World) -> tautline::Result<()>;
    let sum = |world: &World| {
        let made = world.team().accumulator_for_threads::<u32>(1, Op::Sum);
        made.map(|_| ())
    };
    let pairs: [(&str, Make, Make); 5] = [
        (
            "threads: ",
            |world| world.team().phaser_for_threads(1).map(|_| ()),
            |world| world.team().phaser_for_threads(2).map(|_| ()),
        ),
        (
            "team_threads.rs:",
            |world| world.team().phaser_for_threads(1).map(|_| ()),
            |world| world.team().phaser_for_threads(1).map(|_| ()),
        ),
        ("phaser for threads", sum, |world| {
            world.team().phaser_for_threads(1).map(|_| ())
        }),
        ("operator: ", sum, |world| {
            let made = world.team().accumulator_for_threads::<u32>(1, Op::Max);
            made.map(|_| ())
        }),
        ("accumulator for threads", sum, |world| {
            let made = world.team().accumulator_for_threads::<u64>(1, Op::Sum);
            made.map(|_| ())
        }),
    ];
    for (word, at_home, elsewhere) in pairs {
        let errors = world::loopback(2, |world| {
            let made = if world.is_home() { at_home } else { elsewhere };
            made(world).expect_err("the calls differ").to_string()
        });
        for (rank, error) in errors.into_iter().enumerate() {
            assert!(error.contains(word), "{word}: {error}");
            assert!(error.contains(&format!("rank {}", 1 - rank)), "{error}");
        }
    }
}

/// Checks that ranks 0 and 1 end with the error of rank 2, which ends with a panic.
fn assert_named(program: impl Fn(&World) -> tautline::Result<()> + Sync) {
    let errors = Mutex::new(Vec::new());
    let run = || {
        world::loopback(3, |world| {
            let error = program(world).expect_err("rank 2 panics");
            errors.lock().expect("no panic").push(error);
        })
    };
    let ended = catch_unwind(AssertUnwindSafe(run));
    assert!(ended.is_err(), "rank 2 panics");
    let errors = errors.into_inner().expect("no panic");
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in errors {
        let tautline::Error::Rank(error) = error else {
            panic!("{error}");
        };
        assert_eq!(error.rank(), Rank(2), "{error}");
        assert!(
            error.to_string().contains("its program panicked"),
            "{error}"
        );
    }
}

/// The loss of a rank ends no phase.
#[test]
fn a_rank_that_is_lost() {
    for threads in [1, 2] {
        let phases = AtomicU32::new(0);
        assert_named(|world| {
            let first = world.team().phaser_for_threads(threads as usize)?;
            if world.rank() == Rank(2) {
                resume_unwind(Box::new("lost"));
            }
            let ended = in_threads(threads, first, |_, mut own| {
                let ended = own.next_blocking();
                phases.fetch_add(u32::from(ended.is_ok()), SeqCst);
                assert_eq!(own.signal().is_err(), ended.is_err());
                ended
            });
            ended.into_iter().collect()
        });
        assert_eq!(phases.into_inner(), 0, "a phase has ended without rank 2");
    }
}

/// A thread that panics ends the phases of its rank and of the others with its rank's error, and
/// none of them ends without it.
#[test]
fn a_thread_that_panics() {
    for (threads, delayed) in [(1, false), (1, true), (2, false), (2, true)] {
        let after = Mutex::new(Vec::new());
        assert_named(|world| {
            let made = world
                .team()
                .accumulator_for_threads(threads as usize, Op::Sum);
            let (sum, first) = made?;
            let ended = in_threads(threads, first, |number, mut own| {
                for phase in 0.. {
                    if world.rank() == Rank(2) && number == 0 && phase == 3 {
                        if delayed {
                            // A sleep, so that the other ranks wait in an exchange.
                            thread::sleep(Duration::from_millis(5));
                        }
                        resume_unwind(Box::new("a thread fails"));
                    }
                    sum.put(&mut own, 1u32)?;
                    let ended = own.next_blocking();
                    if phase >= 3 {
                        after.lock().expect("no panic").push(ended.is_ok());
                    }
                    ended?;
                    assert_eq!(sum.get(), 3 * threads, "phase {phase}");
                }
                Ok(())
            });
            ended.into_iter().collect()
        });
        let after = after.into_inner().expect("no panic");
        assert!(!after.contains(&true), "a phase has ended without it");
    }
}

/// At the only rank, too.
#[test]
fn a_thread_that_panics_alone() {
    let mut own = World::alone().team().phaser_for_threads(2).expect("alone");
    let other = own.register(Mode::SignalWait).expect("signal-wait");
    let panics = thread::spawn(move || {
        let _other = other;
        resume_unwind(Box::new("a thread fails"));
    });
    let error = own
        .next_blocking()
        .expect_err("the other has not signalled");
    assert!(panics.join().is_err());
    let tautline::Error::Rank(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.kind(), RankErrorKind::Panicked, "{error}");
}
