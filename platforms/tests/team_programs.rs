//! Random programs over ranks, against a sequential interpreter.
//!
//! A program is a tree of activities at random ranks, with nested finishes, tasks beside them,
//! calls and batches; some finishes fail by a panic or a cancellation somewhere inside. The runs
//! are compared in the multiset of events with their ranks, in the outcome of each finish, and in
//! the order: a finish returns after all that happened inside. Of a finish that fails, events
//! inside may be missing.

mod ranks;

use ranks::{mixed, runtime};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tautline::balance::Reason;
use tautline::prelude::*;
use tautline::team::{At, Handler, handler};
use tautline::world::{self, Rank};

/// Programs of each size in a run of all tests. `cargo ci deep` runs more.
const PROGRAMS: u64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Failure {
    Panic,
    Cancel,
}

/// A statement of an activity; children are named by their seeds.
#[derive(Clone, Debug)]
enum Statement {
    Event(u64),
    /// An activity at a rank, from a task beside this one or from this one.
    Spawn(Rank, u64, bool),
    Finish(u64, Option<Failure>),
    /// A call, whose value is compared.
    Call(Rank, u64),
    /// Events at ranks, in one batch.
    Batch(Vec<(Rank, u64)>),
    /// Fails, by an activity at this rank.
    Fail(Failure, Rank),
}

/// Returns the statements of the activity or finish with this seed.
fn statements(seed: u64, depth: u32, ranks: u32) -> Vec<Statement> {
    let rank = |of: u64| Rank((of >> 7) as u32 % ranks);
    let mut all = vec![Statement::Event(seed)];
    for i in 0..1 + mixed(seed, 1) % 4 {
        let child = mixed(seed, 100 + i);
        let is_inner = depth > 0;
        all.push(match child % 8 {
            0..=2 if is_inner => Statement::Spawn(rank(child), child, child & 64 != 0),
            3 | 4 if is_inner => {
                let failure = match mixed(child, 9) % 12 {
                    0 => Some(Failure::Panic),
                    1 => Some(Failure::Cancel),
                    _ => None,
                };
                Statement::Finish(child, failure)
            }
            5 => Statement::Call(rank(child), child),
            6 => {
                let events = (0..child % 5).map(|n| mixed(child, n));
                Statement::Batch(events.map(|event| (rank(event), event)).collect())
            }
            _ => Statement::Event(child),
        });
    }
    all
}

/// Returns the statements in a finish: those of its seed, and one by which it fails, somewhere.
fn body(seed: u64, failure: Option<Failure>, depth: u32, ranks: u32) -> Vec<Statement> {
    let mut all = statements(seed, depth, ranks);
    let rank = Rank((seed >> 9) as u32 % ranks);
    all.extend(failure.map(|failure| Statement::Fail(failure, rank)));
    all
}

/// An event: its number, its finish, its rank.
type Happened = (u64, u64, u32);

/// The events that must have happened, and those that may have.
#[derive(Default)]
struct Expected {
    certain: BTreeMap<Happened, usize>,
    possible: BTreeMap<Happened, usize>,
    failures: BTreeMap<u64, Failure>,
}

impl Expected {
    fn interpret(&mut self, all: &[Statement], at: Place, is_certain: bool) {
        let event = |this: &mut Self, number, rank: Rank| {
            let of = if is_certain {
                &mut this.certain
            } else {
                &mut this.possible
            };
            *of.entry((number, at.finish, rank.0)).or_default() += 1;
        };
        for statement in all {
            match statement {
                Statement::Event(number) => event(self, *number, at.rank),
                Statement::Batch(events) => {
                    events
                        .iter()
                        .for_each(|(rank, number)| event(self, *number, *rank));
                }
                Statement::Spawn(rank, seed, _) => {
                    let inner = statements(*seed, at.depth - 1, at.ranks);
                    let place = Place {
                        rank: *rank,
                        depth: at.depth - 1,
                        ..at
                    };
                    self.interpret(&inner, place, is_certain);
                }
                Statement::Finish(seed, failure) => {
                    if let Some(failure) = failure.filter(|_| is_certain) {
                        self.failures.insert(*seed, failure);
                    }
                    let inner = body(*seed, *failure, at.depth - 1, at.ranks);
                    let place = Place {
                        finish: *seed,
                        depth: at.depth - 1,
                        ..at
                    };
                    self.interpret(&inner, place, is_certain && failure.is_none());
                    event(self, !*seed, at.rank);
                }
                Statement::Call(rank, number) => event(self, *number, *rank),
                Statement::Fail(..) => {}
            }
        }
    }
}

