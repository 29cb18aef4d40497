//! Speed of tasks and of the balancer by the number of workers, compared with rayon and chili.
//!
//! `scaling` measures every program with 1, 2, 4, … workers, up to the allowed processors, round by
//! round, each measurement in a process of its own, and prints the medians. The n-th worker is
//! pinned to the n-th processor but for chili, whose threads cannot be pinned apart. Right before a
//! measurement with n workers, n processes with one worker each run at once on the same processors;
//! the rate with n workers by the sum of theirs is the efficiency: both have the clock of n busy
//! processors. `scaling fib T1L` selects programs, `--by balancer` contenders, `--rounds N` how
//! often each is measured, `--quick` small sizes, once. `--peers FILE` adds those of
//! `benches/peers.sh` that fork.
#![allow(missing_docs)]

#[allow(dead_code, reason = "the table of tasks uses all of it")]
#[path = "../common/allocations.rs"]
mod allocations;
#[path = "../common/contention.rs"]
mod contention;
#[allow(dead_code, reason = "the table of tasks uses all of it")]
#[path = "../common/forks.rs"]
mod forks;
#[allow(dead_code, reason = "the table of tasks uses all of it")]
#[path = "tasks/measure.rs"]
mod measure;
#[allow(dead_code, reason = "the benches of deques use all of it")]
#[path = "../common/rivals.rs"]
mod rivals;
#[allow(dead_code, reason = "the table of tasks uses all of it")]
#[path = "../common/work.rs"]
mod work;

use clap::Parser;
use forks::{Chili, Rayon, Runtime, Tautline};
use measure::{self as m, Better, Case, Sample};
use std::time::Instant;
use tautline_bench::programs::{self, measurement, numbers};
use tautline_bench::{machine, markdown};
use tautline_cli::bench::Spread;
use tautline_cli::uts::{Counts, Tree, Uts, named};

#[derive(Parser)]
#[command(about = "How the speed of tasks and of the balancer grows with the number of workers")]
struct Options {
    /// Programs; all by default.
    programs: Vec<String>,
    /// Small sizes, once.
    #[arg(long)]
    quick: bool,
    /// The number of measurements of each.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Contenders; all by default.
    #[arg(long)]
    by: Vec<String>,
    /// The most workers [default: the allowed processors].
    #[arg(long)]
    most: Option<usize>,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<std::path::PathBuf>,
    /// One measurement, in this process: a program, the contender, and a number of workers.
    #[arg(long, num_args = 3, hide = true)]
    measure: Option<Vec<String>>,
}

/// The quantity that is measured.
struct Program {
    name: &'static str,
    unit: &'static str,
    /// The full size and the quick one.
    sizes: [&'static str; 2],
    better: Better,
    ways: &'static [(&'static str, Way)],
}

/// A measurement by one contender.
type Way = fn(&Case) -> Sample;

macro_rules! forks {
    ($what:ident) => {
        &[
            (Tautline::NAME, m::$what::<Tautline>),
            (Rayon::NAME, m::$what::<Rayon>),
            (Chili::NAME, m::$what::<Chili>),
        ]
    };
}

macro_rules! search {
    () => {
        &[
            (BALANCER, balanced),
            (Tautline::NAME, m::search::<Tautline>),
            (Rayon::NAME, m::search::<Rayon>),
            (Chili::NAME, m::search::<Chili>),
        ]
    };
}

const BALANCER: &str = "balancer";
/// Workers are not faster than separate processes on the same processors: beyond this, these were
/// disturbed.
const NOISE: f64 = 1.02;

#[rustfmt::skip] // A table.
const PROGRAMS: &[Program] = &[
    Program { name: "fib", unit: "ns a fork", sizes: ["40", "22"], better: Better::Less, ways: forks!(fib) },
    Program { name: "queens", unit: "s", sizes: ["14", "9"], better: Better::Less, ways: forks!(queens) },
    Program { name: "T1L", unit: "Mnodes/s", sizes: ["T1L", "D8"], better: Better::More, ways: search!() },
    Program { name: "T3L", unit: "Mnodes/s", sizes: ["T3L", "T3"], better: Better::More, ways: search!() },
    Program { name: "flood", unit: "ns a task of a scope with 10 000", sizes: ["10000", "10000"], better: Better::Less,
        ways: &[(Tautline::NAME, m::spawn::<Tautline>), (Rayon::NAME, m::spawn::<Rayon>)] },
];

/// The balancer on one place, whose start counts.
fn balanced(case: &Case) -> Sample {
    let known = named::find(&case.size).expect("a named tree");
    let tree = Tree::new(known.params).expect("sample trees are valid");
    let start = Instant::now();
    let shared = |_| Tree::with_engine(*tree.params(), tree.engine()).expect("a valid tree");
    let rt = tautline::Runtime::builder()
        .workers(case.workers)
        .build()
        .unwrap();
    let balancer = rt.balancer();
    let run = balancer.run(Uts::root(&tree), shared, Counts::default());
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(
        run.expect("threads for the workers").output.nodes,
        known.nodes
    );
    Sample {
        figure: known.nodes as f64 / seconds / 1e6,
        processors: case.workers as f64,
    }
}

fn main() {
    let options = Options::parse();
    if let Some(words) = &options.measure {
        return measure_here(words, options.quick);
    }
    let allowed = tautline::Machine::discover().allowed().len();
    let most = options.most.unwrap_or(allowed).max(1);
    let mut workers: Vec<usize> = (0..).map(|n| 1 << n).take_while(|w| *w < most).collect();
    workers.push(most);
    let heads: Vec<String> = workers.iter().map(usize::to_string).collect();
    println!(
        "{}; medians of {} rounds\n",
        machine::conditions(),
        options.rounds()
    );
    print!("{}", markdown::head(&["program", "contender"], &heads));
    let peers = programs::peers(options.peers.as_ref());
    for program in PROGRAMS {
        if options.programs.is_empty() || options.programs.iter().any(|p| p == program.name) {
            let mut contenders = contenders(program, &peers);
            let by = |contender: &Contender| options.by.iter().any(|name| name == contender.name);
            contenders.retain(|contender| options.by.is_empty() || by(contender));
            compare(program, &contenders, &workers, &options);
        }
    }
}

