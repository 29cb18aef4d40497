//! Programs over ranks in traces: the runs of handlers, and the messages between ranks.
//!
//! This program starts itself: as a rank of several processes it runs the test `rank` alone.

mod ranks;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};
use tautline::prelude::*;
use tautline::team::{At, Handler, handler};
use tautline::watch::Observe;
use tautline::world::{self, Rank, World};
#[cfg(target_os = "linux")]
use tautline_process::{End, Launch};

const RANKS: u32 = 3;
const FINISHES: u64 = 2;

/// Starts handlers at other ranks in all ways, from the body, a task of it, and a handler.
fn program(world: &World, rt: &Runtime) {
    let relay = handler(|cx, at: At<'_>, hops: u32| {
        if hops > 0 {
            at.again(cx, Rank((at.rank().0 + 1) % RANKS), hops - 1);
        }
    });
    let double = handler(|_, _, n: u64| 2 * n);
    let brief = handler(|_, _, _: u8| ()).short();
    let long = handler(|_, _, _: u8| ());
    let all = (&relay, &double, &brief, &long);
    rt.run(|cx| {
        let mut team = world.team();
        for _ in 0..FINISHES {
            let ended = team.finish(cx, &all, |cx, at| {
                at.spawn(cx, at.rank(), &relay, 0);
                let mut briefs = at.batch(cx, &brief);
                let mut longs = at.batch(cx, &long);
                for to in at.all() {
                    (0..4).for_each(|_| longs.push(cx, to, 0));
                    (0..5).for_each(|_| briefs.push(cx, to, 0));
                }
                briefs.flush();
                for to in at.all().filter(|to| *to != at.rank()) {
                    at.spawn(cx, to, &relay, 1);
                    doubles(cx, at, to, &double);
                    cx.scope(|cx| cx.spawn(|cx| at.spawn(cx, to, &relay, 0)));
                    (0..5).for_each(|_| briefs.push(cx, to, 0));
                    at.spawn(cx, to, &relay, 0);
                }
            });
            ended.expect("all live");
        }
    });
}

/// Makes two calls, one after the other.
fn doubles<'s, F>(cx: &mut Cx<'s, '_>, at: At<'s>, to: Rank, double: &Handler<F, u64, u64>) {
    for n in 0..2 {
        assert_eq!(
            at.call(cx, to, double, n).wait(cx).expect("a result"),
            2 * n
        );
    }
}

/// The names of handlers, and the runs of each at a rank, with their calls.
fn runs() -> BTreeMap<String, (u64, u64)> {
    let others = u64::from(RANKS) - 1;
    let of = |name: &str, runs, calls| (name.to_owned(), (FINISHES * runs, FINISHES * calls));
    BTreeMap::from([
        of("body", 1, 1),
        // One that was started at the own rank, three by each other rank, and one by each of those
        // that one of these has started.
        of("handler 0", 1 + 4 * others, 1 + 4 * others),
        of("handler 1", 2 * others, 2 * others),
        // A batch is one run. Those at the own rank are calls within the body.
        of("handler 2", 2 * others, 10 * others),
        of("handler 3", 4 * (others + 1), 4 * (others + 1)),
    ])
}

/// The messages from a rank to another one, by name.
fn messages(from: u32, to: u32) -> BTreeMap<String, u64> {
    let relayed = if (from + 1) % RANKS == to {
        u64::from(RANKS) - 1
    } else {
        0
    };
    let counts = [
        ("handler 0", 3 + relayed),
        ("handler 1", 2),
        ("handler 2", 2),
        ("handler 3", 1),
        ("result", 2),
    ];
    let counts = counts.map(|(name, count)| (name.to_owned(), FINISHES * count));
    BTreeMap::from(counts)
}

/// A point of a trace: process, thread, nanoseconds.
type Point = (u64, u64, u64);

fn ns(event: &Value, key: &str) -> u64 {
    (event[key].as_f64().expect("a time") * 1e3).round() as u64
}

fn point(event: &Value) -> Point {
    let number = |key: &str| event[key].as_u64().expect("a number");
    (number("pid"), number("tid"), ns(event, "ts"))
}

