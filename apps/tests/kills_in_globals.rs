//! Ranks that are killed at any time while they access shared objects: each access of the others
//! ends, by a value that is not of the past or by an error that names the killed rank.
//!
//! This program also is one of ranks: they run the test `rank` alone, with the seed that the
//! variable `ROLE` names.
#![cfg(target_os = "linux")]

mod killed;
mod launched;
#[path = "../../platforms/tests/ranks/mod.rs"]
mod ranks;
mod started;

use killed::{Killed, alone, kill_ranks};
use launched::Launched;
use ranks::{delay, mixed, runtime};
use started::tautline;
use std::{env, process};
use tautline::globals::{Global, Operation, Operator, Protocol};
use tautline::prelude::*;
use tautline::team::Team;
use tautline::world::{Rank, RankErrorKind, World};

const RANKS: u32 = 4;

/// Accesses of a rank after the first that has ended with an error.
const AFTER: u64 = 30;

/// Whether ranks with this seed tolerate losses: half of them.
fn tolerates(seed: u64) -> bool {
    seed % 4 >= 2
}

/// A number that changes increase, at one rank.
struct Number {
    global: Global<u64>,
    /// The least value that it can have.
    least: u64,
    /// The number of changes of this rank that have returned.
    changes: u64,
    is_lost: bool,
}

/// The accesses of a rank.
struct Accesses {
    numbers: Vec<Number>,
    add: Operation<u64, u64, u64>,
    /// Whether the world tolerates losses.
    tolerates: bool,
    /// The rank that was lost, with the line of the first error.
    lost: Option<(Rank, String)>,
}

impl Accesses {
    fn new(world: &World, seed: u64) -> Self {
        let mut globals = world.globals();
        let protocols = [Protocol::Home, Protocol::Directory, Protocol::Migratory];
        let add = globals.operation(|number: &mut u64, by: u64| {
            *number += by;
            *number
        });
        // Two objects with each home.
        let create = |at: u32| Number {
            global: globals.create_as(
                protocols[((seed / 4 + u64::from(at)) % 3) as usize],
                Rank(at % RANKS),
                || 0,
            ),
            least: 0,
            changes: 0,
            is_lost: false,
        };
        let numbers = (0..2 * RANKS).map(create).collect();
        Self {
            numbers,
            add,
            tolerates: tolerates(seed),
            lost: None,
        }
    }

