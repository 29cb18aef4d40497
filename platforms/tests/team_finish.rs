//! Finishes with tasks at any rank.

mod ranks;

use ranks::{mixed, runtime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tautline::balance::Reason;
use tautline::prelude::*;
use tautline::team::{Arguments, RankErrorKind, batch_handler, handler};
use tautline::world::{self, Rank, World};

/// Paudel, acceptance fact A-14: a finish ends when all activities have ended, wherever they came
/// from: random trees of activities at any rank, with tasks beside them.
#[test]
fn trees_of_activities() {
    fn size(depth: u32, seed: u64) -> u64 {
        let children = (0..fan_out(depth, seed)).map(|i| size(depth - 1, mixed(seed, i)));
        1 + children.sum::<u64>()
    }
    fn fan_out(depth: u32, seed: u64) -> u64 {
        if depth == 0 { 0 } else { mixed(seed, 77) % 4 }
    }
    for (ranks, workers) in [(1, 1), (2, 1), (2, 2), (3, 1), (5, 1)] {
        let rounds = 40;
        let (everywhere, overlaps) = (AtomicU32::new(0), AtomicU32::new(0));
        let totals = world::loopback(ranks, |world| {
            let rt = runtime(world, workers);
            let (mut team, mut total) = (world.team(), 0);
            for round in 0..rounds {
                let (nodes, live) = (AtomicU64::new(0), AtomicU32::new(0));
                let visit = handler(|cx, at, (depth, seed): (u32, u64)| {
                    live.fetch_add(1, SeqCst);
                    if everywhere.fetch_add(1, SeqCst) > 0 {
                        overlaps.fetch_add(1, Relaxed);
                    }
                    if seed % 16 == 0 {
                        // A sleep, for orders that a free processor would not show.
                        thread::sleep(Duration::from_micros(seed % 100));
                    }
                    for i in 0..fan_out(depth, seed) {
                        let child = mixed(seed, i);
                        let to = Rank(child as u32 % at.ranks());
                        if child % 3 == 0 {
                            // From a task beside the activity.
                            cx.spawn(move |cx| at.again(cx, to, (depth - 1, child)));
                        } else {
                            at.again(cx, to, (depth - 1, child));
                        }
                    }
                    nodes.fetch_add(1, SeqCst);
                    everywhere.fetch_sub(1, SeqCst);
                    live.fetch_sub(1, SeqCst);
                });
                let ended = rt.run(|cx| {
                    team.finish(cx, &visit, |cx, at| {
                        if at.rank().0 == round % at.ranks() {
                            at.spawn(
                                cx,
                                Rank((round + 1) % at.ranks()),
                                &visit,
                                (6, u64::from(round)),
                            );
                        }
                    })
                });
                ended.expect("no error");
                assert_eq!(live.load(SeqCst), 0, "an activity runs after the end");
                total += nodes.into_inner();
            }
            total
        });
        let expected: u64 = (0..rounds).map(|round| size(6, u64::from(round))).sum();
        assert_eq!(totals.iter().sum::<u64>(), expected, "{ranks} ranks");
        assert!(
            ranks * workers as u32 == 1 || overlaps.into_inner() > 0,
            "nothing overlapped"
        );
    }
}

/// A chain of activities that visits its home many times.
#[test]
fn a_long_chain() {
    let hops = world::loopback(3, |world| {
        let hops = AtomicU32::new(0);
        let hop = handler(|cx, at, left: u32| {
            hops.fetch_add(1, Relaxed);
            if left > 0 {
                at.again(cx, Rank((at.rank().0 + 1) % at.ranks()), left - 1);
            }
        });
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &hop, |cx, at| {
                if at.rank() == Rank(1) {
                    cx.finish(|cx| at.spawn(cx, Rank(2), &hop, 9_999))
                        .expect("not cancelled");
                    hops.fetch_add(1_000_000, Relaxed);
                }
            })
        });
        ended.expect("no error");
        hops.into_inner()
    });
    assert_eq!(hops, [3333, 1_003_333, 3334]);
}

