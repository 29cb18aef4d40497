//! The record of a runtime: made while it runs, written when it is dropped.

#[cfg_attr(not(feature = "story"), path = "no_files.rs")]
mod files;
#[cfg(feature = "serde")]
mod tracer;

#[cfg(feature = "serde")]
pub(crate) use tracer::Tracer;

use super::observe::Observe;
use super::times::{TimeTable, WorkerTimes};
use crate::Result;
use crate::process::messages;
use crate::process::order::insert;
use files::{Files, Recorder};
use std::sync::Arc;
use std::time::Instant;
use tautline_core::watch::{Accounts, Observer, Passage, State, Times};
use tautline_core::{PlaceId, WorkerId};
use tautline_node::SpinThenYield;
use tautline_node::pool::{self, Watched as Event, Watcher};

/// The observer of one worker.
struct Seen {
    recorder: Recorder,
    each: Option<Box<dyn Observer>>,
}

impl Observer for Seen {
    fn span(&mut self, state: State, from: u64, to: u64) {
        self.recorder.span(state, from, to);
        if let Some(each) = &mut self.each {
            each.span(state, from, to);
        }
    }

    fn begin(&mut self, state: State, now: u64) {
        if let Some(each) = &mut self.each {
            each.begin(state, now);
        }
    }

    fn loot(&mut self, passage: Passage, since: u64) {
        self.recorder.loot(passage, since);
        if let Some(each) = &mut self.each {
            each.loot(passage, since);
        }
    }

    fn stole(&mut self, from: (PlaceId, WorkerId), now: u64) {
        self.recorder.stole(from, now);
        if let Some(each) = &mut self.each {
            each.stole(from, now);
        }
    }
}

/// The mapping from seats of the pool to workers.
#[derive(Clone, Copy, Debug)]
struct Seats {
    /// The number of workers of a place.
    each: u32,
    /// The greatest number of workers.
    most: u32,
    /// The number of seats of callers.
    callers: u32,
}

impl Seats {
    fn of(pool: &pool::Plan) -> Self {
        Self {
            each: pool.balancing.workers as u32,
            most: pool.most.max(pool.workers) as u32,
            callers: pool.callers() as u32,
        }
    }

    /// Returns the place and the number there of the worker with the seat.
    fn worker(self, seat: WorkerId) -> (PlaceId, WorkerId) {
        let callers = self.callers;
        let number = match seat.0 {
            0 => 0,
            seat if seat < callers => return (PlaceId::HOME, WorkerId(self.most + seat - 1)),
            seat => seat - callers + 1,
        };
        (PlaceId(number / self.each), WorkerId(number % self.each))
    }
}

/// Records the workers of a runtime.
pub(crate) struct Record {
    accounts: Arc<Accounts<Seen>>,
    seats: Seats,
    places: u32,
    /// The beginning, tick 0 of what is recorded.
    began: Instant,
    is_printed: bool,
    /// The rank of this process.
    rank: Option<String>,
    files: Files,
    /// `None` without a trace.
    #[cfg(feature = "serde")]
    tracer: Option<Tracer>,
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").finish_non_exhaustive()
    }
}

impl Record {
    /// Opens the files that `observe` names. Returns `None` if nothing is to be recorded.
    pub(super) fn open(observe: &Observe, pool: &pool::Plan) -> Result<Option<Self>> {
        if !observe.is_on() {
            return Ok(None);
        }
        let files = Files::open(observe)?;
        let (seats, count) = (Seats::of(pool), pool.seats());
        let seen = |seat| seen(observe, seats.worker(WorkerId(seat as u32)), pool.workers);
        let accounts = Arc::new(Accounts::new((0..count).map(seen), pool.callers()));
        // Before anything is recorded.
        #[cfg(feature = "serde")]
        crate::process::clock::origin();
        let began = Instant::now();
        Ok(Some(Self {
            #[cfg(feature = "serde")]
            tracer: (observe.trace.is_some()).then(|| Tracer::new(Arc::clone(&accounts), began)),
            accounts,
            seats,
            places: pool.balancing.places,
            began,
            is_printed: observe.is_printed,
            rank: observe.rank.clone(),
            files,
        }))
    }

