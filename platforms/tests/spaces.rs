//! Name spaces over ranks: values travel to the tasks that wait for them, each once.

mod ranks;

use ranks::runtime;
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tautline::balance::Reason;
use tautline::prelude::*;
use tautline::space::{Grid, Misuse, Space, home};
use tautline::watch::Stalled;
use tautline::world::{self, Rank, World};

/// Chatterjee, acceptance fact 29: at most one message has a value for a rank, however many tasks
/// wait for it there, and one requests it.
#[test]
fn a_cell_travels_once() {
    const TASKS: u64 = 64;
    for ranks in 1..=5 {
        let sent = world::loopback(ranks, |world| {
            let space = Space::<u32, u64>::of(world).home(|_| Rank(0)).open();
            let sum = AtomicU64::new(0);
            runtime(world, 2).run(|cx| {
                cx.scope(|cx| {
                    for _ in 0..TASKS {
                        cx.spawn_when(space.get(7), |value, _| _ = sum.fetch_add(*value, Relaxed));
                    }
                    if world.rank() == Rank(0) {
                        cx.spawn(|_| space.put(7, 3).unwrap());
                    }
                });
            });
            assert_eq!(sum.into_inner(), 3 * TASKS);
            // All have what they wait for.
            world.barrier().unwrap();
            let sent = space.sent();
            space.close().unwrap();
            sent
        });
        assert_eq!(sent.iter().sum::<u64>(), 2 * (ranks as u64 - 1), "{sent:?}");
    }
}

/// Chatterjee, acceptance fact 30: a fetch before the put is answered after it, also if the put is
/// at a third rank, whose value reaches the home; a read of a value that is here sends nothing.
#[test]
fn a_fetch_before_the_put_is_answered_after_it() {
    let sent = world::loopback(3, |world| {
        let space = Space::<u32, String>::of(world).home(|_| Rank(0)).open();
        let rt = runtime(world, 1);
        let text = || format!("from {}", Rank(2));
        let barrier = || world.barrier().unwrap();
        match world.rank().0 {
            // It waits before the put is permitted.
            1 => rt.run(|cx| {
                cx.scope(|cx| {
                    cx.spawn_when(space.get(7), |value, _| assert_eq!(*value, text()));
                    barrier();
                });
            }),
            2 => {
                barrier();
                space.put(7, text()).unwrap();
            }
            _ => barrier(),
        }
        let before = space.sent();
        rt.run(|cx| cx.spawn_when(space.get(7), |value, _| assert_eq!(*value, text())));
        if world.rank().0 > 0 {
            assert_eq!(space.sent(), before, "the value is here");
        }
        world.barrier().unwrap();
        let sent = space.sent();
        space.close().unwrap();
        sent
    });
    // The value from the home; a fetch; a put to the home.
    assert_eq!(sent, [1, 1, 1]);
}

/// A part of the border of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Edge {
    Below(u32, u32),
    Right(u32, u32),
    Corner(u32, u32),
}

use Edge::{Below, Corner, Right};

/// Tiles in each direction, numbered from 1; 0 is the border.
const TILES: u32 = 20;

impl Edge {
    /// The tile that reads it.
    fn reader(self) -> Option<(u32, u32)> {
        let (row, column) = match self {
            Below(row, column) => (row + 1, column),
            Right(row, column) => (row, column + 1),
            Corner(row, column) => (row + 1, column + 1),
        };
        let is_tile = row <= TILES && column <= TILES;
        is_tile.then_some((row, column))
    }

    /// The tile that has it; for the border, the one that reads it.
    fn owner(self) -> (u32, u32) {
        let (Below(row, column) | Right(row, column) | Corner(row, column)) = self;
        match row > 0 && column > 0 {
            true => (row, column),
            false => self.reader().unwrap_or((1, 1)),
        }
    }
}

/// The rank of a tile.
type At = fn(u32) -> Box<dyn Fn(u32, u32) -> Rank + Send + Sync>;