/// An inner finish returns while an activity of the outer one waits for what its owner does next:
/// no end of the outer one may be required.
#[test]
fn nested_finishes_end_by_themselves() {
    let released = AtomicBool::new(false);
    world::loopback(2, |world| {
        let inner = AtomicU32::new(0);
        let wait = handler(|cx: &mut Cx<'_, '_>, _, ()| {
            while !released.load(SeqCst) {
                cx.block_on(cx.task().yield_now());
            }
        });
        let count = handler(|_, _, n: u32| _ = inner.fetch_add(n, SeqCst));
        let release = handler(|_, _, ()| released.store(true, SeqCst));
        let ended = runtime(world, 1).run(|cx| {
            world
                .team()
                .finish(cx, &(&wait, &count, &release), |cx, at| {
                    if at.rank() == Rank(0) {
                        at.spawn(cx, Rank(1), &wait, ());
                        for round in 1..=20 {
                            cx.finish(|cx| at.spawn(cx, Rank(1), &count, 1))
                                .expect("not cancelled");
                            let sum = at.call(cx, Rank(1), &count, 0).wait(cx);
                            sum.expect("a result");
                            assert!(!released.load(SeqCst), "round {round}");
                        }
                        at.spawn(cx, Rank(1), &release, ());
                    }
                })
        });
        ended.expect("no error");
        assert_eq!(inner.into_inner(), if world.is_home() { 0 } else { 20 });
    });
}

/// Calls return the values of their rank, also to callers that are activities themselves. Paudel,
/// acceptance fact A-20: a handler may borrow what is local to its rank.
#[test]
fn calls() {
    let sums = world::loopback(3, |world| {
        let own = 10 + world.rank().0;
        let get = handler(|_, at, of: String| format!("{of} {own} for {}", at.from()));
        let number = handler(|_, _, factor: u64| factor * u64::from(own));
        let ended = runtime(world, 2).run(|cx| {
            world.team().finish(cx, &(&get, &number), |cx, at| {
                let replies: Vec<_> = at
                    .all()
                    .map(|r| at.call(cx, r, &get, "value".into()))
                    .collect();
                for (rank, reply) in replies.into_iter().enumerate() {
                    let expected = format!("value {} for {}", 10 + rank, at.rank());
                    assert_eq!(reply.wait(cx).expect("a result"), expected);
                }
                let replies: Vec<_> = at.all().map(|r| at.call(cx, r, &number, 3)).collect();
                replies
                    .into_iter()
                    .map(|r| r.wait(cx).expect("a result"))
                    .sum::<u64>()
            })
        });
        ended.expect("no error")
    });
    assert_eq!(sums, [99; 3]);
}

/// Batches: each call once, whether the handler is short or not; at the own rank too.
#[test]
fn batches() {
    for ranks in [1, 2, 4] {
        let sums = world::loopback(ranks, |world| {
            let (short, long) = (AtomicU64::new(0), AtomicU64::new(0));
            let add = handler(|_, _, n: u64| _ = short.fetch_add(n, Relaxed)).short();
            let add_text =
                handler(|_, _, text: String| _ = long.fetch_add(text.len() as u64, Relaxed));
            let ended = runtime(world, 1).run(|cx| {
                world.team().finish(cx, &(&add, &add_text), |cx, at| {
                    let mut numbers = at.batch(cx, &add);
                    let mut texts = at.batch(cx, &add_text);
                    for n in 0..5000 {
                        let to = Rank(n as u32 % at.ranks());
                        numbers.push(cx, to, n);
                        texts.push(cx, to, "x".repeat(n as usize % 7));
                    }
                    drop((numbers, texts));
                    // A batch in a scope of its own, which waits for it.
                    for to in at.all() {
                        at.call(cx, to, &add, 0).wait(cx).expect("a result");
                    }
                    cx.scope(|cx| {
                        let mut last = at.batch(cx, &add);
                        last.push(cx, Rank(0), 1);
                        last.flush();
                        last.push(cx, Rank(0), 1);
                    });
                })
            });
            ended.expect("no error");
            (short.into_inner(), long.into_inner())
        });
        let numbers: u64 = sums.iter().map(|(short, _)| short).sum();
        let texts: u64 = sums.iter().map(|(_, long)| long).sum();
        assert_eq!(numbers, u64::from(ranks) * (4999 * 5000 / 2 + 2));
        assert_eq!(
            texts,
            u64::from(ranks) * (0..5000u64).map(|n| n % 7).sum::<u64>()
        );
    }
}

