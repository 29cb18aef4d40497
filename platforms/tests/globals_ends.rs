//! The ends of shared objects and of their copies: freed objects, values that do not travel, copies
//! that are evicted.

mod ranks;

use ranks::{mixed, runtime};
use serde::{Serialize, Serializer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use tautline::globals::{GlobalRef, Protocol};
use tautline::world::{self, Rank, RankErrorKind};

const PROTOCOLS: [Protocol; 3] = [Protocol::Home, Protocol::Directory, Protocol::Migratory];

fn kind(error: &tautline::Error) -> RankErrorKind {
    let tautline::Error::Rank(error) = error else {
        panic!("{error}");
    };
    error.kind()
}

/// All accesses to a freed object end with an error that names it: those of ranks that have a copy,
/// of those that have none, and of those that open it later. Its value is dropped.
#[test]
fn accesses_to_freed_objects_are_errors() {
    for protocol in PROTOCOLS {
        world::loopback(3, |world| {
            let mut globals = world.globals();
            let names = globals.create(Rank(1), Vec::<GlobalRef<String>>::new);
            let object = globals.create_as(protocol, Rank(0), || "kept".to_owned());
            let other = globals.create_as(protocol, Rank(0), || "other".to_owned());
            runtime(world, 1).run(|cx| {
                let mut team = world.team();
                let published = globals.publish("published".to_owned());
                if world.is_home() {
                    let name = published.name();
                    names
                        .modify(cx, |names| names.push(name))
                        .expect("no rank is lost");
                }
                team.barrier().wait(cx).expect("no rank is lost");
                let view = (world.rank() != Rank(2)).then(|| object.read(cx));
                let view = view.map(|view| view.expect("no rank is lost"));
                let name = names.read(cx).expect("no rank is lost")[0];
                team.barrier().wait(cx).expect("no rank is lost");
                if world.is_home() {
                    globals.free(&object);
                    globals.free(&published);
                    globals.free(&published);
                }
                team.barrier().wait(cx).expect("no rank is lost");
                // The end may come after the barrier.
                while object.read(cx).is_ok() {
                    std::thread::yield_now();
                }
                let opened = globals.open(name).expect("a name");
                let errors = [
                    object.get(cx).expect_err("it was freed"),
                    object.modify(cx, String::clear).expect_err("it was freed"),
                    opened.get(cx).expect_err("it was freed"),
                ];
                for error in errors {
                    assert_eq!(kind(&error), RankErrorKind::Freed);
                    let line = error.to_string();
                    assert!(
                        line.contains("object ") && line.ends_with(": it was freed"),
                        "{line}"
                    );
                }
                assert!(view.is_none_or(|view| *view == "kept"));
                assert_eq!(other.get(cx).expect("another object"), "other");
                team.barrier().wait(cx).expect("no rank is lost");
            });
        });
    }
}

/// Accesses that wait when the object is freed end, wherever its value is.
#[test]
fn waiting_accesses_end_with_the_object() {
    for round in 0..60 {
        let protocol = PROTOCOLS[round % 3];
        world::loopback(3, |world| {
            let mut globals = world.globals();
            let object = globals.create_as(protocol, Rank(0), || (0u64, String::new()));
            let add = globals.operation(|value: &mut (u64, String), ()| value.0 += 1);
            runtime(world, 2).run(|cx| {
                let mut team = world.team();
                team.barrier().wait(cx).expect("no rank is lost");
                if world.is_home() {
                    ranks::delay(mixed(round as u64, 1));
                    globals.free(&object);
                } else {
                    let error = loop {
                        let ended = match mixed(round as u64, 2) % 3 {
                            0 => object.update(cx, &add, ()),
                            1 => object.modify(cx, |value| value.0 += 1),
                            _ => object.read(cx).map(drop),
                        };
                        if let Err(error) = ended {
                            break error;
                        }
                    };
                    assert_eq!(kind(&error), RankErrorKind::Freed);
                }
                team.barrier().wait(cx).expect("no rank is lost");
            });
        });
    }
}

/// A value that cannot be encoded.
#[derive(Clone, Default, serde::Deserialize)]
struct Stays;

impl Serialize for Stays {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it stays"))
    }
}

/// All ranks that wait for a value that does not travel get the error, not only the first one.
#[test]
fn each_rank_learns_that_a_value_does_not_travel() {
    for round in 0..60 {
        let protocol = PROTOCOLS[round % 3];
        world::loopback(4, |world| {
            let mut globals = world.globals();
            let object = globals.create_as(protocol, Rank(0), Stays::default);
            runtime(world, 1).run(|cx| {
                let mut team = world.team();
                team.barrier().wait(cx).expect("no rank is lost");
                if !world.is_home() {
                    let ended = match round % 2 {
                        0 => object.read(cx).map(drop),
                        _ => object.modify(cx, |_| ()),
                    };
                    let error = ended.expect_err("it does not travel");
                    assert_eq!(kind(&error), RankErrorKind::Encoding, "{error}");
                }
                team.barrier().wait(cx).expect("no rank is lost");
                assert!(object.read(cx).is_err());
                team.barrier().wait(cx).expect("no rank is lost");
            });
        });
    }
}

