//! Threads for a pool of tasks.

mod annex;
#[cfg(test)]
mod conform;
mod gate;
#[cfg(all(feature = "deep-recursion", unix))]
mod pieces;
mod port;
mod stack;
mod thread;
mod workers;

pub use port::Node;
pub use thread::{Hook, Thread};

use crate::process::PerProcess;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tautline_core::WorkerId;
use tautline_core::glb;
use tautline_core::hierarchy::Hierarchy;
use tautline_core::lifeline::Crew;
use tautline_core::phaser;
use tautline_core::task::{Cx, Outside, Pool};
use tautline_core::watch::{Passage, Stall, State};
use workers::Workers;

/// The least and the most seats for threads from outside that enter the pool at the same time.
/// Searching workers inspect all seats, hence few.
const CALLERS: (usize, usize) = (4, 16);

/// Receives the reports of all workers: the worker, and the event. Called by the worker's thread;
/// must not block.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Fn(WorkerId, Watched) + Send + Sync>);

impl Watcher {
    /// Calls `report` at each event.
    pub fn new(report: impl Fn(WorkerId, Watched) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

/// An event at a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The worker is in this state from now on; `None`: its thread has left.
    Entered(Option<State>),
    /// The worker ended a search with a task from the queues of this worker.
    Stole(WorkerId),
    /// The worker sends or receives loot, in the state that it entered last.
    Loot(Passage),
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// A value of a system above the threads, which their pool [keeps](Pool::extension) for its tasks.
#[derive(Clone)]
pub struct Extension(Arc<dyn Fn(Pool<Node>) -> Pool<Node> + Send + Sync>);

impl Extension {
    /// Has the pool keep `value`.
    ///
    /// ```
    /// use tautline_node::pool::{Extension, Plan, Threads};
    ///
    /// let extension = Some(Extension::new(7u32));
    /// let threads = Threads::start(&Plan { extension, ..Plan::flat(1) });
    /// assert_eq!(threads.pool().extension(), Some(&7u32));
    /// ```
    pub fn new<T: Any + Clone + Send + Sync>(value: T) -> Self {
        Self(Arc::new(move |pool| pool.with_extension(value.clone())))
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extension")
    }
}

/// The work of workers that have found no task.
#[derive(Clone)]
pub struct Idle {
    /// Between two searches; returns whether there was something to do.
    pub(super) act: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Before a worker sleeps, which leaves it to others.
    pub(super) leave: Arc<dyn Fn() + Send + Sync>,
    /// The nanoseconds for which a worker searches before that, at least.
    pub(super) patience_ns: u64,
}

impl Idle {
    /// Calls `act` between two searches, and `leave` before a worker sleeps, which it does after a
    /// search of `patience` at least. Both must return soon, and must not panic.
    pub fn new(
        patience: Duration,
        act: impl Fn() -> bool + Send + Sync + 'static,
        leave: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            act: Arc::new(act),
            leave: Arc::new(leave),
            patience_ns: patience.as_nanos() as u64,
        }
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Idle")
    }
}

/// Receives the waits of a pool in which nothing runs, and after which limits they are checked.
#[derive(Clone)]
pub struct StallWatch {
    limit: Duration,
    act: Arc<dyn Fn(&Stall) -> Stalling + Send + Sync>,
}

/// The consequence of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stalling {
    /// Every wait ends with a panic that displays the waits.
    End,
    /// No further wait is checked.
    Reported,
    /// The wait is checked again, more rarely: something is awaited that is no task.
    Awaited,
}

impl StallWatch {
    /// Has a wait checked each time that it has lasted `limit` longer. Where nothing has run and
    /// nothing was unparked in four checks, and some task waits, `act` is called, by the thread of
    /// a worker. A future of [unknown origin](Stall::has_unknown) may be woken from outside: waits
    /// are not to be ended for it.
    pub fn new(limit: Duration, act: impl Fn(&Stall) -> Stalling + Send + Sync + 'static) -> Self {
        let act = Arc::new(act);
        Self { limit, act }
    }
}

impl fmt::Debug for StallWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StallWatch({:?})", self.limit)
    }
}