impl Options {
    fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds }
    }
}

/// One number of workers: figures, and efficiencies by as many processes with one worker.
#[derive(Clone, Default)]
struct Column {
    figures: Vec<f64>,
    efficiencies: Vec<f64>,
}

/// Measures all contenders in turn, and prints their rows.
fn compare(program: &Program, contenders: &[Contender], workers: &[usize], options: &Options) {
    let cpus = tautline::Machine::discover().cpus();
    let mut columns = vec![vec![Column::default(); workers.len()]; contenders.len()];
    for _ in 0..options.rounds() {
        for (at, &count) in workers.iter().enumerate() {
            for (contender, own) in contenders.iter().zip(&mut columns) {
                let one = |workers| take(program, contender, workers, options.quick);
                let apart = (count > 1).then(|| apart(&cpus, count, &|| one(1)));
                let figure = one(count);
                own[at].figures.extend(figure);
                let rates = apart.flatten().zip(figure);
                let efficiency = rates.map(|(apart, own)| {
                    let rate = |figure| program.rate(figure);
                    rate(own) / apart.into_iter().map(rate).sum::<f64>()
                });
                own[at].efficiencies.extend(efficiency);
            }
        }
    }
    for (contender, own) in contenders.iter().zip(columns) {
        let cells: Vec<String> = own.iter().map(Column::cell).collect();
        let title = format!("{}, {}", program.name, program.unit);
        print!("{}", markdown::row(&[&title, contender.name], &cells));
    }
}

/// Takes a measurement on each of the first `count` processors at once, each in a process that is
/// confined to it.
fn apart(
    cpus: &[usize],
    count: usize,
    one: &(impl Fn() -> Option<f64> + Sync),
) -> Option<Vec<f64>> {
    std::thread::scope(|scope| {
        let start = |cpu| {
            scope.spawn(move || {
                // The process that this thread starts inherits the mask.
                tautline_node::machine::confine(&[cpu]).then(one).flatten()
            })
        };
        let cpus = cpus.iter().cycle().take(count).copied();
        let threads: Vec<_> = cpus.map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|figure| figure.ok().flatten()).collect()
    })
}

struct Contender<'p> {
    name: &'p str,
    /// The program of a peer, and its first words; without one, this program.
    path: Option<&'p str>,
}

fn contenders<'p>(program: &Program, peers: &'p [programs::Program]) -> Vec<Contender<'p>> {
    let own = |&(name, _): &(&'static str, _)| Contender { name, path: None };
    let with_workers = format!("{}/2", program.name);
    let theirs = peers.iter().filter(|peer| peer.row == with_workers);
    let theirs = theirs.map(|peer| Contender {
        name: &peer.contender,
        path: Some(&peer.path),
    });
    program.ways.iter().map(own).chain(theirs).collect()
}

impl Program {
    /// The rate of a figure, up to a constant factor.
    fn rate(&self, figure: f64) -> f64 {
        match self.better {
            Better::Less => 1.0 / figure,
            Better::More => figure,
        }
    }
}

impl Column {
    /// The median, and in parentheses the efficiency.
    fn cell(&self) -> String {
        let Some(figure) = Spread::of(&self.figures).map(|spread| spread.median) else {
            return "crash".into();
        };
        let digits = usize::from(figure < 100.0) + usize::from(figure < 10.0);
        let efficiency = Spread::of(&self.efficiencies).map(|spread| spread.median);
        let efficiency = match efficiency {
            None => String::new(),
            Some(share) if share > NOISE => format!(" (baseline disturbed, {share:.2})"),
            Some(share) => format!(" ({share:.2})"),
        };
        format!("{figure:.digits$}{efficiency}")
    }
}

/// One measurement, in a process of its own; none if it crashed.
fn take(program: &Program, contender: &Contender, workers: usize, quick: bool) -> Option<f64> {
    let (size, count) = (program.sizes[usize::from(quick)], workers.to_string());
    let words = [program.name, contender.name, &count];
    let mut command = measurement(contender.path, [size, &count], &words, quick);
    command.env("RUST_MIN_STACK", forks::STACK_BYTES.to_string());
    let output = command.output().expect("a program that can be started");
    // Peers print the number of processors that they used, too.
    let figure = numbers(&output).map(|[figure]| figure);
    if let Err(said) = &figure {
        let (Program { name: what, .. }, Contender { name, .. }) = (program, contender);
        eprintln!("{what} by {name} with {workers}: {said}");
    }
    figure.ok()
}

/// The measurement that this process was started for. Peers recurse, on the caller's stack too.
fn measure_here(words: &[String], quick: bool) {
    let program = PROGRAMS.iter().find(|p| p.name == words[0]);
    let program = program.unwrap_or_else(|| panic!("no program {}", words[0]));
    let way = program.ways.iter().find(|(name, _)| *name == words[1]);
    let (_, way) = way.unwrap_or_else(|| panic!("no contender {}", words[1]));
    let case = Case {
        workers: words[2].parse().expect("a number of workers"),
        size: program.sizes[usize::from(quick)].into(),
        quick,
    };
    let sample = forks::on_a_large_stack(|| way(&case));
    println!("{}", sample.figure);
}
