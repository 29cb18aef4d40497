//! Teams of ranks and their calls.

mod ranks;

use ranks::{mixed, runtime};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use tautline::prelude::*;
use tautline::team::{Operator, RankErrorKind, Team, handler};
use tautline::world::{self, Rank, World};

/// A small generator of delays and values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = mixed(self.0, 1);
        self.0
    }

    fn delay(&mut self) {
        match self.next() % 8 {
            0 => thread::sleep(Duration::from_micros(self.next() % 200)),
            1 => thread::yield_now(),
            _ => {}
        }
    }
}

/// Makes every call of a team, with values that show the ranks of the program.
fn every_call(cx: &mut Cx<'_, '_>, team: &mut Team, random: &mut Random) -> tautline::Result<()> {
    let (here, ranks) = (team.rank(), team.ranks());
    let members: Vec<u32> = (0..ranks).map(|r| team.world_rank(Rank(r)).0).collect();
    let own = members[here.index()];
    let joined = |a: String, b: String| a + "," + &b;
    let text = |of: &[u32]| {
        let names: Vec<_> = of.iter().map(u32::to_string).collect();
        names.join(",")
    };
    let root = Rank(members.iter().sum::<u32>() % ranks);
    let at_root = |value| (here == root).then_some(value);
    random.delay();
    team.barrier().wait(cx)?;
    let from_root = team.broadcast(root, own.to_string()).wait(cx)?;
    assert_eq!(from_root, members[root.index()].to_string());
    random.delay();
    let parts = if here == root {
        members.clone()
    } else {
        Vec::new()
    };
    assert_eq!(team.scatter(root, parts).wait(cx)?, own);
    let all = team.reduce(root, own.to_string(), joined).wait(cx)?;
    assert_eq!(all, at_root(text(&members)));
    random.delay();
    let all = team.gather(root, vec![own; own as usize]).wait(cx)?;
    let unequal = members
        .iter()
        .map(|&r| vec![r; r as usize])
        .collect::<Vec<_>>();
    assert_eq!(all, (here == root).then(|| unequal.clone()));
    assert_eq!(team.all_gather(vec![own; own as usize]).wait(cx)?, unequal);
    let all = team.all_reduce(own.to_string(), joined).wait(cx)?;
    assert_eq!(all, text(&members));
    random.delay();
    let mut sums = [f64::from(own), 0.5, 1e300];
    team.all_reduce_slice(&mut sums, Operator::Sum).wait(cx)?;
    let sum: u32 = members.iter().sum();
    assert_eq!(
        sums,
        [
            f64::from(sum),
            0.5 * f64::from(ranks),
            1e300 * f64::from(ranks)
        ]
    );
    let before = team.scan(own.to_string(), joined).wait(cx)?;
    let expected = text(&members[..here.index()]);
    assert_eq!(before, (here.0 > 0).then_some(expected));
    let pairs = members.iter().map(|&to| (own, to)).collect();
    let exchanged = team.all_to_all(pairs).wait(cx)?;
    assert!(
        exchanged
            .into_iter()
            .eq(members.iter().map(|&from| (from, own)))
    );
    Ok(())
}

/// Teamed, acceptance fact T-1: calls of a team need its ranks only: every call, on every subset of
/// two and more of five ranks, while the others make none.
#[test]
fn calls_of_every_subset() {
    for workers in [1, 2] {
        let ended = world::loopback(5, |world| {
            let mut random = Random(7 + u64::from(world.rank().0) + 100 * workers as u64);
            runtime(world, workers).run(|cx| {
                let mut all = world.team();
                let mut calls = 0;
                for members in (0..32u32).filter(|members| members.count_ones() >= 2) {
                    let is_member = members >> world.rank().0 & 1 == 1;
                    let team = all.split(is_member.then_some(members)).wait(cx)?;
                    assert_eq!(team.is_some(), is_member);
                    let Some(mut team) = team else { continue };
                    assert_eq!(team.ranks(), members.count_ones());
                    every_call(cx, &mut team, &mut random)?;
                    calls += 1;
                }
                Ok::<_, tautline::Error>(calls)
            })
        });
        for calls in ended {
            assert_eq!(calls.expect("no error"), 15);
        }
    }
}

