//! The smallest task that is worth its overhead.
//!
//! # Algorithm
//! The minimum effective task granularity of E. Slaughter et al., Task Bench: a parameterized
//! benchmark for evaluating parallel runtime performance, SC 2020: the duration of equal tasks with
//! which half of the processors' time is spent in them. The efficiency grows with the duration,
//! which is searched by bisection of its logarithm.
#![forbid(unsafe_code)]

use super::super::team::delay;
use super::super::{Kind, Plan, Sample, delay_turns};
use super::observed::task;
use std::io;
use std::time::Instant;
use tautline::prelude::Cx;

/// The efficiency that is wanted.
const EFFICIENCY: f64 = 0.5;
/// The durations between which the task is searched, and the number of bisections, whose last one
/// is of 1 %.
const NS: [f64; 2] = [5.0, 1e6];
const BISECTIONS: u32 = 10;
/// The work of a run on each processor, and the number of tasks on each that a run has at least.
const RUN_NS: f64 = 1e6;
const TASKS_LEAST: f64 = 8.0;
/// The turns of work that take this time are counted once.
const COUNTED_NS: u64 = 100_000;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured("forked tasks", |plan| smallest(plan, forked)),
        Kind::measured("spawned tasks", |plan| smallest(plan, spawned)),
    ]
}

/// A run of this many tasks, of this many turns of work each.
type Run = fn(&mut Cx<'_, '_>, tasks: u64, turns: u64);

fn smallest(plan: &Plan, run: Run) -> io::Result<Sample> {
    let turns_ns = COUNTED_NS as f64 / delay_turns(COUNTED_NS).max(1) as f64;
    let workers = plan.cpus.len();
    task(plan, workers, |cx| {
        let mut efficiency = |ns: f64| {
            let turns = (ns / turns_ns).max(1.0) as u64;
            let tasks = ((RUN_NS / ns).max(TASKS_LEAST) * workers as f64) as u64;
            let start = Instant::now();
            run(cx, tasks, turns);
            let whole = start.elapsed().as_nanos() as f64 * workers as f64;
            tasks as f64 * turns as f64 * turns_ns / whole
        };
        let [mut low, mut high] = NS.map(f64::ln);
        for _ in 0..BISECTIONS {
            if plan.stop.is_stopped() {
                break;
            }
            let middle = f64::midpoint(low, high);
            match efficiency(middle.exp()) >= EFFICIENCY {
                true => high = middle,
                false => low = middle,
            }
        }
        f64::midpoint(low, high).exp()
    })
}

fn forked(cx: &mut Cx<'_, '_>, tasks: u64, turns: u64) {
    if tasks > 1 {
        let half = tasks / 2;
        cx.join(
            |cx| forked(cx, half, turns),
            |cx| forked(cx, tasks - half, turns),
        );
    } else {
        delay(turns);
    }
}

fn spawned(cx: &mut Cx<'_, '_>, tasks: u64, turns: u64) {
    cx.scope(|cx| (0..tasks).for_each(|_| cx.spawn(move |_| delay(turns))));
}