const DISTRIBUTIONS: [(&str, At); 4] = [
    ("cyclic", |ranks| {
        let at = home::cyclic(ranks);
        Box::new(move |row, column| at(u64::from(row * TILES + column)))
    }),
    ("diagonals", |ranks| {
        Box::new(home::diagonals(TILES, TILES, ranks))
    }),
    ("columns", |ranks| {
        Box::new(home::column_blocks(TILES, TILES, ranks))
    }),
    ("blocks", |ranks| {
        Box::new(home::grid_blocks(TILES, TILES, Grid::square(ranks)))
    }),
];

/// Runs the wavefront at one rank. Returns a number that depends on all tiles, if this rank has the
/// last one, and the messages that were sent.
fn wavefront(world: &World, workers: usize, at: At, declares: bool) -> (Option<u64>, u64) {
    let ranks = world.ranks();
    let (of_tile, homes, readers) = (at(ranks), at(ranks), at(ranks));
    let of_tile = move |(row, column): (u32, u32)| of_tile(row - 1, column - 1);
    let mut edges = Space::<Edge, Vec<u64>>::of(world).home(move |edge| {
        let (row, column) = edge.owner();
        homes(row - 1, column - 1)
    });
    if declares {
        edges = edges.readers(move |edge, by| {
            if let Some((row, column)) = edge.reader() {
                by.task_at(readers(row - 1, column - 1));
            }
        });
    }
    let edges = edges.open_vectors();
    let last = Mutex::new(None);
    let tiles = (1..=TILES).flat_map(|row| (1..=TILES).map(move |column| (row, column)));
    let is_mine = |tile: &(u32, u32)| of_tile(*tile) == world.rank();
    let border = (0..=TILES).flat_map(|at| {
        [Below(0, at), Right(at, 0), Corner(0, at), Corner(at, 0)].map(|edge| (at, edge))
    });
    let is_used = |(_, edge): &(u32, Edge)| {
        let is_read = edge
            .reader()
            .is_some_and(|(row, column)| row > 0 && column > 0);
        is_read && is_mine(&edge.owner())
    };
    runtime(world, workers).run(|cx| {
        cx.scope(|cx| {
            for (row, column) in tiles.filter(is_mine) {
                let inputs = (
                    edges.get(Below(row - 1, column)),
                    edges.get(Right(row, column - 1)),
                    edges.get(Corner(row - 1, column - 1)),
                );
                let (edges, last) = (&edges, &last);
                cx.spawn_when(inputs, move |(above, left, corner), _| {
                    let mixed = above[0].rotate_left(7) ^ left[1].rotate_left(13) ^ corner[0];
                    let tile = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(row * column);
                    edges.put(Below(row, column), vec![tile, 1]).unwrap();
                    edges.put(Right(row, column), vec![2, tile]).unwrap();
                    edges.put(Corner(row, column), vec![tile + 1]).unwrap();
                    if (row, column) == (TILES, TILES) {
                        *last.lock().unwrap() = Some(tile);
                    }
                });
            }
            let mut put = std::collections::BTreeSet::new();
            for (at, edge) in border.filter(is_used) {
                if put.insert(edge) {
                    edges.put(edge, vec![u64::from(at), u64::from(at)]).unwrap();
                }
            }
        });
    });
    world.barrier().unwrap();
    let sent = edges.sent();
    edges.close().unwrap();
    (last.into_inner().unwrap(), sent)
}

/// Chatterjee, acceptance fact 31: the distribution changes the number of values that travel, and
/// no bit of the result.
#[test]
fn distributions_of_the_wavefront() {
    let alone = world::loopback(1, |world| wavefront(world, 1, DISTRIBUTIONS[0].1, true));
    let score = alone[0].0;
    assert!(score.is_some() && alone[0].1 == 0, "{alone:?}");
    let counts = [
        (2, [741, 38, 39, 39]),
        (4, [741, 144, 117, 77]),
        (8, [1121, 326, 273, 153]),
    ];
    for (ranks, counts) in counts {
        for ((name, at), count) in DISTRIBUTIONS.into_iter().zip(counts) {
            for declares in [true, false] {
                let all = world::loopback(ranks, |world| wavefront(world, 1, at, declares));
                let sent: u64 = all.iter().map(|(_, sent)| sent).sum();
                // Without declared readers, each value is requested.
                let messages = if declares { count } else { 2 * count };
                assert_eq!(sent, messages, "{name} over {ranks} ranks, {declares}");
                assert_eq!(all.iter().find_map(|(last, _)| *last), score, "{name}");
            }
        }
    }
}

