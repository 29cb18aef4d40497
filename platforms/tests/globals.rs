//! Objects that all ranks share: their accesses at all ranks are those of one memory.

mod ranks;

use ranks::runtime;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use tautline::globals::{Operator, Protocol};
use tautline::prelude::*;
use tautline::world::{self, Rank, World};

const PROTOCOLS: [Protocol; 3] = [Protocol::Home, Protocol::Directory, Protocol::Migratory];

/// Calls `program` at some ranks with each protocol, each home and workers.
fn everywhere(program: impl Fn(&World, usize, Protocol, Rank) + Sync) {
    for ranks in [1, 2, 3] {
        for workers in [1, 2] {
            for protocol in PROTOCOLS {
                for home in 0..ranks {
                    world::loopback(ranks, |world| program(world, workers, protocol, Rank(home)));
                }
            }
        }
    }
}

/// Each number is given out once, and none is left out.
#[test]
fn tickets_are_given_out_once() {
    const EACH: u64 = 50;
    for ranks in [1, 2, 4] {
        for protocol in PROTOCOLS {
            let tickets = world::loopback(ranks, |world| {
                let mut globals = world.globals();
                let next = globals.create_as(protocol, Rank(0), || 0u64);
                let take = globals.operation(|next: &mut u64, count: u64| {
                    *next += count;
                    *next - count
                });
                runtime(world, 2).run(|cx| {
                    let take = |cx: &mut Cx<'_, '_>| match world.rank().0 % 2 {
                        0 => next.update(cx, &take, 1).expect("no rank is lost"),
                        _ => next.apply(cx, Operator::Sum, 1).expect("no rank is lost"),
                    };
                    let mut taken: Vec<_> = (0..EACH).map(|_| 0).collect();
                    cx.scope(|cx| {
                        for ticket in &mut taken {
                            cx.spawn(|cx| *ticket = take(cx));
                        }
                    });
                    world.team().barrier().wait(cx).expect("no rank is lost");
                    assert_eq!(next.get(cx).expect("no rank is lost"), EACH * ranks as u64);
                    world.team().barrier().wait(cx).expect("no rank is lost");
                    taken
                })
            });
            let all: Vec<u64> = tickets.into_iter().flatten().collect();
            let distinct: BTreeSet<_> = all.iter().copied().collect();
            assert_eq!(distinct, (0..EACH * ranks as u64).collect());
            assert_eq!(distinct.len(), all.len());
        }
    }
}

/// Ranks change an object in turn, and read what the others have left.
#[test]
fn each_rank_reads_what_others_have_left() {
    everywhere(|world, workers, protocol, home| {
        let (here, ranks) = (world.rank().0, world.ranks());
        let mut globals = world.globals();
        let words = globals.create_as(protocol, home, || vec!["begin".to_owned()]);
        runtime(world, workers).run(|cx| {
            let mut team = world.team();
            let before = words.read(cx).expect("no rank is lost");
            team.barrier().wait(cx).expect("no rank is lost");
            for turn in 0..ranks {
                if turn == here {
                    let word = format!("rank {here}");
                    let len = words.modify(cx, move |words| {
                        words.push(word);
                        words.len()
                    });
                    assert_eq!(len.expect("no rank is lost"), turn as usize + 2);
                }
                team.barrier().wait(cx).expect("no rank is lost");
                let words = words.read(cx).expect("no rank is lost");
                assert_eq!(words.len(), turn as usize + 2);
                assert_eq!(words.last(), Some(&format!("rank {turn}")));
                team.barrier().wait(cx).expect("no rank is lost");
            }
            // A view stays.
            assert_eq!(*before, ["begin"]);
            if here == home.0 {
                words.set(cx, Vec::new()).expect("no rank is lost");
            }
            team.barrier().wait(cx).expect("no rank is lost");
            assert!(words.get(cx).expect("no rank is lost").is_empty());
            team.barrier().wait(cx).expect("no rank is lost");
        });
    });
}

/// A panic leaves the value as it was, and reaches the caller.
#[test]
fn a_panic_leaves_the_value() {
    everywhere(|world, workers, protocol, home| {
        let mut globals = world.globals();
        let count = globals.create_as(protocol, home, || 7u64);
        let fail = globals.operation(|count: &mut u64, by: u64| -> u64 {
            *count += by;
            panic!("no more than {count}")
        });
        runtime(world, workers).run(|cx| {
            let mut team = world.team();
            let error = count.update(cx, &fail, 3).expect_err("it panics");
            let line = error.to_string();
            assert!(line.ends_with(": no more than 10"), "{line}");
            assert!(
                line.contains("object 0 of rank") && line.contains("globals.rs"),
                "{line}"
            );
            assert_eq!(count.get(cx).expect("no rank is lost"), 7);
            team.barrier().wait(cx).expect("no rank is lost");
        });
    });
}

