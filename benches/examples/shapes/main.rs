//! Fork shapes with long leaves beside rayon: one command, the whole of benches/SHAPES.md.
//!
//! Each shape is run by both in turn, round by round, by runtimes started for it. Leaves that sleep
//! leave the processors free, so that they show the schedule of more workers than there are
//! processors; leaves that compute are run by as many workers as there are processors at most.

mod render;

#[allow(dead_code, reason = "other tables use all of it")]
#[path = "../../common/forks.rs"]
mod forks;
#[path = "../../common/shapes.rs"]
mod shapes;

use clap::Parser;
use forks::{Fork, Rayon, Runtime, Spawn, Task, Tautline};
use render::Shapes;
use shapes::{Leaf, SHAPES, Shape, UNITS};
use std::time::{Duration, Instant};
use tautline_bench::figures::Record;
use tautline_bench::machine;
use tautline_bench::samples::{Samples, rounds};
use tautline_bench::stored::Stored;

/// Workers of leaves that sleep.
const WORKERS: [u32; 4] = [1, 2, 4, 8];

#[derive(Parser)]
#[command(about = "Fork shapes with long leaves, beside rayon")]
struct Options {
    /// Use tiny leaves and one round: check that everything runs.
    #[arg(long)]
    quick: bool,
    /// Measurements of each shape.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Shapes whose name begins with this.
    #[arg(long, default_value = "")]
    only: String,
    #[command(flatten)]
    stored: Stored<Shapes>,
}

/// One shape with its leaves and workers.
pub struct Case {
    shape: Shape,
    leaf: Leaf,
    workers: u32,
}

impl Case {
    /// The row of the figures.
    fn row(&self) -> String {
        row(
            &self.shape,
            matches!(self.leaf, Leaf::Sleeps(_)),
            self.workers,
        )
    }

    /// Milliseconds of the ideal schedule.
    fn ideal(&self, unit: f64) -> f64 {
        self.shape.ideal(self.workers) * unit * 1e3
    }
}

/// The row of the figures.
pub fn row(shape: &Shape, sleeps: bool, workers: u32) -> String {
    let leaves = if sleeps { "sleep" } else { "compute" };
    format!("{}; {leaves}; {workers}", shape.name)
}

fn main() {
    let options = Options::parse();
    if !options.stored.measures(options.quick) {
        return;
    }
    let conditions = machine::conditions();
    let (records, leaves) = records(&options);
    let conditions = format!(
        "{conditions}. {leaves} rayon {}.",
        machine::version("rayon")
    );
    options.stored.report(&conditions, records);
}

/// All requested shapes, with both kinds of leaves.
fn cases(options: &Options, sleep: Duration, compute: u64) -> Vec<Case> {
    let processors = tautline::Machine::discover().allowed().len() as u32;
    let shapes = SHAPES.into_iter();
    let of = |shape| {
        let computing = WORKERS.into_iter().filter(|&count| count <= processors);
        let sleeping = WORKERS.map(|count| (Leaf::Sleeps(sleep), count));
        let computing = computing.map(|count| (Leaf::Computes(compute), count));
        let all = sleeping.into_iter().chain(computing);
        all.map(move |(leaf, workers)| Case {
            shape,
            leaf,
            workers,
        })
    };
    shapes
        .filter(|shape| shape.name.starts_with(&options.only))
        .flat_map(of)
        .collect()
}

/// The figures, and in words how many and of which leaves.
fn records(options: &Options) -> (Vec<Record>, String) {
    let count = match options.quick {
        true => 1,
        false => options.rounds.max(1),
    };
    // A long leaf sleeps 24 ms and computes about 10 ms.
    let (sleep, compute) = match options.quick {
        true => (Duration::from_micros(100), 20_000),
        false => (Duration::from_millis(3), 1_000_000),
    };
    let cases = cases(options, sleep, compute);
    let (mut samples, mut computed) = (Samples::default(), f64::INFINITY);
    rounds(count, || {
        computed = computed.min(unit(Leaf::Computes(compute)));
        for case in &cases {
            let row = case.row();
            samples.add(&row, Tautline::NAME, measured::<Tautline>(case), None);
            samples.add(&row, Rayon::NAME, measured::<Rayon>(case), None);
        }
    });
    let ideals = cases.iter().map(|case| {
        case.ideal(match case.leaf {
            Leaf::Sleeps(unit) => unit.as_secs_f64(),
            Leaf::Computes(_) => computed,
        })
    });
    // Two contenders a case.
    let ideals = ideals.flat_map(|ideal| [ideal; 2]);
    let records = samples.records().zip(ideals);
    let all = records.map(|(record, ideal)| Record {
        beside: Some(ideal),
        ..record
    });
    let leaves = format!(
        "Medians of {count} rounds. A long leaf sleeps {} ms or computes {:.1} ms.",
        (sleep * UNITS).as_secs_f64() * 1e3,
        computed * f64::from(UNITS) * 1e3,
    );
    (all.collect(), leaves)
}

/// Seconds of a unit by one thread, the least of some.
fn unit(leaf: Leaf) -> f64 {
    let once = || {
        let start = Instant::now();
        leaf.run(UNITS);
        start.elapsed().as_secs_f64() / f64::from(UNITS)
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Something that makes every worker start.
struct Warm(u32);

impl Task for Warm {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        if let Some(less) = self.0.checked_sub(1) {
            fork.join(Self(less), Self(less));
        }
    }
}

/// Milliseconds that a runtime needs.
fn measured<R: Spawn>(case: &Case) -> f64 {
    // A thread of its own: runtimes pin the one that starts them.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = R::start(case.workers as usize);
            runtime.run(Warm(10));
            // Until the idle workers have parked, so that every run starts alike. A sleep, since
            // runtimes do not report it.
            std::thread::sleep(Duration::from_millis(5));
            let (leaf, start) = (case.leaf, Instant::now());
            match case.shape.spawned() {
                Some(leaves) => runtime.spawn_leaves(leaves, || leaf.run(UNITS)),
                None => runtime.run(case.shape.task(leaf)),
            }
            start.elapsed().as_secs_f64() * 1e3
        });
        thread.join().expect("shapes do not panic")
    })
}
