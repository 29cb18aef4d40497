//! Histories of accesses to shared objects, with their times: some order of all accesses that fits
//! the times explains each result.

mod ranks;

use ranks::{delay, mixed, runtime};
use std::sync::Mutex;
use std::time::Instant;
use tautline::globals::{Global, Operation, Operator, Protocol};
use tautline::prelude::*;
use tautline::world::{self, Rank, World};

/// An access to a number, which changes add 1 to.
#[derive(Clone, Copy, Debug)]
struct Access {
    begin: Instant,
    end: Instant,
    /// Twice the number after a change; twice the number that a read has returned, and 1.
    order: u64,
}

/// Returns two accesses that cannot have happened in the order of their results, as the second one
/// ends before the first one begins; or the first change whose number is not that of its place.
fn flaw(mut history: Vec<Access>) -> Option<[Access; 2]> {
    // Of reads of one number, the one that begins first.
    history.sort_by_key(|access| (access.order, access.begin));
    let changes = history.iter().filter(|access| access.order % 2 == 0);
    let mut numbered = changes.zip(1..);
    if let Some((change, _)) = numbered.find(|(change, number)| change.order != 2 * number) {
        return Some([*change; 2]);
    }
    let mut first_end: Option<Access> = None;
    history.iter().rev().find_map(|access| {
        let found = first_end.filter(|later| later.end < access.begin);
        let ends_first = first_end.is_none_or(|later| access.end < later.end);
        if ends_first {
            first_end = Some(*access);
        }
        found.map(|later| [*access, later])
    })
}

/// Objects of one kind, and how they are accessed.
struct Numbers {
    objects: Vec<Global<(u64, Vec<u64>)>>,
    add: Operation<(u64, Vec<u64>), (), u64>,
}

impl Numbers {
    fn create(world: &World, count: usize, padding: usize) -> Self {
        let mut globals = world.globals();
        let ranks = world.ranks() as usize;
        let objects = (0..count).map(|at| {
            let home = Rank((at % ranks) as u32);
            globals.create(home, || (0, vec![0; padding]))
        });
        let objects = objects.collect();
        let add = globals.operation(|value: &mut (u64, Vec<u64>), ()| increment(value));
        Self { objects, add }
    }

    /// Makes a random access to an object.
    fn access(&self, cx: &mut Cx<'_, '_>, object: usize, random: u64) -> Access {
        let global = &self.objects[object];
        if random % 64 == 0 {
            let protocols = [Protocol::Home, Protocol::Directory, Protocol::Migratory];
            global.set_protocol(protocols[(random / 64 % 3) as usize]);
        }
        delay(random >> 20);
        let begin = Instant::now();
        let order = match random >> 8 & 7 {
            0..4 => {
                let value = global.read(cx).expect("no rank is lost");
                assert!(
                    value.1.iter().all(|copy| *copy == value.0),
                    "{value:?} is torn"
                );
                2 * value.0 + 1
            }
            4 | 5 => 2 * global.update(cx, &self.add, ()).expect("no rank is lost"),
            _ => 2 * global.modify(cx, increment).expect("no rank is lost"),
        };
        let end = Instant::now();
        Access { begin, end, order }
    }
}

fn increment((number, copies): &mut (u64, Vec<u64>)) -> u64 {
    *number += 1;
    copies.fill(*number);
    *number
}

/// Makes accesses at all ranks, in tasks, and checks the history of each object.
fn check(ranks: u32, workers: usize, objects: usize, padding: usize, accesses: u64) {
    const TASKS: u64 = 4;
    let all = world::loopback(ranks, |world| {
        let numbers = Numbers::create(world, objects, padding);
        let histories: Vec<_> = (0..objects).map(|_| Mutex::new(Vec::new())).collect();
        runtime(world, workers).run(|cx| {
            cx.scope(|cx| {
                for task in 0..TASKS {
                    let (numbers, histories) = (&numbers, &histories);
                    cx.spawn(move |cx| {
                        let seed = u64::from(world.rank().0) * TASKS + task;
                        for number in 0..accesses / TASKS {
                            let random = mixed(seed, number);
                            let object = (random >> 12) as usize % objects;
                            let access = numbers.access(cx, object, random);
                            histories[object].lock().expect("no panic").push(access);
                        }
                    });
                }
            });
            world.team().barrier().wait(cx).expect("no rank is lost");
        });
        let histories = histories
            .into_iter()
            .map(|it| it.into_inner().expect("no panic"));
        histories.collect::<Vec<Vec<_>>>()
    });
    for object in 0..objects {
        let history: Vec<_> = all.iter().flat_map(|rank| rank[object].clone()).collect();
        let changes = history
            .iter()
            .filter(|access| access.order % 2 == 0)
            .count();
        assert!(changes > 0 && changes < history.len());
        let found = flaw(history.clone());
        assert!(found.is_none(), "object {object}: {found:#?}");
        // The check notices two results that are swapped.
        let mut pairs = (0..history.len()).flat_map(|a| (0..a).map(move |b| (b, a)));
        let follows = |(a, b): (usize, usize)| {
            let [a, b] = [a, b].map(|at: usize| history[at]);
            a.order < b.order && a.end < b.begin
        };
        let (a, b) = pairs
            .find(|pair| follows(*pair))
            .expect("one after another");
        let mut swapped = history;
        (swapped[a].order, swapped[b].order) = (swapped[b].order, swapped[a].order);
        assert!(flaw(swapped).is_some(), "object {object}");
    }
}

#[test]
fn histories_are_those_of_one_memory() {
    for ranks in [1, 2, 4] {
        for workers in [1, 2] {
            for (objects, padding) in [(1, 0), (8, 7), (3, 4000)] {
                check(ranks, workers, objects, padding, 400);
            }
        }
    }
}

/// Store buffering over two objects: of two ranks that each change one and read the other, one
/// reads the change of the other.
#[test]
fn one_of_two_ranks_sees_the_change_of_the_other() {
    const ROUNDS: u64 = 300;
    for protocol in [Protocol::Home, Protocol::Directory, Protocol::Migratory] {
        let read = world::loopback(2, |world| {
            let mut globals = world.globals();
            let objects = [0, 1].map(|home| globals.create_as(protocol, Rank(home), || 0u64));
            let (own, other) = match world.is_home() {
                true => (&objects[0], &objects[1]),
                false => (&objects[1], &objects[0]),
            };
            runtime(world, 1).run(|cx| {
                let mut team = world.team();
                (1..=ROUNDS)
                    .map(|round| {
                        own.apply(cx, Operator::Max, round)
                            .expect("no rank is lost");
                        let read = other.get(cx).expect("no rank is lost");
                        team.barrier().wait(cx).expect("no rank is lost");
                        read
                    })
                    .collect::<Vec<_>>()
            })
        });
        for (round, (a, b)) in (1..).zip(read[0].iter().zip(&read[1])) {
            assert!(*a == round || *b == round, "round {round}: {a} and {b}");
        }
    }
}
