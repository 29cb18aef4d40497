//! A bag of one's own, adaptive integration, on 1 to 1024 places of a cluster of one's own, which
//! `cluster.toml` describes; `own_cluster FILE` simulates another one.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use tautline::machines;
use tautline::prelude::*;

/// The time of a task on this machine: what an integrand that is itself a computation might take. A
/// program measures its own.
const TASK_NS: u64 = 20_000;
const RANGE: [f64; 2] = [0.001, 1.0];
const TOLERANCE: f64 = 1e-10;

fn integrand(x: f64) -> f64 {
    (1.0 / x).sin()
}

/// Simpson's rule.
fn simpson(from: f64, to: f64) -> f64 {
    let middle = integrand((from + to) / 2.0);
    (to - from) / 6.0 * (integrand(from) + 4.0 * middle + integrand(to))
}

/// Intervals to be integrated, the integral of those that are done, and the number of those
/// visited.
struct Intervals {
    todo: Vec<[f64; 2]>,
    integral: f64,
    tasks: u64,
}

impl Intervals {
    fn all() -> Self {
        Self {
            todo: vec![RANGE],
            integral: 0.0,
            tasks: 0,
        }
    }
}

impl Bag for Intervals {
    type Shared = ();
    type Output = (f64, u64);

    fn process(&mut self, n: usize, (): &()) -> usize {
        for done in 0..n {
            let Some([from, to]) = self.todo.pop() else {
                return done;
            };
            self.tasks += 1;
            let middle = (from + to) / 2.0;
            let halves = simpson(from, middle) + simpson(middle, to);
            if (halves - simpson(from, to)).abs() <= TOLERANCE * (to - from) {
                self.integral += halves;
            } else {
                self.todo.extend([[from, middle], [middle, to]]);
            }
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        // The oldest intervals are the longest.
        (taken > 0).then(|| Self {
            todo: self.todo.drain(..taken).collect(),
            integral: 0.0,
            tasks: 0,
        })
    }

    fn merge(&mut self, other: Self) {
        self.todo.extend(other.todo);
        self.integral += other.integral;
        self.tasks += other.tasks;
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn submit(self, (integral, tasks): &mut (f64, u64)) {
        *integral += self.integral;
        *tasks += self.tasks;
    }
}

fn simulate() -> Result<(), Box<dyn Error>> {
    let cluster = match env::args().nth(1) {
        Some(file) => machines::find(&file)?,
        None => machines::parse("cluster.toml", include_str!("cluster.toml"))?,
    };
    let mut one_by_one = Intervals::all();
    one_by_one.process(usize::MAX, &());
    println!(
        "{} intervals, integral {:.6}",
        one_by_one.tasks, one_by_one.integral
    );
    println!("places          ms   speedup   efficiency");
    let mut alone = 0.0;
    for places in [1, 16, 64, 256, 1024] {
        let there = tautline::balancer()
            .places(places)
            .simulated(&cluster, TASK_NS);
        let run = there.run(Intervals::all(), |_| (), (0.0, 0))?;
        let (integral, tasks) = run.output;
        // The same intervals, whatever the order; their sum may differ in its last digits.
        assert_eq!(tasks, one_by_one.tasks);
        assert!((integral - one_by_one.integral).abs() < 1e-9);
        let ms = run.virtual_ns as f64 / 1e6;
        alone = if places == 1 { ms } else { alone };
        let (speedup, efficiency) = (alone / ms, run.efficiency);
        println!("{places:>6} {ms:>11.1} {speedup:>9.1} {efficiency:>12.2}");
    }
    Ok(())
}

fn main() -> ExitCode {
    match simulate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("own_cluster: {error}");
            ExitCode::from(2)
        }
    }
}
