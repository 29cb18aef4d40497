//! Methods over ranks that exchange messages, in virtual time.

use super::method::Balancing;
use super::report::Row;
use super::simulated::draw;
use super::source::Source;
use super::{Loops, refused};
use crate::command::Failure;
use crate::command::story::Pending;
use tautline_cli::iterations::Times;
use tautline_sim::loops::{Costs, Method, Repeated};

/// The executions of a loop, and the first of those that count.
const INSTANCES: u64 = 12;
const STEADY: usize = 8;
/// The most ranks.
const RANKS_MAX: u64 = 2048;

/// Runs all methods on all numbers of ranks; returns means over the repetitions, of which a program
/// and a file have one.
pub(super) fn run(args: &Loops, name: &str, source: &Source) -> Result<Vec<Row>, Failure> {
    let methods = methods(args, source)?;
    if let Some(ranks) = args
        .processors()
        .into_iter()
        .find(|ranks| *ranks > RANKS_MAX)
    {
        let line = format!("--processors {ranks}: from 1 to {RANKS_MAX} with --ranks");
        return Err(Failure::Usage(line));
    }
    let plot = Pending::open("--plot", args.plot.as_deref())?;
    let all: Vec<Vec<Vec<u64>>> = match source {
        Source::Drawn(..) => (1..=args.repeat)
            .map(|seed| again(&source.times(seed)))
            .collect(),
        Source::Shaped(..) => {
            let times = |at| source.times(at).iter().collect();
            vec![(1..=INSTANCES).map(times).collect()]
        }
        Source::Measured(_) | Source::Recorded(_) => vec![again(&source.times(1))],
    };
    let mut rows = Vec::new();
    for ranks in args.processors() {
        rows.extend(
            methods
                .iter()
                .map(|(name, method)| mean(args, ranks as u32, name, *method, &all)),
        );
    }
    if let Some(file) = plot {
        draw(name, &rows, file)?;
    }
    Ok(rows)
}

/// Returns the times of a loop that takes the same in each execution.
fn again(times: &Times) -> Vec<Vec<u64>> {
    (0..INSTANCES).map(|_| times.iter().collect()).collect()
}

fn methods(args: &Loops, source: &Source) -> Result<Vec<(String, Balancing)>, Failure> {
    let communicates = matches!(source, Source::Shaped(program, _) if program.communicates());
    let auto = Balancing::Simulated(Method::Auto { communicates });
    let informed = |(name, method)| match method {
        Balancing::Simulated(Method::Auto { .. }) => (name, auto),
        _ => (name, method),
    };
    let named = |name: &String| {
        Balancing::named(name)
            .map(|method| informed((name.clone(), method)))
            .map_err(|allowed| refused(name, allowed))
    };
    match args.policy.is_empty() {
        true => Ok(Balancing::all().map(informed).collect()),
        false => args.policies().iter().map(named).collect(),
    }
}

fn mean(args: &Loops, ranks: u32, name: &str, method: Balancing, all: &[Vec<Vec<u64>>]) -> Row {
    let (mut efficiency, mut time_us) = (0.0, 0.0);
    for times in all {
        let first = Times::new(times[0].iter().copied());
        let mean = first.moments().0 as u64;
        let costs = Costs {
            chunk_ns: args.chunk_ns(&first),
            ..Costs::of(mean)
        };
        let repeated = Repeated {
            ranks,
            costs,
            times,
        };
        let steady = STEADY..times.len();
        let share = method.efficiency(&repeated, steady.clone());
        let work: u64 = times[steady.clone()].iter().flatten().sum();
        let ns = work as f64 / (share * f64::from(ranks) * steady.len() as f64);
        efficiency += share / all.len() as f64;
        time_us += ns / 1000.0 / all.len() as f64;
    }
    Row {
        policy: name.to_owned(),
        processors: ranks,
        efficiency,
        time_us,
        chunks: None,
    }
}
