//! The runtime for tasks: fork and join, scopes, data flow, on the workers of this machine.
#![forbid(unsafe_code)]

use crate::choice::{Choice, Source};
use crate::pinning::Claim;
use crate::plan::refuse;
use crate::watch::{Dump, TimeTable, Watch};
use crate::{Error, Result};
use tautline_core::PlaceId;
use tautline_core::glb::Bag;
use tautline_node::pool::{self, Node, Threads};

pub use crate::plan::{Builder, Plan};
pub use tautline_core::flow::{
    AlreadyFull, Ddf, DdfList, EmptyAny, Inputs, NotReady, wait_all, wait_any,
};
pub use tautline_core::task::{Cancelled, Outside, Wait};

/// The context of a task on this machine, with the methods of [`task::Cx`](tautline_core::task::Cx):
/// [`join`](tautline_core::task::Cx::join), [`scope`](tautline_core::task::Cx::scope),
/// [`finish`](tautline_core::task::Cx::finish), [`spawn`](tautline_core::task::Cx::spawn),
/// [`spawn_when`](tautline_core::task::Cx::spawn_when), [`spawn_async`](tautline_core::task::Cx::spawn_async),
/// [`phaser`](tautline_core::task::Cx::phaser), [`balance`](tautline_core::task::Cx::balance).
///
/// `'scope` is how long tasks of its scope may borrow, `'env` what lies outside of the scope.
/// A function that spawns takes `&mut Cx<'s, '_>` and borrows for `'s`; for `join` alone `&mut Cx` is
/// enough.
pub type Cx<'scope, 'env> = tautline_core::task::Cx<'scope, 'env, Node>;

/// The context of async code on this machine; see [`task::TaskCx`](tautline_core::task::TaskCx).
pub type TaskCx<'scope, 'env> = tautline_core::task::TaskCx<'scope, 'env, Node>;

/// The workers of a program: they run tasks, phasers and balanced computations.
///
/// Dropping it ends the worker threads.
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
    processors: Claim,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.watch.detach();
    }
}

impl Runtime {
    /// Creates a runtime with the settings of the environment ([`plan`](crate::plan)), by default a
    /// worker for each processor that this process may use.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::new()?;
    /// assert!(rt.workers() >= 1);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Returns a builder with the default settings.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).pinned(false).build()?;
    /// assert_eq!(rt.workers(), 2);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn start(plan: Plan) -> Result<Self> {
        plan.warn();
        let processors = Claim::new(&plan.cpus);
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
            processors,
        })
    }

    /// Runs `body` as a task on the calling thread, which is one of the workers meanwhile, and returns when it
    /// and all tasks that it spawned have ended. Called from a task it is a nested scope. It does not
    /// return as long as a task waits, for a cell that is not put for example: if nothing else runs, a line on standard error
    /// reports the waits after some seconds ([`Stalled`](crate::watch::Stalled)).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::new()?;
    /// let words = ["taut", "line"];
    /// let lengths = rt.run(|cx| cx.join(|_| words[0].len(), |_| words[1].len()));
    /// assert_eq!(lengths, (4, 4));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// With the first panic of `body` or of a task; or, with [`Stalled::Panic`](crate::watch::Stalled::Panic), if nothing can go
    /// on.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
        self.threads.run(body)
    }

    /// Runs the future that `body` returns and all that it spawns; the calling thread is a worker meanwhile.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::new()?;
    /// let cell = Ddf::new();
    /// let sum = rt.block_on(async |task: TaskCx| {
    ///     task.spawn(|_| cell.put(40).unwrap());
    ///     *cell.wait().await + 2
    /// });
    /// assert_eq!(sum, 42);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn block_on<'e, R>(&self, body: impl for<'s> AsyncFnOnce(TaskCx<'s, 'e>) -> R) -> R {
        self.run(|cx| {
            let task = cx.task();
            cx.block_on(body(task))
        })
    }

    /// Does all work of `bag` with the workers of this runtime, and returns what its parts submitted
    /// to `output`. `shared` creates the value that the workers of a place share. In a task
    /// use [`Cx::balance`](tautline_core::task::Cx::balance), which can be cancelled with it.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::nqueens::{Queens, Size};
    ///
    /// let size = Size::new(8)?;
    /// let found = Runtime::new()?.balance(Queens::new(&size), |_place| size, Default::default());
    /// assert_eq!(found.sum, 92);
    /// # Ok::<(), tautline::Error>(())
    /// ```
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

    /// Returns every setting of this runtime, with its value, its source, and what is chosen by
    /// default.
    ///
    /// ```
    /// let runtime = tautline::Runtime::builder().workers(2).build()?;
    /// for choice in runtime.explain() {
    ///     println!("{}: {choice}", choice.setting);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn explain(&self) -> Vec<Choice> {
        let (wanted, started) = (self.plan.workers(), self.workers());
        let mut choices = self.plan.explain().to_vec();
        let workers = choices
            .iter_mut()
            .find(|choice| choice.setting == "workers");
        if let Some(choice) = workers.filter(|_| started < wanted) {
            choice.value = started.to_string();
            choice.why = format!("{started}: the system refused threads for {wanted}");
        }
        let shared = self.processors.shared();
        choices.extend(
            shared.map(|line| Choice::chosen("placement", &line, Source::Detected, line.clone())),
        );
        choices
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

    /// Returns the settings with which this runtime was built.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// for choice in Runtime::new()?.plan().explain() {
    ///     println!("{}: {choice}", choice.setting);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the number of workers, the caller of [`run`](Self::run) included. Fewer than requested if the
    /// system refused threads.
    pub fn workers(&self) -> usize {
        self.threads.workers()
    }

    /// Changes the number of workers, at any time. Surplus workers go on standby as soon as they find no
    /// task.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(1).at_most(4).build()?;
    /// rt.set_workers(3)?;
    /// assert_eq!(rt.workers(), 3);
    /// assert!(rt.set_workers(5).is_err());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// No worker, or more than [`Builder::at_most`]; or the system refused a thread: then there are as many as it
    /// permits.
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
    /// a line on standard error reports that.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let error = Runtime::builder().workers(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "workers 0: from 1 to 4096");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`plan`](Self::plan); or a file of [`observe`](Self::observe) that cannot be written.
    pub fn build(&self) -> Result<Runtime> {
        Runtime::start(self.plan()?)
    }
}
