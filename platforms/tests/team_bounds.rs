//! Bounds of what a finish of a team keeps.

mod ranks;

use ranks::{mixed, runtime};
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use tautline::balance::Reason;
use tautline::team::handler;
use tautline::world::{self, Limits, Rank, World};

/// Activities on the way to a rank whose arguments have at most three bytes: 1 MiB, of which each
/// counts for 49 to 51.
const MOST: u64 = (1 << 20) / 49 + 1;
const LEAST: u64 = (1 << 20) / 51;

/// Arguments of at most three bytes.
fn value(n: u64) -> u64 {
    mixed(n, 0) % (1 << 21)
}

/// Keeps the calling worker until a condition holds.
fn keep_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        // A sleep, since the worker is to serve nothing, and the others need the processors.
        thread::sleep(Duration::from_millis(1));
    }
}

/// A rank that spawns at one whose workers are busy waits, and all of it runs in the end.
#[test]
fn a_rank_that_is_busy_is_waited_for() {
    for in_batches in [false, true] {
        let (spawned, ran) = (AtomicU64::new(0), AtomicU64::new(0));
        // Calls in a batch count for four bytes.
        let all = if in_batches { 20 } else { 3 } * MOST;
        let ended = world::loopback(2, |world| {
            let rt = runtime(world, 1);
            let add = handler(|_, _, n: u64| _ = ran.fetch_add(n, SeqCst));
            rt.run(|cx| {
                world.team().finish(cx, &add, |cx, at| {
                    if at.rank() == Rank(1) {
                        // Until the other rank has stopped for long.
                        let (mut last, mut since) = (0, Instant::now());
                        keep_until("the other rank does not stop", || {
                            let now = spawned.load(SeqCst);
                            if mem::replace(&mut last, now) != now {
                                since = Instant::now();
                            }
                            now >= LEAST && since.elapsed() > Duration::from_millis(200)
                        });
                        return spawned.load(SeqCst);
                    }
                    let mut batch = in_batches.then(|| at.batch(cx, &add));
                    for n in 0..all {
                        match &mut batch {
                            Some(batch) => batch.push(cx, Rank(1), value(n)),
                            None => at.spawn(cx, Rank(1), &add, value(n)),
                        }
                        spawned.fetch_add(1, SeqCst);
                    }
                    0
                })
            })
        });
        let ended: Vec<u64> = ended.into_iter().map(|it| it.expect("no error")).collect();
        assert_eq!(ran.into_inner(), (0..all).map(value).sum::<u64>());
        // Some calls have a byte less.
        let most = if in_batches { (1 << 20) / 3 } else { MOST };
        assert!(
            (LEAST..=most).contains(&ended[1]),
            "{} of {all} were sent",
            ended[1]
        );
    }
}

/// Ranks whose activities spawn at each other, more than there is room for, do not wait for each
/// other.
#[test]
fn ranks_that_spawn_at_each_other() {
    let counts = world::loopback(2, |world| {
        let (rt, ran) = (runtime(world, 1), AtomicU64::new(0));
        let each = MOST + MOST / 2;
        let pass = &handler(|cx, at, left: u64| {
            ran.fetch_add(1, SeqCst);
            if left > 0 {
                at.again(cx, Rank(1 - at.rank().0), left - 1);
            }
        });
        let ended = rt.run(|cx| {
            world.team().finish(cx, pass, |cx, at| {
                let other = Rank(1 - at.rank().0);
                // Tasks that wait run on top of each other.
                cx.scope(|cx| {
                    for _ in 0..2 {
                        cx.spawn(move |cx| {
                            (0..each / 2).for_each(|_| at.spawn(cx, other, pass, 3))
                        });
                    }
                });
            })
        });
        ended.expect("no error");
        (ran.into_inner(), 2 * (each / 2))
    });
    for (ran, each) in counts {
        assert_eq!(ran, 4 * each);
    }
}

/// A wait for room ends when the finish is cancelled, by another rank or by a task of its scope,
/// though the rank that is waited for serves nothing.
#[test]
fn a_wait_for_room_ends_with_its_finish() {
    for by_scope in [false, true] {
        let (spawned, ended) = (AtomicU64::new(0), AtomicBool::new(false));
        let outcomes = world::loopback(3, |world| {
            let rt = runtime(world, 2);
            let nothing = handler(|_, _, _: u64| ());
            let is_full = || spawned.load(SeqCst) >= LEAST;
            let keep_until_full = || {
                keep_until("there is always room", is_full);
                // A sleep, since no event reports that the other rank waits.
                thread::sleep(Duration::from_millis(20));
            };
            let keep_until_ended = || keep_until("no wait ends", || ended.load(SeqCst));
            rt.run(|cx| {
                world.team().finish(cx, &nothing, |cx, at| {
                    if at.rank() == Rank(1) {
                        // Both workers.
                        cx.scope(|cx| (0..2).for_each(|_| cx.spawn(|_| keep_until_ended())));
                        return;
                    }
                    if at.rank() == Rank(2) {
                        if !by_scope {
                            keep_until_full();
                            _ = cx.cancel(Reason::GivenUp);
                        }
                        return;
                    }
                    let inner = cx.finish(|cx| {
                        if by_scope {
                            cx.spawn(move |cx| {
                                keep_until_full();
                                _ = cx.cancel(Reason::GivenUp);
                            });
                        }
                        for n in 0..2 * MOST {
                            at.spawn(cx, Rank(1), &nothing, n);
                            spawned.fetch_add(1, SeqCst);
                        }
                        ended.store(true, SeqCst);
                    });
                    assert!(inner.is_err(), "it was cancelled");
                })
            })
        });
        let are_complete: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
        assert_eq!(are_complete, [by_scope; 3], "{outcomes:?}");
    }
}