/// Whether decoding or encoding a value fails.
#[derive(Clone, Debug, Default, PartialEq)]
enum Value {
    #[default]
    Good,
    Unencodable,
    Panics,
    PanicsWhenDecoded,
}

impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Good => serializer.serialize_u8(0),
            Self::Unencodable => Err(serde::ser::Error::custom("it is secret")),
            Self::Panics => panic!("it is no value"),
            Self::PanicsWhenDecoded => serializer.serialize_u8(1),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            0 => Ok(Self::Good),
            _ => panic!("it has no decoding"),
        }
    }
}

/// A value that does not travel ends the accesses to its object, and nothing else.
#[test]
fn values_that_do_not_travel_end_the_accesses_to_their_object() {
    for (value, line) in [
        (Value::Unencodable, "its `Serialize` implementation failed"),
        (Value::Panics, "encoding it panicked: it is no value"),
        (
            Value::PanicsWhenDecoded,
            "decoding it panicked: it has no decoding",
        ),
    ] {
        for protocol in PROTOCOLS {
            world::loopback(2, |world| {
                let mut globals = world.globals();
                let bad = globals.create_as(protocol, Rank(0), || value.clone());
                let good = globals.create_as(protocol, Rank(0), || Value::Good);
                runtime(world, 1).run(|cx| {
                    let mut team = world.team();
                    if !world.is_home() {
                        let error = bad.get(cx).expect_err("it does not travel").to_string();
                        assert!(error.starts_with("object 0 of rank 0 ("), "{error}");
                        assert!(
                            error.contains("Value, created at platforms/tests/globals.rs:"),
                            "{error}"
                        );
                        assert!(error.ends_with(line), "{error}");
                        assert_eq!(bad.get(cx).expect_err("as before").to_string(), error);
                    }
                    team.barrier().wait(cx).expect("no rank is lost");
                    assert_eq!(good.get(cx).expect("it travels"), Value::Good);
                    team.barrier().wait(cx).expect("no rank is lost");
                });
            });
        }
    }
}

/// Arguments and results that do not travel end their access alone.
#[test]
fn calls_that_do_not_travel_end_alone() {
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let count = globals.create_as(Protocol::Home, Rank(0), || 0u64);
        let swap = globals.operation(|count: &mut u64, value: Value| {
            *count += 1;
            match *count {
                1 => value,
                _ => Value::Unencodable,
            }
        });
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            if !world.is_home() {
                for value in [Value::Unencodable, Value::Panics] {
                    let error = count
                        .update(cx, &swap, value)
                        .expect_err("it does not travel");
                    assert!(
                        error.to_string().contains("object 0 of rank 0 (u64"),
                        "{error}"
                    );
                }
                assert_eq!(count.get(cx).expect("as before"), 0);
                assert_eq!(
                    count.update(cx, &swap, Value::Good).expect("it travels"),
                    Value::Good
                );
                let error = count.update(cx, &swap, Value::Good).expect_err("no result");
                assert!(
                    error
                        .to_string()
                        .contains("its `Serialize` implementation failed"),
                    "{error}"
                );
                assert_eq!(count.get(cx).expect("it was performed"), 2);
            }
            team.barrier().wait(cx).expect("no rank is lost");
        });
    });
}

/// Ranks that create different objects get one line each that has both.
#[test]
fn objects_that_differ_are_errors_that_name_both() {
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let runtime = runtime(world, 1);
        let check = |cx: &mut Cx<'_, '_>, error: Option<tautline::Error>| {
            world.team().barrier().wait(cx).expect("no rank is lost");
            if let Some(error) = error {
                let line = error.to_string();
                assert!(
                    line.contains("(u64, created at") && line.contains("it is u32, created at"),
                    "{line}"
                );
                assert_eq!(line.matches("globals.rs").count(), 2, "{line}");
            }
        };
        match world.is_home() {
            true => {
                let _object = globals.create(Rank(0), || 1u32);
                runtime.run(|cx| check(cx, None));
            }
            false => {
                let object = globals.create(Rank(0), || 1u64);
                runtime.run(|cx| {
                    let error = object.get(cx).expect_err("another object");
                    check(cx, Some(error));
                });
            }
        }
    });
}

/// A change that accesses an object ends with a panic, at the rank that performs it.
#[test]
fn a_change_must_not_access_objects() {
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let count = globals.create(Rank(0), || 0u64);
        let same = count.clone();
        let nested = globals.operation(move |count: &mut u64, (): ()| {
            *count += 1;
            same.prefetch();
        });
        runtime(world, 1).run(|cx| {
            let error = count
                .update(cx, &nested, ())
                .expect_err("it panics")
                .to_string();
            assert!(
                error.ends_with("a change of a shared object must not access another one"),
                "{error}"
            );
            assert_eq!(count.get(cx).expect("as before"), 0);
            world.team().barrier().wait(cx).expect("no rank is lost");
        });
    });
}

