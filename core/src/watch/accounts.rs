//! The accounts of all workers of a pool.
//!
//! Each worker writes its own account, under a lock that it shares only with threads that read the
//! times, and with those that begin or end to run something in the pool.
//!
//! # Words
//! `runs`: the callers that run something, changed by each of them. A worker reads it under the
//! lock of its account. A caller changes it first, then locks each account in turn, and corrects
//! what the worker has recorded: either the worker has read the new number, or it is corrected.

use super::meter::{Meter, Observer};
use super::state::{State, Times};
use crate::id::WorkerId;
use crate::port::Relax;
use crate::sync::{AtomicUsize, CachePadded, Lock, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The time of each worker of a pool, and its observer.
#[derive(Debug)]
pub struct Accounts<O> {
    workers: Box<[CachePadded<Lock<Account<O>>>]>,
    /// The first workers: threads that run something in the pool while they are workers.
    callers: usize,
    runs: AtomicUsize,
    /// Held while the accounts are corrected.
    correction: Lock<()>,
}

/// One worker's account.
#[derive(Debug)]
struct Account<O> {
    /// The time until the thread left the worker last.
    past: Times,
    stage: Stage<O>,
}

/// Whether a thread is the worker.
#[derive(Debug)]
enum Stage<O> {
    Vacant(O),
    Measured(Meter<O>),
    Closed,
}

impl<O: Observer> Accounts<O> {
    /// Opens an account for each observer, by worker. The first `callers` of them are threads that
    /// run something in the pool while they are workers; without one of these, idle workers are in
    /// the state [`NoRun`](State::NoRun).
    pub fn new(observers: impl IntoIterator<Item = O>, callers: usize) -> Self {
        let open = |observer| Account {
            past: Times::default(),
            stage: Stage::Vacant(observer),
        };
        let open = |observer| CachePadded::new(Lock::new(open(observer)));
        Self {
            workers: observers.into_iter().map(open).collect(),
            callers,
            runs: AtomicUsize::new(0),
            correction: Lock::new(()),
        }
    }

    /// Records that `worker` is in `state` from tick `now` on, or, if that is `None`, that its
    /// thread is no worker any more. Does nothing after [`close`](Self::close).
    pub fn enter(&self, worker: WorkerId, state: Option<State>, now: u64, relax: &impl Relax) {
        let was_worker = self.record(worker, state, now, relax);
        if worker.index() < self.callers && was_worker != state.is_some() {
            let is_edge = match state {
                // ORDERING: Relaxed: the locks of the accounts order it, see Words.
                Some(_) => self.runs.fetch_add(1, Ordering::Relaxed) == 0,
                // ORDERING: Relaxed: the locks of the accounts order it, see Words.
                None => self.runs.fetch_sub(1, Ordering::Relaxed) == 1,
            };
            if is_edge {
                self.correct(now, relax);
            }
        }
    }

    /// Returns the state to record for a worker that is in `state`.
    fn observed(&self, state: State) -> State {
        // ORDERING: Relaxed: the locks of the accounts order it, see Words.
        let is_running = || self.runs.load(Ordering::Relaxed) > 0;
        match state {
            State::Idle if !is_running() => State::NoRun,
            State::NoRun if is_running() => State::Idle,
            other => other,
        }
    }

    /// Corrects the state of idle workers, since the first caller has come or the last one has
    /// left.
    fn correct(&self, now: u64, relax: &impl Relax) {
        let _correction = self.correction.lock(relax);
        for account in &self.workers {
            if let Stage::Measured(meter) = &mut account.lock(relax).stage {
                let state = self.observed(meter.state());
                if state != meter.state() {
                    meter.enter(state, now);
                }
            }
        }
    }

    /// Records a state. Returns whether the thread was the worker before, as far as it was
    /// recorded.
    fn record(&self, worker: WorkerId, state: Option<State>, now: u64, relax: &impl Relax) -> bool {
        let mut account = self.workers[worker.index()].lock(relax);
        let state = state.map(|state| self.observed(state));
        let Account { past, stage } = &mut *account;
        if let (Stage::Measured(meter), Some(state)) = (&mut *stage, state) {
            meter.enter(state, now);
            return true;
        }
        let was_worker = matches!(stage, Stage::Measured(_));
        let observer = match core::mem::replace(stage, Stage::Closed) {
            Stage::Vacant(observer) => observer,
            Stage::Measured(meter) => {
                let (times, observer) = meter.finish(now);
                past.merge(&times);
                observer
            }
            // Nothing is counted any more.
            Stage::Closed => return state.is_some(),
        };
        *stage = match state {
            Some(state) => {
                let mut observer = observer;
                observer.begin(state, now);
                Stage::Measured(Meter::new(state, now, observer))
            }
            None => Stage::Vacant(observer),
        };
        was_worker
    }

    /// Calls `event` with the observer of `worker` and the tick since which the worker is in its
    /// state. Does nothing if no thread is the worker.
    pub fn observe(&self, worker: WorkerId, relax: &impl Relax, event: impl FnOnce(&mut O, u64)) {
        let mut account = self.workers[worker.index()].lock(relax);
        if let Stage::Measured(meter) = &mut account.stage {
            meter.observe(event);
        }
    }

    /// Returns the time of each worker until tick `now`.
    pub fn times(&self, now: u64, relax: &impl Relax) -> Vec<Times> {
        let times = |account: &CachePadded<Lock<Account<O>>>| {
            let account = account.lock(relax);
            let mut times = account.past;
            if let Stage::Measured(meter) = &account.stage {
                times.merge(&meter.times(now));
            }
            times
        };
        self.workers.iter().map(times).collect()
    }

    /// Closes all accounts at tick `now`. Returns the time and the observer of each worker whose
    /// account was open.
    pub fn close(&self, now: u64, relax: &impl Relax) -> Vec<(WorkerId, Times, O)> {
        let mut closed = Vec::with_capacity(self.workers.len());
        for (worker, account) in self.workers.iter().enumerate() {
            let mut account = account.lock(relax);
            let observer = match core::mem::replace(&mut account.stage, Stage::Closed) {
                Stage::Vacant(observer) => observer,
                Stage::Measured(meter) => {
                    let (times, observer) = meter.finish(now);
                    account.past.merge(&times);
                    observer
                }
                Stage::Closed => continue,
            };
            closed.push((WorkerId(worker as u32), account.past, observer));
        }
        closed
    }
}
