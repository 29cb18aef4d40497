//! The traces of all workers in the format that Perfetto and Chrome load.

use super::arrows::write_arrows;
use super::json::Quoted;
#[cfg(feature = "serde")]
use super::runs::write_runs;
use super::{Micro, Placed, Span, Trace, nanoseconds};
use crate::observe::story::{Clock, Watched};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tautline_core::watch::State;
use tautline_core::{PlaceId, Rank, WorkerId};

/// Writes the traces of a run in the trace event format: a process for each place, named by the
/// title and, of several, by its number; a thread for each worker; a counter of the workers of each
/// place that compute, and an arrow for each steal, from the worker that it is taken from to the
/// one that gets it. The arrow `task` marks a search that ended with a task of another worker;
/// `loot` is the work that one place of a balanced computation sends to another. An arrow is drawn
/// if stretches at both of its ends are kept.
///
/// Process and thread numbers begin at 1, and no two threads share one: Perfetto takes 0 for the
/// idle thread of a Linux processor, and mistakes threads of equal numbers for one. Starts and
/// lengths are whole nanoseconds, so that the end of a stretch never lies after the start of the
/// next; stretches that overlap without nesting are dropped by readers.
///
/// ```
/// use tautline::balance::{PlaceId, WorkerId};
/// use tautline::story::internal::write_trace;
/// use tautline::story::{Clock, Trace};
/// use tautline::watch::{Observer, State};
///
/// let mut trace = Trace::new(10);
/// trace.span(State::Computing, 0, 2000);
/// let clock = Clock { began: 0, ticks_per_second: 1e9, seconds: 2e-6 };
/// let mut json = Vec::new();
/// write_trace(&mut json, "a run", clock, &[(PlaceId(0), WorkerId(0), &trace)])?;
/// assert!(String::from_utf8(json)?.contains("computing"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of `out`.
pub fn write_trace(
    out: &mut impl Write,
    title: &str,
    clock: Clock,
    workers: &[Watched<&Trace>],
) -> io::Result<()> {
    write_placed(out, title, clock, workers, Placed::ALONE)
}

/// Writes the trace of one of several ranks, or of the only one.
pub(crate) fn write_placed(
    out: &mut impl Write,
    title: &str,
    clock: Clock,
    workers: &[Watched<&Trace>],
    placed: Placed,
) -> io::Result<()> {
    let several = workers.iter().any(|(place, ..)| *place != workers[0].0);
    let rank = (placed.ranks > 1).then_some(Rank(placed.rank));
    let process = |place: PlaceId| match (rank, several) {
        (None, false) => title.to_owned(),
        (None, true) => format!("{title}: {place}"),
        (Some(rank), false) => format!("{title}: {rank}"),
        (Some(rank), true) => format!("{title}: {rank}, {place}"),
    };
    let thread = |place: PlaceId, worker: WorkerId| match several {
        true => format!("worker {}.{}", place.0, worker.0),
        false => format!("worker {}", worker.0),
    };
    write_head(out, title, workers, placed)?;
    let mut separator = "\n";
    for (row, &(place, worker, trace)) in workers.iter().enumerate() {
        let (pid, tid) = (placed.pid(place), placed.nth(row));
        if worker.0 == 0 {
            write!(
                out,
                "{separator}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":{tid},\
                 \"args\":{{\"name\":{}}}}}",
                Quoted(&process(place))
            )?;
            separator = ",\n";
        }
        write!(
            out,
            "{separator}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\
             \"args\":{{\"name\":\"{}\",\"dropped_spans\":{}}}}}",
            thread(place, worker),
            trace.dropped
        )?;
        separator = ",\n";
        for span in &trace.spans {
            let [from, to] = [span.from, span.to].map(|tick| nanoseconds(clock, tick));
            write!(
                out,
                ",\n{{\"ph\":\"X\",\"cat\":\"state\",\"name\":\"{}\",\"pid\":{pid},\"tid\":{tid},\
                 \"ts\":{},\"dur\":{}}}",
                span.state.name(),
                Micro(from),
                Micro(to - from)
            )?;
        }
    }
    write_counters(out, clock, workers, placed)?;
    #[cfg(feature = "serde")]
    write_runs(out, clock, workers, placed, |row| {
        thread(workers[row].0, workers[row].1)
    })?;
    write_arrows(out, clock, workers, placed)?;
    writeln!(out, "\n]}}")
}

/// Writes the data of the whole trace, up to its events.
fn write_head(
    out: &mut impl Write,
    title: &str,
    workers: &[Watched<&Trace>],
    placed: Placed,
) -> io::Result<()> {
    let dropped: u64 = workers.iter().map(|(_, _, trace)| trace.dropped).sum();
    let quoted = Quoted(title);
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
    write!(out, "{{\"dropped_spans\":{dropped},\"title\":{quoted}")?;
    if placed.ranks > 1 {
        let Placed { rank, ranks, .. } = placed;
        write!(out, ",\"rank\":{rank},\"ranks\":{ranks}")?;
        if let Some(error) = placed.clock_error {
            write!(out, ",\"clock_error_ns\":{error}")?;
        }
    }
    write!(out, "}},\"traceEvents\":[")
}