    /// Makes an access to an object: a random one, or a read.
    fn access(&mut self, cx: &mut Cx<'_, '_>, at: usize, random: u64) {
        let number = &mut self.numbers[at];
        let (global, kind) = (&number.global, random % 6);
        let ended = match kind {
            0 | 1 => global.get(cx),
            2 => global.read(cx).map(|view| *view),
            3 => global.update(cx, &self.add, 1),
            4 => global.apply(cx, Operator::Sum, 1).map(|former| former + 1),
            _ => global.modify(cx, |number| {
                *number += 1;
                *number
            }),
        };
        let changes = u64::from(kind > 2);
        match ended {
            Ok(value) => {
                assert!(!number.is_lost, "{global:?} has come back");
                let least = number.least + changes;
                assert!(value >= least, "{global:?}: {value} after {}", number.least);
                number.least = value;
                number.changes += changes;
            }
            Err(tautline::Error::Rank(error)) => {
                number.is_lost = true;
                let (first, line) = self
                    .lost
                    .get_or_insert_with(|| (error.rank(), error.to_string()));
                // Otherwise it may be that of a rank which has given up before.
                let named = (error.kind(), error.rank());
                let is_same = named == (RankErrorKind::Lost, *first);
                assert!(is_same || !self.tolerates, "{error}, and {line}");
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes random accesses until a while after the loss of a rank.
    fn until_lost(&mut self, cx: &mut Cx<'_, '_>, seed: u64) {
        let mut after = 0;
        for number in 0.. {
            let random = mixed(seed, number);
            delay(random >> 20);
            self.access(cx, (random >> 8) as usize % self.numbers.len(), random);
            after += u64::from(self.lost.is_some());
            if after > AFTER {
                return;
            }
        }
    }

    /// Checks, with all ranks that are left, that no change has been lost with another rank.
    fn agree(&mut self, cx: &mut Cx<'_, '_>, left: &mut Team) -> tautline::Result<()> {
        left.barrier().wait(cx)?;
        for at in 0..self.numbers.len() {
            self.access(cx, at, 0);
        }
        let found = self.numbers.iter().map(|number| {
            let value = (!number.is_lost).then_some(number.least);
            (value, number.changes)
        });
        let all = left.gather(Rank(0), found.collect::<Vec<_>>()).wait(cx)?;
        let all = all.unwrap_or_default();
        for at in 0..self.numbers.len() {
            let mut values = all.iter().map(|found| found[at].0);
            let first = values.next().flatten();
            let changes: u64 = all.iter().map(|found| found[at].1).sum();
            assert!(
                values.all(|value| value == first) && first.is_none_or(|value| value >= changes),
                "object {at}: {all:?}"
            );
        }
        left.barrier().wait(cx)
    }
}

/// Accesses objects until a rank is lost, and returns the line about it.
fn compute(world: &World, seed: u64) -> tautline::Result<String> {
    if tolerates(seed) {
        world.tolerate_losses();
    }
    let mut accesses = Accesses::new(world, seed);
    runtime(world, 1).run(|cx| {
        let mut team = world.team();
        // The ranks that are left, whichever is lost.
        let here = world.rank();
        let mut left = Vec::new();
        for lost in 0..RANKS {
            left.push(team.split((here.0 != lost).then_some(0)).wait(cx)?);
        }
        let seed = seed * u64::from(RANKS) + u64::from(here.0);
        accesses.until_lost(cx, seed);
        let (lost, line) = accesses.lost.clone().expect("the loop has ended");
        if accesses.tolerates {
            let left = left[lost.index()].as_mut();
            accesses.agree(cx, left.expect("this rank is left"))?;
        }
        Ok(match accesses.tolerates {
            true => format!("accesses end without {lost}: {line}"),
            false => line,
        })
    })
}

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which other tests start"]
fn rank() {
    let Ok(seed) = env::var("ROLE") else {
        return;
    };
    let seed = seed.parse().expect("a number");
    let world = World::join();
    let ended = match &world {
        Ok(world) => compute(world, seed).unwrap_or_else(|error| error.to_string()),
        Err(error) => error.to_string(),
    };
    eprintln!("tautline: {ended}");
    if tolerates(seed) {
        // Others may wait for its last messages.
        drop(world);
    }
    process::exit(4);
}

/// Kills a random rank at a random time, for each of these seeds.
fn kill(seeds: u64) {
    let ranks = |seed: u64| {
        let mut command = tautline(&format!("launch -n {RANKS} --"));
        command.arg(env::current_exe().expect("it runs"));
        command.args(["--exact", "rank", "--nocapture", "--ignored", "--quiet"]);
        command.env("ROLE", seed.to_string());
        let launched = Launched::of(command);
        if tolerates(seed) || seed % 2 == 1 {
            // Otherwise it may not have begun.
            launched.computes(RANKS as usize);
        }
        launched
    };
    let check = |seed: u64, killed: usize, errors: &str| {
        let line = format!("accesses end without rank {killed}: ");
        let count = if tolerates(seed) { 3 } else { 0 };
        assert_eq!(
            errors.matches(&line).count(),
            count,
            "seed {seed}: {errors}"
        );
    };
    let killed = Killed {
        ranks: RANKS as usize,
        seeds,
        what: "a rank that accessed shared objects was killed",
    };
    kill_ranks(&killed, ranks, check);
}

#[test]
fn killed_ranks_end_accesses() {
    alone(|| kill(6));
}

#[test]
#[ignore = "cargo ci deep: two hundred kills of ranks that access objects"]
fn two_hundred_kills_in_accesses() {
    alone(|| kill(200));
}