    /// Returns the receiver of the events of the workers.
    pub(crate) fn watcher(&self) -> Watcher {
        let (accounts, began, seats) = (Arc::clone(&self.accounts), self.began, self.seats);
        Watcher::new(move |worker, event| {
            let relax = SpinThenYield::default();
            match event {
                Event::Entered(state) => {
                    let now = began.elapsed().as_nanos() as u64;
                    accounts.enter(worker, state, now, &relax);
                }
                Event::Stole(victim) => accounts.observe(worker, &relax, |seen, since| {
                    seen.stole(seats.worker(victim), since);
                }),
                Event::Loot(passage) => accounts.observe(worker, &relax, |seen, since| {
                    seen.loot(passage, since);
                }),
            }
        })
    }

    /// Returns the tracer of tasks over ranks, if there is a trace.
    #[cfg(feature = "serde")]
    pub(super) fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    /// Lets the tasks of these threads report to the tracer.
    #[cfg(feature = "serde")]
    pub(super) fn attach(&self, threads: &pool::Threads) {
        if let Some(tracer) = &self.tracer {
            tracer.attach(threads.shared());
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Returns the time of each worker until now.
    pub(super) fn times(&self) -> TimeTable {
        let times = self.accounts.times(self.now(), &SpinThenYield::default());
        let mut table = TimeTable::empty();
        for (seat, times) in (0..).zip(times) {
            self.add(WorkerId(seat), times, &mut table);
        }
        table
    }

    /// Adds the time of a worker to the table, if it has run.
    fn add(&self, seat: WorkerId, times: Times, table: &mut TimeTable) {
        if times.total() > 0 {
            let (place, worker) = self.seats.worker(seat);
            let of_worker = WorkerTimes {
                place,
                worker,
                times,
            };
            insert(&mut table.workers, of_worker, |w| (w.place, w.worker));
        }
    }

    /// Shifts traces to the clock of rank 0, if tasks have reported for a rank.
    #[cfg(feature = "serde")]
    fn placed(&mut self, mut closed: Vec<(WorkerId, Times, Seen)>) -> Vec<(WorkerId, Times, Seen)> {
        if let Some((placed, ticks)) = self.tracer.as_ref().and_then(Tracer::placed) {
            let recorders = closed.iter_mut().map(|(_, _, seen)| &mut seen.recorder);
            let traces = recorders.filter_map(|recorder| recorder.trace.as_mut());
            traces.for_each(|trace| trace.shift(ticks));
            self.files.place(placed);
        }
        closed
    }

    /// Writes all that was recorded.
    fn write(&mut self) {
        let now = self.now();
        let closed = self.accounts.close(now, &SpinThenYield::default());
        #[cfg(feature = "serde")]
        let closed = self.placed(closed);
        let (mut table, mut ran) = (TimeTable::empty(), Vec::with_capacity(closed.len()));
        for (seat, times, seen) in &closed {
            self.add(*seat, *times, &mut table);
            if times.total() > 0 {
                let worker = self.seats.worker(*seat);
                insert(&mut ran, (worker, &seen.recorder), |ran| ran.0);
            }
        }
        if self.is_printed {
            let head = self.rank.as_ref().map(|rank| format!("{rank}\n"));
            let text = format!("{}{table}", head.unwrap_or_default());
            messages::send(text.trim_end());
        }
        self.files.write(now, self.places, &ran, &table);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.write();
    }
}

/// Returns the observer of one worker.
fn seen(observe: &Observe, (place, worker): (PlaceId, WorkerId), workers: usize) -> Seen {
    Seen {
        recorder: Files::recorder(observe, workers),
        each: observe.each.as_ref().map(|each| each.0(place, worker)),
    }
}
