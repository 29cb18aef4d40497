//! Steals in a trace, as flow events: a pair of a start `s` at the victim and a finish `f` at the
//! thief.
//!
//! A flow event belongs to the stretch of its thread that contains its time, the beginning included
//! and the end excluded; with `bp` = `e` this holds for the finish, too. A reader drops a finish
//! without a start before it, so both ends are written or neither.

use super::{Micro, Placed, Steal, Trace, nanoseconds};
use crate::observe::story::{Clock, Watched};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tautline_core::watch::Passage;

/// A point of a trace: the index of a worker, and nanoseconds since the beginning of the run.
type Point = (usize, u64);

/// An arrow: its name, its start and its finish.
type Arrow = (&'static str, Point, Point);

/// Writes an arrow for each steal of which stretches at both ends are kept.
pub(super) fn write_arrows(
    out: &mut impl Write,
    clock: Clock,
    workers: &[Watched<&Trace>],
    placed: Placed,
) -> io::Result<()> {
    let arrows = tasks(clock, workers).chain(loot(clock, workers));
    let bound = arrows.filter(|&(_, start, finish)| {
        let is_kept = |(worker, at): Point| is_inside(workers[worker].2, clock, at);
        start.1 < finish.1 && is_kept(start) && is_kept(finish)
    });
    for (id, (name, start, finish)) in (0..).zip(bound) {
        for (kind, (worker, at)) in [("s\"", start), ("f\",\"bp\":\"e\"", finish)] {
            write!(
                out,
                ",\n{{\"ph\":\"{kind},\"cat\":\"steal\",\"name\":\"{name}\",\"id\":{},\
                 \"pid\":{},\"tid\":{},\"ts\":{}}}",
                placed.nth(id),
                placed.pid(workers[worker].0),
                placed.nth(worker),
                Micro(at)
            )?;
        }
    }
    Ok(())
}

/// Returns whether one of the stretches that are kept contains the time `at`.
pub(super) fn is_inside(trace: &Trace, clock: Clock, at: u64) -> bool {
    let begun = |tick| nanoseconds(clock, tick) <= at;
    let next = trace.spans.partition_point(|span| begun(span.from));
    let last = next.checked_sub(1).map(|last| trace.spans[last]);
    last.is_some_and(|span| !begun(span.to))
}

/// Returns the stolen tasks. Only the thief reports a steal, so the arrow starts one nanosecond
/// before it finishes.
fn tasks(clock: Clock, workers: &[Watched<&Trace>]) -> impl Iterator<Item = Arrow> {
    let seats = workers.iter().enumerate();
    let rows: BTreeMap<_, _> = seats
        .map(|(row, &(place, worker, _))| ((place, worker), row))
        .collect();
    steals(clock, workers).filter_map(move |(steal, (thief, at))| match steal {
        Steal::Task(victim) => {
            let start = (*rows.get(&victim)?, at.checked_sub(1)?);
            Some(("task", start, (thief, at)))
        }
        Steal::Loot(_) => None,
    })
}

/// Returns the loot that was both sent and received: whichever is received was the last of its kind
/// to be sent between the two places, see [`Passage`].
fn loot(clock: Clock, workers: &[Watched<&Trace>]) -> impl Iterator<Item = Arrow> {
    let mut sides: Vec<(Passage, Point)> = steals(clock, workers)
        .filter_map(|(steal, point)| match steal {
            Steal::Loot(passage) => Some((passage, point)),
            Steal::Task(_) => None,
        })
        .collect();
    sides.sort_by_key(|&(passage, (_, at))| (at, passage.is_sent));
    let mut sent = BTreeMap::new();
    sides.into_iter().filter_map(move |(passage, point)| {
        let way = (passage.from, passage.to, passage.is_answer);
        if passage.is_sent {
            sent.insert(way, point);
            return None;
        }
        Some(("loot", sent.remove(&way)?, point))
    })
}

/// Returns the reports of all workers.
fn steals(clock: Clock, workers: &[Watched<&Trace>]) -> impl Iterator<Item = (Steal, Point)> {
    let rows = workers.iter().enumerate();
    rows.flat_map(move |(row, (_, _, trace))| {
        let kept = trace.steals.iter();
        kept.map(move |&(steal, tick)| (steal, (row, nanoseconds(clock, tick))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use tautline_core::watch::{Observer, State};
    use tautline_core::{PlaceId, WorkerId};

    const CLOCK: Clock = Clock {
        began: 1_000,
        ticks_per_second: 1e9,
        seconds: 1.0,
    };

    /// A worker that computes from nanosecond `from` to `to`.
    fn computing(from: u64, to: u64) -> Trace {
        let mut trace = Trace::new(8);
        trace.span(State::Computing, 1_000 + from, 1_000 + to);
        trace
    }

    fn side(from: u32, to: u32, is_answer: bool, is_sent: bool) -> Passage {
        Passage {
            from: PlaceId(from),
            to: PlaceId(to),
            is_answer,
            is_sent,
        }
    }

    /// The arrows of a trace of one worker a place: name, start and finish, each as a row and a
    /// time in nanoseconds.
    fn arrows(traces: &[Trace]) -> Vec<(String, Point, Point)> {
        let workers: Vec<_> = (0..)
            .zip(traces)
            .map(|(place, trace)| (PlaceId(place), WorkerId(0), trace))
            .collect();
        let mut out = Vec::new();
        out.extend(b"[null");
        write_arrows(&mut out, CLOCK, &workers, Placed::ALONE).unwrap();
        out.push(b']');
        let json: Value = serde_json::from_slice(&out).unwrap();
        let events = json.as_array().unwrap();
        let of = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
        let point = |event: &Value| {
            let at = (event["ts"].as_f64().unwrap() * 1e3).round() as u64;
            (event["tid"].as_u64().unwrap() as usize - 1, at)
        };
        assert!(of("f").all(|finish| finish["bp"] == "e"));
        let pairs = of("s").zip(of("f")).map(|(start, finish)| {
            assert_eq!(start["id"], finish["id"]);
            assert_eq!(start["name"], finish["name"]);
            let name = start["name"].as_str().unwrap().to_owned();
            (name, point(start), point(finish))
        });
        let pairs: Vec<_> = pairs.collect();
        assert_eq!(
            (of("s").count(), of("f").count()),
            (pairs.len(), pairs.len())
        );
        pairs
    }

    #[test]
    fn a_stolen_task_comes_from_its_worker() {
        let mut traces = [computing(0, 90), computing(50, 90), computing(20, 90)];
        traces[1].stole((PlaceId(0), WorkerId(0)), 1_050);
        traces[2].stole((PlaceId(1), WorkerId(0)), 1_060);
        let expected = [((0, 49), (1, 50)), ((1, 59), (2, 60))];
        assert_eq!(
            arrows(&traces),
            expected.map(|(from, to)| ("task".to_owned(), from, to))
        );
    }

    /// Both ends are in stretches that are kept, or the arrow is left out.
    #[test]
    fn arrows_without_a_stretch_at_an_end_are_left_out() {
        let mut traces = [computing(10, 60), computing(0, 90)];
        for (at, is_drawn) in [(10, false), (11, true), (60, true), (61, false), (0, false)] {
            traces[1].steals.clear();
            traces[1].stole((PlaceId(0), WorkerId(0)), 1_000 + at);
            assert_eq!(arrows(&traces).len(), usize::from(is_drawn), "{at}");
        }
        // A thread that began to work later is not in the trace, nor is a worker of another
        // runtime.
        traces[1].stole((PlaceId(7), WorkerId(0)), 1_020);
        traces[0].stole((PlaceId(1), WorkerId(0)), 1_060);
        assert_eq!(arrows(&traces), []);
    }

    /// Loot is paired with the last one of its kind that was sent before it on the same way.
    #[test]
    fn loot_comes_from_the_worker_that_sent_it() {
        let mut traces = [computing(0, 99), computing(0, 99), computing(0, 99)];
        for (worker, passage, at) in [
            (0, side(0, 1, true, true), 10),
            (0, side(0, 1, false, true), 11),
            (0, side(0, 2, true, true), 11),
            (1, side(0, 1, false, false), 20),
            (1, side(0, 1, true, false), 30),
            // The reception of the one before was dropped.
            (1, side(1, 2, true, true), 40),
            (1, side(1, 2, true, true), 50),
            (2, side(1, 2, true, false), 60),
            // Its start was dropped.
            (2, side(1, 2, true, false), 70),
            // Sent at the time of its reception.
            (2, side(2, 0, true, true), 80),
            (0, side(2, 0, true, false), 80),
        ] {
            traces[worker].loot(passage, 1_000 + at);
        }
        let expected = [((0, 11), (1, 20)), ((0, 10), (1, 30)), ((1, 50), (2, 60))];
        assert_eq!(
            arrows(&traces),
            expected.map(|(from, to)| ("loot".to_owned(), from, to))
        );
    }

    #[test]
    fn steals_are_kept_in_bounded_memory() {
        let mut trace = Trace::new(8);
        for at in 0..100 {
            trace.stole((PlaceId(0), WorkerId(0)), at);
        }
        let ticks: Vec<_> = trace.steals.iter().map(|&(_, at)| at).collect();
        assert_eq!(ticks, (92..100).collect::<Vec<_>>());
    }
}
