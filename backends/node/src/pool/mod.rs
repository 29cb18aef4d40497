//! Threads for a pool of tasks.

#[cfg(test)]
mod conform;
mod gate;
mod port;

pub use port::Node;

use crate::machine::pin;
use gate::Gate;
use std::fmt;
use std::hint::black_box;
use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tautline_core::WorkerId;
use tautline_core::glb;
use tautline_core::hierarchy::Hierarchy;
use tautline_core::lifeline::Crew;
use tautline_core::phaser;
use tautline_core::task::{Cx, Outside, Pool};
use tautline_core::watch::{Stall, State};

/// The stack of a worker, in bytes. Only what is touched takes memory.
const STACK_BYTES: usize = 64 << 20;
/// Memory that the stacks of workers leave to the program where the system limits its addresses.
const ROOM_BYTES: usize = 4 * STACK_BYTES;

/// Seats for threads from outside that enter the pool at the same time; others wait.
const CALLERS: usize = 4;

/// Receives the changes of state of all workers: the worker, and its state from then on. `None` stands
/// for a worker whose thread has left. Called by the worker's thread; must not block.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Fn(WorkerId, Option<State>) + Send + Sync>);

impl Watcher {
    /// Calls `changed` at each change.
    pub fn new(changed: impl Fn(WorkerId, Option<State>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(changed))
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// Receives the waits of a pool in which nothing runs, and after which limits they are checked.
#[derive(Clone)]
pub struct StallWatch {
    limit: Duration,
    act: Arc<dyn Fn(&Stall) -> bool + Send + Sync>,
}

impl StallWatch {
    /// Has a wait checked each time that it has lasted `limit` longer. Where nothing has run and nothing was unparked in
    /// three checks, and no task waits for a future of unknown origin, `act` is called, by the thread of a worker. Returns it
    /// true, every wait ends with a panic that displays the waits; otherwise no further wait is checked.
    pub fn new(limit: Duration, act: impl Fn(&Stall) -> bool + Send + Sync + 'static) -> Self {
        let act = Arc::new(act);
        Self { limit, act }
    }
}

impl fmt::Debug for StallWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StallWatch({:?})", self.limit)
    }
}

/// What threads are started with.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of workers, the caller of [`Threads::run`] included, at least 1.
    pub workers: usize,
    /// The largest number of workers later.
    pub most: usize,
    /// The memories of the node; its workers are at the tree's leaves, in turn.
    pub tree: Hierarchy,
    /// Where tasks wait that were bound to a domain from outside of it.
    pub outside: Outside,
    /// The processor of each worker, in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// How phasers of tasks are built.
    pub phasers: phaser::Config,
    /// How computations are balanced.
    pub balancing: glb::Config,
    /// What receives the changes of state of the workers.
    pub watcher: Option<Watcher>,
    /// What receives the waits of a pool in which nothing runs.
    pub stalls: Option<StallWatch>,
}

impl Plan {
    /// A plan for `workers` workers at equal distances, not pinned.
    ///
    /// # Panics
    /// No worker.
    pub fn flat(workers: usize) -> Self {
        Self {
            workers,
            most: workers,
            tree: Hierarchy::single(workers as u32).expect("at least one worker"),
            outside: Outside::default(),
            cpus: Vec::new(),
            phasers: phaser::Config::default(),
            balancing: glb::Config {
                workers: workers.min(Crew::MAX),
                ..glb::Config::default()
            },
            watcher: None,
            stalls: None,
        }
    }

    /// The number of seats: those of callers, then one for each other worker that there may be.
    pub fn seats(&self) -> usize {
        CALLERS + self.most.max(self.workers).max(1) - 1
    }
}

/// A pool of tasks with the threads that work in it.
///
/// A thread that calls [`run`](Self::run) is a worker until its task has ended; further threads make up the number of
/// workers. Dropping it ends the threads.
pub struct Threads {
    pool: Arc<Pool<Node>>,
    cpus: Vec<usize>,
    /// The started workers, in order; the first is worker [`CALLERS`].
    started: Mutex<Vec<JoinHandle<()>>>,
    /// For callers that wait for a seat.
    left: (Mutex<Left>, Condvar),
}

impl Threads {
    /// Starts the threads for the workers of `plan`.
    ///
    /// If the system refuses a thread, there are fewer workers: see [`workers`](Self::workers).
    pub fn start(plan: &Plan) -> Self {
        let in_tree = plan.tree.workers();
        // Callers are at the leaf of the first worker.
        let stands = |seat: usize| (seat + 1).saturating_sub(CALLERS) as u32 % in_tree;
        let stands: Vec<u32> = (0..plan.seats()).map(stands).collect();
        let node = Node::new(stands.len(), plan.watcher.clone());
        let node = node.with_stalls(plan.stalls.clone());
        let pool = Pool::on(node, plan.tree.clone(), stands, plan.outside);
        let pool = pool.with_phasers(plan.phasers);
        let pool = pool.with_balancing(plan.balancing);
        let threads = Self {
            pool: Arc::new(pool),
            cpus: plan.cpus.clone(),
            started: Mutex::default(),
            left: Default::default(),
        };
        // `workers` reports a refusal.
        _ = threads.set_workers(plan.workers);
        threads
    }

    /// The number of seats for threads that call [`run`](Self::run). The other seats are those of the
    /// threads that were started.
    pub const CALLERS: usize = CALLERS;

    /// The pool.
    pub fn pool(&self) -> &Pool<Node> {
        &self.pool
    }

    /// The pool, to be kept by a thread that inspects it.
    pub fn shared(&self) -> &Arc<Pool<Node>> {
        &self.pool
    }

