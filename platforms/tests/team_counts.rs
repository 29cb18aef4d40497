//! Counts of what ranks send: of a team, and of the world.

use std::ops::Add;
use tautline::phaser::Phased;
use tautline::prelude::*;
use tautline::team::{Team, handler};
use tautline::world::{self, Rank, Statistics, World};

/// Bytes of the arguments of an activity.
const ARGS: usize = 1000;

fn runtime(world: &World) -> Runtime {
    let builder = Runtime::builder().world(world).workers(1).pinned(false);
    builder.build().expect("threads start")
}

/// Each activity that leaves its rank counts there, with its bytes, in the team, in the world once
/// its finish has ended, and in no other team.
#[test]
fn activities_are_counted_where_they_are_started() {
    world::loopback(3, |world| {
        let sent = handler(|_, _, args: Vec<u8>| assert_eq!(args.len(), ARGS));
        let here = world.rank().index();
        runtime(world).run(|cx| {
            let mut team = world.team();
            let mut other = team.dup().wait(cx).expect("all make it");
            let before = team.statistics();
            assert_eq!(
                (before.calls, before.spawns, other.statistics().calls),
                (1, 0, 0)
            );
            for round in 1..3 {
                let ended = team.finish(cx, &sent, |cx, at| {
                    // One for itself, and as many for the next rank as its number.
                    let next = Rank((at.rank().0 + 1) % 3);
                    at.spawn(cx, at.rank(), &sent, vec![0; ARGS]);
                    (0..here).for_each(|_| at.spawn(cx, next, &sent, vec![0; ARGS]));
                });
                assert!(ended.is_ok(), "{ended:?}");
                let now = team.statistics();
                let spawns = (round * here) as u64;
                assert_eq!((now.calls, now.spawns), (1 + round as u64, spawns));
                assert_eq!(world.statistics().spawns, spawns);
                let least = spawns * ARGS as u64;
                let added = now.bytes - before.bytes;
                assert!(
                    (least..least + 2000).contains(&added),
                    "{added} for {least}"
                );
                assert!(now.messages - before.messages >= spawns);
                // Rank 0 of the team is sent at least one report of each other rank.
                assert!(here == 0 || now.reports >= round as u64, "{now:?}");
                assert_eq!((now.waits, now.parcels), (0, 0));
            }
            other.barrier().wait(cx).expect("all make it");
            assert_eq!(
                (other.statistics().calls, other.statistics().spawns),
                (1, 0)
            );
            assert_eq!(team.statistics().calls, 3);
            assert!(world.statistics().parcels > 0);
        });
        let all = world
            .reduce(world.statistics(), Add::add)
            .expect("all make it");
        assert_eq!(all.map(|all| all.spawns), (here == 0).then_some(2 * 3));
    });
}

/// A message for a call to come is kept, and counted.
#[test]
fn early_messages_are_counted() {
    // At one place of the program for all ranks.
    let meet = |team: &mut Team, cx: &mut Cx<'_, '_>| team.barrier().wait(cx);
    let early = world::loopback(2, |world| {
        runtime(world).run(|cx| {
            let (mut team, mut other) = (world.team(), world.team());
            if !world.is_home() {
                // Messages between two ranks stay in order: the value is here before this ends.
                meet(&mut other, cx)?;
                assert_eq!(team.statistics().early, 0, "the call is not begun");
            }
            let sum = team.all_reduce(1, |a, b| a + b);
            if world.is_home() {
                meet(&mut other, cx)?;
            }
            assert_eq!(sum.wait(cx)?, 2);
            Ok::<_, tautline::Error>(team.statistics().early)
        })
    });
    let early = early.into_iter().collect::<Result<Vec<_>, _>>();
    assert_eq!(early.expect("no rank is lost"), [0, 1]);
}

/// The exchanges of a phaser are those of a team of its own: one call a phase, and one that has
/// made it.
#[test]
fn phases_are_counted_in_the_world() {
    const PHASES: u64 = 20;
    world::loopback(2, |world| {
        let mut team = world.team();
        runtime(world).run(|cx| {
            let mut phaser = team.phaser(cx).expect("all make it");
            let steps = async |mut task: Phased<'_, '_>| {
                for _ in 0..PHASES {
                    task.next().await.expect("the phase ends");
                }
            };
            let task = cx.spawn_phased(phaser.signal_wait(), steps);
            assert!(task.is_ok());
        });
        assert_eq!(team.statistics().calls, 1);
        // One more, in which the tasks of all ranks have left, and the last one's drop.
        let calls = world.statistics().calls;
        assert!((1 + PHASES..=3 + PHASES).contains(&calls), "{calls}");
        let messages = world.statistics().messages;
        assert!(
            (PHASES..=3 * (3 + PHASES)).contains(&messages),
            "{messages}"
        );
    });
}

/// The only rank sends nothing, and its calls need no other one.
#[test]
fn the_only_rank_sends_nothing() {
    let world = World::alone();
    let nothing = handler(|_, _, (): ()| ());
    let mut team = world.team();
    let ended = runtime(&world).run(|cx| {
        team.barrier().wait(cx)?;
        team.finish(cx, &nothing, |cx, at| at.spawn(cx, Rank(0), &nothing, ()))
    });
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(team.statistics(), Statistics::default());
    assert_eq!(world.statistics(), Statistics::default());
}
