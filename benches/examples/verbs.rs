//! The verbs of parallel iteration beside rayon's: the same work on the same data by both, in turn,
//! in one process.
//!
//! A measurement is one call of a verb. The figure is the processor time of the whole process, user
//! and system, until the threads of the pool are idle again: what a wait spins belongs to the call.
//! Copies of the input are made before, and results are compared and dropped after. The table shows
//! medians in milliseconds, and the ratio beside the most that is wanted; the wall time of the
//! call, without what follows it, is for quiet machines. `--way` measures one of the two alone, for
//! a profiler.
#![allow(missing_docs)]

use clap::{Parser, ValueEnum};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::env;
use std::hint::black_box;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tautline::prelude::*;
#[cfg(unix)]
use tautline_bench::programs::this_program;
use tautline_bench::{machine::processor_time, pools};
use tautline_cli::bench::Spread;

#[derive(Parser)]
#[command(about = "The verbs of parallel iteration beside rayon's")]
struct Options {
    /// The number of measurements of each verb.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Workers of each pool.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// The size of the inputs, in percent.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    size: u32,
    /// Freed memory stays with the process: with glibc, whether a sort's buffer causes page faults
    /// else depends on what else was freed.
    #[cfg(unix)]
    #[arg(long)]
    keep_memory: bool,
    /// Prints JSON: one object for each verb.
    #[arg(long)]
    json: bool,
    /// Measures one way only.
    #[arg(long)]
    way: Option<Way>,
    /// Verbs whose name contains one of these; all if there is none.
    names: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Way {
    Rayon,
    Tautline,
}

const WAYS: [Way; 2] = [Way::Rayon, Way::Tautline];

/// Longer than a worker of either pool looks for work before it sleeps.
const SETTLED: Duration = Duration::from_millis(3);

struct Bench {
    options: Options,
    pool: rayon::ThreadPool,
    runtime: Runtime,
    /// Whether all verbs were within their bounds.
    holds: bool,
    /// The verbs that the options leave out.
    left_out: Vec<String>,
    measured: usize,
}

/// Milliseconds of each round.
#[derive(Default)]
struct Times {
    processor: Vec<f64>,
    wall: Vec<f64>,
}

impl Bench {
    /// Measures a verb in both ways, in turn, on what `input` returns, and prints its line. `most`
    /// is the ratio that is wanted.
    fn compare<I, R>(
        &mut self,
        (name, most): (&str, f64),
        input: impl Fn() -> I,
        rayon: impl Fn(I) -> R + Sync,
        ours: impl Fn(&mut Cx<'_, '_>, I) -> R,
    ) where
        I: Send,
        R: PartialEq + Send,
    {
        let names = &self.options.names;
        if !names.is_empty() && !names.iter().any(|word| name.contains(&**word)) {
            return self.left_out.push(name.to_owned());
        }
        self.measured += 1;
        let mut times = [Times::default(), Times::default()];
        // The first round is warm-up.
        for round in 0..=self.options.rounds {
            let results = [0, 1].map(|turn| {
                let at = (round as usize + turn) % WAYS.len();
                if self.options.way.is_some_and(|way| way != WAYS[at]) {
                    return None;
                }
                let input = input();
                // Sleeps, since the pools report nothing when their threads fall asleep.
                sleep(SETTLED);
                let (began, used) = (Instant::now(), processor_ms());
                let result = match WAYS[at] {
                    Way::Rayon => self.pool.install(|| rayon(input)),
                    Way::Tautline => self.runtime.run(|cx| ours(cx, input)),
                };
                let wall = began.elapsed();
                sleep(SETTLED);
                if round > 0 {
                    times[at].processor.push(processor_ms() - used);
                    times[at].wall.push(1000.0 * wall.as_secs_f64());
                }
                Some(result)
            });
            if let [Some(first), Some(second)] = &results {
                assert!(first == second, "{name}: the results differ");
            }
        }
        self.report(name, most, &times);
    }

