//! The latest stretches of every worker, as a trace that Perfetto and Chrome load.

use super::{Clock, Watched};
use crate::glb::{Observer, State};
use std::collections::VecDeque;
use std::io::{self, Write};

/// A stretch of time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    state: State,
    from: u64,
    to: u64,
}

/// Keeps the latest stretches of one worker and counts those it had to drop.
#[derive(Clone, Debug)]
pub struct Trace {
    spans: VecDeque<Span>,
    most: usize,
    dropped: u64,
}

impl Trace {
    /// All workers together keep about this many stretches: some 100 MB of trace.
    const TOTAL: usize = 1 << 20;

    /// Keeps the latest `most` stretches, at least one.
    pub fn new(most: usize) -> Self {
        Self {
            spans: VecDeque::new(),
            most: most.max(1),
            dropped: 0,
        }
    }

    /// One worker's share when so many are watched.
    pub fn for_workers(workers: usize) -> Self {
        Self::new((Self::TOTAL / workers.max(1)).clamp(64, 1 << 16))
    }

    /// How many stretches are kept.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many stretches were dropped because later ones came.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Observer for Trace {
    fn span(&mut self, state: State, from: u64, to: u64) {
        if from >= to {
            return;
        }
        if let Some(last) = self.spans.back_mut() {
            if last.state == state && last.to == from {
                last.to = to;
                return;
            }
        }
        if self.spans.len() == self.most {
            self.spans.pop_front();
            self.dropped += 1;
        }
        self.spans.push_back(Span { state, from, to });
    }
}

/// Writes the traces of a run in the trace event format: a process for each place, a thread for each
/// worker.
///
/// # Errors
/// Those of `out`.
pub fn write_trace(
    out: &mut impl Write,
    title: &str,
    clock: Clock,
    workers: &[Watched<&Trace>],
) -> io::Result<()> {
    let dropped: u64 = workers.iter().map(|(_, _, trace)| trace.dropped).sum();
    let about = serde_json::json!({ "title": title, "dropped_spans": dropped });
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},")?;
    write!(out, "\"traceEvents\":[")?;
    let mut separator = "\n";
    for &(place, worker, trace) in workers {
        let (pid, tid) = (place.0, worker.0);
        if tid == 0 {
            write!(
                out,
                "{separator}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":0,\
                 \"args\":{{\"name\":\"{place}\"}}}}"
            )?;
            separator = ",\n";
        }
        write!(
            out,
            "{separator}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\
             \"args\":{{\"name\":\"worker {tid}\",\"dropped_spans\":{}}}}}",
            trace.dropped
        )?;
        separator = ",\n";
        for span in &trace.spans {
            let ts = clock.seconds_at(span.from) * 1e6;
            let dur = (span.to - span.from) as f64 / clock.ticks_per_second * 1e6;
            write!(
                out,
                ",\n{{\"ph\":\"X\",\"cat\":\"state\",\"name\":\"{}\",\"pid\":{pid},\"tid\":{tid},\
                 \"ts\":{ts:.3},\"dur\":{dur:.3}}}",
                span.state.name()
            )?;
        }
    }
    writeln!(out, "\n]}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glb::{PlaceId, WorkerId};

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
    fn the_ring_is_bounded_and_keeps_the_latest() {
        let mut trace = Trace::new(8);
        alternating(&mut trace, 20);
        assert_eq!((trace.len(), trace.dropped()), (8, 12));
        assert_eq!(trace.spans.back().unwrap().to, 1_200);
        assert_eq!(trace.spans.front().unwrap().from, 1_120);
    }

    #[test]
    fn stretches_that_continue_are_one() {
        let mut trace = Trace::new(8);
        trace.span(State::Idle, 0, 5);
        trace.span(State::Idle, 5, 5);
        trace.span(State::Idle, 5, 9);
        assert_eq!((trace.len(), trace.dropped()), (1, 0));
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
        let first = events.iter().find(|e| e["ph"] == "X").unwrap();
        assert_eq!(first["ts"], 0.02);
        assert_eq!(first["dur"], 0.01);
    }

    #[test]
    fn no_worker_is_a_trace_too() {
        let mut out = Vec::new();
        write_trace(&mut out, "", CLOCK, &[]).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
    }
}
