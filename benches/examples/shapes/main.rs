//! Fork shapes with long leaves beside rayon: one command, the whole of benches/SHAPES.md.
//!
//! Each shape is run by both in turn, round by round, by runtimes started for it. Leaves that sleep
//! leave the processors free, so that they show the schedule of more workers than there are
//! processors; leaves that compute are run by as many workers as there are processors at most.

mod render;

#[allow(dead_code, reason = "other tables use all of it")]
#[path = "../../common/figures.rs"]
mod figures;
#[allow(dead_code, reason = "other tables use all of it")]
#[path = "../../common/forks.rs"]
mod forks;
#[path = "../../common/machine.rs"]
mod machine;
#[path = "../../common/shapes.rs"]
mod shapes;

use clap::Parser;
use figures::{Record, Store, Value};
use forks::{Fork, Rayon, Runtime, Spawn, Task, Tautline};
use shapes::{Leaf, SHAPES, Shape, UNITS};
use std::time::{Duration, Instant};

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
    /// Store the figures as this machine's, and render benches/SHAPES.md.
    #[arg(long)]
    write: bool,
    /// Render benches/SHAPES.md from the stored figures, and measure nothing.
    #[arg(long)]
    render: bool,
    /// The folder in benches/figures of this machine, if not that of its processor's name.
    #[arg(long)]
    machine: Option<String>,
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
    let store = Store::of("shapes");
    if options.render {
        return render(&store);
    }
    if options.write && options.quick {
        exit("--write stores figures, --quick measures none");
    }
    let rounds = if options.quick {
        1
    } else {
        options.rounds.max(1)
    };
    let conditions = machine::conditions();
    // A long leaf sleeps 24 ms and computes about 12 ms.
    let (sleep, compute) = match options.quick {
        true => (Duration::from_micros(100), 20_000),
        false => (Duration::from_millis(3), 1_000_000),
    };
    let processors = tautline::Machine::discover().allowed().len() as u32;
    let mut cases = Vec::new();
    for shape in SHAPES
        .into_iter()
        .filter(|s| s.name.starts_with(&options.only))
    {
        let computing = WORKERS.into_iter().filter(|&workers| workers <= processors);
        let leaves = WORKERS.map(|workers| (Leaf::Sleeps(sleep), workers));
        let leaves = leaves.into_iter();
        let all = leaves.chain(computing.map(|workers| (Leaf::Computes(compute), workers)));
        cases.extend(all.map(|(leaf, workers)| Case {
            shape,
            leaf,
            workers,
        }));
    }
    let mut ours = vec![Vec::new(); cases.len()];
    let mut theirs = ours.clone();
    let mut units = Vec::new();
    for round in 1..=rounds {
        units.push(unit(Leaf::Computes(compute)));
        for (at, case) in cases.iter().enumerate() {
            ours[at].push(measured::<Tautline>(case));
            theirs[at].push(measured::<Rayon>(case));
        }
        eprintln!("round {round} of {rounds} done");
    }
    units.sort_by(f64::total_cmp);
    let mut records = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let unit = match case.leaf {
            Leaf::Sleeps(unit) => unit.as_secs_f64(),
            Leaf::Computes(_) => units[0],
        };
        let ideal = case.ideal(unit);
        for (who, samples) in [
            (Tautline::NAME, &mut ours[at]),
            (Rayon::NAME, &mut theirs[at]),
        ] {
            records.push(record(case, who, ideal, samples));
        }
    }
    let conditions = format!(
        "{conditions}. Medians of {rounds} rounds. rayon {}. A long leaf sleeps {} ms or computes {:.1} ms.",
        machine::version("rayon"),
        (sleep * UNITS).as_secs_f64() * 1e3,
        units[0] * f64::from(UNITS) * 1e3,
    );
    report(&options, &store, &conditions, records);
}

fn record(case: &Case, who: &str, ideal: f64, samples: &mut [f64]) -> Record {
    samples.sort_by(f64::total_cmp);
    let rounds = samples.len();
    let spread = [samples[0], samples[rounds / 2], samples[rounds - 1]];
    Record {
        row: case.row(),
        who: who.to_owned(),
        value: Value::Spread(spread),
        counted: Some([rounds, rounds]),
        beside: Some(ideal),
        run: 0,
    }
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

/// Prints this run, or stores it beside what this machine and others measured before.
fn report(options: &Options, store: &Store, conditions: &str, records: Vec<Record>) {
    let processor = machine::Processor::discover();
    let folder = options.machine.clone();
    let folder = folder.unwrap_or_else(|| processor.folder());
    let all = store.all().unwrap_or_else(|why| exit(&why));
    let stored = all.get(&folder).filter(|_| options.write);
    let mut figures = stored.cloned().unwrap_or_default();
    figures.replace(&processor.title(), conditions, records);
    if options.write {
        store
            .keep(&folder, &figures)
            .unwrap_or_else(|why| exit(&why));
        render(store);
    } else {
        println!("{}", render::document([&figures].into_iter(), ""));
    }
}

fn render(store: &Store) {
    let all = store.all().unwrap_or_else(|why| exit(&why));
    let text = render::document(all.values(), &store.notes());
    store.render(&text).unwrap_or_else(|why| exit(&why));
}

fn exit(complaint: &str) -> ! {
    eprintln!("{complaint}");
    std::process::exit(2)
}
