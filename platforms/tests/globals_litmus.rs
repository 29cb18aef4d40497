//! Litmus programs over two shared objects: of the outcomes of a few accesses by several threads,
//! those that no order of all accesses explains do not occur.
//!
//! A round changes an object to the number of the round, so that none is reset, and a read of round
//! `n` returns `n` or `n - 1`. The threads begin each round at a barrier of the standard library's
//! atomics, and none orders their accesses within a round.

mod ranks;

use ranks::{mixed, runtime};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, available_parallelism};
use tautline::globals::{Global, Operator, Protocol};
use tautline::prelude::*;
use tautline::world::{self, Rank};

/// An access to one of the two objects.
#[derive(Clone, Copy, Debug)]
enum Act {
    Change(usize),
    Read(usize),
}

use Act::{Change, Read};

/// A litmus program.
struct Litmus {
    name: &'static str,
    threads: &'static [&'static [Act]],
    /// The outcome that no order of all accesses explains: for each read, thread by thread, whether
    /// it returns the change of the round.
    forbidden: &'static [bool],
}

const LITMUS: [Litmus; 4] = [
    Litmus {
        name: "message passing",
        threads: &[&[Change(0), Change(1)], &[Read(1), Read(0)]],
        forbidden: &[true, false],
    },
    Litmus {
        name: "store buffering",
        threads: &[&[Change(0), Read(1)], &[Change(1), Read(0)]],
        forbidden: &[false, false],
    },
    Litmus {
        name: "load buffering",
        threads: &[&[Read(0), Change(1)], &[Read(1), Change(0)]],
        forbidden: &[true, true],
    },
    Litmus {
        name: "independent reads of independent writes",
        threads: &[
            &[Change(0)],
            &[Change(1)],
            &[Read(0), Read(1)],
            &[Read(1), Read(0)],
        ],
        forbidden: &[true, false, true, false],
    },
];

/// The memory of the two objects, as a thread accesses it.
trait Memory {
    /// Changes an object to `round`.
    fn change(&mut self, object: usize, round: u64, random: u64);

    fn read(&mut self, object: usize, random: u64) -> u64;
}

/// A task that accesses shared objects.
struct OfTask<'a, 'c, 's> {
    cx: &'a mut Cx<'c, 's>,
    objects: &'a [Global<u64>; 2],
}

impl Memory for OfTask<'_, '_, '_> {
    fn change(&mut self, object: usize, round: u64, random: u64) {
        let (cx, object) = (&mut *self.cx, &self.objects[object]);
        let ended = match random % 3 {
            0 => object.apply(cx, Operator::Max, round).map(drop),
            1 => object.modify(cx, |value| *value = round),
            _ => object.set(cx, round),
        };
        ended.expect("no rank is lost");
    }

    fn read(&mut self, object: usize, random: u64) -> u64 {
        let (cx, object) = (&mut *self.cx, &self.objects[object]);
        let value = match random % 2 {
            0 => object.get(cx),
            _ => object.read(cx).map(|view| *view),
        };
        value.expect("no rank is lost")
    }
}

/// Atomics of the processor.
struct Relaxed<'a>(&'a [AtomicU64; 2]);

impl Memory for Relaxed<'_> {
    fn change(&mut self, object: usize, round: u64, _: u64) {
        // ORDERING: Relaxed: the control, which is to be reordered.
        self.0[object].store(round, Ordering::Relaxed);
    }

    fn read(&mut self, object: usize, _: u64) -> u64 {
        // ORDERING: Relaxed: the control, which is to be reordered.
        self.0[object].load(Ordering::Relaxed)
    }
}

/// A barrier of threads that poll.
struct Barrier {
    threads: u32,
    arrived: AtomicU32,
    round: AtomicU64,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self {
            threads: threads as u32,
            arrived: AtomicU32::new(0),
            round: AtomicU64::new(0),
        }
    }

    /// Waits until all threads have arrived in this round.
    fn wait(&self, round: u64) {
        // ORDERING: AcqRel: what the threads did before is visible to the last one.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            // ORDERING: Relaxed: the others add after they have seen the round.
            self.arrived.store(0, Ordering::Relaxed);
            // ORDERING: Release: what all did before is visible to those that see the round.
            return self.round.store(round, Ordering::Release);
        }
        let mut turn = 0;
        // ORDERING: Acquire: with the store above.
        while self.round.load(Ordering::Acquire) < round {
            turn += 1;
            match turn % 64 {
                0 => thread::yield_now(),
                _ => spin_loop(),
            }
        }
    }
}

