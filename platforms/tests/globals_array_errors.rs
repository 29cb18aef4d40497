//! Arrays that differ between ranks, and arrays some of whose blocks are lost.

mod cut;
mod ranks;

use cut::cuttable;
use ranks::{in_time, runtime};
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use tautline::globals::{Datum, Globals, Protocol};
use tautline::prelude::*;
use tautline::world::{self, Rank, RankErrorKind, World};

/// Waits until all ranks make this call.
fn all(world: &World, cx: &mut Cx<'_, '_>) {
    world.team().barrier().wait(cx).expect("no rank is lost");
}

type Get = dyn Fn(&mut Cx<'_, '_>) -> tautline::Result<()> + Send;

/// An object, or an element of an array, as one rank has created it.
struct Created {
    prefetch: Box<dyn Fn()>,
    get: Box<Get>,
}

/// Creates an array, and returns its element at an index. The homes of its blocks are some in turn.
fn array<T: Datum + Default>(
    globals: &mut Globals,
    (length, block_length): (usize, usize),
    homes: &[u32],
    index: usize,
) -> Created {
    let home = |block| Rank(homes[block % homes.len()]);
    let array = globals.array(length, block_length, home, |_| T::default());
    let same = array.clone();
    Created {
        prefetch: Box::new(move || same.prefetch(index..index + 1)),
        get: Box::new(move |cx| array.get(cx, index).map(|_| ())),
    }
}

fn object(globals: &mut Globals, home: u32) -> Created {
    let object = globals.create(Rank(home), || 0u64);
    let same = object.clone();
    Created {
        prefetch: Box::new(move || same.prefetch()),
        get: Box::new(move |cx| object.get(cx).map(|_| ())),
    }
}

/// Returns the line of the access of rank 1, which creates something else than the other ranks; its
/// access begins before they do, or after that.
fn error(
    other: impl Fn(&mut Globals) -> Created + Sync,
    there: impl Fn(&mut Globals) -> Created + Sync,
    is_early: bool,
) -> String {
    let lines = world::loopback(3, |world| {
        let mut globals = world.globals();
        let is_other = world.rank() == Rank(1);
        runtime(world, 1).run(|cx| {
            let mut other = is_other.then(|| other(&mut globals));
            if let Some(other) = other.as_ref().filter(|_| is_early) {
                (other.prefetch)();
            }
            all(world, cx);
            if !is_other {
                there(&mut globals);
            }
            let next = globals.create(Rank(0), || 5u8);
            all(world, cx);
            let line = other.take().map(|other| {
                let error = (other.get)(cx).expect_err("it differs");
                let again = (other.get)(cx).expect_err("it still differs");
                assert_eq!(again.to_string(), error.to_string());
                let tautline::Error::Rank(error) = error else {
                    panic!("{error}");
                };
                assert_eq!(error.kind(), RankErrorKind::Diverged, "{error}");
                error.to_string()
            });
            // Later objects are not affected.
            assert_eq!(next.get(cx).expect("it is the same"), 5);
            all(world, cx);
            line
        })
    });
    lines.into_iter().flatten().next().expect("that of rank 1")
}

/// Checks the line of such an access.
fn differs(
    other: impl Fn(&mut Globals) -> Created + Sync,
    there: impl Fn(&mut Globals) -> Created + Sync,
    parts: [&str; 2],
) {
    for is_early in [false, true] {
        let line = error(&other, &there, is_early);
        let at = line.find("at another rank it is").expect("it has both");
        let (before, after) = line.split_at(at);
        assert!(before.contains(parts[0]), "{line}");
        assert!(after.contains(parts[1]), "{line}");
        assert_eq!(
            line.matches("globals_array_errors.rs:").count(),
            2,
            "{line}"
        );
    }
}

