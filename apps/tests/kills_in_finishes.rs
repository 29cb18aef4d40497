//! Ranks of nested finishes and of a phaser that are killed or stopped at any time: what the others
//! print, and that nothing is left.
//!
//! This program also is one of ranks: they run the test `rank` alone, which plays the role that the
//! variable `ROLE` names.
#![cfg(target_os = "linux")]

mod killed;
mod launched;
mod scratch;
mod started;

use killed::{Killed, alone, kill_ranks};
use launched::{Launched, signal, state, text, until};
use scratch::Scratch;
use serde::{Deserialize, Serialize};
use started::tautline;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use std::{env, fs, process, thread};
use tautline::balance::Reason;
use tautline::prelude::*;
use tautline::team::{At, Handler, Team, handler};
use tautline::watch::Stalled;
use tautline::world::{Rank, World};

const RANKS: usize = 4;

/// Values of this process that were made and not dropped.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// An argument whose values are counted.
#[derive(Serialize, Deserialize)]
#[serde(from = "u64")]
struct Seed(u64);

impl From<u64> for Seed {
    fn from(seed: u64) -> Self {
        // ORDERING: Relaxed: only the sum counts, and is read when the tasks have ended.
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self(seed)
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        // ORDERING: Relaxed: only the sum counts, and is read when the tasks have ended.
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns a number that looks random, the same for the same arguments.
fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b) ^ 0x2545_f491;
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 27
}

fn rank_of(seed: u64) -> Rank {
    Rank((seed >> 7) as u32 % RANKS as u32)
}

/// The activities that the one with this seed starts.
fn children(seed: u64, depth: u32) -> impl Iterator<Item = u64> {
    let count = if depth == 0 { 0 } else { mixed(seed, 1) % 4 };
    (0..count).map(move |n| mixed(seed, 2 + n))
}

/// The activities of a tree.
fn size(seed: u64, depth: u32) -> u64 {
    1 + children(seed, depth)
        .map(|child| size(child, depth - 1))
        .sum::<u64>()
}

/// The depth of trees, and of finishes in each other.
const DEPTH: u32 = 4;

/// Lines about what must not be.
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn wrong(line: String) {
    WRONG.lock().expect("no panic").push(line);
}

type Activity = (Seed, u32);