fn text<'e>(event: &'e Value, key: &str) -> &'e str {
    event[key].as_str().expect("a text")
}

/// The events of the traces of all ranks, put together as a reader of all of them does.
struct Traces {
    events: Vec<Value>,
    /// The most by which times of a rank may differ from those of rank 0, in nanoseconds.
    errors: Vec<u64>,
}

impl Traces {
    fn read(paths: &[PathBuf]) -> Self {
        let (mut events, mut errors) = (Vec::new(), Vec::new());
        for (rank, path) in paths.iter().enumerate() {
            let json = fs::read_to_string(path).expect("it was written");
            let mut json: Value = serde_json::from_str(&json).expect("a trace is JSON");
            let data = &json["otherData"];
            assert_eq!(
                (&data["rank"], &data["ranks"]),
                (&rank.into(), &RANKS.into())
            );
            errors.push(
                data["clock_error_ns"]
                    .as_u64()
                    .expect("clocks were compared"),
            );
            events.append(json["traceEvents"].as_array_mut().expect("events"));
            fs::remove_file(path).expect("it is there");
        }
        Self { events, errors }
    }

    fn of(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["ph"] == kind)
    }

    fn check(&self) {
        self.check_threads();
        self.check_runs();
        self.check_arrows();
    }

    /// Each process is a rank, and no thread has the number of another one.
    fn check_threads(&self) {
        let mut threads = BTreeMap::new();
        for event in self.of("M") {
            let (pid, tid) = (event["pid"].as_u64(), event["tid"].as_u64());
            let name = text(&event["args"], "name");
            if event["name"] == "process_name" {
                let rank = pid.expect("a number") - 1;
                assert!(name.ends_with(&format!(": rank {rank}")), "{event}");
            } else {
                assert_eq!(threads.insert(tid, pid), None, "{event}");
            }
        }
        for event in self.of("X") {
            let named = threads.get(&event["tid"].as_u64());
            assert_eq!(named, Some(&event["pid"].as_u64()), "{event}");
        }
    }

    /// Each run and call is there, and those of a thread nest.
    fn check_runs(&self) {
        for rank in 0..u64::from(RANKS) {
            let mut counts = BTreeMap::new();
            let mut threads: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
            let runs_here = self.of("X").filter(|run| run["cat"] == "run");
            for run in runs_here.filter(|run| run["pid"] == rank + 1) {
                let count: &mut (u64, u64) =
                    counts.entry(text(run, "name").to_owned()).or_default();
                count.0 += 1;
                count.1 += run["args"]["calls"].as_u64().expect("a number");
                let site = text(&run["args"], "site");
                assert!(site.contains("team_trace.rs:"), "{run}");
                let (_, tid, from) = point(run);
                threads
                    .entry(tid)
                    .or_default()
                    .push((from, from + ns(run, "dur")));
            }
            assert_eq!(counts, runs(), "rank {rank}");
            for mut spans in threads.into_values() {
                spans.sort_by_key(|&(from, to)| (from, u64::MAX - to));
                let mut open: Vec<u64> = Vec::new();
                for (from, to) in spans {
                    open.retain(|end| *end > from);
                    assert!(open.last().is_none_or(|end| to <= *end), "rank {rank}");
                    open.push(to);
                }
            }
        }
    }

    /// Each message is an arrow, from the rank that sends it to a run that it starts, or to where
    /// its result is taken.
    fn check_arrows(&self) {
        let (starts, finishes) = (self.ends("s"), self.ends("f"));
        assert!(starts.keys().eq(finishes.keys()));
        let mut counts: BTreeMap<(u64, u64), BTreeMap<String, u64>> = BTreeMap::new();
        for (id, start) in &starts {
            let finish = finishes[id];
            let (from, to) = (point(start), point(finish));
            assert_eq!(
                (text(start, "name"), text(start, "cat")),
                (text(finish, "name"), "message")
            );
            assert_eq!(
                (&finish["bp"], &finish["cat"]),
                (&"e".into(), &"message".into())
            );
            let error: u64 = [from.0, to.0]
                .map(|pid| self.errors[pid as usize - 1])
                .iter()
                .sum();
            assert!(from.2 <= to.2 + error, "{start} {finish} {error}");
            let name = text(start, "name").to_owned();
            assert!(self.around(from).count() > 0, "{start}");
            let mut ends = self.around(to).filter(|slice| {
                let begins = point(slice).2 == to.2 && slice["name"] == name;
                begins || name == "result"
            });
            assert!(ends.next().is_some(), "{finish}");
            let of_ranks = counts.entry((from.0 - 1, to.0 - 1)).or_default();
            *of_ranks.entry(name).or_default() += 1;
        }
        let ranks = 0..RANKS;
        let pairs = ranks
            .clone()
            .flat_map(|from| ranks.clone().map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        let expected = pairs.map(|(from, to)| {
            let ranks = (u64::from(from), u64::from(to));
            (ranks, messages(from, to))
        });
        assert_eq!(counts, expected.collect());
    }

    /// One end of each arrow between ranks, by number.
    fn ends(&self, kind: &'static str) -> BTreeMap<&str, &Value> {
        let mut ends = BTreeMap::new();
        for end in self.of(kind).filter(|end| end["cat"] == "message") {
            assert!(ends.insert(text(end, "id"), end).is_none(), "twice: {end}");
        }
        ends
    }

    /// The slices of the thread of a point that contain it.
    fn around(&self, (pid, tid, at): Point) -> impl Iterator<Item = &Value> {
        self.of("X").filter(move |slice| {
            let (its_pid, its_tid, from) = point(slice);
            (its_pid, its_tid) == (pid, tid) && (from..from + ns(slice, "dur")).contains(&at)
        })
    }
}