/// Ranks that create arrays that differ get an error at the first access, which names both.
#[test]
fn arrays_that_differ_are_errors_that_name_both() {
    in_time(|| {
        let there = |globals: &mut Globals| array::<u64>(globals, (10, 4), &[0, 2], 0);
        let of_there = "as elements 0..4 of 10 in blocks of 4 at the ranks [0, 2, 0]";
        let lengths = [
            ((9, 4), "as elements 0..4 of 9 in blocks of 4"),
            ((10, 5), "as elements 0..5 of 10 in blocks of 5"),
            ((18, 4), "as elements 0..4 of 18 in blocks of 4"),
        ];
        for (lengths, other) in lengths {
            let array = |globals: &mut Globals| array::<u64>(globals, lengths, &[0, 2], 0);
            differs(array, there, [other, of_there]);
        }
        // The home of the accessed block is the same.
        let array_at = |globals: &mut Globals| array::<u64>(globals, (10, 4), &[0, 1], 0);
        differs(array_at, there, ["as elements 0..4 of 10", of_there]);
        let integers = |globals: &mut Globals| array::<i64>(globals, (10, 4), &[0, 2], 0);
        differs(
            integers,
            there,
            ["Block<i64>, created", "Block<u64>, created"],
        );
        // The accessed block has no such home there, or does not exist there.
        let array_at = |globals: &mut Globals| array::<u64>(globals, (10, 4), &[2, 0], 0);
        differs(array_at, there, ["of rank 2 (", of_there]);
        let longer = |globals: &mut Globals| array::<u64>(globals, (18, 4), &[0, 2], 16);
        let of_there = "as an array of 10 elements in blocks of 4 at the ranks [0, 2, 0]";
        differs(longer, there, ["as elements 16..18 of 18", of_there]);
        let empty = |globals: &mut Globals| {
            let none: tautline::globals::GlobalArray<u64> = globals.array(0, 4, |_| Rank(0), |_| 0);
            assert!(none.is_empty());
        };
        let of_empty = "as an array of 0 elements in blocks of 4 at the ranks []";
        let there = |globals: &mut Globals| {
            empty(globals);
            // Not accessed.
            Created {
                prefetch: Box::new(|| ()),
                get: Box::new(|_| Ok(())),
            }
        };
        let some = |globals: &mut Globals| array::<u64>(globals, (10, 4), &[0, 2], 4);
        differs(some, there, ["as elements 4..8 of 10", of_empty]);
    });
}

#[test]
fn objects_that_differ_in_their_home_are_errors_that_name_both() {
    in_time(|| {
        let of = |home| move |globals: &mut Globals| object(globals, home);
        differs(
            of(2),
            of(0),
            ["object 0 of rank 2 (u64", "with its home at rank 0"],
        );
        let array = |globals: &mut Globals| array::<u64>(globals, (10, 4), &[0, 2], 4);
        differs(of(0), array, ["(u64, created", "Block<u64>, created"]);
        differs(array, of(0), ["as elements 4..8 of 10", "u64, created"]);
    });
}

/// With a rank its blocks are lost, and no others.
#[test]
fn blocks_of_a_lost_rank_are_errors_that_name_them() {
    in_time(|| {
        for protocol in [Protocol::Home, Protocol::Directory, Protocol::Migratory] {
            let (links, cuts) = cuttable(3);
            let (cuts, begun, ended) = (&cuts, Barrier::new(3), Barrier::new(3));
            World::builder().links(links, |world: &World| {
                world.tolerate_losses();
                let home = |block| Rank(block as u32 % 3);
                let array = world.globals();
                let array = { array }.array_as(protocol, 10, 2, home, |index| index as u64);
                begun.wait();
                runtime(world, 1).run(|cx| {
                    if world.rank() == Rank(2) {
                        cuts[2].store(true, Relaxed);
                    } else {
                        check(world, cx, &array);
                    }
                });
                // The lost rank would miss ranks that end before.
                ended.wait();
            });
        }
    });
}

fn check(world: &World, cx: &mut Cx<'_, '_>, array: &tautline::globals::GlobalArray<u64>) {
    let here = u64::from(world.rank().0);
    // The lost rank may have answered before.
    while array.get(cx, 5).is_ok() {
        thread::yield_now();
    }
    for ended in [
        array.view(cx, 3..6).map(|_| ()),
        array.set(cx, 5, 1),
        array.edit(cx, 2, |_| ()),
        cx.block_on(array.view_async(0..10)).map(|_| ()),
    ] {
        let Err(tautline::Error::Rank(error)) = ended else {
            panic!("it is lost");
        };
        assert_eq!((error.kind(), error.rank()), (RankErrorKind::Lost, Rank(2)));
        let line = error.to_string();
        assert!(
            line.contains("as elements 4..6 of 10 in blocks of 2"),
            "{line}"
        );
    }
    array
        .set(cx, here as usize, 100 + here)
        .expect("it is not lost");
    let own = array.get(cx, here as usize).expect("it is not lost");
    assert_eq!(own, 100 + here);
    let view = array.view(cx, 6..10).expect("it is not lost");
    assert_eq!(*view.contiguous(), [6, 7, 8, 9]);
}