/// Handlers of batches: each call once, many at a time; calls that they leave are dropped.
#[test]
fn handlers_of_batches() {
    const ALL: u64 = 5000;
    for ranks in [1, 2, 4] {
        let taken = world::loopback(ranks, |world| {
            let (groups, firsts) = (Mutex::new(Vec::new()), AtomicU64::new(0));
            let push = |from, group: Vec<u64>| groups.lock().expect("no panic").push((from, group));
            let all = batch_handler(|_, at, numbers| push(at.from(), numbers.collect()));
            let first = batch_handler(|_, _, mut texts: Arguments<'_, String>| {
                firsts.fetch_add(texts.next().is_some().into(), Relaxed);
            });
            let ended = runtime(world, 1).run(|cx| {
                world.team().finish(cx, &(&all, &first), |cx, at| {
                    let (mut numbers, mut texts) = (at.batch(cx, &all), at.batch(cx, &first));
                    for n in 0..ALL {
                        numbers.push(cx, Rank(n as u32 % at.ranks()), n);
                        texts.push(cx, Rank(n as u32 % at.ranks()), n.to_string());
                    }
                    for to in at.all() {
                        at.spawn(cx, to, &all, ALL);
                        at.call(cx, to, &all, ALL).wait(cx).expect("a result");
                    }
                })
            });
            ended.expect("no error");
            (groups.into_inner().expect("no panic"), firsts.into_inner())
        });
        let mut firsts = 0;
        for (here, (groups, taken)) in (0..ranks).zip(taken) {
            for from in 0..ranks {
                let groups = || groups.iter().filter(|group| group.0 == Rank(from));
                let mut numbers = Vec::from_iter(groups().flat_map(|group| &group.1).copied());
                numbers.sort_unstable();
                let sent = (0..ALL).filter(|n| (n % u64::from(ranks)) as u32 == here);
                assert!(numbers.into_iter().eq(sent.chain([ALL; 2])), "from {from}");
                // Hundreds in each message of another rank.
                let most = groups().map(|group| group.1.len()).max();
                assert!((most > Some(100)) == (from != here), "{most:?} from {from}");
            }
            firsts += taken;
        }
        // All of the own rank, and one of each message of the others.
        assert!((ALL..2 * ALL).contains(&firsts), "{firsts}");
    }
}

/// A panic of an activity reaches the owner of its finish; the others continue if that one takes
/// it.
#[test]
fn a_panic_reaches_the_owner() {
    world::loopback(3, |world| {
        let after = AtomicU32::new(0);
        let fail = handler(|cx: &mut Cx<'_, '_>, at, depth: u32| {
            if depth == 0 {
                panic!("no such depth");
            }
            at.again(cx, Rank((at.rank().0 + 1) % at.ranks()), depth - 1);
        });
        let count = handler(|_, _, ()| _ = after.fetch_add(1, SeqCst));
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &(&fail, &count), |cx, at| {
                if at.rank() != Rank(0) {
                    return;
                }
                for depth in 0..4 {
                    let run = || cx.finish(|cx| at.spawn(cx, Rank(1), &fail, depth));
                    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
                    let text = payload.downcast_ref::<String>().expect("a text");
                    let rank = (1 + depth) % 3;
                    assert_eq!(*text, format!("rank {rank}: no such depth"));
                }
                at.all().for_each(|to| at.spawn(cx, to, &count, ()));
            })
        });
        ended.expect("the panics were caught");
        assert_eq!(after.into_inner(), 1);
    });
}

/// A panic that no task catches ends the finish at every rank.
#[test]
fn a_panic_ends_the_finish_of_all() {
    let errors = world::loopback(3, |world| {
        let fail = handler(|_, _, ()| -> () { panic!("lost my bearings") });
        let rt = runtime(world, 1);
        let run = || {
            rt.run(|cx| {
                world.team().finish(cx, &fail, |cx, at| {
                    if at.rank() == Rank(1) {
                        at.spawn(cx, Rank(2), &fail, ());
                    }
                })
            })
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(ended) => {
                let tautline::Error::Rank(error) = ended.expect_err("an error") else {
                    panic!("another error");
                };
                assert_eq!(error.kind(), RankErrorKind::Panicked);
                error.to_string()
            }
            Err(payload) => payload.downcast_ref::<String>().expect("a text").clone(),
        }
    });
    assert_eq!(errors[1], "rank 2: lost my bearings");
    for error in errors {
        assert!(error.contains("lost my bearings"), "{error}");
    }
}