/// Rounds of a litmus program.
struct Rounds<'l> {
    litmus: &'l Litmus,
    barrier: Barrier,
    count: u64,
    /// Whether threads make their accesses in the other order: the control.
    reversed: bool,
}

/// The outcomes of one thread, round by round: bit `n` is that of its read `n`.
type Outcomes = Vec<u8>;

impl<'l> Rounds<'l> {
    fn new(litmus: &'l Litmus, count: u64) -> Self {
        Self {
            litmus,
            barrier: Barrier::new(litmus.threads.len()),
            count,
            reversed: false,
        }
    }

    fn reversed(self) -> Self {
        let reversed = true;
        Self { reversed, ..self }
    }

    /// Makes the accesses of a thread.
    fn run(&self, thread: usize, memory: &mut impl Memory) -> Outcomes {
        let acts = self.litmus.threads[thread];
        let one = |round: u64, memory: &mut _| {
            let mut outcome = 0;
            for turn in 0..acts.len() {
                let at = match self.reversed {
                    true => acts.len() - 1 - turn,
                    false => turn,
                };
                let random = mixed(round * 8 + at as u64, thread as u64);
                // Stores stay in the buffer of a processor for less than a delay.
                let is_delayed = match round % 4 {
                    0 | 1 => true,
                    2 => turn == 0,
                    _ => false,
                };
                if is_delayed {
                    delay(random);
                }
                outcome |= u8::from(act(acts[at], round, random >> 32, memory)) << at;
            }
            outcome
        };
        let rounds = 1..=self.count;
        let outcomes = rounds.map(|round| {
            self.barrier.wait(round);
            one(round, memory)
        });
        outcomes.collect()
    }

    /// Returns how often each outcome occurred, in the order of the reads of all threads.
    fn counts(&self, of_threads: &[Outcomes]) -> BTreeMap<Vec<bool>, u64> {
        assert_eq!(of_threads.len(), self.litmus.threads.len());
        let mut counts = BTreeMap::new();
        for round in 0..self.count as usize {
            let all = self.litmus.threads.iter().zip(of_threads);
            let reads = all.flat_map(|(acts, outcomes)| {
                let reads = (0..acts.len()).filter(|at| matches!(acts[*at], Read(_)));
                reads.map(move |at| outcomes[round] >> at & 1 == 1)
            });
            *counts.entry(reads.collect()).or_default() += 1;
        }
        counts
    }
}

/// Delays a thread for a random time: as long as an access takes, or as other threads run.
fn delay(random: u64) {
    match random % 8 {
        0 => thread::yield_now(),
        _ => (0..random / 8 % 64).for_each(|_| spin_loop()),
    }
}

/// Makes an access, and returns whether it has read the change of the round.
fn act(act: Act, round: u64, random: u64, memory: &mut impl Memory) -> bool {
    match act {
        Change(object) => {
            memory.change(object, round, random);
            false
        }
        Read(object) => {
            let value = memory.read(object, random);
            assert!(value == round || value + 1 == round, "{value} in {round}");
            value == round
        }
    }
}

/// The ranks of the threads and of the objects.
#[derive(Clone, Copy, Debug)]
struct Place {
    ranks: u32,
    homes: [u32; 2],
    protocol: Protocol,
}

impl Place {
    /// All threads in one rank.
    const ONE: Self = Self {
        ranks: 1,
        homes: [0, 0],
        protocol: Protocol::Directory,
    };

    /// The threads of `litmus` at ranks of their own, with each protocol and several homes.
    fn over_ranks(litmus: &Litmus) -> Vec<Self> {
        let ranks = litmus.threads.len() as u32;
        let protocols = [Protocol::Home, Protocol::Directory, Protocol::Migratory];
        let homes = [[0, ranks - 1], [1, 0], [1, 1]];
        let all = protocols.into_iter().flat_map(|protocol| {
            homes.map(|homes| Self {
                ranks,
                homes,
                protocol,
            })
        });
        all.collect()
    }

    /// Several threads in each of two ranks.
    fn divided() -> [Self; 3] {
        let protocols = [Protocol::Home, Protocol::Directory, Protocol::Migratory];
        protocols.map(|protocol| Self {
            ranks: 2,
            homes: [0, 1],
            protocol,
        })
    }