/// The place at which a statement is executed.
#[derive(Clone, Copy)]
struct Place {
    rank: Rank,
    finish: u64,
    depth: u32,
    ranks: u32,
}

/// The log of a run.
#[derive(Default)]
struct Log {
    clock: AtomicU64,
    events: Mutex<Vec<(Happened, u64)>>,
    ends: Mutex<BTreeMap<u64, (u64, Option<Failure>)>>,
}

impl Log {
    fn event(&self, number: u64, finish: u64, rank: Rank) {
        if number % 32 == 0 {
            // A sleep, for orders that a free processor would not show.
            thread::sleep(Duration::from_micros(number % 64));
        }
        let stamp = self.clock.fetch_add(1, SeqCst);
        self.events
            .lock()
            .expect("no panic")
            .push(((number, finish, rank.0), stamp));
    }
}

/// Arguments of an activity: its seed, its finish, and what depth is left and whether all of its
/// calls have results, or how it fails.
type Activity = (u64, u64, Result<(u32, bool), Failure>);

/// The log, and the handlers that an activity starts beside its own.
type Reached<'a, F, G> = (
    &'a Log,
    &'a Handler<F, (u64, u64), ()>,
    &'a Handler<G, (u64, u64), u64>,
);

/// Executes statements as a task of the program.
fn run<'s, 'c, F, G>(
    cx: &mut Cx<'c, '_>,
    at: At<'s>,
    all: &[Statement],
    (finish, depth, is_certain): (u64, u32, bool),
    (log, mark, value): Reached<'_, F, G>,
) where
    's: 'c,
{
    let activity = move |seed: u64, how| -> Activity { (seed, finish, how) };
    for statement in all {
        match statement.clone() {
            Statement::Event(number) => log.event(number, finish, at.rank()),
            Statement::Spawn(to, seed, true) => {
                cx.spawn(move |cx| at.again(cx, to, activity(seed, Ok((depth - 1, is_certain)))));
            }
            Statement::Spawn(to, seed, false) => {
                at.again(cx, to, activity(seed, Ok((depth - 1, is_certain))))
            }
            Statement::Batch(events) => {
                let mut batch = at.batch(cx, mark);
                for (to, number) in events {
                    batch.push(cx, to, (number, finish));
                }
            }
            Statement::Call(to, number) => {
                match at.call(cx, to, value, (number, finish)).wait(cx) {
                    Ok(result) => assert_eq!(result, mixed(number, 5), "the value of a call"),
                    Err(error) => assert!(!is_certain, "{error}"),
                }
            }
            Statement::Finish(seed, failure) => {
                let inner = body(seed, failure, depth - 1, at.ranks());
                let finished = || {
                    let handlers = (log, mark, value);
                    cx.finish(|cx| {
                        run(
                            cx,
                            at,
                            &inner,
                            (seed, depth - 1, is_certain && failure.is_none()),
                            handlers,
                        )
                    })
                };
                let ended = match catch_unwind(AssertUnwindSafe(finished)) {
                    Ok(Ok(())) => None,
                    Ok(Err(_)) => Some(Failure::Cancel),
                    Err(payload) => {
                        let text = payload.downcast_ref::<&str>().copied();
                        let text =
                            text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                        assert!(
                            text.is_some_and(|text| text.ends_with("as planned")),
                            "{text:?}"
                        );
                        Some(Failure::Panic)
                    }
                };
                let stamp = log.clock.fetch_add(1, SeqCst);
                log.ends
                    .lock()
                    .expect("no panic")
                    .insert(seed, (stamp, ended));
                log.event(!seed, finish, at.rank());
            }
            Statement::Fail(failure, to) => at.again(cx, to, activity(0, Err(failure))),
        }
    }
}

/// Counts of what programs had: they are not empty.
#[derive(Debug, Default)]
struct Had {
    events: usize,
    /// Events at another rank than the first.
    elsewhere: usize,
    panics: usize,
    cancellations: usize,
}