/// Cancellation reaches the ranks that take part, and drops what has not begun.
#[test]
fn cancellation_reaches_all() {
    let (begun, cancelled) = (AtomicU32::new(0), AtomicU32::new(0));
    world::loopback(3, |world| {
        let search = handler(|cx: &mut Cx<'_, '_>, at, n: u32| {
            if n == 7 {
                // Others run above it if its worker helps.
                while begun.load(SeqCst) == 0 {
                    thread::yield_now();
                }
                cx.cancel(Reason::Found);
                return;
            }
            begun.fetch_add(1, SeqCst);
            let since = std::time::Instant::now();
            while cx.cancelled().is_none() {
                assert!(
                    since.elapsed() < Duration::from_secs(60),
                    "never cancelled at {at:?}"
                );
                cx.block_on(cx.task().yield_now());
            }
            cancelled.fetch_add(1, SeqCst);
        });
        let late = handler(|_, _, ()| -> () { panic!("it was cancelled before") });
        let ended = runtime(world, 2).run(|cx| {
            world.team().finish(cx, &(&search, &late), |cx, at| {
                if at.rank() != Rank(0) {
                    return;
                }
                let found = cx.finish(|cx| {
                    at.spawn(cx, Rank(1), &search, 1);
                    at.spawn(cx, Rank(2), &search, 2);
                    at.spawn(cx, Rank(1), &search, 7);
                });
                assert_eq!(found.expect_err("cancelled").reason, Reason::Found);
                // By the owner.
                let given_up = cx.finish(|cx| {
                    at.spawn(cx, Rank(1), &search, 1);
                    at.spawn(cx, Rank(2), &search, 2);
                    cx.cancel(Reason::GivenUp);
                    at.spawn(cx, Rank(1), &late, ());
                    let lost = at.call(cx, Rank(2), &late, ()).wait(cx);
                    assert!(lost.is_err(), "a call after the cancellation");
                });
                assert_eq!(given_up.expect_err("cancelled").reason, Reason::GivenUp);
            })
        });
        ended.expect("the finish around them was not cancelled");
    });
    assert!(cancelled.into_inner() >= 1, "no activity had begun");
}

/// Finishes of overlapping teams are open at once, and one runs inside an activity of another.
#[test]
fn finishes_of_several_teams() {
    let log = Mutex::new(Vec::new());
    world::loopback(4, |world| {
        let here = world.rank().0;
        let rt = runtime(world, 1);
        rt.run(|cx| {
            let mut all = world.team();
            let low = all
                .split((here < 3).then_some(0))
                .wait(cx)
                .expect("no error");
            let high = all
                .split((here > 0).then_some(0))
                .wait(cx)
                .expect("no error");
            let count = AtomicU32::new(0);
            let add = handler(|_, _, n: u32| _ = count.fetch_add(n, Relaxed));
            cx.scope(|cx| {
                for (mut team, n) in low
                    .into_iter()
                    .map(|t| (t, 1))
                    .chain(high.map(|t| (t, 100)))
                {
                    let add = &add;
                    cx.spawn(move |cx| {
                        let ended = team.finish(cx, add, |cx, at| {
                            at.all().for_each(|to| at.spawn(cx, to, add, n));
                        });
                        ended.expect("no error");
                    });
                }
            });
            log.lock()
                .expect("no panic")
                .push((here, count.into_inner()));
        });
    });
    let mut log = log.into_inner().expect("no panic");
    log.sort_unstable();
    assert_eq!(log, [(0, 3), (1, 303), (2, 303), (3, 300)]);
}

/// With one rank nothing is encoded: values that cannot be are moved.
#[test]
fn alone() {
    #[derive(Debug)]
    struct Moved(u32);
    impl serde::Serialize for Moved {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("it is not sent");
        }
    }
    impl<'de> serde::Deserialize<'de> for Moved {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            panic!("it is not sent");
        }
    }
    let world = World::alone();
    let sum = AtomicU32::new(0);
    let add = handler(|_, _, value: Moved| {
        sum.fetch_add(value.0, Relaxed);
        Moved(value.0 + 1)
    });
    let last = runtime(&world, 2).run(|cx| {
        world.team().finish(cx, &add, |cx, at| {
            (0..10).for_each(|n| at.spawn(cx, Rank(0), &add, Moved(n)));
            at.batch(cx, &add).push(cx, Rank(0), Moved(100));
        })
    });
    last.expect("no error");
    assert_eq!(sum.into_inner(), 145);
}

/// Handlers that differ between ranks are refused before any activity has run.
#[test]
fn handlers_that_differ() {
    let ran = AtomicU32::new(0);
    let errors = world::loopback(2, |world| {
        let one = handler(|_, _, _: u32| _ = ran.fetch_add(1, SeqCst));
        let other = handler(|_, _, _: u64| _ = ran.fetch_add(1, SeqCst));
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let ended = match world.is_home() {
                true => team.finish(cx, &one, |cx, at| at.spawn(cx, Rank(1), &one, 1)),
                false => team.finish(cx, &other, |cx, at| at.spawn(cx, Rank(0), &other, 1)),
            };
            ended.expect_err("they differ").to_string()
        })
    });
    for error in errors {
        assert!(
            error.contains("`finish`") && error.contains("team_finish.rs:"),
            "{error}"
        );
    }
    assert_eq!(ran.into_inner(), 0);
}

