//! Collective operations of a world, against what they mean.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tautline::Result;
use tautline::world::{self, World};

const RANKS: [u32; 6] = [1, 2, 3, 5, 8, 40];

/// Runs `program` at each of these ranks, and returns the results by rank.
fn on<T: Send>(ranks: u32, program: impl Fn(&World) -> Result<T> + Sync) -> Vec<T> {
    let ended = world::loopback(ranks, program);
    ended.into_iter().collect::<Result<_>>().expect("no error")
}

/// The name of a rank: combined, the names show the order.
fn name(world: &World) -> String {
    format!("{};", world.rank().0)
}

fn names(ranks: u32) -> Vec<String> {
    (0..ranks).map(|rank| format!("{rank};")).collect()
}

#[test]
fn values_are_combined_in_the_order_of_ranks() {
    for ranks in RANKS {
        let all = on(ranks, |world| {
            world.all_reduce(name(world), |a, b| a + b.as_str())
        });
        assert!(all.iter().all(|all| *all == names(ranks).concat()));
        let before = on(ranks, |world| {
            world.scan(name(world), |a, b| a + b.as_str())
        });
        for (rank, before) in before.into_iter().enumerate() {
            let expected = names(rank as u32).concat();
            assert_eq!(before.unwrap_or_default(), expected);
        }
        let gathered = on(ranks, |world| world.all_gather(name(world)));
        assert!(gathered.iter().all(|all| *all == names(ranks)));
        let first = on(ranks, |world| world.broadcast(name(world)));
        assert!(first.iter().all(|first| first == "0;"));
    }
}

#[test]
fn rank_0_alone_has_what_it_reduces_and_gathers() {
    for ranks in RANKS {
        let reduced = on(ranks, |world| {
            world.reduce(name(world), |a, b| a + b.as_str())
        });
        assert_eq!(reduced[0], Some(names(ranks).concat()));
        assert!(reduced[1..].iter().all(Option::is_none));
        let gathered = on(ranks, |world| world.gather(name(world)));
        assert_eq!(gathered[0], Some(names(ranks)));
        assert!(gathered[1..].iter().all(Option::is_none));
    }
}

#[test]
fn each_rank_gets_its_value_of_rank_0() {
    for ranks in RANKS {
        let dealt = on(ranks, |world| {
            let own = name(world);
            // Those of other ranks are ignored, as their number is.
            let values = if world.is_home() {
                names(ranks)
            } else {
                vec![own]
            };
            world.scatter(values)
        });
        assert_eq!(dealt, names(ranks));
    }
}

#[test]
#[should_panic(expected = "3 values for 2 ranks")]
fn values_for_more_ranks_than_there_are() {
    world::loopback(2, |world| world.scatter(vec![1; 3]).is_ok());
}

/// Each operation is a barrier, also those whose values travel in one direction.
#[test]
fn no_call_returns_before_all_ranks_have_made_it() {
    type Call = fn(&World) -> Result<()>;
    let calls: [(&str, Call); 8] = [
        ("barrier", World::barrier),
        ("broadcast", |world| world.broadcast(1).map(drop)),
        ("reduce", |world| world.reduce(1, |a, b| a + b).map(drop)),
        ("gather", |world| world.gather(1).map(drop)),
        ("scatter", |world| {
            world.scatter(vec![1; world.ranks() as usize]).map(drop)
        }),
        ("scan", |world| world.scan(1, |a, b| a + b).map(drop)),
        ("all-reduce", |world| {
            world.all_reduce(1, |a, b| a + b).map(drop)
        }),
        ("all-gather", |world| world.all_gather(1).map(drop)),
    ];
    for (name, call) in calls {
        for ranks in [2, 3, 5, 8] {
            for last in 0..ranks {
                let made = AtomicU32::new(0);
                on(ranks, |world| {
                    if world.rank().0 == last {
                        // Late, so that a rank that does not wait for it is ahead.
                        thread::sleep(Duration::from_millis(2));
                    }
                    made.fetch_add(1, SeqCst);
                    call(world)?;
                    assert_eq!(made.load(SeqCst), ranks, "{name}: rank {last} is late");
                    Ok(())
                });
            }
        }
    }
}

#[test]
fn each_rank_gets_what_all_have_for_it() {
    for ranks in RANKS {
        let exchanged = on(ranks, |world| {
            let from = world.rank().0;
            world.all_to_all((0..ranks).map(|to| (from, to)).collect())
        });
        for (to, values) in (0..).zip(exchanged) {
            let expected: Vec<_> = (0..ranks).map(|from| (from, to)).collect();
            assert_eq!(values, expected);
        }
    }
}

/// Each call returns only after all ranks have made it, so none runs ahead.
#[test]
fn many_calls_follow_one_another() {
    let sums = on(3, |world| {
        let mut sum = 0u64;
        for round in 0..2_000u64 {
            sum += world.all_reduce(round + u64::from(world.rank().0), |a, b| a + b)?;
            if round % 100 == 0 {
                world.barrier()?;
            }
        }
        Ok(sum)
    });
    let expected: u64 = (0..2_000).map(|round| 3 * round + 3).sum();
    assert_eq!(sums, [expected; 3]);
}

#[test]
fn ranks_that_make_other_calls_have_an_error() {
    let errors = world::loopback(2, |world| match world.is_home() {
        true => world.barrier().map_err(|error| error.to_string()),
        false => world
            .broadcast(1)
            .map(|_| ())
            .map_err(|error| error.to_string()),
    });
    for error in errors {
        let error = error.expect_err("not the same call");
        assert!(
            error.contains("barrier") && error.contains("broadcast"),
            "{error}"
        );
    }
}

#[test]
fn a_rank_that_leaves_is_named() {
    let ended = world::loopback(3, |world| match world.rank().0 {
        2 => Ok(()),
        _ => world.barrier(),
    });
    for (rank, ended) in ended.into_iter().enumerate().take(2) {
        let error = ended.expect_err("rank 2 has left").to_string();
        assert!(error.contains("rank 2"), "rank {rank}: {error}");
    }
}

/// A value that its own type does not decode.
#[derive(Clone, Debug)]
enum Undecodable {
    Refused,
    Panics,
}

impl serde::Serialize for Undecodable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(matches!(self, Self::Panics))
    }
}

impl<'de> serde::Deserialize<'de> for Undecodable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match bool::deserialize(deserializer)? {
            true => panic!("wanted"),
            false => Err(serde::de::Error::custom("wanted")),
        }
    }
}

/// Each rank gets an error, also of later calls, and none waits.
#[test]
fn a_value_that_cannot_be_decoded_ends_the_calls_of_all_ranks() {
    for value in [Undecodable::Refused, Undecodable::Panics] {
        let ended = world::loopback(3, |world| {
            let pending = world.comm().barrier();
            let first = world.all_gather(value.clone()).is_err();
            (
                first,
                world.barrier().is_err(),
                pending.wait_blocking().is_err(),
            )
        });
        for (first, second, _) in ended {
            assert!(first && second, "{value:?}");
        }
    }
}