/// Starts the activity with a seed.
fn start<'s, 'c>(cx: &mut Cx<'c, '_>, at: At<'s>, seed: u64, depth: u32)
where
    's: 'c,
{
    at.again::<Activity>(cx, rank_of(seed), (Seed::from(seed), depth));
}

/// An activity: some of its children are in a finish of their own, which only a loss cancels; where
/// it is tolerated, also by the scope around it, whose phaser has ended by the loss.
fn visit<'s, 'c>(cx: &mut Cx<'c, '_>, at: At<'s>, seed: u64, depth: u32)
where
    's: 'c,
{
    let (inside, beside): (Vec<u64>, Vec<u64>) = children(seed, depth).partition(|it| it & 1 == 0);
    beside
        .iter()
        .for_each(|child| start(cx, at, *child, depth - 1));
    if !inside.is_empty() {
        let ended = cx.finish(|cx| {
            inside
                .iter()
                .for_each(|child| start(cx, at, *child, depth - 1))
        });
        if let Err(why) = ended
            && why.reason != Reason::Lost
            && !(why.reason == Reason::GivenUp && role().is_some_and(tolerates))
        {
            wrong(format!("a finish in a tree: {why}"));
        }
    }
}

/// Runs a tree in a finish of all ranks, by the activities of one.
fn tree(cx: &mut Cx<'_, '_>, team: &mut Team, seed: u64, ran: &AtomicU64) -> tautline::Result<()> {
    let node = handler(|cx, at, (seed, depth): Activity| {
        // ORDERING: Relaxed: it is read when the finish has ended.
        ran.fetch_add(1, Ordering::Relaxed);
        visit(cx, at, seed.0, depth);
    });
    team.finish(cx, &node, |cx, at| {
        if at.rank() == rank_of(mixed(seed, 0)) {
            at.spawn(cx, rank_of(seed), &node, (seed.into(), DEPTH));
        }
    })
}

/// Opens nested finishes with an activity each that does not end, and runs `inside` in the last.
fn nested<'s, 'c, F, R>(
    cx: &mut Cx<'c, '_>,
    at: At<'s>,
    wait: &Handler<F, Seed, ()>,
    (seed, depth): (u64, u32),
    inside: &mut impl FnMut(&mut Cx<'_, '_>) -> R,
) -> Option<R>
where
    's: 'c,
{
    let mut result = None;
    let ended = cx.finish(|cx| {
        at.spawn(cx, rank_of(seed), wait, seed.into());
        result = match depth {
            1 => Some(inside(cx)),
            _ => nested(cx, at, wait, (mixed(seed, 1), depth - 1), inside),
        };
    });
    if ended.is_ok() {
        wrong("a finish with an endless activity has ended".to_owned());
    }
    result
}

/// Makes trees of activities without an end, in nested finishes with endless activities, beside
/// tasks in phases: a task that waits runs others above it, so none but this one waits. Returns the
/// errors.
fn errors(cx: &mut Cx<'_, '_>, world: &World, seed: u64) -> [Option<tautline::Error>; 3] {
    let [mut trees, mut endless, mut phased] = [world.team(), world.team(), world.team()];
    let wait = handler(|cx: &mut Cx<'_, '_>, _, seed: Seed| {
        cx.spawn_async(move |_| async move {
            let _seed = seed;
            std::future::pending::<()>().await;
        });
    });
    let (mut of_trees, mut of_endless) = (None, None);
    let run = || {
        cx.scope(|cx| {
            let mut barrier = phased.phaser(cx)?;
            for n in 0..2 {
                cx.spawn_phased(barrier.signal_wait(), async move |mut task| {
                    let _seed = Seed::from(n);
                    while task.next().await.is_ok() {}
                })?;
            }
            drop(barrier);
            let ended = endless.finish(cx, &wait, |cx, at| {
                let first = (mixed(seed, u64::from(at.rank().0)), DEPTH);
                of_trees = nested(cx, at, &wait, first, &mut |cx| {
                    let ran = AtomicU64::new(0);
                    let error = |round| tree(cx, &mut trees, mixed(seed, round), &ran).err();
                    (0..).find_map(error).expect("the loop has ended")
                });
            });
            of_endless = ended.err();
            Ok(())
        })
    };
    let of_phaser = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(ended) => ended.err(),
        Err(payload) => payload.downcast().ok().map(|error| *error),
    };
    [of_trees, of_endless, of_phaser]
}

/// Returns the seed that the role of this rank names, if it does not compute until a file is there.
fn role() -> Option<u64> {
    env::var("ROLE").ok()?.parse().ok()
}

/// Whether ranks with this seed tolerate losses: half of them.
fn tolerates(seed: u64) -> bool {
    seed % 4 >= 2
}

/// Computes until a rank is lost, and returns the line of the error.
fn compute(world: &World, seed: u64) -> String {
    if tolerates(seed) {
        world.tolerate_losses();
    }
    let rt = Runtime::builder()
        .world(world)
        .workers(1)
        .pinned(false)
        .stalled(Stalled::Ignore)
        .build();
    let errors = rt.expect("a worker").run(|cx| errors(cx, world, seed));
    let lost = |error: &tautline::Error| match error {
        tautline::Error::Rank(error) => Some((error.kind(), error.rank())),
        _ => None,
    };
    let first = errors.iter().flatten().next();
    let is_other = |error: &tautline::Error| match tolerates(seed) {
        // Each operation ends by itself.
        true => lost(error) != first.and_then(lost),
        false => Some(error.to_string()) != first.map(ToString::to_string),
    };
    // Without a phaser there are no others: an early loss.
    let of_calls = errors.iter().flatten().count();
    if of_calls == 2 || errors.iter().flatten().any(is_other) {
        wrong(format!("{errors:?}"));
    }
    first.map(ToString::to_string).unwrap_or_default()
}

/// Computes trees until the file is there; returns how many.
fn compute_until(world: &World, last: &Path) -> tautline::Result<u64> {
    let rt = Runtime::builder()
        .world(world)
        .workers(1)
        .pinned(false)
        .stalled(Stalled::Ignore)
        .build()?;
    rt.run(|cx| {
        let mut team = world.team();
        for round in 0.. {
            let ran = AtomicU64::new(0);
            tree(cx, &mut team, round, &ran)?;
            let is_last = world.is_home() && last.exists();
            let add =
                |(a, is_last): (u64, bool), (b, is_too): (u64, bool)| (a + b, is_last | is_too);
            let (all, is_last) = team.all_reduce((ran.into_inner(), is_last), add).wait(cx)?;
            assert_eq!(all, size(round, DEPTH), "the activities of tree {round}");
            if is_last {
                return Ok(round);
            }
        }
        unreachable!("there are more numbers")
    })
}

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which other tests start"]
fn rank() {
    let Ok(role) = env::var("ROLE") else {
        return;
    };
    let error = match World::join() {
        Ok(world) => match role.parse() {
            Ok(seed) => compute(&world, seed),
            Err(_) => {
                let rounds = compute_until(&world, Path::new(&role)).expect("no rank is lost");
                assert!(rounds > 0);
                return;
            }
        },
        Err(error) => error.to_string(),
    };
    eprintln!("tautline: {error}");
    for line in &*WRONG.lock().expect("no panic") {
        eprintln!("tautline: {line}");
    }
    // ORDERING: Relaxed: the tasks have ended.
    let live = LIVE.load(Ordering::Relaxed);
    if live != 0 {
        eprintln!("tautline: {live} values are left");
    }
    process::exit(4);
}

/// Starts ranks that play this role.
fn ranks(role: &str) -> Launched {
    let program = env::current_exe().expect("it runs");
    let mut command = tautline(&format!("launch -n {RANKS} --"));
    command.arg(program);
    command.args(["--exact", "rank", "--nocapture", "--ignored", "--quiet"]);
    command.env("ROLE", role);
    Launched::of(command)
}

/// Kills a random rank at a random time, for each of these seeds; a quarter of them are rank 0.
fn kill(seeds: u64) {
    let start = |seed: u64| {
        let launched = ranks(&seed.to_string());
        if seed % 2 == 1 {
            // Otherwise it may not have begun.
            launched.computes(RANKS);
        }
        launched
    };
    let killed = Killed {
        ranks: RANKS,
        seeds,
        what: "a rank of nested finishes was killed",
    };
    kill_ranks(&killed, start, |_, _, _| ());
}

#[test]
fn killed_ranks_end_finishes() {
    alone(|| kill(6));
}

#[test]
#[ignore = "cargo ci deep: two hundred kills in finishes"]
fn two_hundred_kills_in_finishes() {
    alone(|| kill(200));
}

/// Ranks that stop for a while lose nothing.
fn stop_ranks(stop: Duration) {
    for stopped in [0, 2] {
        let last = Scratch::new("last");
        let launched = ranks(last.0.to_str().expect("text"));
        let processes = launched.computes(RANKS);
        signal("-STOP", &processes[stopped]);
        until("it is not stopped", || {
            state(&processes[stopped]) == Some('T')
        });
        // A sleep, since nothing may happen in that time.
        thread::sleep(stop);
        signal("-CONT", &processes[stopped]);
        fs::write(&last.0, "").expect("room for a file");
        let output = launched.end();
        let errors = text(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{errors}");
    }
}

#[test]
fn stopped_ranks_go_on() {
    alone(|| stop_ranks(Duration::from_millis(200)));
}

#[test]
#[ignore = "cargo ci deep: seconds without a rank"]
fn ranks_stopped_for_five_seconds_go_on() {
    alone(|| stop_ranks(Duration::from_secs(5)));
}