    /// How many workers there are, one caller included.
    pub fn workers(&self) -> usize {
        let started = self.started().len();
        (self.pool.wanted() + 1)
            .saturating_sub(CALLERS)
            .min(started + 1)
    }

    /// Returns the largest number of workers.
    pub fn most(&self) -> usize {
        self.pool.seats() + 1 - CALLERS
    }

    /// Sets the number of workers, one caller included, at least 1 and at most the limit of the plan.
    /// Surplus workers go on standby as soon as they find no work.
    ///
    /// # Errors
    /// The system refused a thread: there are as many workers as it allowed, or half as many if addresses are short.
    pub fn set_workers(&self, workers: usize) -> io::Result<()> {
        let extra = workers.clamp(1, self.most()) - 1;
        let mut started = self.started();
        let outcome = if started.len() < extra {
            self.start_more(&mut started, extra)
        } else {
            Ok(())
        };
        self.pool.want(CALLERS + extra.min(started.len()));
        outcome
    }

    /// Starts threads until there are `extra`, or as many as the system allows.
    ///
    /// If it refuses one for lack of addresses, new ones end until half of the threads that fit remain: a thread also needs
    /// the heap that the allocator makes for it, which is as large as a stack with the GNU C library.
    fn start_more(&self, started: &mut Vec<JoinHandle<()>>, extra: usize) -> io::Result<()> {
        let (gate, old) = (Arc::new(Gate::default()), started.len());
        // Untouched, so it takes addresses only.
        let room = addresses(ROOM_BYTES);
        let mut outcome = Ok(());
        while started.len() < extra && outcome.is_ok() {
            let thread = self.start_one(started.len(), &gate);
            outcome = thread.map(|thread| started.push(thread));
        }
        let is_cramped = outcome.is_err() && addresses(STACK_BYTES).is_none();
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
        let worker = WorkerId((CALLERS + extra) as u32);
        let cpus = &self.cpus;
        // The caller has the first processor.
        let cpu = (!cpus.is_empty()).then(|| cpus[(extra + 1) % cpus.len()]);
        let (pool, gate) = (Arc::clone(&self.pool), Arc::clone(gate));
        let body = move || {
            if !gate.pass(extra) {
                return;
            }
            drop(gate);
            cpu.into_iter().for_each(|cpu| _ = pin(cpu));
            let attended = pool.with_seat(worker, |seat| seat.attend());
            attended.expect("one thread a seat");
        };
        let named = || Builder::new().name(format!("tautline-{}", extra + 1));
        named().stack_size(STACK_BYTES).spawn(body)
    }

    /// Runs `body` as a task on the calling thread, which is a worker meanwhile, and returns when it and all tasks
    /// that it spawned have ended. Called from a task, it is a scope on the worker that runs that task.
    ///
    /// A thread that finds no free seat waits for one; a worker of another pool, for which other tasks may be waiting,
    /// runs everything alone instead.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, Node>) -> R) -> R {
        let body = match self.pool.run_inside(body) {
            Ok(result) => return result,
            Err(body) => body,
        };
        if port::is_worker() {
            return self.run_from_another_pool(body);
        }
        let (mut body, mut seen) = (body, None);
        loop {
            match self.try_run(body) {
                Ok(result) => return result,
                Err(refused) => body = refused,
            }
            let (left, changed) = &self.left;
            let mut left = left.lock().expect("held only to count");
            // Waits only if all seats were taken since the last poll: else one may have been freed meanwhile.
            if seen == Some(left.times) {
                left.waiting += 1;
                let same = |left: &mut Left| seen == Some(left.times);
                left = changed.wait_while(left, same).expect("held only to count");
                left.waiting -= 1;
            }
            seen = Some(left.times);
        }
    }

    fn run_from_another_pool<'e, R>(
        &self,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, Node>) -> R,
    ) -> R {
        self.try_run(body).unwrap_or_else(|body| {
            let alone = Pool::new(Node::new(1, None), 1);
            let run = alone.with_seat(WorkerId(0), |seat| seat.run(body));
            run.expect("no other thread knows it")
        })
    }

    /// Runs `body` on a free seat, if there is one; else returns it.
    fn try_run<'e, R, B>(&self, body: B) -> Result<R, B>
    where
        B: for<'s> FnOnce(&mut Cx<'s, 'e, Node>) -> R,
    {
        let mut body = Some(body);
        for seat in (0..CALLERS).map(|seat| WorkerId(seat as u32)) {
            let left = Leaving(&self.left);
            let run = self.pool.with_seat(seat, |seat| {
                seat.run(body.take().expect("one seat is taken"))
            });
            match run {
                Some(result) => return Ok(result),
                None => mem::forget(left),
            }
        }
        Err(body.expect("no seat was free"))
    }

    fn started(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.started.lock().expect("held only to start")
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.pool.close();
        for thread in self.started().drain(..) {
            thread.join().expect("panics are caught inside");
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("workers", &self.workers())
            .finish()
    }
}

/// Reserves `bytes` of addresses until it is dropped, if the system has them.
fn addresses(bytes: usize) -> Option<Vec<u8>> {
    let mut room = Vec::new();
    let reserved = room.try_reserve_exact(bytes).is_ok();
    reserved.then(|| black_box(room))
}

/// The seats that callers freed, and callers that wait for one.
#[derive(Debug, Default)]
struct Left {
    times: u64,
    waiting: usize,
}

/// Notifies callers that wait for a seat that one was freed, also by a panic.
struct Leaving<'t>(&'t (Mutex<Left>, Condvar));

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let (left, changed) = self.0;
        let mut left = left.lock().expect("held only to count");
        left.times += 1;
        if left.waiting > 0 {
            changed.notify_one();
        }
    }
}
