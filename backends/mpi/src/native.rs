//! The library's own collective operations: those in flight, and those that wait for their
//! communicator.
#![forbid(unsafe_code)]

use crate::calls::{Comm, Duplicate, Running};
use crate::error::Failed;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use tautline_core::comm::{Body, Collective, Complete, Done, Error, Matched, Outcome, Status};

/// A collective operation.
pub(crate) struct Native {
    pub(crate) collective: Collective,
    pub(crate) own: Body,
    pub(crate) into: Body,
    pub(crate) done: Arc<dyn Complete>,
    /// Since this was promised, the library may be trusted with the memory.
    pub(crate) matched: Matched,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.collective.fmt(f)
    }
}

/// An operation that has ended.
pub(crate) type End = (Arc<dyn Complete>, Outcome);

/// The communicator of the operations of one number.
#[derive(Debug)]
struct Line {
    comm: State,
    waiting: VecDeque<Native>,
    /// The number that were started here.
    started: u64,
    /// The number that all ranks start, as far as is known: a rank that has left starts no more;
    /// and its loss.
    most: (u64, Error),
    /// Whether every rank that has left had this number.
    is_everywhere: bool,
}

impl Line {
    /// At most `started` operations are started by a rank.
    fn limit(&mut self, started: u64, error: Error) {
        if started < self.most.0 {
            self.most = (started, error);
        }
    }
}

#[derive(Debug)]
enum State {
    Coming(Duplicate),
    Here(Comm),
}

/// The operations of a process.
#[derive(Default)]
pub(crate) struct Natives {
    lines: HashMap<u32, Line>,
    running: Vec<Started>,
    ended: Vec<End>,
    /// A rank was lost, so that no further communicator is made.
    lost: Option<Error>,
}

/// An operation in flight: its number, and its position among those of that number.
struct Started {
    number: u32,
    position: u64,
    running: Running,
    /// `None` if it has ended otherwise, while MPI still uses its memory.
    done: Option<Arc<dyn Complete>>,
}

impl fmt::Debug for Natives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} collective operations", self.running.len())
    }
}

impl Natives {
    /// Starts to make the communicator for operations of a number, which all ranks do in the same
    /// order.
    pub(crate) fn open(&mut self, number: u32, comm: &Comm) -> Result<(), Failed> {
        let most = self
            .lost
            .map_or((u64::MAX, Error::Closed), |lost| (0, lost));
        if let Entry::Vacant(entry) = self.lines.entry(number) {
            entry.insert(Line {
                comm: State::Coming(Duplicate::of(comm)?),
                waiting: VecDeque::new(),
                started: 0,
                most,
                is_everywhere: true,
            });
        }
        Ok(())
    }

    /// Starts an operation once its communicator is there.
    pub(crate) fn add(&mut self, number: u32, native: Native) {
        let line = self.lines.get_mut(&number);
        let error = match line {
            None => Error::Closed,
            Some(line) if line.started + line.waiting.len() as u64 >= line.most.0 => line.most.1,
            Some(line) => return line.waiting.push_back(native),
        };
        self.ended.push((native.done, Err(error)));
    }

    /// Starts the operations that can be started, and tests which have ended. Returns whether
    /// something moved.
    pub(crate) fn poll(&mut self) -> Result<bool, Failed> {
        let mut moved = false;
        for (number, line) in &mut self.lines {
            if let State::Coming(coming) = &mut line.comm {
                match coming.test()? {
                    Some(comm) => line.comm = State::Here(comm),
                    None => continue,
                }
            }
            let State::Here(comm) = &line.comm else {
                continue;
            };
            while let Some(native) = line.waiting.pop_front() {
                let Native {
                    collective,
                    own,
                    into,
                    done,
                    matched,
                } = native;
                let running = match comm.collective(matched, collective, own, into) {
                    Ok(running) => running,
                    Err(failed) => {
                        self.ended.push((done, Err(Error::Closed)));
                        return Err(failed);
                    }
                };
                self.running.push(Started {
                    number: *number,
                    position: line.started,
                    running,
                    done: Some(done),
                });
                line.started += 1;
                moved = true;
            }
        }
        let mut at = 0;
        while at < self.running.len() {
            match self.running[at].running.test()? {
                None => at += 1,
                Some(body) => {
                    let done = self.running.remove(at).done;
                    let status = Status {
                        bytes: body.len(),
                        ..Status::default()
                    };
                    let outcome = Done { status, body };
                    self.ended.extend(done.map(|done| (done, Ok(outcome))));
                    moved = true;
                }
            }
        }
        Ok(moved)
    }

    /// Ends the operations of a number, and refuses later ones.
    pub(crate) fn close(&mut self, number: u32) {
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        line.limit(line.started, Error::Closed);
        let waiting = line.waiting.drain(..).map(|native| native.done);
        let of_number = self.running.iter_mut().filter(|run| run.number == number);
        let running = of_number.filter_map(|run| run.done.take());
        self.ended.extend(
            running
                .chain(waiting)
                .map(|done| (done, Err(Error::Closed))),
        );
    }

    /// Ends the operations of all numbers.
    pub(crate) fn close_all(&mut self) {
        let numbers: Vec<_> = self.lines.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.close(number));
    }

    /// Whether all collective operations have ended.
    pub(crate) fn is_over(&self) -> bool {
        let mut lines = self.lines.values();
        self.running.is_empty()
            && lines.all(|line| matches!(line.comm, State::Here(_)) || !line.is_everywhere)
    }

    /// Returns, for a rank that is left, the number of operations of each number that this one has
    /// started: it starts no more.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.lines
            .iter()
            .map(|(number, line)| (*number, line.started))
    }

    /// A rank starts no more than these; it is the reason for which others end.
    pub(crate) fn leave(&mut self, counts: &HashMap<u32, u64>, error: Error) {
        self.lost.get_or_insert(error);
        for (number, line) in &mut self.lines {
            line.is_everywhere &= counts.contains_key(number);
            line.limit(counts.get(number).copied().unwrap_or(0), error);
            let kept = line.most.0.saturating_sub(line.started);
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            if kept < line.waiting.len() {
                let ended = line.waiting.drain(kept..);
                self.ended
                    .extend(ended.map(|native| (native.done, Err(error))));
            }
        }
        let (lines, ended) = (&self.lines, &mut self.ended);
        self.running.retain(|started| {
            let most = lines.get(&started.number).map_or(0, |line| line.most.0);
            let is_kept = started.position < most;
            if !is_kept {
                ended.extend(started.done.clone().map(|done| (done, Err(error))));
            }
            is_kept
        });
    }

    /// A rank takes part no more, whatever it has started.
    pub(crate) fn lose(&mut self, error: Error) {
        self.leave(&HashMap::new(), error);
    }

    /// Returns the operations that have ended.
    pub(crate) fn take_ended(&mut self) -> Vec<End> {
        std::mem::take(&mut self.ended)
    }

    /// Frees the communicators, once all ranks have left. Returns whether there was none that is
    /// still being made.
    pub(crate) fn end(self) -> Result<bool, Failed> {
        let mut is_over = self.running.is_empty();
        let mut lines: Vec<_> = self.lines.into_iter().collect();
        // In the same order at all ranks.
        lines.sort_by_key(|(number, _)| *number);
        for (_, line) in lines {
            match line.comm {
                State::Here(comm) => comm.free()?,
                State::Coming(_) => is_over = false,
            }
        }
        Ok(is_over)
    }
}
