//! Phasers and accumulators of the threads of all ranks.
//!
//! | fact | where |
//! |---|---|
//! | Chatterjee, acceptance fact 53: no thread leaves a phase before the last one of any rank has signalled it; the exchange begins at the last signal of a rank; one exchange a phase and rank | `no_thread_leaves_early`, `the_last_signal_begins_the_exchange`; the messages: `team_messages.rs` |
//! | Chatterjee, acceptance fact 54: the global value at all ranks; only threads that signal and wait | `sums_of_all_ranks`, `accumulators_need_signal_wait` |

mod ranks;

use ranks::{delay, in_threads, in_time, mixed};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;
use tautline::phaser::{Mode, Op, PhaserError};
use tautline::team::ThreadRegistration;
use tautline::world::{self, ProgressMode};

/// Each thread reads what the threads of all ranks have written: it finds the values of the last
/// phase if a thread has left early. The accesses are relaxed, so that a machine that reorders
/// loads and stores shows a phase without happens-before; x86 does not.
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

/// The threads of all ranks but the first have signalled, and none of them waits: their progress
/// threads complete the exchange, or rank 0 waits forever.
#[test]
fn the_last_signal_begins_the_exchange() {
    in_time(|| {
        for (ranks, last) in (2..=5).flat_map(|ranks| [(ranks, 0), (ranks, 1)]) {
            let has_ended = Barrier::new(ranks as usize);
            world::loopback(ranks, |world| {
                let mut first = world.team().phaser_for_threads(2).expect("all make it");
                let mut second = first.register(Mode::Signal).expect("signal-wait");
                // The last signal is that of a thread that waits, or of one that does not.
                let [before, after] = match last {
                    0 => [&mut second, &mut first],
                    _ => [&mut first, &mut second],
                };
                before.signal().expect("a phase");
                after.signal().expect("a phase");
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
    });
}

/// A thread that only signals makes the last signal of its rank while others wait there.
#[test]
fn a_signal_ends_the_phase_of_threads_that_wait() {
    const PHASES: u64 = 50;
    in_time(|| {
        world::loopback(2, |world| {
            let mut first = world.team().phaser_for_threads(3).expect("all make it");
            let mut signals = first.register(Mode::Signal).expect("signal-wait");
            let waiting = AtomicU64::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    for phase in 1..=PHASES {
                        while waiting.load(SeqCst) < 2 * phase {
                            thread::yield_now();
                        }
                        delay(mixed(world.rank().0.into(), phase));
                        signals.next_blocking().expect("a phase");
                    }
                });
                in_threads(2, first, |_, mut own| {
                    for _ in 0..PHASES {
                        own.signal().expect("a phase");
                        waiting.fetch_add(1, SeqCst);
                        own.wait_blocking().expect("a phase");
                    }
                });
            });
        });
    });
}

/// The progress threads alone communicate.
#[test]
fn dedicated_progress_threads() {
    const PHASES: u64 = 40;
    in_time(|| {
        world::loopback(2, |world| {
            world.progress(ProgressMode::Dedicated);
            let made = world.team().accumulator_for_threads::<u64>(2, Op::Sum);
            let (sum, first) = made.expect("all make it");
            let here = u64::from(world.rank().0);
            in_threads(2, first, |number, mut own| {
                for phase in 0..PHASES {
                    // Back, while phases are in flight.
                    if phase == PHASES / 2 && number == 0 {
                        world.progress(ProgressMode::Cooperative);
                    }
                    sum.put(&mut own, phase << (8 * here)).expect("registered");
                    own.signal().expect("a phase");
                    delay(mixed(here, phase));
                    own.wait_blocking().expect("a phase");
                    assert_eq!(sum.get(), 2 * (phase + (phase << 8)), "phase {phase}");
                }
            });
        });
    });
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

/// A rank leaves while the exchange of its last signal is in flight, and its world ends at once.
#[test]
fn a_rank_leaves_during_an_exchange() {
    const PHASES: u64 = 6;
    for round in 0..24 {
        let waits = AtomicBool::new(false);
        world::loopback(2, |world| {
            let mut own = world.team().phaser_for_threads(1).expect("all make it");
            if world.is_home() {
                own.signal().expect("a phase");
                drop(own);
                waits.store(true, SeqCst);
                return;
            }
            while !waits.load(SeqCst) {
                thread::yield_now();
            }
            for phase in 0..PHASES {
                delay(mixed(round, phase));
                own.next_blocking()
                    .expect("a rank that has left ends no phase");
            }
        });
    }
}

/// A registration that outlives its world: its phases have ended with an error, in flight or not.
#[test]
fn a_registration_outlives_its_world() {
    in_time(|| {
        for (signals, ranks) in [(false, 2), (false, 3), (true, 2)] {
            let kept = world::loopback(ranks, |world| {
                let mut own = world.team().phaser_for_threads(1).expect("all make it");
                if signals {
                    own.signal().expect("a phase");
                }
                own
            });
            for mut own in kept {
                // All have signalled: the phase ends, if late. The next one does not begin.
                if signals {
                    _ = own.wait_blocking();
                }
                own.next_blocking().expect_err("no world");
                own.signal().expect_err("no world");
                own.wait_blocking().expect_err("no world");
            }
        }
    });
}

/// A rank that has left does not wait for one whose world ends while its thread is registered.
#[test]
fn a_rank_ends_with_a_registered_thread() {
    in_time(|| {
        let kept = world::loopback(2, |world| {
            let own = world.team().phaser_for_threads(1).expect("all make it");
            Some(own).filter(|_| !world.is_home())
        });
        let mut own = kept.into_iter().flatten().next().expect("that of rank 1");
        own.next_blocking().expect_err("no world");
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
