//! Programs over ranks in a trace: the runs of bodies and handlers of finishes, and an arrow for
//! each message that starts some, or has a result.
//!
//! The runs of a worker are a thread next to that of its states, which they do not nest with: a
//! handler that waits leaves its worker to other tasks. Runs of one worker nest, as its stack does.
//!
//! Both ends of an arrow have the same number, name and category, each in the file of its rank. So
//! the events of all files together are a trace of all ranks. In one file alone an arrow has one
//! end, which readers ignore.

use super::arrows::is_inside;
use super::json::Quoted;
use super::{Micro, Placed, Trace, nanoseconds};
use crate::observe::story::{Clock, Watched};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::panic::Location;

/// A body or a handler of a finish over ranks, as a worker ran it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    /// The position of the handler; `None`: the body.
    pub(crate) handler: Option<u32>,
    /// The place in the program: of the handler, or of the finish with this body.
    pub(crate) site: &'static Location<'static>,
    /// The calls of the handler: several of a batch.
    pub(crate) calls: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A message between ranks, at one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// The position of the handler that it starts; `None`: it has a result.
    pub(crate) handler: Option<u32>,
    /// A number that no other message has.
    pub(crate) id: u64,
    /// Whether the worker sends it. Otherwise it has received it.
    pub(crate) is_sent: bool,
    pub(crate) at: u64,
}

/// The latest runs and messages of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    all: VecDeque<Ran>,
    crossings: VecDeque<Crossing>,
    dropped: u64,
}

impl Runs {
    /// Moves all of it in time.
    pub(super) fn shift(&mut self, ticks: i64) {
        for run in &mut self.all {
            run.from = run.from.saturating_add_signed(ticks);
            run.to = run.to.saturating_add_signed(ticks);
        }
        for crossing in &mut self.crossings {
            crossing.at = crossing.at.saturating_add_signed(ticks);
        }
    }
}

impl Trace {
    /// Keeps a run that has ended, of at least one tick.
    pub(crate) fn ran(&mut self, ran: Ran) {
        if self.runs.all.len() == self.most {
            self.runs.all.pop_front();
            self.runs.dropped += 1;
        }
        let to = ran.to.max(ran.from + 1);
        self.runs.all.push_back(Ran { to, ..ran });
    }

    /// Keeps an end of a message.
    pub(crate) fn crossed(&mut self, crossing: Crossing) {
        if self.runs.crossings.len() == self.most {
            self.runs.crossings.pop_front();
        }
        self.runs.crossings.push_back(crossing);
    }
}

/// The name of a run or of a message.
struct Name(Option<u32>, &'static str);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(handler), _) => write!(f, "handler {handler}"),
            Self(None, other) => f.write_str(other),
        }
    }
}

/// Writes the runs of all workers, and the ends of messages within runs or states that are kept.
/// `thread` names a worker.
pub(super) fn write_runs(
    out: &mut impl Write,
    clock: Clock,
    workers: &[Watched<&Trace>],
    placed: Placed,
    thread: impl Fn(usize) -> String,
) -> io::Result<()> {
    let mut rows = workers.len();
    for (row, &(place, _, trace)) in workers.iter().enumerate() {
        let (pid, of_states, of_runs) = (placed.pid(place), placed.nth(row), placed.nth(rows));
        let mut runs: Vec<_> = trace.runs.all.iter().collect();
        // Outer ones before the inner ones that begin at the same time.
        runs.sort_by_key(|run| (run.from, u64::MAX - run.to));
        if !runs.is_empty() {
            rows += 1;
            let name = Quoted(&format!("{}: handlers", thread(row))).to_string();
            write!(
                out,
                ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{of_runs},\
                 \"args\":{{\"name\":{name},\"dropped_runs\":{}}}}}",
                trace.runs.dropped
            )?;
        }
        for run in &runs {
            let [from, to] = [run.from, run.to].map(|tick| nanoseconds(clock, tick));
            write!(
                out,
                ",\n{{\"ph\":\"X\",\"cat\":\"run\",\"name\":\"{}\",\"pid\":{pid},\
                 \"tid\":{of_runs},\"ts\":{},\"dur\":{},\"args\":{{\"site\":{},\"calls\":{}}}}}",
                Name(run.handler, "body"),
                Micro(from),
                Micro(to - from),
                Quoted(&run.site.to_string()),
                run.calls
            )?;
        }
        let numbers = [pid, of_states, of_runs];
        write_crossings(out, clock, trace, &Covered::of(&runs), numbers)?;
    }
    Ok(())
}