/// A team of the only rank: every call, and none sends anything.
#[test]
fn a_team_of_one() {
    let world = World::alone();
    runtime(&world, 1).run(|cx| {
        let mut team = world.team();
        every_call(cx, &mut team, &mut Random(1)).expect("no error");
        let mut half = team
            .split(Some(3))
            .wait(cx)
            .expect("no error")
            .expect("a team");
        every_call(cx, &mut half, &mut Random(1)).expect("no error");
        assert!(team.split(None).wait(cx).expect("no error").is_none());
    });
}

/// Teamed, acceptance fact T-2: no rank returns from a call that brings something of all ranks
/// before all have entered it.
#[test]
fn no_rank_returns_before_all_have_entered() {
    let entered = AtomicU32::new(0);
    world::loopback(4, |world| {
        let mut random = Random(3 + u64::from(world.rank().0));
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            for round in 1..=200 {
                random.delay();
                entered.fetch_add(1, Ordering::SeqCst);
                match round % 3 {
                    0 => team.barrier().wait(cx).expect("no error"),
                    1 => drop(team.all_gather(()).wait(cx).expect("no error")),
                    _ => _ = team.all_reduce(1, |a, b| a + b).wait(cx).expect("no error"),
                }
                assert!(entered.load(Ordering::SeqCst) >= 4 * round);
            }
        });
    });
}

/// Teamed, acceptance facts T-3, T-4 and T-7: teams are used by any task that has them; teams of
/// the same ranks do not affect each other, whichever of them begins first; no call occupies the
/// worker.
#[test]
fn tasks_with_teams_of_their_own() {
    const TEAMS: usize = 64;
    let overlaps = AtomicBool::new(false);
    world::loopback(4, |world| {
        let rt = runtime(world, 1);
        let mut teams: Vec<Team> = (0..TEAMS).map(|_| world.team()).collect();
        // Each rank begins with another one.
        teams.rotate_left(world.rank().index() * 17);
        let (waiting, sums) = (AtomicU32::new(0), Mutex::new(Vec::new()));
        rt.run(|cx| {
            cx.scope(|cx| {
                for (at, mut team) in teams.into_iter().enumerate() {
                    let (waiting, sums, overlaps) = (&waiting, &sums, &overlaps);
                    let number = (at + world.rank().index() * 17) % TEAMS;
                    cx.spawn_async(move |_| async move {
                        let mut sum = number as u64;
                        for _ in 0..3 {
                            let others = waiting.fetch_add(1, Ordering::Relaxed);
                            overlaps.fetch_or(others > 0, Ordering::Relaxed);
                            sum = team.all_reduce(sum, |a, b| a + b).await.expect("no error");
                            waiting.fetch_sub(1, Ordering::Relaxed);
                        }
                        sums.lock().expect("no panic").push((number, sum));
                    });
                }
            });
        });
        let mut sums = sums.into_inner().expect("no panic");
        sums.sort_unstable();
        assert!(
            sums.into_iter()
                .eq((0..TEAMS).map(|number| (number, 64 * number as u64)))
        );
    });
    assert!(
        overlaps.into_inner(),
        "no call was begun while another one waited"
    );
}

/// A copy of a team, and copies of that, have calls of their own.
#[test]
fn copies_of_teams() {
    world::loopback(3, |world| {
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let mut copy = team.dup().wait(cx).expect("no error");
            let mut second = copy.dup().wait(cx).expect("no error");
            let here = world.rank().0;
            // Ranks begin the calls of different teams in different orders.
            let teams = [&mut team, &mut copy, &mut second];
            let mut calls: Vec<_> = teams
                .into_iter()
                .map(|team| team.all_reduce(here, |a, b| a + b))
                .collect();
            calls.rotate_left(here as usize);
            for call in calls {
                assert_eq!(call.wait(cx).expect("no error"), 3);
            }
        });
    });
}

/// Two thousand teams, made and dropped.
#[test]
fn many_teams() {
    world::loopback(2, |world| {
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            for _ in 0..2_000 {
                let mut copy = team.dup().wait(cx).expect("no error");
                copy.barrier().wait(cx).expect("no error");
            }
        });
    });
}