/// Results have the same bits for all numbers of ranks and workers.
#[test]
fn results_have_the_same_bits() {
    let score = |ranks, workers, declares| {
        let at = DISTRIBUTIONS[1].1;
        let all = world::loopback(ranks, |world| wavefront(world, workers, at, declares));
        all.into_iter().find_map(|(last, _)| last)
    };
    let one = score(1, 1, true);
    for ranks in [1, 2, 3, 5] {
        for workers in [1, 2, 4] {
            for declares in [false, true] {
                assert_eq!(
                    score(ranks, workers, declares),
                    one,
                    "{ranks} {workers} {declares}"
                );
            }
        }
    }
}

/// Chatterjee, acceptance fact 32: a space is closed once no message is in flight: values that no
/// task reads any more arrive before.
#[test]
fn close_loses_no_message() {
    const KEYS: u32 = 200;
    for ranks in [2, 3, 4] {
        for round in 0..5 {
            let stored = world::loopback(ranks, |world| {
                let ranks = world.ranks();
                let next = move |key: &u32| Rank((key + 1 + round) % ranks);
                let space = Space::<u32, Vec<u8>>::of(world)
                    .home(move |key| Rank(key % ranks))
                    .readers(move |key, by| by.task_at(next(key)))
                    .open();
                let here = world.rank();
                let mut taken = 0;
                for key in (0..KEYS).filter(|key| Rank((key + round) % ranks) == here) {
                    space.put(key, vec![key as u8; 100]).unwrap();
                }
                let mine: Vec<_> = (0..KEYS).filter(|key| next(key) == here).collect();
                // Half of them are waited for; the reads of the others end before.
                let (waits, ends) = mine.split_at(mine.len() / 2);
                ends.iter().for_each(|key| drop(space.get(*key)));
                runtime(world, 2).run(|cx| {
                    let all: Vec<_> = waits.iter().map(|key| space.take(*key)).collect();
                    let taken = &mut taken;
                    cx.scope(|cx| {
                        cx.spawn_when(all, move |all, _| {
                            *taken = all.iter().map(Vec::len).sum();
                        });
                    });
                });
                assert_eq!(taken, 100 * waits.len());
                let kept = (0..KEYS).filter(|key| space.test(key)).count();
                space.close().unwrap();
                (kept <= ends.len()).then_some(()).ok_or(kept)
            });
            assert!(stored.iter().all(Result::is_ok), "{stored:?}");
        }
    }
}

/// A second put at another rank ends the space at all ranks, with an error that names both; tasks
/// that wait cancel their finish.
#[test]
fn a_second_put_ends_the_space() {
    let errors = world::loopback(3, |world| {
        let space = Space::<u32, u32>::of(world).home(|_| Rank(0)).open();
        if world.rank().0 > 0 {
            // The second one may be refused already.
            _ = space.put(7, world.rank().0);
        }
        let outcome = runtime(world, 2).run(|cx| {
            cx.finish(|cx| cx.spawn_when(space.get(8), |_, _| unreachable!("it is never put")))
        });
        assert_eq!(outcome.unwrap_err().reason, Reason::Interrupted);
        space.close().unwrap_err().to_string()
    });
    for error in errors {
        assert!(error.contains("7 was put by rank"), "{error}");
        assert!(
            error.contains("rank 1") && error.contains("rank 2"),
            "{error}"
        );
        assert!(error.contains("spaces.rs"), "{error}");
    }
}

/// Without a finish, the end of a space is a panic that reaches the owner of the scope.
#[test]
fn the_end_of_a_space_is_no_hang() {
    world::loopback(2, |world| {
        let space = Space::<u32, u32>::of(world).home(|_| Rank(0)).open();
        let rt = runtime(world, 1);
        let run = AssertUnwindSafe(|| {
            rt.run(|cx| {
                cx.scope(|cx| {
                    cx.spawn_when(space.get(8), |_, _| unreachable!("it is never put"));
                    if world.rank().0 == 1 {
                        space.abandon("the matrix is not positive definite");
                    }
                });
            });
        });
        assert!(catch_unwind(run).is_err());
        let error = space.close().unwrap_err().to_string();
        assert!(error.contains("abandoned by rank 1"), "{error}");
        assert!(
            error.contains("the matrix is not positive definite"),
            "{error}"
        );
    });
}

