//! Every policy in virtual time.

use super::Loops;
use super::report::Row;
use super::source::Source;
use crate::command::story::{Files, Pending, Story};
use crate::command::{Failure, Outcome};
use tautline::balance::{PlaceId, WorkerId};
use tautline::story::internal::{Axis, Plot, Series};
use tautline::story::{Clock, Recorder};
use tautline_cli::iterations::{Queue, Scheme, Times};
use tautline_core::watch::{Observer, State};

/// Runs all policies on all numbers of processors, draws what is requested, and returns the
/// results: means over the repetitions.
pub(super) fn run(
    args: &Loops,
    name: &str,
    source: &Source,
    first: &Times,
) -> Result<Vec<Row>, Failure> {
    let schemes = args.schemes()?;
    args.one_life(schemes.len())?;
    let files = args.stories.open()?;
    let plot = Pending::open("--plot", args.plot.as_deref())?;
    let all: Vec<Times> = match source {
        Source::Drawn(..) | Source::Shaped(..) => {
            (1..=args.repeat).map(|seed| source.times(seed)).collect()
        }
        // Another measurement would be noise, and a file has one.
        Source::Measured(_) | Source::Recorded(_) => vec![first.clone()],
    };
    let mut rows = Vec::new();
    for processors in args.processors() {
        for &scheme in &schemes {
            let chunk_ns = args.chunk_ns(first);
            rows.push(mean(
                scheme,
                Queue {
                    processors: processors as u32,
                    chunk_ns,
                },
                &all,
            ));
        }
    }
    if let Some(file) = plot {
        draw(name, &rows, file)?;
    }
    let queue = Queue {
        processors: args.processors()[0] as u32,
        chunk_ns: args.chunk_ns(first),
    };
    tell(args, name, (schemes[0], queue), first, files)?;
    Ok(rows)
}

fn mean(scheme: Scheme, queue: Queue, all: &[Times]) -> Row {
    let mut row = Row {
        policy: scheme.to_string(),
        processors: queue.processors,
        efficiency: 0.0,
        time_us: 0.0,
        chunks: Some(0.0),
    };
    for times in all {
        let executed = queue.run(scheme, times);
        let share = 1.0 / all.len() as f64;
        row.efficiency += share * executed.efficiency(times);
        row.time_us += share * executed.makespan_ns as f64 / 1000.0;
        row.chunks = row
            .chunks
            .map(|chunks| chunks + share * executed.chunks as f64);
    }
    row
}

/// Draws the efficiency over the number of processors, a line for each policy.
pub(super) fn draw(name: &str, rows: &[Row], file: Pending) -> Outcome {
    let mut policies: Vec<&str> = rows.iter().map(|row| row.policy.as_str()).collect();
    // The rows are grouped by the number of processors.
    policies.truncate(rows.partition_point(|row| row.processors == rows[0].processors));
    let line = |name: &&str| {
        let own = rows.iter().filter(|row| row.policy == **name);
        let points = own.map(|row| (f64::from(row.processors), row.efficiency * 100.0));
        Series {
            points: points.collect(),
            name: (*name).to_owned(),
        }
    };
    let series: Vec<Series> = policies.iter().map(line).collect();
    let plot = Plot {
        title: &format!("Chunk policies on {name}, simulated"),
        facts: &[],
        x: Axis {
            title: "processors",
            log: true,
        },
        y: Axis {
            title: "efficiency, %",
            log: false,
        },
        series: &series,
    };
    file.write(|out| plot.write(out))
}

/// Writes what every processor did under one policy, if that is requested.
fn tell(
    args: &Loops,
    name: &str,
    (scheme, queue): (Scheme, Queue),
    times: &Times,
    files: Files,
) -> Outcome {
    let processors = queue.processors;
    let mut recorders: Vec<Recorder> = (0..processors)
        .map(|_| args.stories.recorder(processors as usize))
        .collect();
    let mut ends = vec![0; processors as usize];
    let executed = queue.watched(scheme, times, |served| {
        let recorder = &mut recorders[served.processor as usize];
        recorder.span(State::Distributing, served.from, served.taken);
        recorder.span(State::Computing, served.taken, served.to);
        ends[served.processor as usize] = served.to;
    });
    for (recorder, end) in recorders.iter_mut().zip(ends) {
        recorder.span(State::Idle, end, executed.makespan_ns);
    }
    let workers = (0..).map(WorkerId).zip(recorders);
    let observers: Vec<_> = workers
        .map(|(worker, recorder)| (PlaceId(0), worker, recorder))
        .collect();
    files.write(&Story {
        title: &format!("{name} by {scheme}, simulated"),
        facts: &[("processors", processors.to_string())],
        clock: Clock {
            began: 0,
            ticks_per_second: 1e9,
            seconds: executed.makespan_ns as f64 / 1e9,
        },
        observers: &observers,
        places: &[],
    })
}