type Diverging = fn(&mut Cx<'_, '_>, &mut Team, bool) -> tautline::Result<()>;

/// Teamed, acceptance fact T-6: calls that differ end with an error at every rank that names both.
#[test]
fn calls_that_differ() {
    let cases: [(Diverging, [&str; 2]); 6] = [
        (
            |cx, team, odd| match odd {
                true => team.all_reduce(1u32, |a, b| a + b).wait(cx).map(drop),
                false => team.barrier().wait(cx),
            },
            ["`all-reduce`", "`barrier`"],
        ),
        (
            |cx, team, odd| match odd {
                true => team.all_reduce(1u32, |a, b| a + b).wait(cx).map(drop),
                false => team.all_reduce(1u32, |a, b| a + b).wait(cx).map(drop),
            },
            ["`all-reduce`", "`all-reduce`"],
        ),
        (
            |cx, team, odd| team.broadcast(Rank(odd.into()), 5u8).wait(cx).map(drop),
            ["`broadcast, root: rank 0`", "`broadcast, root: rank 1`"],
        ),
        (
            |cx, team, odd| {
                let mut numbers = vec![1u64; 5 + usize::from(odd)];
                team.all_reduce_slice(&mut numbers, Operator::Max).wait(cx)
            },
            ["`all-reduce, elements: 5`", "`all-reduce, elements: 6`"],
        ),
        // Both ranks only receive: rank 1 awaits a value of rank 0, and rank 0 one of rank 1.
        (
            |cx, team, odd| match odd {
                true => team.broadcast(Rank(0), 5u8).wait(cx).map(drop),
                false => team.reduce(Rank(0), 5u8, |a, _| a).wait(cx).map(drop),
            },
            ["`broadcast, root: rank 0`", "`reduce, root: rank 0`"],
        ),
        (
            |cx, team, odd| match odd {
                true => team.split(Some(1)).wait(cx).map(drop),
                false => team.all_gather((Some(1u32), 0u32)).wait(cx).map(drop),
            },
            ["`split`", "`all-gather`"],
        ),
    ];
    for (call, kinds) in cases {
        let errors = world::loopback(2, |world| {
            runtime(world, 1).run(|cx| {
                let mut team = world.team();
                team.barrier().wait(cx).expect("the same call");
                let ended = call(cx, &mut team, !world.is_home());
                // No later call of the team begins.
                assert!(team.barrier().wait(cx).is_err());
                ended
            })
        });
        for (rank, error) in errors.into_iter().enumerate() {
            let Err(tautline::Error::Rank(error)) = error else {
                panic!("{kinds:?} at rank {rank}: {error:?}");
            };
            let line = error.to_string();
            let names_both = kinds.iter().all(|kind| line.contains(kind));
            assert!(
                names_both && line.contains("team.rs:"),
                "rank {rank}: {line}"
            );
            let kinds = [RankErrorKind::Diverged, RankErrorKind::Failed];
            assert!(kinds.contains(&error.kind()), "{error:?}");
        }
    }
}

/// Values of other types differ at compile time in most programs; here by a generic function.
#[test]
fn types_that_differ() {
    fn sum<T: world::Portable + Clone + 'static>(
        cx: &mut Cx<'_, '_>,
        team: &mut Team,
        value: T,
    ) -> String {
        let ended = team.all_gather(value).wait(cx).map(drop);
        ended.expect_err("the types differ").to_string()
    }
    let errors = world::loopback(2, |world| {
        runtime(world, 1).run(|cx| match world.is_home() {
            true => sum(cx, &mut world.team(), 1u32),
            false => sum(cx, &mut world.team(), 1u64),
        })
    });
    for line in errors {
        assert!(line.contains("u32") && line.contains("u64"), "{line}");
    }
}

/// A call that is dropped before its end does not leave the other ranks waiting.
#[test]
fn a_dropped_call() {
    let errors = world::loopback(2, |world| {
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            // Not a barrier: rank 0 has sent its part of that when it drops the call.
            let call = team.all_gather(String::new());
            if world.is_home() {
                drop(call);
                return String::new();
            }
            call.wait(cx)
                .map_or_else(|error| error.to_string(), |_| "it has ended".to_owned())
        })
    });
    assert!(errors[1].contains("given up"), "{}", errors[1]);
}