/// The settings with which threads are started.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of workers, the caller of [`Threads::run`] included, at least 1.
    pub workers: usize,
    /// The largest number of workers later.
    pub most: usize,
    /// The memories of the node; its workers are at the tree's leaves, in turn.
    pub tree: Hierarchy,
    /// The queue of tasks that were bound to a domain from outside of it.
    pub outside: Outside,
    /// The processor of each worker, in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// The configuration of phasers of tasks.
    pub phasers: phaser::Config,
    /// The configuration of balanced computations.
    pub balancing: glb::Config,
    /// The recipient of the workers' changes of state.
    pub watcher: Option<Watcher>,
    /// The settings of the threads.
    pub thread: Thread,
    /// The recipient of deadlock reports.
    pub stalls: Option<StallWatch>,
    /// The work of workers that have found no task.
    pub idle: Option<Idle>,
    /// A value that the pool keeps for its tasks.
    pub extension: Option<Extension>,
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
            thread: Thread::default(),
            stalls: None,
            idle: None,
            extension: None,
        }
    }

    /// The number of seats for threads that call [`Threads::run`], which precede those of the
    /// started threads: one for each worker that there may be, from 4 to 16.
    pub fn callers(&self) -> usize {
        let (least, most) = CALLERS;
        self.most_workers().clamp(least, most)
    }

    /// The number of seats: those of callers, then one for each other worker that there may be.
    pub fn seats(&self) -> usize {
        self.callers() + self.most_workers() - 1
    }

    fn most_workers(&self) -> usize {
        self.most.max(self.workers).max(1)
    }
}

/// A pool of tasks with the threads that work in it.
///
/// A thread that calls [`run`](Self::run) is a worker until its task has ended; further threads
/// make up the number of workers. Dropping it ends the threads.
///
/// The child of `fork` has none of these threads. Its first call there starts others, in a pool of
/// its own: not pinned and not watched, without the tasks of its parent.
pub struct Threads {
    workers: PerProcess<Workers>,
    /// The settings in the child of `fork`.
    in_child: Plan,
}

impl Threads {
    /// Starts the threads for the workers of `plan`.
    ///
    /// If the system refuses a thread, there are fewer workers: see [`workers`](Self::workers).
    pub fn start(plan: &Plan) -> Self {
        Self {
            workers: PerProcess::new(Workers::start(plan)),
            in_child: Plan {
                cpus: Vec::new(),
                watcher: None,
                idle: None,
                extension: None,
                ..plan.clone()
            },
        }
    }

    /// The workers of this process.
    fn here(&self) -> &Workers {
        self.workers.get_or_init(|| Workers::start(&self.in_child))
    }

    /// The number of seats for threads that call [`run`](Self::run). The other seats are those of
    /// the threads that were started.
    pub fn callers(&self) -> usize {
        self.in_child.callers()
    }

    /// The pool.
    pub fn pool(&self) -> &Pool<Node> {
        self.here().pool()
    }

    /// The pool, to be kept by a thread that inspects it.
    pub fn shared(&self) -> &Arc<Pool<Node>> {
        self.here().pool()
    }

    /// The number of workers, one caller included.
    pub fn workers(&self) -> usize {
        self.here().count()
    }

    /// Returns the largest number of workers.
    pub fn most(&self) -> usize {
        self.in_child.most_workers()
    }

    /// Sets the number of workers, one caller included, at least 1 and at most the limit of the
    /// plan. Surplus workers go on standby as soon as they find no work.
    ///
    /// # Errors
    /// The system refused a thread: there are as many workers as it allowed, or half as many if
    /// addresses are short.
    pub fn set_workers(&self, workers: usize) -> io::Result<()> {
        self.here().set_count(workers)
    }

    /// Runs `body` as a task on the calling thread, which is a worker for that time, and returns
    /// when it and all tasks that it spawned have ended. Called from a task, it is a scope on the
    /// worker that runs that task.
    ///
    /// Any number of threads may be inside at the same time, and wait for each other there. A
    /// thread that finds no free [seat](Self::callers) runs all its tasks alone, without the other
    /// workers and unwatched.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, Node>) -> R) -> R {
        let (mut body, mut result) = (Some(body), None);
        self.here()
            .run(&mut |cx| result = body.take().map(|body| body(cx)));
        result.expect("the body is called once")
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("workers", &self.workers())
            .finish()
    }
}