/// Writes how many workers of each place compute, at each change.
fn write_counters(
    out: &mut impl Write,
    clock: Clock,
    workers: &[Watched<&Trace>],
    placed: Placed,
) -> io::Result<()> {
    let mut changes: BTreeMap<(u64, u64), i64> = BTreeMap::new();
    for (place, _, trace) in workers {
        let computing = |span: &&Span| span.state == State::Computing;
        for span in trace.spans.iter().filter(computing) {
            let at = |tick| (placed.pid(*place), nanoseconds(clock, tick));
            *changes.entry(at(span.from)).or_default() += 1;
            *changes.entry(at(span.to)).or_default() -= 1;
        }
    }
    let (mut of, mut count) = (0, 0);
    for ((pid, at), change) in changes {
        if pid != of {
            (of, count) = (pid, 0);
        }
        count += change;
        if change != 0 {
            write!(
                out,
                ",\n{{\"ph\":\"C\",\"name\":\"computing\",\"pid\":{pid},\"ts\":{},\
                 \"args\":{{\"workers\":{count}}}}}",
                Micro(at)
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_core::watch::Observer;

    const CLOCK: Clock = Clock {
        began: 1_000,
        ticks_per_second: 1e9,
        seconds: 1.0,
    };

    fn alternating(trace: &mut Trace, count: u64) {
        for turn in 0..count {
            let state = [State::Computing, State::Probing][(turn % 2) as usize];
            trace.span(state, 1_000 + turn * 10, 1_010 + turn * 10);
        }
    }

    #[test]
    fn a_trace_is_json_and_tells_what_it_lacks() {
        let mut trace = Trace::new(3);
        alternating(&mut trace, 5);
        let workers = [
            (PlaceId(0), WorkerId(0), &trace),
            (PlaceId(0), WorkerId(1), &trace),
            (PlaceId(1), WorkerId(0), &trace),
        ];
        let mut out = Vec::new();
        write_trace(&mut out, "a \"tree\"", CLOCK, &workers).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["otherData"]["dropped_spans"], 6);
        let events = json["traceEvents"].as_array().unwrap();
        let of = |kind: &str| events.iter().filter(|e| e["ph"] == kind).count();
        assert_eq!((of("M"), of("X")), (5, 9));
        let names = |kind: &str| -> Vec<String> {
            let named = events.iter().filter(|e| e["name"] == kind);
            named
                .map(|e| e["args"]["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            names("process_name"),
            ["a \"tree\": place 0", "a \"tree\": place 1"]
        );
        assert_eq!(
            names("thread_name"),
            ["worker 0.0", "worker 0.1", "worker 1.0"]
        );
        let first = events.iter().find(|e| e["ph"] == "X").unwrap();
        assert_eq!(first["ts"], 0.02);
        assert_eq!(first["dur"], 0.01);
    }

    /// With a clock whose ticks are no whole nanoseconds, no stretch reaches into the next.
    #[test]
    fn stretches_do_not_overlap_however_ticks_are_rounded() {
        let mut trace = Trace::new(2000);
        let mut at = CLOCK.began;
        for turn in 0..2000 {
            let state = [State::Computing, State::Probing][turn % 2];
            let next = at + 1 + turn as u64 % 7;
            trace.span(state, at, next);
            at = next;
        }
        for ticks_per_second in [2.1e9, 2.999e9, 1e9, 24e6, 3.3e9] {
            let clock = Clock {
                ticks_per_second,
                ..CLOCK
            };
            let mut out = Vec::new();
            let workers = [(PlaceId(0), WorkerId(0), &trace)];
            write_trace(&mut out, "", clock, &workers).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let ns = |value: &serde_json::Value| (value.as_f64().unwrap() * 1e3).round() as u64;
            let spans = json["traceEvents"].as_array().unwrap().iter();
            let spans = spans.filter(|event| event["ph"] == "X");
            let mut end = 0;
            for span in spans {
                let (ts, dur) = (ns(&span["ts"]), ns(&span["dur"]));
                assert_eq!(ts, end, "{ticks_per_second}: {span}");
                end = ts + dur;
            }
        }
    }

    /// Two workers of a place compute at the same time, then one does; the other place counts its
    /// own.
    #[test]
    fn computing_workers_are_counted_by_place() {
        let mut traces = [[1_000, 1_040], [1_010, 1_030], [1_020, 1_050]].map(|[from, to]| {
            let mut trace = Trace::new(4);
            trace.span(State::Computing, from, to);
            trace.span(State::Idle, to, to + 5);
            trace
        });
        traces[1].span(State::Computing, 1_035, 1_040);
        let names = [(0, 0), (0, 1), (1, 0)];
        let workers: Vec<_> = names
            .iter()
            .zip(&traces)
            .map(|(&(place, worker), trace)| (PlaceId(place), WorkerId(worker), trace))
            .collect();
        let mut out = Vec::new();
        write_trace(&mut out, "", CLOCK, &workers).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let events = json["traceEvents"].as_array().unwrap().iter();
        let counts: Vec<_> = events
            .filter(|event| event["ph"] == "C")
            .map(|event| {
                let ns = (event["ts"].as_f64().unwrap() * 1e3).round();
                (
                    event["pid"].as_u64().unwrap(),
                    ns as u64,
                    event["args"]["workers"].as_i64().unwrap(),
                )
            })
            .collect();
        let home = [(0, 1), (10, 2), (30, 1), (35, 2), (40, 0)].map(|(at, count)| (1, at, count));
        assert_eq!(counts, [&home[..], &[(2, 20, 1), (2, 50, 0)]].concat());
    }

    #[test]
    fn no_worker_is_a_trace_too() {
        let mut out = Vec::new();
        write_trace(&mut out, "", CLOCK, &[]).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
    }
}
