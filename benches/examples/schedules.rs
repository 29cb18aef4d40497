//! Parallel loops: all schedules beside a static division and rayon, on the same iterations, with
//! two workers or `--workers N`.
//!
//! The ways take turns, so that a disturbance of the machine hits all alike. For each loop, the
//! table shows the median of each way over that of the best one, and the median of the first way in
//! microseconds. `--peers FILE` adds programs that `benches/peers.sh` has built, one line a
//! program: the median of as many executions in a process of its own. `auto` alone, by that name,
//! has the same: without other ways in turn, the workers of none fall asleep.
#![allow(missing_docs)]

#[path = "../common/iterations.rs"]
mod iterations;

use iterations::{COSTS, Way};
use rayon::prelude::*;
use std::ops::Range;
use std::time::Instant;
use tautline::prelude::*;
use tautline_bench::pools;
use tautline_bench::programs::{self, Program, numbers};
use tautline_bench::samples::{in_turn, median};
use tautline_core::loops::Schedule;
use tautline_core::taper::Taper;

/// Loops of the fewest and of many iterations.
const SIZES: [usize; 2] = [64, 2000];

const WAYS: [&str; 9] = [
    "static",
    "first",
    "auto",
    "guided",
    "factoring",
    "trapezoid",
    "dynamic",
    "taper",
    "rayon",
];

struct Rivals {
    runtime: Runtime,
    pool: rayon::ThreadPool,
    fresh: usize,
    workers: usize,
    /// Those of `WAYS` that are compared.
    ways: Vec<usize>,
    peers: Vec<Program>,
}

/// The nanoseconds of one execution in a way of `WAYS`.
struct Timed<'r> {
    rivals: &'r mut Rivals,
    way: usize,
    name: &'static str,
    ns: f64,
}

impl Way for Timed<'_> {
    fn run(&mut self, len: usize, body: &(impl Fn(usize) + Sync)) {
        self.ns = self.rivals.time(self.way, len, self.name, body);
    }
}

/// The nanoseconds of a sequential loop.
struct Sequential(f64);

impl Way for Sequential {
    fn run(&mut self, len: usize, body: &(impl Fn(usize) + Sync)) {
        let began = Instant::now();
        (0..len).for_each(body);
        self.0 = began.elapsed().as_nanos() as f64;
    }
}

impl Rivals {
    /// Returns the nanoseconds of a loop that is run in a way of `WAYS`.
    fn time(
        &mut self,
        way: usize,
        len: usize,
        name: &'static str,
        body: &(impl Fn(usize) + Sync),
    ) -> f64 {
        // A loop with another name has no earlier execution.
        self.fresh += 1;
        let fresh: &str = self.fresh.to_string().leak();
        let (name, schedule) = match WAYS[way] {
            "first" => (fresh, Schedule::Auto),
            "guided" => (name, Schedule::Guided),
            "factoring" => (name, Schedule::Factoring),
            "trapezoid" => (name, Schedule::Trapezoid),
            "dynamic" => (name, Schedule::Dynamic(1)),
            "taper" => (name, Schedule::Taper(Taper::default())),
            _ => (name, Schedule::Auto),
        };
        let began = Instant::now();
        match WAYS[way] {
            "static" => self.runtime.run(|cx| {
                divided(cx, 0..len, self.workers, body);
            }),
            "rayon" => self
                .pool
                .install(|| (0..len).into_par_iter().for_each(body)),
            _ => self.runtime.run(|cx| {
                cx.loop_over(0..len)
                    .schedule(schedule)
                    .named(name)
                    .for_each(body);
            }),
        }
        began.elapsed().as_nanos() as f64
    }

