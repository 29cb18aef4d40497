//! The workers of one process: a pool, and the threads that were started for it.

use super::annex::{Annexes, Body};
use super::gate::Gate;
use super::{Extension, Node, Plan, Thread};
use crate::fence;
use crate::machine::pin_worker;
use std::hint::black_box;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use tautline_core::WorkerId;
use tautline_core::task::Pool;

/// The number of stacks whose memory the workers leave to the program where the system limits its
/// addresses.
const ROOM_STACKS: usize = 4;

/// A pool with its threads, in the process that started them.
pub(super) struct Workers {
    pool: Arc<Pool<Node>>,
    /// The number of seats for callers.
    callers: usize,
    cpus: Vec<usize>,
    thread: Thread,
    /// The started workers, in order; the first is worker `callers`.
    started: Mutex<Vec<JoinHandle<()>>>,
    /// For callers that find no seat.
    annexes: Annexes,
}

impl Workers {
    /// Starts the threads of `plan`.
    pub(super) fn start(plan: &Plan) -> Self {
        // Before there are threads. Where it cannot, tasks are published by their owners alone.
        _ = fence::prepare();
        let in_tree = plan.tree.workers();
        let callers = plan.callers();
        // Callers are at the leaf of the first worker.
        let stands = |seat: usize| (seat + 1).saturating_sub(callers) as u32 % in_tree;
        let stands: Vec<u32> = (0..plan.seats()).map(stands).collect();
        let node = Node::new(stands.len(), plan.watcher.clone());
        let node = node
            .with_stalls(plan.stalls.clone())
            .with_idle(plan.idle.clone());
        let pool = Pool::on(node, plan.tree.clone(), stands, plan.outside);
        let pool = pool.with_phasers(plan.phasers);
        let pool = pool.with_balancing(plan.balancing);
        let pool = match &plan.extension {
            Some(Extension(keep)) => keep(pool),
            None => pool,
        };
        let workers = Self {
            pool: Arc::new(pool),
            callers,
            cpus: plan.cpus.clone(),
            thread: plan.thread.clone(),
            started: Mutex::default(),
            annexes: Annexes::new(plan.outside),
        };
        // `count` reports a refusal.
        _ = workers.set_count(plan.workers);
        workers
    }

    /// The pool.
    pub(super) fn pool(&self) -> &Arc<Pool<Node>> {
        &self.pool
    }

    /// The number of workers, one caller included.
    pub(super) fn count(&self) -> usize {
        let started = self.started().len();
        (self.pool.wanted() + 1)
            .saturating_sub(self.callers)
            .min(started + 1)
    }

    fn most(&self) -> usize {
        self.pool.seats() + 1 - self.callers
    }

    /// Sets the number of workers: see [`set_workers`](super::Threads::set_workers).
    pub(super) fn set_count(&self, workers: usize) -> io::Result<()> {
        let extra = workers.clamp(1, self.most()) - 1;
        let mut started = self.started();
        let outcome = if started.len() < extra {
            self.start_more(&mut started, extra)
        } else {
            Ok(())
        };
        self.pool.want(self.callers + extra.min(started.len()));
        outcome
    }

    /// Starts threads until there are `extra`, or as many as the system allows.
    ///
    /// If it refuses one for lack of addresses, new ones end until half of the threads that fit
    /// remain: a thread also needs the heap that the allocator makes for it, which is as large as a
    /// stack with the GNU C library.
    fn start_more(&self, started: &mut Vec<JoinHandle<()>>, extra: usize) -> io::Result<()> {
        let (gate, old) = (Arc::new(Gate::default()), started.len());
        // Untouched, so it takes addresses only.
        let room = addresses(ROOM_STACKS * self.thread.stack_bytes);
        let mut outcome = Ok(());
        while started.len() < extra && outcome.is_ok() {
            let thread = self.start_one(started.len(), &gate);
            outcome = thread.map(|thread| started.push(thread));
        }
        let is_cramped = outcome.is_err() && addresses(self.thread.stack_bytes).is_none();
        let admitted = match is_cramped {
            true => old.max(started.len() / 2),
            false => started.len(),
        };
        gate.open(admitted);
        for thread in started.drain(admitted..) {
            thread.join().expect("it ends at the gate");
        }
        drop(room);
        outcome
    }

    fn start_one(&self, extra: usize, gate: &Arc<Gate>) -> io::Result<JoinHandle<()>> {
        let worker = WorkerId((self.callers + extra) as u32);
        let cpus = &self.cpus;
        // The caller has the first processor.
        let cpu = (!cpus.is_empty()).then(|| cpus[(extra + 1) % cpus.len()]);
        let (pool, gate) = (Arc::clone(&self.pool), Arc::clone(gate));
        let settings = self.thread.clone();
        let body = move || {
            if !gate.pass(extra) {
                return;
            }
            drop(gate);
            cpu.into_iter().for_each(|cpu| _ = pin_worker(cpu));
            settings.hooked(|| {
                let attended = pool.with_seat(worker, |seat| seat.attend());
                attended.expect("one thread a seat");
            });
        };
        self.thread.spawn(extra + 1, body)
    }

    /// Runs `body` on the calling thread, as a worker. Of any type, so that programs do not compile
    /// it for each.
    pub(super) fn run<'e>(&self, body: Body<'_, 'e>) {
        if self.pool.run_inside(&mut *body).is_ok() || self.annexes.run_inside(&mut *body) {
            return;
        }
        for seat in (0..self.callers).map(|seat| WorkerId(seat as u32)) {
            let run = self.pool.with_seat(seat, |seat| seat.run(&mut *body));
            if run.is_some() {
                return;
            }
        }
        self.annexes.run(&self.pool, body);
    }

    fn started(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.started.lock().expect("held only to start")
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.pool.close();
        for thread in self.started().drain(..) {
            thread.join().expect("panics are caught inside");
        }
    }
}

/// Reserves `bytes` of addresses until it is dropped, if the system has them.
fn addresses(bytes: usize) -> Option<Vec<u8>> {
    let mut room = Vec::new();
    let reserved = room.try_reserve_exact(bytes).is_ok();
    reserved.then(|| black_box(room))
}
