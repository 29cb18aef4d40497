//! Failures of phasers and accumulators of the threads of all ranks: calls that differ, lost ranks,
//! panics.

mod ranks;

use ranks::{LONG, in_threads, in_time, runtime};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use tautline::phaser::{Element, Mode, Op};
use tautline::team::ThreadRegistration;
use tautline::world::{self, Rank, RankErrorKind, World};

/// Ranks that make different phasers get an error that names both calls.
#[test]
fn calls_that_differ() {
    type Make = fn(&World) -> tautline::Result<()>;
    let sum = |world: &World| {
        let made = world.team().accumulator_for_threads::<u32>(1, Op::Sum);
        made.map(|_| ())
    };
    let pairs: [(&str, Make, Make); 4] = [
        (
            "team_threads_failed.rs:",
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

/// Waits until a phase is open at this rank.
fn await_open_phase(world: &World) {
    let begun = Instant::now();
    while !world.open_calls().iter().any(|open| open.kind() == "phase") {
        assert!(begun.elapsed() < LONG, "no phase is open");
        thread::yield_now();
    }
}

/// A thread that panics ends the phases of its rank and of the others with its rank's error, and
/// none of them ends without it.
#[test]
fn a_thread_that_panics() {
    for (threads, delayed) in [(1, false), (1, true), (2, false), (2, true)] {
        let after = Mutex::new(Vec::new());
        let [waits, is_open] = [(); 2].map(|()| AtomicBool::new(false));
        assert_named(|world| {
            let made = world
                .team()
                .accumulator_for_threads(threads as usize, Op::Sum);
            let (sum, first) = made?;
            let run = |number, mut own: ThreadRegistration| {
                for phase in 0.. {
                    if world.rank() == Rank(2) && number == 0 && phase == 3 {
                        // The other ranks wait in an exchange.
                        waits.store(true, SeqCst);
                        while delayed && !is_open.load(SeqCst) {
                            thread::yield_now();
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
            };
            let ended = thread::scope(|scope| {
                if delayed && world.is_home() {
                    scope.spawn(|| {
                        while !waits.load(SeqCst) {
                            thread::yield_now();
                        }
                        await_open_phase(world);
                        is_open.store(true, SeqCst);
                    });
                }
                in_threads(threads, first, run)
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

/// A panic in a team of one rank ends nothing of the world's.
#[test]
fn a_thread_that_panics_in_a_team_of_one() {
    world::loopback(2, |world| {
        let mut all = world.team();
        let split = all.split(Some(world.rank().0));
        let split = runtime(world, 1).run(|cx| split.wait(cx));
        let mut team = split.expect("all make it").expect("a colour");
        let mut own = team.phaser_for_threads(2).expect("alone");
        let other = own.register(Mode::SignalWait).expect("signal-wait");
        if world.is_home() {
            let panics = thread::spawn(move || {
                let _other = other;
                resume_unwind(Box::new("a thread fails"));
            });
            assert!(panics.join().is_err());
            own.next_blocking().expect_err("a thread has panicked");
            own.signal().expect_err("a thread has panicked");
        }
        world.barrier().expect("all live");
    });
}

/// A sum that panics where two ranks have values.
#[derive(Clone, Copy)]
struct Fragile(u64);

impl Element for Fragile {
    fn pack(self) -> u128 {
        self.0.into()
    }

    fn unpack(bits: u128) -> Self {
        Self(bits as u64)
    }

    fn identity(_: Op) -> Option<Self> {
        Some(Self(0))
    }

    fn combine(_: Op, Self(a): Self, Self(b): Self) -> Self {
        if a * b > 0 {
            // Without the hook, which prints.
            resume_unwind(Box::new("two values"));
        }
        Self(a + b)
    }
}

/// A panic of the program's `combine` ends the phases of all ranks, whichever thread runs into it:
/// one that waits, in a turn, or the last one to signal, for a message that has come before.
#[test]
fn a_combine_that_panics() {
    in_time(|| {
        for late in 0..4 {
            let waits = AtomicBool::new(false);
            world::loopback(2, |world| {
                let made = world.team().accumulator_for_threads(1, Op::Sum);
                let (sum, mut own) = made.expect("all make it");
                let here = world.rank().0;
                sum.put(&mut own, Fragile(u64::from(here == 0)))
                    .expect("registered");
                own.next_blocking().expect("one value");
                assert_eq!(sum.get().0, 1);
                sum.put(&mut own, Fragile(1)).expect("registered");
                if here == late % 2 {
                    while !waits.load(SeqCst) {
                        thread::yield_now();
                    }
                    // A sleep, in which the progress thread receives the message.
                    thread::sleep(Duration::from_millis(1));
                }
                let signalled = own.signal();
                waits.store(true, SeqCst);
                let ended = signalled.and_then(|()| own.wait_blocking());
                let error = ended.expect_err("two values are combined").to_string();
                assert!(error.contains("its program panicked"), "{error}");
                own.next_blocking().expect_err("the phases have ended");
            });
        }
    });
}