/// A panic of the operator reaches its caller; a rank that has not called it yet gets an error.
#[test]
fn an_operator_that_panics() {
    let errors = world::loopback(2, |world| {
        let rt = runtime(world, 1);
        let mut team = world.team();
        let fail = |_, _| -> u32 { panic!("no sum") };
        let run = || rt.run(|cx| team.all_reduce(1, fail).wait(cx));
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(ended) => ended.expect_err("an error").to_string(),
            Err(payload) => (*payload.downcast_ref::<&str>().expect("a text")).to_owned(),
        }
    });
    assert!(errors.iter().any(|error| error == "no sum"), "{errors:?}");
}

/// Rank out of the team.
#[test]
#[should_panic(expected = "rank 3 of a group of 1 ranks")]
fn a_root_outside_of_the_team() {
    let world = World::alone();
    let mut team = world.team();
    drop(team.broadcast(Rank(3), 1));
}

/// A rank that does not make the call is named, by a limit of the wait or when it leaves.
#[test]
fn a_rank_that_does_not_enter() {
    let ended = std::sync::Barrier::new(2);
    let errors = world::loopback(2, |world| {
        world.wait_at_most(Duration::from_millis(100));
        let line = world.is_home().then(|| {
            let barrier = |cx: &mut Cx<'_, '_>| world.team().barrier().wait(cx);
            runtime(world, 1)
                .run(barrier)
                .expect_err("late")
                .to_string()
        });
        ended.wait();
        line
    });
    let line = errors[0].as_ref().expect("that of rank 0");
    let start = "rank 0: operation 0 of group 1 (barrier) at platforms/tests/team.rs:";
    assert!(line.starts_with(start), "{line}");
    let end = ": rank 1 has not begun it within 100.0ms";
    assert!(line.ends_with(end), "{line}");
    let errors = world::loopback(3, |world| {
        let enters = world.rank().0 != 1;
        enters.then(|| {
            runtime(world, 1).run(|cx| {
                let nothing = handler(|_, _, (): ()| ());
                let mut team = world.team();
                let ended = team.finish(cx, &nothing, |_, _| ());
                ended.expect_err("rank 1 has left").to_string()
            })
        })
    });
    for line in errors.into_iter().flatten() {
        assert!(line.contains("rank 1"), "{line}");
    }
}