/// Reads that wait for keys of a rank that has left end with it.
#[test]
fn a_lost_home_ends_what_waits_for_its_keys() {
    let errors = world::loopback(2, |world| {
        let space = Space::<u32, u32>::of(world).home(|_| Rank(1)).open();
        world.barrier().unwrap();
        if world.rank().0 == 1 {
            return None;
        }
        let outcome = runtime(world, 1)
            .run(|cx| cx.finish(|cx| cx.spawn_when(space.get(8), |_, _| unreachable!())));
        assert_eq!(outcome.unwrap_err().reason, Reason::Interrupted);
        Some(space.close().unwrap_err().to_string())
    });
    let error = errors[0].as_ref().unwrap();
    assert!(error.contains("rank 1, the home of 8, was lost"), "{error}");
}

/// Calls that no correct program makes are refused, and change nothing.
#[test]
fn misuse_is_refused() {
    world::loopback(2, |world| {
        let here = world.rank();
        let space = Space::<u32, u32>::of(world)
            .home(|key| Rank(key / 10))
            .readers(|_, by| by.task_at(Rank(0)))
            .open();
        let refused = |key| space.try_get(key).err().map(|error| error.misuse());
        if here.0 == 0 {
            assert_eq!(refused(0), None);
            assert_eq!(refused(0), Some(Misuse::Undeclared(1)));
            space.put(1, 7).unwrap();
            assert_eq!(space.put(1, 8).unwrap_err().value, 8);
        } else {
            assert_eq!(refused(0), Some(Misuse::Undeclared(0)));
        }
        assert_eq!(refused(20), Some(Misuse::NoRank(Rank(2))));
        if here.0 == 1 {
            space.put(0, 1).unwrap();
        }
        space.close().unwrap();
    });
}

/// A space that is closed while reads wait names their keys, at the rank of the reads.
#[test]
fn keys_that_no_rank_puts_are_named() {
    let closed = world::loopback(3, |world| {
        let space = Space::<u32, u32>::of(world).home(|_| Rank(0)).open();
        let get = (world.rank().0 > 0).then(|| space.get(40 + world.rank().0));
        let closed = space.close().map_err(|error| error.to_string());
        assert!(get.is_none_or(|get| get.is_full()), "the wait has ended");
        closed
    });
    assert_eq!(closed[0], Ok(()));
    for rank in [1, 2] {
        let error = closed[rank].as_ref().unwrap_err();
        let ending =
            format!("1 read of rank {rank} waits for 4{rank} of rank 0, which no rank puts");
        assert!(error.ends_with(&ending), "{error}");
    }
}

/// A wait for a key is one for another rank: no deadlock, however long it lasts. It is reported
/// with the key and its home.
#[test]
fn a_wait_for_a_key_is_no_deadlock() {
    world::loopback(2, |world| {
        let space = Space::<u32, u32>::of(world).home(|_| Rank(0)).open();
        let rt = Runtime::builder().world(world).workers(1).pinned(false);
        let rt = rt.stalled(Stalled::Panic).build().unwrap();
        if world.rank().0 == 1 {
            let get = space.get(7);
            let lines = world.open_accesses();
            let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
            let [line] = &lines[..] else {
                panic!("{lines:?}");
            };
            assert!(
                line.starts_with("rank 1: 1 access to the space of u32 by u32"),
                "{line}"
            );
            assert!(line.ends_with(", key 7 waits for rank 0"), "{line}");
            rt.run(|cx| cx.spawn_when(get, |value, _| assert_eq!(*value, 3)));
            assert!(world.open_accesses().is_empty());
        } else {
            // A sleep: longer than a deadlock lasts until it is reported.
            thread::sleep(Duration::from_secs(7));
            space.put(7, 3).unwrap();
        }
        space.close().unwrap();
    });
}
