//! The runtime for tasks: fork and join, scopes, data flow, on the workers of this machine.
#![forbid(unsafe_code)]

use crate::plan::refuse;
use crate::watch::{Dump, TimeTable, Watch};
use crate::{Error, Result};
use tautline_core::PlaceId;
use tautline_core::glb::Bag;
use tautline_node::pool::{self, Node, Threads};

pub use crate::plan::{Builder, Plan};
pub use tautline_core::flow::{Ddf, DdfList, wait_all, wait_any};
pub use tautline_core::task::{Cancelled, Outside, Wait};

/// What a task is given on this machine; see [`task::Cx`](tautline_core::task::Cx).
pub type Cx<'scope, 'env> = tautline_core::task::Cx<'scope, 'env, Node>;

/// What async code among tasks is given; see [`task::TaskCx`](tautline_core::task::TaskCx).
pub type TaskCx<'scope, 'env> = tautline_core::task::TaskCx<'scope, 'env, Node>;

/// Workers for tasks.
///
/// ```
/// use tautline::prelude::*;
///
/// fn fib(cx: &mut Cx, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
///     a + b
/// }
///
/// let rt = Runtime::new()?;
/// assert_eq!(rt.run(|cx| fib(cx, 20)), 6765);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    threads: Threads,
    /// Dropped after the threads have ended, when it writes what was recorded.
    watch: Watch,
    plan: Plan,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.watch.detach();
    }
}

impl Runtime {
    /// A worker for each processor that this process may use, as the environment asks for
    /// ([`plan`](crate::plan)).
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// A runtime to be set up.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn start(plan: Plan) -> Result<Self> {
        plan.warn();
        let mut watch = Watch::open(&plan)?;
        let threads = Threads::start(&pool::Plan {
            watcher: watch.watcher(&plan),
            ..plan.threads()
        });
        watch.attach(&plan, &threads)?;
        let (wanted, started) = (plan.workers(), threads.workers());
        if started < wanted {
            eprintln!("tautline: {wanted} workers wanted, the system allows {started}");
        }
        Ok(Self {
            threads,
            watch,
            plan,
        })
    }

    /// Runs `body` as a task on the calling thread, which is one of the workers for so long, and returns when it
    /// and all that it spawned have ended. From within a task it is a scope of its own.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
        self.threads.run(body)
    }

    /// Runs the future that `body` gives and all that it spawns; the calling thread is a worker for so long.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn block_on<'e, R>(&self, body: impl for<'s> AsyncFnOnce(TaskCx<'s, 'e>) -> R) -> R {
        self.run(|cx| {
            let task = cx.task();
            cx.block_on(body(task))
        })
    }

    /// Does all work of `bag` with the workers of this runtime, and returns what its parts submitted
    /// to `output`. `shared` makes the value that the workers of a place share. From within a task
    /// use [`Cx::balance`](tautline_core::task::Cx::balance), which can be cancelled with it.
    ///
    /// # Panics
    /// With the first panic of the bag, after all workers have stopped.
    pub fn balance<B: Bag>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> B::Output {
        let balanced = self.run(|cx| cx.balance(bag, shared, output));
        balanced.expect("there is no scope around it that could be cancelled")
    }

    /// Returns the time that each worker has spent in each state until now; `None` if the runtime is
    /// not [observed](Builder::observe).
    pub fn times(&self) -> Option<TimeTable> {
        self.watch.times()
    }

    /// Returns what every worker does at this moment, to be printed. Takes no lock and waits for no
    /// worker, so it serves to find out why a program does not continue.
    pub fn dump(&self) -> Dump {
        Dump::of(self.threads.pool())
    }

    /// The settings that this runtime was built with.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many workers there are, the caller of [`run`](Self::run) included. Fewer than were asked for if the
    /// system refused threads.
    pub fn workers(&self) -> usize {
        self.threads.workers()
    }

    /// Changes the number of workers, at any time. Those that are too many rest as soon as they have nothing to
    /// do.
    ///
    /// # Errors
    /// No worker, or more than [`Builder::at_most`]; or the system refused a thread: then there are as many as it
    /// allowed.
    pub fn set_workers(&self, workers: usize) -> Result<()> {
        let most = self.threads.most();
        if !(1..=most).contains(&workers) {
            return refuse("workers", workers, format!("1 to {most}"));
        }
        let refused = |source| Error::Threads {
            threads: workers,
            source,
        };
        self.threads.set_workers(workers).map_err(refused)
    }
}

impl Builder {
    /// Starts the workers. If the system refuses some of the threads, there are fewer workers, and
    /// a line on standard error says so.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); or a file of [`observe`](Self::observe) that cannot be written.
    pub fn build(&self) -> Result<Runtime> {
        Runtime::start(self.plan()?)
    }
}