/// A panic of a body ends the finish of all, and nothing is kept waiting.
#[test]
fn a_rank_that_panics() {
    let errors = world::loopback(3, |world| {
        let run = || {
            let rt = runtime(world, 1);
            rt.run(|cx| {
                let wait = handler(|cx: &mut Cx<'_, '_>, _, (): ()| {
                    while cx.cancelled().is_none() {
                        cx.block_on(cx.task().yield_now());
                    }
                });
                let mut team = world.team();
                let ended = team.finish(cx, &wait, |cx, at| {
                    if at.rank() == Rank(2) {
                        panic!("out of fuel");
                    }
                    _ = cx.finish(|cx| at.spawn(cx, Rank(1 - at.rank().0), &wait, ()));
                });
                ended.expect_err("rank 2 has panicked").to_string()
            })
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
            .unwrap_or_else(|payload| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
    });
    assert_eq!(errors[2], "out of fuel");
    for line in errors {
        assert!(line.contains("out of fuel"), "{line}");
    }
}

/// Finnerty, acceptance fact 30: reductions have the same bits at all ranks and in every run,
/// whatever the order in which values arrive; those of a loop are of this rank alone.
#[test]
fn reductions_have_the_same_bits() {
    for ranks in 1..=5 {
        let mut first: Option<[u64; 2]> = None;
        for run in 0..20 {
            let bits = world::loopback(ranks, |world| {
                let mut random = Random(1 + u64::from(world.rank().0) + 10 * run);
                runtime(world, 1).run(|cx| {
                    let mut team = world.team();
                    // Sums that depend on the order of addition.
                    let own = 10f64.powi(16 - 4 * world.rank().0 as i32) / 3.0;
                    let items = vec![own; 10];
                    let local: f64 = cx.par(&items).sum();
                    assert!(
                        (local / own - 10.0).abs() < 1e-9,
                        "the items of other ranks, too"
                    );
                    random.delay();
                    let sum = team.all_reduce(own, |a, b| a + b).wait(cx)?;
                    random.delay();
                    let mut vector = [-own];
                    team.all_reduce_slice(&mut vector, Operator::Sum).wait(cx)?;
                    Ok::<_, tautline::Error>([sum, vector[0]].map(f64::to_bits))
                })
            });
            for bits in bits {
                let bits = bits.expect("no error");
                assert_eq!(*first.get_or_insert(bits), bits, "{ranks} ranks, run {run}");
            }
        }
    }
}

/// Finnerty, acceptance fact 24 (listing 4.2): a put into the map of one rank is invisible at the
/// others, each of which has a map of its own; a call of all ranks moves an entry.
#[test]
fn a_put_is_invisible_at_other_ranks() {
    for (ranks, workers) in [(2, 1), (2, 2), (3, 1), (4, 1), (5, 2)] {
        let maps = world::loopback(ranks, |world| {
            let mut random = Random(7 + u64::from(world.rank().0));
            let map = Mutex::new(BTreeMap::new());
            let put = |key: String, value: &str| {
                map.lock().expect("no panic").insert(key, value.to_owned());
            };
            runtime(world, workers).run(|cx| {
                let mut team = world.team();
                let here = team.rank();
                if here == Rank(0) {
                    put("main".to_owned(), "running");
                }
                random.delay();
                let say = handler(|_, at, ()| put(format!("place({})", at.rank().0), "here"));
                team.finish(cx, &say, |cx, at| {
                    if at.rank() == Rank(0) {
                        at.all().for_each(|to| at.spawn(cx, to, &say, ()));
                    }
                })?;
                let before = map.lock().expect("no panic").clone();
                let moved = |to| match (here, to) {
                    (Rank(0), 1) => map.lock().expect("no panic").remove_entry("main"),
                    _ => None,
                };
                let entries = (0..team.ranks()).map(moved).collect();
                random.delay();
                let arrived = team.all_to_all(entries).wait(cx)?;
                map.lock()
                    .expect("no panic")
                    .extend(arrived.into_iter().flatten());
                Ok::<_, tautline::Error>((before, map.lock().expect("no panic").clone()))
            })
        });
        for (here, maps) in (0..).zip(maps) {
            let (before, after) = maps.expect("no error");
            let own = format!("place({here})");
            let has = |map: &BTreeMap<String, String>, main: u32| {
                let keys = Vec::from_iter(map.keys().map(String::as_str));
                match here == main {
                    true => assert_eq!(keys, ["main", &own]),
                    false => assert_eq!(keys, [&own]),
                }
            };
            has(&before, 0);
            has(&after, 1);
        }
    }
}

/// Teamed, acceptance fact T-5: the documentation of each call of all ranks has a section for it.
#[test]
fn every_call_is_marked() {
    let sources = [
        include_str!("../src/ranks/team/mod.rs"),
        include_str!("../src/ranks/team/calls.rs"),
        include_str!("../src/ranks/team/phaser/tasks.rs"),
        include_str!("../src/ranks/team/phaser/threads.rs"),
        include_str!("../src/ranks/team/finish/mod.rs"),
    ];
    let mut calls = 0;
    for source in sources {
        let of_team = source.split("\nimpl Team {\n").skip(1);
        let items = of_team.flat_map(|it| it.split("\n}\n").next().expect("its end").split("\n\n"));
        let methods = items.filter_map(|item| item.split_once("\n    pub fn "));
        for (documentation, method) in methods {
            let signature = method.split('{').next().expect("a signature");
            if signature.contains("mut self") {
                assert!(documentation.contains("/// # Teamed\n"), "{signature}");
                calls += 1;
            }
        }
    }
    assert_eq!(calls, 17, "other calls: adapt the number");
}