    /// Runs the rounds, and returns the outcomes of the threads.
    fn run(self, rounds: &Rounds<'_>) -> Vec<Outcomes> {
        let threads = rounds.litmus.threads.len();
        let each = threads / self.ranks as usize;
        let all = world::loopback(self.ranks, |world| {
            let mut globals = world.globals();
            let objects = self
                .homes
                .map(|home| globals.create_as(self.protocol, Rank(home), || 0u64));
            let first = world.rank().0 as usize * each;
            let mut outcomes = vec![Outcomes::new(); each];
            // As many workers as threads: at the first barrier each has one, and none takes
            // another.
            runtime(world, each).run(|cx| {
                cx.scope(|cx| {
                    let mut threads = (first..).zip(&mut outcomes);
                    let own = threads.next();
                    for (thread, outcomes) in threads {
                        let objects = &objects;
                        cx.spawn(move |cx| {
                            *outcomes = rounds.run(thread, &mut OfTask { cx, objects });
                        });
                    }
                    let objects = &objects;
                    own.into_iter().for_each(|(thread, outcomes)| {
                        *outcomes = rounds.run(thread, &mut OfTask { cx, objects });
                    });
                });
                world.team().barrier().wait(cx).expect("no rank is lost");
            });
            outcomes
        });
        all.concat()
    }
}

/// Runs `count` rounds, divided between places. Returns the number of different outcomes.
fn check(places: &[Place], litmus: &Litmus, count: u64) -> usize {
    let mut all = BTreeSet::new();
    for place in places {
        let rounds = Rounds::new(litmus, count.div_ceil(places.len() as u64));
        let counts = rounds.counts(&place.run(&rounds));
        let found = counts.get(litmus.forbidden);
        assert_eq!(found, None, "{}, {place:?}: {counts:?}", litmus.name);
        all.extend(counts.into_keys());
    }
    assert!(all.len() > 1, "{}, {places:?}: {all:?}", litmus.name);
    all.len()
}

/// Runs `count` rounds of each program in one rank, and as many over ranks. Returns the numbers of
/// different outcomes.
fn check_all(count: u64) -> Vec<usize> {
    let [.., independent] = &LITMUS;
    check(&Place::divided(), independent, count);
    let of = |litmus| {
        let outcomes = [
            check(&[Place::ONE], litmus, count),
            check(&Place::over_ranks(litmus), litmus, count),
        ];
        println!("{}: {outcomes:?} outcomes", litmus.name);
        outcomes
    };
    LITMUS.iter().flat_map(of).collect()
}

#[test]
fn all_threads_agree_on_an_order() {
    check_all(1000);
}

#[test]
#[ignore = "cargo ci deep: a million rounds of each litmus program"]
fn a_million_rounds_of_all_threads() {
    let outcomes = check_all(1_000_000);
    // All but the forbidden ones.
    assert_eq!(outcomes, [3, 3, 3, 3, 3, 3, 15, 15]);
}

/// The check finds an outcome that is forbidden, as soon as the accesses of a thread change places.
#[test]
fn accesses_in_the_other_order_are_found() {
    for litmus in &LITMUS {
        let mut places = Place::over_ranks(litmus);
        places.truncate(1);
        places.push(Place::ONE);
        for place in places {
            let is_found = (0..500).any(|_| {
                let rounds = Rounds::new(litmus, 200).reversed();
                let counts = rounds.counts(&place.run(&rounds));
                counts.contains_key(litmus.forbidden)
            });
            assert!(is_found, "{}, {place:?}", litmus.name);
        }
    }
}

/// The check finds an outcome that processors permit, if these are accesses to atomics that are not
/// ordered.
#[test]
#[ignore = "cargo ci deep: a million rounds on atomics that are not ordered"]
fn a_million_rounds_of_the_processor() {
    if available_parallelism().map_or(1, NonZero::get) < 2 {
        return println!("one processor sees its own stores in order");
    }
    let litmus = &LITMUS[1];
    let rounds = Rounds::new(litmus, 1_000_000);
    let memory = [const { AtomicU64::new(0) }; 2];
    let run = |thread| rounds.run(thread, &mut Relaxed(&memory));
    let outcomes = thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        [run(0), other.join().expect("no panic")]
    });
    let counts = rounds.counts(&outcomes);
    println!("{}: {counts:?}", litmus.name);
    assert!(counts.contains_key(litmus.forbidden), "{counts:?}");
}