    /// Runs all ways in turns and prints a row of the table.
    fn compare(&mut self, name: &'static str, len: usize, rounds: usize) {
        let ways = self.ways.clone();
        let times = in_turn(rounds, ways.len(), |at| {
            let mut timed = Timed {
                rivals: self,
                way: ways[at],
                name,
                ns: 0.0,
            };
            iterations::run(name, len, &mut timed);
            timed.ns
        });
        let sequential: Vec<_> = (0..rounds / 8 + 1)
            .map(|_| {
                let mut sequential = Sequential(0.0);
                iterations::run(name, len, &mut sequential);
                sequential.0
            })
            .collect();
        let ideal = median(&sequential) / self.workers as f64;
        let medians: Vec<_> = times.iter().map(|times| median(times)).collect();
        let best = medians.iter().copied().fold(f64::INFINITY, f64::min);
        print!(
            "{name:<10} {len:>8} {:>9.1} {:>7.3}",
            medians[0] / 1000.0,
            best / ideal
        );
        medians
            .iter()
            .for_each(|median| print!(" {:>9.3}", median / best));
        println!();
        for peer in &self.peers {
            match measured(peer, name, [len, rounds, self.workers]) {
                Ok([ns, processors]) => println!(
                    "    {:<50} {:>9.3} on {processors:.2} processors",
                    peer.contender,
                    ns / best
                ),
                Err(complaint) => println!("    {:<50} {complaint}", peer.contender),
            }
        }
    }
}

/// Runs equal shares of a loop, one for each of `workers`.
fn divided(
    cx: &mut Cx<'_, '_>,
    range: Range<usize>,
    workers: usize,
    body: &(impl Fn(usize) + Sync),
) {
    if workers < 2 {
        return range.for_each(body);
    }
    let first = workers / 2;
    let middle = range.start + range.len() * first / workers;
    cx.join(
        |cx| divided(cx, range.start..middle, first, body),
        |cx| divided(cx, middle..range.end, workers - first, body),
    );
}

/// Returns the nanoseconds of a peer's median execution, and the processors that it used.
fn measured(peer: &Program, name: &str, sizes: [usize; 3]) -> Result<[f64; 2], String> {
    let mut command = programs::command(&peer.path);
    command.arg(name).args(sizes.map(|n| n.to_string()));
    numbers(&command.output().map_err(|error| error.to_string())?)
}

/// Returns the programs of the list that `--peers` names.
fn peers(file: Option<&String>) -> Vec<Program> {
    let mut peers = programs::peers(file);
    peers.retain(|peer| peer.row == "loops");
    peers
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.drain(at..words.len().min(at + 2)).nth(1)
    };
    let (file, workers) = (value("--peers"), value("--workers"));
    let workers = workers.map_or(2, |text| text.parse().expect("a number of workers"));
    let rounds = match words.iter().any(|word| word == "--quick") {
        true => 1,
        false => 60,
    };
    // Names on the command line select loops and ways.
    words.retain(|word| !word.starts_with("--"));
    let (mut ways, names): (Vec<_>, Vec<_>) = words
        .into_iter()
        .partition(|word| WAYS.contains(&word.as_str()));
    if ways.is_empty() {
        ways = WAYS.map(String::from).into();
    }
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|word| word == name);
    let (runtime, pool) = pools::both(workers);
    let mut rivals = Rivals {
        runtime,
        pool,
        fresh: 0,
        workers,
        ways: (0..WAYS.len())
            .filter(|&way| ways.iter().any(|name| name == WAYS[way]))
            .collect(),
        peers: peers(file.as_ref()),
    };
    print!("{:<10} {:>8} {:>9} {:>7}", "loop", "n", "us", "best/T1");
    rivals
        .ways
        .iter()
        .for_each(|&way| print!(" {:>9}", WAYS[way]));
    println!();
    let costs = COSTS.iter();
    let sized = costs.flat_map(|(name, _)| SIZES.map(|len| (*name, len, rounds)));
    let others = [
        ("mandel", 512, rounds),
        ("fine", 1_000_000, rounds),
        ("short", 2, 40 * rounds),
    ];
    for (name, len, rounds) in sized.chain(others).filter(|(name, ..)| is_wanted(name)) {
        rivals.compare(name, len, rounds);
    }
}