    fn report(&mut self, name: &str, most: f64, [rayon, ours]: &[Times; 2]) {
        let median = |times: &[f64]| Spread::of(times).map(|spread| spread.median);
        let [rayon_ms, ours_ms] = [rayon, ours].map(|times| median(&times.processor));
        let [rayon_wall, ours_wall] = [rayon, ours].map(|times| median(&times.wall));
        let ratio = ours_ms.zip(rayon_ms).map(|(ours, rayon)| ours / rayon);
        let wall_ratio = ours_wall.zip(rayon_wall).map(|(ours, rayon)| ours / rayon);
        let holds = ratio.map(|ratio| ratio <= most);
        self.holds &= holds != Some(false);
        if self.options.json {
            let line = serde_json::json!({
                "verb": name,
                "rounds": self.options.rounds,
                "workers": self.options.workers,
                "rayon": { "processor_ms": rayon_ms, "wall_ms": rayon_wall },
                "tautline": { "processor_ms": ours_ms, "wall_ms": ours_wall },
                "ratio": ratio,
                "most": most,
                "holds": holds,
            });
            return println!("{line}");
        }
        let figure = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
        println!(
            "{name:<28} {:>8} {:>8} {:>7} {most:>6.2} {:>4}   {:>8} {:>8} {:>7}",
            figure(rayon_ms),
            figure(ours_ms),
            figure(ratio),
            holds.map_or("-", |holds| if holds { "yes" } else { "no" }),
            figure(rayon_wall),
            figure(ours_wall),
            figure(wall_ratio),
        );
    }
}

/// Returns the processor time of this process so far.
fn processor_ms() -> f64 {
    1e3 * processor_time().as_secs_f64()
}

/// A number without a pattern.
fn scrambled(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (i as u64).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 29
}

type Pair = (u64, String);

fn by_key(a: &Pair, b: &Pair) -> Ordering {
    a.0.cmp(&b.0)
}

fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn parsed(line: &str) -> Option<(u32, u32)> {
    let (key, value) = line.split_once(' ')?;
    Some((key.parse().ok()?, value.parse().ok()?))
}

type Histogram = HashMap<u64, u64>;

fn counted(mut counts: Histogram, n: &u64) -> Histogram {
    *counts.entry(n % 1000).or_default() += 1;
    counts
}

fn merged(mut a: Histogram, b: Histogram) -> Histogram {
    b.into_iter()
        .for_each(|(key, n)| *a.entry(key).or_default() += n);
    a
}

/// Sorts of slices.
fn sorts(bench: &mut Bench, len: usize) {
    let numbers: Vec<u64> = (0..len).map(scrambled).collect();
    bench.compare(
        ("sort_unstable", 1.05),
        || numbers.clone(),
        |mut numbers| {
            numbers.par_sort_unstable();
            numbers
        },
        |cx, mut numbers| {
            cx.par(&mut numbers).sort_unstable();
            numbers
        },
    );
    let pairs =
        |len: usize| -> Vec<Pair> { (0..len).map(|i| (scrambled(i), i.to_string())).collect() };
    // Runs are larger: a sort of one is little more than the start of the workers.
    let mut ascending = pairs(len);
    ascending.sort_by(by_key);
    let descending = ascending.iter().rev().cloned().collect();
    let mut appended = ascending.clone();
    appended.extend(pairs(len / 100));
    let inputs: [(&str, Vec<Pair>); 4] = [
        ("sort_by_key", pairs(len / 5)),
        ("sort_by_key, ascending", ascending),
        ("sort_by_key, descending", descending),
        ("sort_by_key, appended", appended),
    ];
    for (name, pairs) in inputs {
        bench.compare(
            (name, 1.1),
            || pairs.clone(),
            |mut pairs| {
                pairs.par_sort_by_key(|pair| pair.0);
                pairs
            },
            |cx, mut pairs| {
                cx.par(&mut pairs).sort_by_key(|pair| pair.0);
                pairs
            },
        );
    }
}

/// Results in vectors and maps.
fn collects(bench: &mut Bench, len: usize) {
    let numbers: Vec<u64> = (0..len).map(scrambled).collect();
    let line = |i| {
        format!(
            "{} {}",
            scrambled(i) % 100_000,
            i % if i % 10 == 0 { 7 } else { 1000 }
        )
    };
    let lines: Vec<String> = (0..len).map(line).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    bench.compare(
        ("parse, filter, collect", 1.05),
        || (),
        |()| {
            lines
                .par_iter()
                .filter_map(|line| parsed(line))
                .collect::<Vec<_>>()
        },
        |cx, ()| cx.par(&lines).filter_map(|line| parsed(line)).collect(),
    );
    bench.compare(
        ("fold into HashMap", 1.05),
        || (),
        |()| {
            numbers
                .par_iter()
                .fold(HashMap::new, counted)
                .reduce(HashMap::new, merged)
        },
        |cx, ()| cx.par(&numbers).fold(HashMap::new, counted, merged),
    );
    bench.compare(
        ("map, collect of u64", 1.05),
        || (),
        |()| numbers.par_iter().map(|n| n ^ 1).collect::<Vec<_>>(),
        |cx, ()| cx.par(&numbers).map(|n| n ^ 1).collect(),
    );
    bench.compare(
        ("map to_string, collect", 1.05),
        || (),
        |()| numbers.par_iter().map(u64::to_string).collect::<Vec<_>>(),
        |cx, ()| cx.par(&numbers).map(u64::to_string).collect(),
    );
}

/// Reductions to numbers.
fn reductions(bench: &mut Bench, len: usize) {
    let numbers: Vec<u64> = (0..len).map(scrambled).collect();
    bench.compare(
        ("map, sum", 1.05),
        || (),
        |()| numbers.par_iter().map(|n| n >> 32).sum::<u64>(),
        |cx, ()| cx.par(&numbers).map(|n| n >> 32).sum::<u64>(),
    );
    let most = black_box(len as u64);
    bench.compare(
        ("collatz, max", 1.05),
        || (),
        |()| (1..most).into_par_iter().map(collatz).max(),
        |cx, ()| cx.par(1..most).map(collatz).max(),
    );
}

/// Starts this program again so that the memory which it frees stays with it. glibc returns what is
/// above a threshold that moves, so whether the page faults of a buffer were measured, as many
/// milliseconds as a sort, depended on what else had been freed.
#[cfg(unix)]
fn keep_memory() {
    const KEEP: [(&str, &str); 2] = [
        ("MALLOC_TRIM_THRESHOLD_", "4294967296"),
        ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ];
    if KEEP.iter().all(|(name, _)| env::var_os(name).is_some()) {
        return;
    }
    let mut command = this_program();
    let why = command.args(env::args_os().skip(1)).envs(KEEP).exec();
    panic!("this program does not start again: {why}");
}

fn main() {
    let options = Options::parse();
    #[cfg(unix)]
    if options.keep_memory {
        keep_memory();
    }
    let (runtime, pool) = pools::both(options.workers as usize);
    let mut bench = Bench {
        pool,
        runtime,
        holds: true,
        left_out: Vec::new(),
        measured: 0,
        options,
    };
    if !bench.options.json {
        println!(
            "{:<28} {:>8} {:>8} {:>7} {:>6} {:>4}   {:>8} {:>8} {:>7}",
            "verb", "rayon", "tautline", "ratio", "most", "", "wall", "wall", "ratio"
        );
    }
    let len = 10_000 * bench.options.size as usize;
    collects(&mut bench, len);
    sorts(&mut bench, len);
    reductions(&mut bench, len);
    if bench.measured == 0 {
        let (words, verbs) = (bench.options.names.join(", "), bench.left_out.join("; "));
        eprintln!("{words}: in the name of no verb; expected a part of: {verbs}");
        std::process::exit(2);
    }
    if !bench.holds {
        std::process::exit(1);
    }
}
