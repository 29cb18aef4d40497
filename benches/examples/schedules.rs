//! Parallel loops: all schedules beside a static division and rayon, on the same iterations, with two workers.
//!
//! The ways take turns, so that a disturbance of the machine hits all alike. For each loop, the table shows the median of each way
//! over that of the best one in parentheses, and the median of the static division in microseconds.
#![allow(missing_docs)]

#[path = "../common/iterations.rs"]
mod iterations;
#[path = "../common/pinning.rs"]
mod pinning;

use iterations::{geometric, mandelbrot, steps};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;
use tautline::prelude::*;
use tautline_core::loops::Schedule;
use tautline_core::taper::Taper;

/// The steps of iteration `i` of `n`.
type Cost = fn(usize, usize) -> usize;

/// About 1000 steps a large iteration, on average; `fine` and `rows` are loops of their own.
const COSTS: [(&str, Cost); 8] = [
    ("even", |_, _| 1000),
    ("rising", |i, n| 2000 * i / n),
    ("falling", |i, n| 2000 - 2000 * i / n),
    ("geometric", |i, _| 4 * geometric(i)),
    (
        "bimodal",
        |i, _| if i * 7919 % 10 == 0 { 8000 } else { 200 },
    ),
    ("hot spot", |i, n| if i * 10 / n == 3 { 8000 } else { 200 }),
    (
        "hot end",
        |i, n| if i * 20 / n == 19 { 15_000 } else { 250 },
    ),
    ("waves", |i, n| {
        1000 + (900.0 * (i as f64 / n as f64 * 40.0).sin()) as usize
    }),
];

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
        let fresh = self.fresh.to_string().leak();
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
                let half = len / 2;
                cx.join(|_| (0..half).for_each(body), |_| (half..len).for_each(body));
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
    fn compare(
        &mut self,
        name: &'static str,
        len: usize,
        rounds: usize,
        body: impl Fn(usize) + Sync,
    ) {
        // Names on the command line select loops.
        let mut wanted = std::env::args()
            .skip(1)
            .filter(|arg| !arg.starts_with("--"))
            .peekable();
        if wanted.peek().is_some() && !wanted.any(|wanted| wanted == name) {
            return;
        }
        let mut times = vec![Vec::new(); WAYS.len()];
        for round in 0..rounds {
            for turn in 0..WAYS.len() {
                let way = (turn + round) % WAYS.len();
                times[way].push(self.time(way, len, name, &body));
            }
        }
        let mut sequential: Vec<_> = (0..rounds / 8 + 1)
            .map(|_| {
                let began = Instant::now();
                (0..len).for_each(&body);
                began.elapsed().as_nanos() as f64
            })
            .collect();
        let half = median(&mut sequential) / 2.0;
        let medians: Vec<_> = times.iter_mut().map(|times| median(times)).collect();
        let best = medians.iter().copied().fold(f64::INFINITY, f64::min);
        print!(
            "{name:<10} {len:>8} {:>9.1} {:>7.3}",
            medians[0] / 1000.0,
            best / half
        );
        medians
            .iter()
            .for_each(|median| print!(" {:>9.3}", median / best));
        println!();
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let rounds = match std::env::args().any(|arg| arg == "--quick") {
        true => 1,
        false => 60,
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(pinning::pin);
    let mut rivals = Rivals {
        runtime: Runtime::builder().workers(2).build().expect("two threads"),
        pool: pool.build().expect("two threads"),
        fresh: 0,
    };
    print!(
        "{:<10} {:>8} {:>9} {:>7}",
        "loop", "n", "static/us", "best/T1"
    );
    WAYS.iter().for_each(|way| print!(" {way:>9}"));
    println!();
    for (name, cost) in COSTS {
        for len in SIZES {
            rivals.compare(name, len, rounds, |i| _ = black_box(steps(cost(i, len))));
        }
    }
    rivals.compare("mandel", 512, rounds, |i| _ = black_box(mandelbrot(2 * i)));
    rivals.compare("fine", 1_000_000, rounds, |i| _ = black_box(i * i));
    rivals.compare("short", 2, 40 * rounds, |i| _ = black_box(i));
}