/// Copies leave a rank that may keep few bytes, and no change is lost with them.
#[test]
fn evicted_copies_lose_no_change() {
    const OBJECTS: usize = 24;
    const BYTES: usize = 8 * 128;
    for protocol in PROTOCOLS {
        let sums = world::loopback(3, |world| {
            let mut globals = world.globals();
            let home = |at: usize| Rank((at % 3) as u32);
            let objects: Vec<_> = (0..OBJECTS)
                .map(|at| globals.create_as(protocol, home(at), || vec![1u64; BYTES / 8]))
                .collect();
            let limit = 4 * BYTES + 200;
            globals.keep_at_most(limit);
            let here = u64::from(world.rank().0);
            runtime(world, 2).run(|cx| {
                let mut team = world.team();
                let mut changes = 0;
                for turn in 0..600 {
                    let random = mixed(turn, here);
                    let object = &objects[random as usize % OBJECTS];
                    if random >> 20 & 1 == 0 {
                        let change =
                            |value: &mut Vec<u64>| value.iter_mut().for_each(|it| *it += 1);
                        object.modify(cx, change).expect("no rank is lost");
                        changes += 1;
                    } else {
                        let value = object.read(cx).expect("no rank is lost");
                        assert!(value.iter().all(|it| *it == value[0]), "torn");
                    }
                    // One more while it is in use.
                    let copies = globals.memory().copies;
                    assert!(copies <= limit + 2 * BYTES, "{copies} bytes of copies");
                }
                team.barrier().wait(cx).expect("no rank is lost");
                let mut sum = 0;
                for object in &objects {
                    sum += object.read(cx).expect("no rank is lost")[0] - 1;
                }
                let memory = globals.memory();
                assert_eq!(memory.objects, OBJECTS);
                assert!(memory.copies <= limit + BYTES, "{memory:?}");
                assert!(
                    (OBJECTS * 100..OBJECTS * 2_000).contains(&memory.overhead),
                    "{memory:?}"
                );
                team.barrier().wait(cx).expect("no rank is lost");
                globals.keep_at_most(0);
                assert_eq!(globals.memory().copies, 0);
                team.barrier().wait(cx).expect("no rank is lost");
                (changes, sum)
            })
        });
        let changes: u64 = sums.iter().map(|(changes, _)| changes).sum();
        assert!(
            sums.iter().all(|(_, sum)| *sum == changes),
            "{protocol:?}: {sums:?}"
        );
    }
}

/// A copy that is read stays while others leave.
#[test]
fn copies_in_use_stay() {
    world::loopback(2, |world| {
        let mut globals = world.globals();
        let objects: Vec<_> = (0..40)
            .map(|at| globals.create(Rank(0), || vec![at as u8; 1000]))
            .collect();
        globals.keep_at_most(5_000);
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            if !world.is_home() {
                for object in &objects[1..] {
                    assert_eq!(objects[0].read(cx).expect("no rank is lost")[0], 0);
                    assert_eq!(objects[0].read(cx).expect("no rank is lost")[0], 0);
                    object.read(cx).expect("no rank is lost");
                }
                let sent = world.statistics().parcels;
                assert_eq!(objects[0].read(cx).expect("no rank is lost")[0], 0);
                assert_eq!(world.statistics().parcels, sent, "the copy is still here");
                assert!(globals.memory().copies <= 5_100);
            }
            team.barrier().wait(cx).expect("no rank is lost");
        });
    });
}

/// A value whose drop runs a closure.
#[derive(Clone, Default, Serialize, serde::Deserialize)]
struct Restless {
    #[serde(skip)]
    dropped: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Drop for Restless {
    fn drop(&mut self) {
        self.dropped.iter().for_each(|dropped| dropped());
    }
}

/// Former values are dropped while no object is locked, also those that operations of other ranks
/// have replaced: a drop may change the object.
#[test]
fn drops_of_former_values_may_change_the_object() {
    ranks::in_time(|| {
        let changes = AtomicUsize::new(0);
        world::loopback(2, |world| {
            let mut globals = world.globals();
            let touch = globals.operation(|_: &mut Restless, ()| ());
            let object = globals.create_as(Protocol::Home, Rank(0), Restless::default);
            runtime(world, 1).run(|cx| {
                let mut team = world.team();
                if world.is_home() {
                    let (changed, is_first) = (object.clone(), AtomicBool::new(true));
                    let dropped: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
                        if is_first.swap(false, Relaxed) {
                            drop(changed.modify_async(|_| ()));
                        }
                    });
                    let keep = move |value: &mut Restless| value.dropped = Some(dropped);
                    object.modify(cx, keep).expect("no rank is lost");
                }
                team.barrier().wait(cx).expect("no rank is lost");
                if !world.is_home() {
                    for _ in 0..3_000 {
                        object.update(cx, &touch, ()).expect("no rank is lost");
                        changes.fetch_add(1, Relaxed);
                    }
                }
                team.barrier().wait(cx).expect("no rank is lost");
                // A value that keeps its object alive.
                let forget = |value: &mut Restless| value.dropped = None;
                object.modify(cx, forget).expect("no rank is lost");
                team.barrier().wait(cx).expect("no rank is lost");
            });
        });
        assert_eq!(changes.load(Relaxed), 3_000);
    });
}

/// A blocking call in a change ends that change alone: it would wait for ranks that wait for this
/// thread.
#[test]
fn blocking_calls_in_changes_are_errors() {
    for protocol in PROTOCOLS {
        world::loopback(2, |world| {
            let mut globals = world.globals();
            let count = globals.create_as(protocol, Rank(0), || 0u64);
            runtime(world, 1).run(|cx| {
                let mut team = world.team();
                for _ in 0..2 {
                    let change = AssertUnwindSafe(|| {
                        count.modify(cx, |count| {
                            *count += 1;
                            world.barrier()
                        })
                    });
                    let payload = catch_unwind(change).map(drop).expect_err("it would wait");
                    let text = payload.downcast_ref::<&str>().expect("a text");
                    assert_eq!(*text, "a blocking call in a change of a shared object");
                }
                assert_eq!(count.get(cx).expect("as before"), 0);
                team.barrier().wait(cx).expect("no rank is lost");
            });
            world.barrier().expect("the channels live");
        });
    }
}