/// More tasks than there is stack for wait for room, and for each other.
#[test]
fn many_tasks_that_spawn_once() {
    const TASKS: u64 = 60_000;
    let ran = AtomicU64::new(0);
    let ended = world::loopback(2, |world| {
        let rt = runtime(world, 2);
        let add = &handler(|_, _, n: u64| _ = ran.fetch_add(n, SeqCst));
        rt.run(|cx| {
            world.team().finish(cx, add, |cx, at| {
                let other = Rank(1 - at.rank().0);
                for n in 0..TASKS {
                    cx.spawn(move |cx| at.spawn(cx, other, add, value(n)));
                }
            })
        })
    });
    ended.into_iter().for_each(|ended| ended.expect("no error"));
    assert_eq!(ran.into_inner(), 2 * (0..TASKS).map(value).sum::<u64>());
}

/// Returns a number of KiB that the system states of this process.
#[cfg(target_os = "linux")]
fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this system has it");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.expect("a number of KiB")
}

/// Ten thousand teams that were made, used and dropped keep a few hundred bytes each.
#[test]
#[ignore = "cargo ci deep: its memory is that of the process"]
#[cfg(target_os = "linux")]
fn memory_of_ten_thousand_teams() {
    const TEAMS: u64 = 10_000;
    let grown = world::loopback(2, |world| {
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let mut make = |teams| {
                for n in 0..teams {
                    let colour = (n % 3 > 0 || world.is_home()).then_some(0);
                    let half = team.split(colour).wait(cx).expect("no error");
                    let Some(mut half) = half else { continue };
                    half.barrier().wait(cx).expect("no error");
                }
                team.barrier().wait(cx).expect("no error");
            };
            make(TEAMS / 10);
            let before = kib("VmRSS");
            make(TEAMS);
            kib("VmRSS").saturating_sub(before)
        })
    });
    println!("grown by {grown:?} KiB");
    // Of both ranks.
    assert!(
        grown.iter().all(|kib| kib << 10 <= 2 * 1000 * TEAMS),
        "{grown:?} KiB"
    );
}

/// Memory stays flat while ten million activities are spawned at a rank that sleeps at first.
#[test]
#[ignore = "cargo ci deep: spawns"]
#[cfg(target_os = "linux")]
fn memory_of_ten_million_spawns() {
    const ALL: u64 = 10_000_000;
    let ran = AtomicU64::new(0);
    let grown = world::loopback(2, |world| {
        let rt = runtime(world, 1);
        let add = handler(|_, _, n: u64| _ = ran.fetch_add(n, SeqCst));
        let before = kib("VmHWM");
        let ended = rt.run(|cx| {
            world.team().finish(cx, &add, |cx, at| {
                if at.rank() == Rank(1) {
                    // A sleep is what is tested.
                    return thread::sleep(Duration::from_secs(1));
                }
                (0..ALL).for_each(|n| at.spawn(cx, Rank(1), &add, n));
            })
        });
        ended.expect("no error");
        kib("VmHWM") - before
    });
    assert_eq!(ran.into_inner(), ALL * (ALL - 1) / 2);
    println!("grown by {grown:?} KiB");
    assert!(
        grown.iter().all(|&grown| grown <= 64 << 10),
        "{grown:?} KiB"
    );
}

/// A batch is no longer than messages may be.
#[test]
fn batches_within_the_limits() {
    let limits = Limits {
        body: 1000,
        ..Limits::default()
    };
    let builder = World::builder().limits(limits);
    let sums = builder.links(tautline_node::Loopback::new(2), |world| {
        let sum = AtomicU64::new(0);
        let add =
            handler(|_, _, text: String| _ = sum.fetch_add(text.len() as u64, Relaxed)).short();
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &add, |cx, at| {
                let mut batch = at.batch(cx, &add);
                for n in 0..500 {
                    batch.push(cx, Rank(1 - at.rank().0), "x".repeat(n));
                }
            })
        });
        ended.expect("no error");
        sum.into_inner()
    });
    assert_eq!(sums, [499 * 500 / 2; 2]);
}