/// The path of a rank's file, by that of rank 0.
fn of_rank(path: &Path, rank: u32) -> PathBuf {
    match rank {
        0 => path.to_owned(),
        rank => path.with_extension(format!("rank{rank}.json")),
    }
}

fn fresh(name: &str) -> PathBuf {
    env::temp_dir().join(format!("tautline-{}-{name}.json", std::process::id()))
}

fn paths(path: &Path) -> Vec<PathBuf> {
    (0..RANKS).map(|rank| of_rank(path, rank)).collect()
}

#[test]
fn runs_and_messages_of_threads_as_ranks_are_in_their_traces() {
    let path = fresh("threads");
    world::loopback(RANKS, |world| {
        let observe = Observe::new().trace(of_rank(&path, world.rank().0));
        let rt = Runtime::builder().world(world).workers(2).pinned(false);
        let rt = rt.observe(observe).build().expect("a runtime");
        program(world, &rt);
    });
    let traces = Traces::read(&paths(&path));
    assert_eq!(traces.errors, [0; RANKS as usize]);
    traces.check();
}

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which another test starts"]
fn rank() {
    if env::var_os("ROLE").is_none() {
        return;
    }
    let world = World::join().expect("launched");
    let rt = ranks::runtime(&world, 2);
    program(&world, &rt);
}

/// As the variable requests, each in a file of its own.
#[test]
#[cfg(target_os = "linux")]
fn runs_and_messages_of_processes_as_ranks_are_in_their_traces() {
    let path = fresh("processes");
    let arguments = ["--exact", "rank", "--nocapture", "--include-ignored"];
    let launch = Launch::new(env::current_exe().expect("it runs"), RANKS);
    let launch = launch
        .env("ROLE", "traced")
        .env("TAUTLINE_TRACE", &path)
        .args(arguments);
    let ended = launch.run().expect("it starts");
    assert_eq!(ended.ranks, [End::Code(0); RANKS as usize]);
    Traces::read(&paths(&path)).check();
}

/// Without a trace, the times of a runtime over ranks are still recorded.
#[test]
fn times_are_recorded_without_a_trace() {
    let times = world::loopback(RANKS, |world| {
        let rt = Runtime::builder().world(world).workers(1).pinned(false);
        let rt = rt.observe(Observe::new()).build().expect("a runtime");
        program(world, &rt);
        rt.times().is_some()
    });
    assert_eq!(times, [true; RANKS as usize]);
}