/// Runs the program of a seed over this many ranks, and compares.
fn check(seed: u64, ranks: u32, workers: usize, depth: u32, had: &mut Had) {
    let (log, root) = (Log::default(), Rank(seed as u32 % ranks));
    let mut expected = Expected::default();
    let first = statements(seed, depth, ranks);
    let place = Place {
        rank: root,
        finish: 0,
        depth,
        ranks,
    };
    expected.interpret(&first, place, true);
    world::loopback(ranks, |world| {
        let rt = runtime(world, workers);
        let mark =
            handler(|_, at, (number, finish): (u64, u64)| log.event(number, finish, at.rank()))
                .short();
        let value = handler(|_, at, (number, finish): (u64, u64)| {
            log.event(number, finish, at.rank());
            mixed(number, 5)
        });
        let node = handler(|cx, at, (seed, finish, how): Activity| match how {
            Ok((depth, is_certain)) => {
                let (all, place) = (
                    statements(seed, depth, at.ranks()),
                    (finish, depth, is_certain),
                );
                run(cx, at, &all, place, (&log, &mark, &value));
            }
            Err(Failure::Cancel) => _ = cx.cancel(Reason::Found),
            Err(Failure::Panic) => std::panic::resume_unwind(Box::new("as planned")),
        });
        rt.run(|cx| {
            let mut team = world.team();
            team.finish(cx, &(&node, &mark, &value), |cx, at| {
                if at.rank() == root {
                    at.spawn(cx, root, &node, (seed, 0, Ok((depth, true))));
                }
            })?;
            let stamp = log.clock.fetch_add(1, SeqCst);
            log.ends.lock().expect("no panic").insert(0, (stamp, None));
            team.barrier().wait(cx)
        })
    })
    .into_iter()
    .for_each(|ended: tautline::Result<()>| {
        ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
    });
    compare(seed, &log, &expected);
    let events = log.events.into_inner().expect("no panic");
    had.events += events.len();
    had.elsewhere += events
        .iter()
        .filter(|((.., rank), _)| *rank != root.0)
        .count();
    let of = |kind| {
        expected
            .failures
            .values()
            .filter(|failure| **failure == kind)
            .count()
    };
    had.panics += of(Failure::Panic);
    had.cancellations += of(Failure::Cancel);
}

fn compare(seed: u64, log: &Log, expected: &Expected) {
    let (events, ends) = (
        log.events.lock().expect("no panic"),
        log.ends.lock().expect("no panic"),
    );
    let mut found = BTreeMap::<Happened, usize>::new();
    for (event, stamp) in &*events {
        *found.entry(*event).or_default() += 1;
        let (end, _) = ends
            .get(&event.1)
            .unwrap_or_else(|| panic!("seed {seed}: {event:?} without an end"));
        assert!(
            stamp < end,
            "seed {seed}: {event:?} after its finish has returned"
        );
    }
    for (event, count) in &expected.certain {
        let found = found.get(event).copied().unwrap_or(0);
        let possible = expected.possible.get(event).copied().unwrap_or(0);
        assert!(
            (*count..=count + possible).contains(&found),
            "seed {seed}: {found} of {count} {event:?}"
        );
    }
    for (event, count) in &found {
        let all = [&expected.certain, &expected.possible];
        let most: usize = all.iter().filter_map(|of| of.get(event)).sum();
        assert!(*count <= most, "seed {seed}: {count} of {most} {event:?}");
    }
    for (finish, failure) in &expected.failures {
        let (_, ended) = ends[finish];
        assert_eq!(
            ended,
            Some(*failure),
            "seed {seed}: the outcome of finish {finish}"
        );
    }
}

#[test]
fn programs_over_ranks() {
    let mut had = Had::default();
    for (ranks, workers) in [(1, 2), (2, 1), (3, 2), (5, 1)] {
        for seed in 0..PROGRAMS {
            check(mixed(seed, u64::from(ranks)), ranks, workers, 5, &mut had);
        }
    }
    println!("{had:?}");
    let Had {
        events,
        elsewhere,
        panics,
        cancellations,
    } = had;
    assert!(events > 5_000 && elsewhere > 2_000, "programs are short");
    assert!(panics > 10 && cancellations > 10, "nothing fails");
}

#[test]
#[ignore = "cargo ci deep: programs"]
fn many_programs_over_ranks() {
    let number = |name, other| std::env::var(name).map_or(other, |n| n.parse().expect("a number"));
    let (first, programs) = (number("FIRST", 0), number("PROGRAMS", 100_000));
    let mut had = Had::default();
    for seed in first..programs {
        let ranks = 1 + (mixed(seed, 1) % 5) as u32;
        check(mixed(seed, 2), ranks, 1 + (seed % 2) as usize, 6, &mut had);
    }
    println!("{had:?}");
}
