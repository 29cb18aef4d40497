//! Histories of accesses to shared objects, with their times: some order of all accesses that fits
//! the times explains each result.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use crate::ranks::{delay, mixed};
use serde::{Deserialize, Serialize};
use tautline::globals::{Global, Globals, Object, Operation, Protocol};
use tautline::prelude::*;
use tautline::world::{Rank, World};

/// An access to a number, which changes add 1 to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Twice the number after a change; twice the number that a read has returned, and 1.
    pub(crate) order: u64,
}

/// Returns the nanoseconds of a clock that all processes of the machine share, and that is never
/// set.
#[cfg(unix)]
fn now() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// As the other one, for this process alone.
#[cfg(not(unix))]
fn now() -> u64 {
    static FIRST: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    FIRST.elapsed().as_nanos() as u64
}

/// Returns two accesses that cannot have happened in the order of their results, as the second one
/// ends before the first one begins; or the first change whose number is not that of its place.
pub(crate) fn flaw(mut history: Vec<Access>) -> Option<[Access; 2]> {
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

/// Checks the history of each object, and that the check finds two results that are swapped.
pub(crate) fn check(histories: &[Vec<Access>]) {
    let all = || histories.iter().flatten();
    let changes = all().filter(|access| access.order % 2 == 0).count();
    assert!(changes > 0 && changes < all().count());
    let found = histories.iter().find_map(|history| flaw(history.clone()));
    assert!(found.is_none(), "{found:#?}");
    let swapped = histories.iter().filter_map(|history| swapped(history));
    let flaws = swapped.map(flaw).collect::<Vec<_>>();
    assert!(!flaws.is_empty() && flaws.iter().all(Option::is_some));
}

/// Returns the history with two results swapped, of an access that begins after the end of the
/// other one.
fn swapped(history: &[Access]) -> Option<Vec<Access>> {
    let mut pairs = (0..history.len()).flat_map(|a| (0..a).map(move |b| (b, a)));
    let follows = |(a, b): (usize, usize)| {
        let [a, b] = [a, b].map(|at: usize| history[at]);
        a.order < b.order && a.end < b.begin
    };
    let (a, b) = pairs.find(|pair| follows(*pair))?;
    let mut swapped = history.to_vec();
    (swapped[a].order, swapped[b].order) = (swapped[b].order, swapped[a].order);
    Some(swapped)
}

/// The objects of a history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) objects: usize,
    /// The words of a value beside the number.
    pub(crate) padding: usize,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Home, Protocol::Directory, Protocol::Migratory];

/// A value that has a number.
pub(crate) trait Numbered: Object {
    /// Returns 0.
    fn new(padding: usize) -> Self;

    fn number(&self) -> u64;

    /// Adds 1, and returns the number.
    fn increment(&mut self) -> u64;
}

impl Numbered for u64 {
    fn new(_: usize) -> Self {
        0
    }

    fn number(&self) -> u64 {
        *self
    }

    fn increment(&mut self) -> u64 {
        *self += 1;
        *self
    }
}

/// A number, and copies of it.
pub(crate) type Padded = (u64, Vec<u64>);

impl Numbered for Padded {
    fn new(padding: usize) -> Self {
        (0, vec![0; padding])
    }

    fn number(&self) -> u64 {
        let is_whole = self.1.iter().all(|copy| *copy == self.0);
        assert!(is_whole, "{self:?} is torn");
        self.0
    }

    fn increment(&mut self) -> u64 {
        self.0 += 1;
        self.1.fill(self.0);
        self.0
    }
}

/// Numbers that all ranks share.
pub(crate) struct Numbers<V: Numbered> {
    globals: Globals,
    objects: Vec<Global<V>>,
    add: Operation<V, (), u64>,
}

impl<V: Numbered> Numbers<V> {
    pub(crate) fn create(world: &World, shape: Shape) -> Self {
        let mut globals = world.globals();
        let add = globals.operation(|value: &mut V, ()| value.increment());
        let ranks = world.ranks() as usize;
        let objects = (0..shape.objects).map(|at| {
            let home = Rank((at % ranks) as u32);
            let protocol = PROTOCOLS[at % PROTOCOLS.len()];
            globals.create_as(protocol, home, || V::new(shape.padding))
        });
        let objects = objects.collect();
        Self {
            globals,
            objects,
            add,
        }
    }

    /// Makes random accesses, in tasks, and returns those of each object.
    pub(crate) fn accesses(&self, cx: &mut Cx<'_, '_>, seed: u64, count: u64) -> Vec<Vec<Access>> {
        const TASKS: u64 = 4;
        let mut of_tasks = vec![vec![Vec::new(); self.objects.len()]; TASKS as usize];
        cx.scope(|cx| {
            for (task, histories) in (0..).zip(&mut of_tasks) {
                cx.spawn(move |cx| {
                    for number in 0..count / TASKS {
                        let random = mixed(seed * TASKS + task, number);
                        let object = (random >> 12) as usize % self.objects.len();
                        histories[object].push(self.access(cx, object, random));
                    }
                });
            }
        });
        let join = |mut all: Vec<Vec<Access>>, more: Vec<Vec<Access>>| {
            all.iter_mut()
                .zip(more)
                .for_each(|(all, more)| all.extend(more));
            all
        };
        of_tasks.into_iter().reduce(join).expect("several tasks")
    }

    /// Makes a random access to an object.
    fn access(&self, cx: &mut Cx<'_, '_>, object: usize, random: u64) -> Access {
        let global = &self.objects[object];
        match random % 64 {
            0 => global.set_protocol(PROTOCOLS[(random / 64 % 3) as usize]),
            // Evicts all copies, or most of them, now and until the next time.
            1 => self
                .globals
                .keep_at_most([0, 1 << 10, 1 << 30][(random / 64 % 3) as usize]),
            _ => {}
        }
        delay(random >> 20);
        let number = |value: &V| 2 * value.number() + 1;
        let begin = now();
        let order = match random >> 8 & 15 {
            0..6 => global.read(cx).map(|value| number(&value)),
            6 => {
                global.prefetch();
                global.get(cx).map(|value| number(&value))
            }
            7 => cx.block_on(global.read_async()).map(|value| number(&value)),
            8..11 => global.update(cx, &self.add, ()).map(|number| 2 * number),
            11 => {
                let added = global.update_async(&self.add, ());
                cx.block_on(added).map(|number| 2 * number)
            }
            12..15 => global.modify(cx, V::increment).map(|number| 2 * number),
            _ => {
                let added = global.modify_async(V::increment);
                cx.block_on(added).map(|number| 2 * number)
            }
        };
        let (order, end) = (order.expect("no rank is lost"), now());
        Access { begin, end, order }
    }
}
