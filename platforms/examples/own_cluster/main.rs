//! Tasks of one's own, adaptive integration, on 1 to 1024 places of a cluster of one's own, which
//! `cluster.toml` describes; `own_cluster FILE` simulates another one.

use tautline::machines;
use tautline::prelude::*;

/// The time of a task on this machine: what an integrand that is itself a computation might take. A
/// program measures its own, by `Run::task_ns`.
const TASK_NS: u64 = 20_000;
const TOLERANCE: f64 = 1e-10;

fn integrand(x: f64) -> f64 {
    (1.0 / x).sin()
}

/// Simpson's rule.
fn simpson(from: f64, to: f64) -> f64 {
    let middle = integrand((from + to) / 2.0);
    (to - from) / 6.0 * (integrand(from) + 4.0 * middle + integrand(to))
}

/// A task: an interval to be integrated, or to be halved where the rule is not exact enough.
struct Interval(f64, f64);

impl Task for Interval {
    type Shared = ();
    /// The number of intervals visited, and the integral.
    type Sum = (u64, f64);

    fn run(self, todo: &mut Local<Self>, (tasks, integral): &mut (u64, f64), (): &()) {
        let Self(from, to) = self;
        let middle = (from + to) / 2.0;
        let halves = simpson(from, middle) + simpson(middle, to);
        *tasks += 1;
        if (halves - simpson(from, to)).abs() <= TOLERANCE * (to - from) {
            *integral += halves;
        } else {
            todo.extend([Self(from, middle), Self(middle, to)]);
        }
    }

    fn add((tasks, integral): &mut (u64, f64), other: (u64, f64)) {
        *tasks += other.0;
        *integral += other.1;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = match std::env::args().nth(1) {
        Some(file) => machines::find(&file)?,
        None => machines::parse("cluster.toml", include_str!("cluster.toml"))?,
    };
    let all = || [Interval(0.001, 1.0)];
    // The same call on the threads of this machine.
    let (tasks, integral) = tautline::balancer().run(all(), |_| (), (0, 0.0))?.output;
    println!("{tasks} intervals, integral {integral:.6}");
    println!("places          ms   speedup   efficiency");
    for places in [1, 16, 64, 256, 1024] {
        let there = tautline::balancer().places(places);
        let run = there
            .simulated(&cluster, TASK_NS)
            .run(all(), |_| (), (0, 0.0))?;
        // The same intervals, whatever the order; their sum may differ in its last digits.
        assert_eq!(run.output.0, tasks);
        assert!((run.output.1 - integral).abs() < 1e-9);
        let (ms, speedup) = (run.virtual_ns as f64 / 1e6, run.speedup());
        println!(
            "{places:>6} {ms:>11.1} {speedup:>9.1} {:>12.2}",
            run.efficiency
        );
    }
    Ok(())
}