/// Writes the ends of messages at a worker, whose process has the number `pid`, and its states and
/// runs these numbers as threads.
fn write_crossings(
    out: &mut impl Write,
    clock: Clock,
    trace: &Trace,
    covered: &Covered,
    [pid, of_states, of_runs]: [u64; 3],
) -> io::Result<()> {
    for crossing in &trace.runs.crossings {
        let at = nanoseconds(clock, crossing.at);
        let tid = match covered.contains(crossing.at) {
            true => of_runs,
            false if is_inside(trace, clock, at) => of_states,
            false => continue,
        };
        let kind = match crossing.is_sent {
            true => "s\"",
            false => "f\",\"bp\":\"e\"",
        };
        write!(
            out,
            ",\n{{\"ph\":\"{kind},\"cat\":\"message\",\"name\":\"{}\",\"id\":\"{:#018x}\",\
             \"pid\":{pid},\"tid\":{tid},\"ts\":{}}}",
            Name(crossing.handler, "result"),
            crossing.id,
            Micro(at)
        )?;
    }
    Ok(())
}

/// The time in runs of a worker: of each run its beginning, and the latest end up to it.
struct Covered(Vec<(u64, u64)>);

impl Covered {
    /// Of runs in the order of their beginnings.
    fn of(runs: &[&Ran]) -> Self {
        let latest = runs.iter().scan(0, |end, run| {
            *end = run.to.max(*end);
            Some((run.from, *end))
        });
        Self(latest.collect())
    }

    fn contains(&self, at: u64) -> bool {
        let begun = self.0.partition_point(|(from, _)| *from <= at);
        begun > 0 && at < self.0[begun - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use tautline_core::watch::{Observer, State};
    use tautline_core::{PlaceId, WorkerId};

    const CLOCK: Clock = Clock {
        began: 0,
        ticks_per_second: 1e9,
        seconds: 1.0,
    };

    fn run(handler: u32, from: u64, to: u64) -> Ran {
        Ran {
            handler: Some(handler),
            site: Location::caller(),
            calls: 1,
            from,
            to,
        }
    }

    fn sent(at: u64) -> Crossing {
        Crossing {
            handler: None,
            id: at,
            is_sent: true,
            at,
        }
    }

    /// The events of rank 1 of 3, whose workers are at one place.
    fn events(traces: &[Trace]) -> Vec<Value> {
        let workers = traces.iter().zip(0..);
        let workers = workers.map(|(trace, worker)| (PlaceId(0), WorkerId(worker), trace));
        let placed = Placed {
            rank: 1,
            ranks: 3,
            clock_error: None,
        };
        let mut out = b"[null".to_vec();
        let workers = Vec::from_iter(workers);
        write_runs(&mut out, CLOCK, &workers, placed, |row| row.to_string()).unwrap();
        out.push(b']');
        let mut events: Vec<Value> = serde_json::from_slice(&out).unwrap();
        events.remove(0);
        events
    }

    /// A message is at the run around it, or else at the state, or else left out.
    #[test]
    fn messages_belong_to_runs_and_else_to_states() {
        let mut traces = [Trace::new(16), Trace::new(16)];
        traces[1].span(State::Computing, 5, 50);
        traces[1].ran(run(1, 12, 15));
        traces[1].ran(run(0, 10, 20));
        traces[1].ran(run(2, 30, 30));
        for at in [4, 5, 9, 10, 16, 19, 20, 30, 31, 49, 50] {
            traces[1].crossed(sent(at));
        }
        let events = events(&traces);
        let starts = events.iter().filter(|event| event["ph"] == "s");
        let starts = starts.map(|start| {
            let id = u64::from_str_radix(&start["id"].as_str().unwrap()[2..], 16).unwrap();
            assert_eq!(
                (&start["pid"], &start["name"]),
                (&2.into(), &"result".into())
            );
            (id, start["tid"].as_u64().unwrap())
        });
        // The states of both workers are the threads 2 and 5.
        let expected = [
            (5, 5),
            (9, 5),
            (10, 8),
            (16, 8),
            (19, 8),
            (20, 5),
            (30, 8),
            (31, 5),
            (49, 5),
        ];
        assert_eq!(Vec::from_iter(starts), expected);
        let runs = events.iter().filter(|event| event["ph"] == "X");
        let names = runs.map(|run| (run["name"].as_str().unwrap(), run["tid"].as_u64().unwrap()));
        let expected = ["handler 0", "handler 1", "handler 2"].map(|name| (name, 8));
        assert_eq!(Vec::from_iter(names), expected);
    }

    #[test]
    fn the_latest_runs_and_messages_are_kept() {
        let mut trace = Trace::new(2);
        for at in 0..5 {
            trace.ran(run(0, at, at + 1));
            trace.crossed(sent(at));
        }
        trace.shift(10);
        let events = events(&[trace]);
        assert_eq!(events[0]["args"]["dropped_runs"], 3);
        let of = |kind: &str| {
            let of_kind = events.iter().filter(|event| event["ph"] == kind);
            Vec::from_iter(of_kind.map(|event| event["ts"].as_f64().unwrap()))
        };
        assert_eq!((of("X"), of("s")), (vec![0.013, 0.014], vec![0.013, 0.014]));
    }
}