/// Mistakes of the caller.
#[test]
fn mistakes_of_the_caller() {
    let world = World::alone();
    let rt = runtime(&world, 1);
    let (known, unknown) = (handler(|_, _, (): ()| ()), handler(|_, _, (): ()| ()));
    let text = |run: &dyn Fn(&mut Cx<'_, '_>)| {
        let payload = catch_unwind(AssertUnwindSafe(|| rt.run(|cx| run(cx)))).expect_err("a panic");
        let text = payload.downcast_ref::<String>().cloned();
        text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
    };
    let outside = text(&|cx| {
        _ = world
            .team()
            .finish(cx, &known, |cx, at| at.spawn(cx, Rank(1), &known, ()));
    });
    assert_eq!(outside, "rank 1 of a group of 1 ranks");
    let unlisted = text(&|cx| {
        _ = world
            .team()
            .finish(cx, &known, |cx, at| at.spawn(cx, Rank(0), &unknown, ()));
    });
    assert_eq!(unlisted, "a handler that was passed to the finish");
    let in_body = text(&|cx| {
        _ = world
            .team()
            .finish(cx, &known, |cx, at| at.again(cx, Rank(0), ()));
    });
    assert_eq!(in_body, "no handler runs: this is the body");
}

/// A result that arrives after the report of its rank is not lost: in teams of more than nine, the
/// report takes another way.
#[test]
fn results_later_than_reports() {
    let lengths = world::loopback(11, |world| {
        let text = handler(|_, _, length: usize| "x".repeat(length));
        runtime(world, 1).run(|cx| {
            world.team().finish(cx, &text, |cx, at| {
                let first = at.rank() == Rank(0);
                let calls = (0..20)
                    .filter(|_| first)
                    .map(|n| (Rank(10 - n % 2), 3_000_000 * (n as usize % 2)));
                let texts = calls.map(|(to, length)| at.call(cx, to, &text, length).wait(cx));
                texts
                    .map(|text| text.expect("a result").len())
                    .sum::<usize>()
            })
        })
    });
    assert_eq!(lengths[0].as_ref().expect("no error"), &30_000_000);
}

/// A panic in a scope that the program catches does not cancel the finish around it.
#[test]
fn a_panic_that_is_caught_cancels_nothing() {
    world::loopback(2, |world| {
        // A sleep, so that activities run while a scope beside them fails.
        let slow = handler(|_, _, ()| thread::sleep(Duration::from_millis(5)));
        let ended = runtime(world, 1).run(|cx| {
            world.team().finish(cx, &slow, |cx, at| {
                let other = Rank(1 - at.rank().0);
                let run = || {
                    cx.scope(|cx| {
                        at.spawn(cx, other, &slow, ());
                        std::panic::resume_unwind(Box::new("caught"));
                    })
                };
                let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
                assert_eq!(payload.downcast_ref(), Some(&"caught"));
                assert_eq!(cx.cancelled(), None);
            })
        });
        ended.expect("the panic was caught");
    });
}

/// A rank is lost while activities of the others run, and while others have arrived.
#[test]
fn a_rank_that_is_lost() {
    let errors = Mutex::new(Vec::new());
    let run = || {
        world::loopback(3, |world| {
            if world.rank() == Rank(2) {
                // A sleep, since no event reports that activities run at the others.
                thread::sleep(Duration::from_millis(20));
                std::panic::resume_unwind(Box::new("lost"));
            }
            let spin = handler(|cx: &mut Cx<'_, '_>, at, n: u32| {
                if n > 0 {
                    at.again(cx, Rank(1 - at.rank().0), n - 1);
                }
                while cx.cancelled().is_none() {
                    cx.block_on(cx.task().yield_now());
                }
            });
            let ended = runtime(world, 1).run(|cx| {
                world.team().finish(cx, &spin, |cx, at| {
                    let other = Rank(1 - at.rank().0);
                    (0..20).for_each(|n| at.spawn(cx, other, &spin, n));
                })
            });
            let line = ended.expect_err("rank 2 is lost").to_string();
            errors.lock().expect("no panic").push(line);
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let errors = errors.into_inner().expect("no panic");
    assert_eq!(errors.len(), 2);
    assert!(
        errors.iter().all(|line| line.contains("rank 2")),
        "{errors:?}"
    );
}
