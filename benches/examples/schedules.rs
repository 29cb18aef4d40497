//! Parallel loops: all schedules beside a static division and rayon, on the same iterations, with two workers.
//!
//! The ways take turns, so that a disturbance of the machine hits all alike. For each loop, the table shows the median of each way
//! over that of the best one in parentheses, and the median of the static division in microseconds.
#![allow(missing_docs)]

#[path = "../common/costs.rs"]
mod costs;
#[path = "../common/kernels.rs"]
mod kernels;
#[path = "../common/pinning.rs"]
mod pinning;
#[path = "../common/programs.rs"]
mod programs;

use costs::{LOOPS, Loop, by_name};
use programs::{Program, listed};
use rayon::prelude::*;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tautline::prelude::*;
use tautline_core::loops::Schedule;
use tautline_core::taper::Taper;

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

/// The index of `auto`.
const AUTO: usize = 2;

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

    /// Runs all ways in turns and prints a row of the table. Returns the nanoseconds of `auto`.
    fn compare(
        &mut self,
        name: &'static str,
        len: usize,
        rounds: usize,
        body: impl Fn(usize) + Sync,
    ) -> f64 {
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
        medians[AUTO]
    }
}

/// Compares all ways to run a loop.
struct Comparison<'r> {
    rivals: &'r mut Rivals,
    name: &'static str,
    len: usize,
    rounds: usize,
}

impl Loop for Comparison<'_> {
    type Out = f64;

    fn with(self, body: impl Fn(usize) + Sync) -> f64 {
        self.rivals.compare(self.name, self.len, self.rounds, body)
    }
}

/// Runs the program of a peer, and prints its time over `auto`, with the number of processors that it used.
fn run_peer(peer: &Program, len: usize, auto: f64) {
    let mut words = peer.path.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args([&len.to_string(), "2"]);
    let output = command.output().map(|output| output.stdout);
    let text = output.map(|output| String::from_utf8_lossy(&output).into_owned());
    let figures = text.unwrap_or_default();
    let mut figures = figures.split_whitespace().map(str::parse::<f64>);
    let name = &peer.contender;
    match (figures.next(), figures.next()) {
        (Some(Ok(ns)), Some(Ok(used))) => {
            println!("    {:>7.3} of auto, {used:.2} processors: {name}", ns / auto);
        }
        _ => println!("    no figures: {name}"),
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Options: `--quick`, `--peers FILE`; other words select loops by their names.
fn main() -> Result<(), String> {
    let (mut rounds, mut peers, mut names) = (60, Vec::new(), Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &*word {
            "--quick" => rounds = 1,
            "--peers" => {
                let file = words.next().ok_or("--peers: a file is missing")?;
                peers = listed(Path::new(&file))?;
            }
            name if LOOPS.iter().any(|(known, _)| *known == name) => names.push(word),
            // cargo's own.
            "--bench" | "--test" => {}
            _ => {
                let known = LOOPS.map(|(name, _)| name).join(", ");
                return Err(format!("{word}: --quick, --peers FILE, or of {known}"));
            }
        }
    }
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
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    for (name, sizes) in LOOPS.into_iter().filter(|(name, _)| is_wanted(name)) {
        for &len in sizes {
            let comparison = Comparison {
                rivals: &mut rivals,
                name,
                len,
                rounds,
            };
            let auto = by_name(name, len, comparison).expect("a loop of the list");
            let row = format!("loop/{name}");
            let peers = peers.iter().filter(|peer| peer.row == row);
            peers.for_each(|peer| run_peer(peer, len, auto));
        }
    }
    if names.is_empty() {
        rivals.compare("short", 2, 40 * rounds, |i| _ = black_box(i));
    }
    Ok(())
}