/// Async accesses, and names of objects that were never created.
#[test]
fn async_accesses_and_names() {
    world::loopback(3, |world| {
        let mut globals = world.globals();
        let count = globals.create(Rank(1), || 0u64);
        let add = globals.operation(|count: &mut u64, by: u64| *count += by);
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let (updated, modified) = (
                count.update_async(&add, 1),
                count.modify_async(|it| *it += 10),
            );
            cx.block_on(async {
                updated.await?;
                modified.await
            })
            .expect("no rank is lost");
            team.barrier().wait(cx).expect("no rank is lost");
            let value = cx.block_on(count.read_async()).expect("no rank is lost");
            assert_eq!(*value, 33);
            assert_eq!(
                globals
                    .open(count.name())
                    .expect("an object")
                    .get(cx)
                    .expect("a value"),
                33
            );
            let forged: tautline::globals::GlobalRef<u64> = serde_json::from_value(
                serde_json::json!({"id": {"home": 9, "number": 0, "block": 0}, "check": 0}),
            )
            .expect("a name");
            let error = globals.open(forged).expect_err("no such rank").to_string();
            assert!(
                error.contains("object 0 of rank 9")
                    && error.ends_with("the program has no such rank"),
                "{error}"
            );
            team.barrier().wait(cx).expect("no rank is lost");
        });
    });
}

/// A value whose copies are counted.
struct Counted(&'static AtomicI64);

static LIVE: AtomicI64 = AtomicI64::new(0);

impl Counted {
    fn new() -> Self {
        LIVE.fetch_add(1, Relaxed);
        Self(&LIVE)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl serde::Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> serde::Deserialize<'de> for Counted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer).map(|()| Self::new())
    }
}

/// All copies of a value are dropped with the worlds, also those that accesses wait for.
#[test]
fn copies_are_dropped_with_the_world() {
    let program = |world: &World| {
        let mut globals = world.globals();
        let objects = PROTOCOLS.map(|it| globals.create_as(it, Rank(0), Counted::new));
        let published = globals.publish(Counted::new());
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            for object in &objects {
                let view = object.read(cx).expect("no rank is lost");
                object.modify(cx, |_| ()).expect("no rank is lost");
                assert_eq!(view.0.load(Relaxed).signum(), 1);
            }
            drop(published.read_async());
            team.barrier().wait(cx).expect("no rank is lost");
        });
    };
    for ranks in [1, 2, 3] {
        world::loopback(ranks, program);
        assert_eq!(LIVE.load(Relaxed), 0, "{ranks} ranks");
    }
    program(&World::alone());
    assert_eq!(LIVE.load(Relaxed), 0);
}

/// A home may leave before others have opened the objects: each access ends.
#[test]
fn accesses_to_a_home_that_has_left_are_errors() {
    let mut errors = 0;
    for _ in 0..100 {
        let ended = world::loopback(3, |world| {
            let mut globals = world.globals();
            let count = globals.create(Rank(0), || 0u64);
            let add = globals.operation(|count: &mut u64, by: u64| *count += by);
            runtime(world, 1).run(|cx| count.update(cx, &add, 1))
        });
        for error in ended.into_iter().filter_map(Result::err) {
            let line = error.to_string();
            assert!(line.contains("which had its value, has ended"), "{line}");
            errors += 1;
        }
    }
    assert!(errors > 0);
}

/// A value whose drop accesses the object, or panics.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct Restless {
    number: u32,
    #[serde(skip)]
    access: Option<Arc<dyn Fn() + Send + Sync>>,
    panics: bool,
}

impl Drop for Restless {
    fn drop(&mut self) {
        if let Some(access) = &self.access {
            access();
        }
        assert!(!self.panics || std::thread::panicking(), "a drop");
    }
}

/// Drops of values run while no object is locked, and a panic in one ends no access.
#[test]
fn drops_may_access_objects_and_panic() {
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let object = globals.create(Rank(0), Restless::default);
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let accessed = object.clone();
            let access: Arc<dyn Fn() + Send + Sync> = Arc::new(move || accessed.prefetch());
            for panics in [false, true, false] {
                let access = Arc::clone(&access);
                let changed = object.modify(cx, move |value| {
                    value.number += 1;
                    value.access = Some(access);
                    value.panics = panics;
                });
                changed.expect("no rank is lost");
            }
            team.barrier().wait(cx).expect("no rank is lost");
            assert_eq!(object.read(cx).expect("no rank is lost").number, 6);
            team.barrier().wait(cx).expect("no rank is lost");
            // A value that keeps its object alive.
            object
                .modify(cx, |value| value.access = None)
                .expect("no rank is lost");
            team.barrier().wait(cx).expect("no rank is lost");
        });
    });
}
