//! The accounts of all workers of a pool.
//!
//! Each worker writes its own account, under a lock that it shares only with threads that read the
//! times.

use super::meter::{Meter, Observer};
use super::state::{State, Times};
use crate::id::WorkerId;
use crate::port::Relax;
use crate::sync::{CachePadded, Lock};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The time of each worker of a pool, and its observer.
#[derive(Debug)]
pub struct Accounts<O> {
    workers: Box<[CachePadded<Lock<Account<O>>>]>,
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
    /// Opens an account for each observer, by worker.
    pub fn new(observers: impl IntoIterator<Item = O>) -> Self {
        let open = |observer| Account {
            past: Times::default(),
            stage: Stage::Vacant(observer),
        };
        let open = |observer| CachePadded::new(Lock::new(open(observer)));
        Self {
            workers: observers.into_iter().map(open).collect(),
        }
    }

    /// Records that `worker` is in `state` from tick `now` on, or, if that is `None`, that its thread
    /// is no worker any more. Does nothing after [`close`](Self::close).
    pub fn enter(&self, worker: WorkerId, state: Option<State>, now: u64, relax: &impl Relax) {
        let mut account = self.workers[worker.index()].lock(relax);
        let Account { past, stage } = &mut *account;
        if let (Stage::Measured(meter), Some(state)) = (&mut *stage, state) {
            return meter.enter(state, now);
        }
        let observer = match core::mem::replace(stage, Stage::Closed) {
            Stage::Vacant(observer) => observer,
            Stage::Measured(meter) => {
                let (times, observer) = meter.finish(now);
                past.merge(&times);
                observer
            }
            Stage::Closed => return,
        };
        *stage = match state {
            Some(state) => {
                let mut observer = observer;
                observer.begin(state, now);
                Stage::Measured(Meter::new(state, now, observer))
            }
            None => Stage::Vacant(observer),
        };
    }

    /// Calls `event` with the observer of `worker` and the tick since which the worker is in its state. Does nothing if no thread
    /// is the worker.
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
