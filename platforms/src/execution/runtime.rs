//! The runtime for tasks: fork and join, scopes, data flow, on the workers of this machine.
//!
//! A program makes one [`Runtime`], or uses the [`global`] one, and enters it by a call:
//!
//! | the caller | call |
//! |---|---|
//! | is a thread, and waits for all tasks, which may borrow | [`Runtime::run`], with async code [`Runtime::block_on`] |
//! | is a thread, and continues | [`Runtime::spawn`] |
//! | is async code of any executor | [`Runtime::run_async`] |
//! | waits for a limited time | [`Runtime::run_within`], a [`Deadline`] |
//! | waits until Ctrl-C | an [`Interrupt`] |
//!
//! Inside, a [`Cx`], or a [`TaskCx`] in async code, spawns the tasks:
//!
//! | tasks that | method |
//! |---|---|
//! | are two halves of a computation | [`join`](tautline_core::task::Cx::join) |
//! | are the iterations of a loop | [`par`](tautline_core::task::Cx::par), [`par_for`](tautline_core::task::Cx::par_for) |
//! | are many, and end together | [`scope`](tautline_core::task::Cx::scope), [`spawn`](tautline_core::task::Cx::spawn) |
//! | are cancelled together | [`finish`](tautline_core::task::Cx::finish), [`finish_until`](tautline_core::task::Cx::finish_until) |
//! | return a value | [`spawn_value`](tautline_core::task::Cx::spawn_value) |
//! | run when their inputs are there | [`spawn_when`](tautline_core::task::Cx::spawn_when), with cells: [`Ddf`] |
//! | run outside, and keep a scope open | [`hold`](tautline_core::task::Cx::hold) |
//! | wait in the middle | [`spawn_async`](tautline_core::task::Cx::spawn_async) |
//! | proceed in phases | [`phaser`](tautline_core::task::Cx::phaser), [`spawn_phased`](tautline_core::task::Cx::spawn_phased), [`spawn_phased_value`](tautline_core::task::Cx::spawn_phased_value) |
//! | divide themselves while they run | [`balancer`](tautline_core::task::Cx::balancer) |
#![forbid(unsafe_code)]

mod context;

use crate::error::refuse;
use crate::execution::detached::Outer;
use crate::execution::engine::Engine;
#[cfg(feature = "serde")]
use crate::execution::serves::Serves;
use crate::observe::watch::{Dump, TimeTable};
use crate::process::messages;
use crate::setting::{Choice, Source};
use crate::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tautline_node::process::PerProcess;

pub use crate::execution::detached::{Detached, Failure, Running};
#[doc(no_inline)]
pub use crate::execution::plan::{Builder, Plan};
pub use crate::process::deadline::Deadline;
#[cfg(all(unix, feature = "signals"))]
pub use crate::process::interrupt::Interrupt;
pub use context::{Cx, Hold, TaskCx};
pub use tautline_core::flow::{
    AlreadyFull, Ddf, DdfList, EmptyAny, Inputs, NotReady, wait_all, wait_any,
};
pub use tautline_core::task::{CancelToken, Cancelled, Handle, JoinError, Outside, Wait};

/// The workers of a program: they run tasks, phasers and balanced computations.
///
/// By default there is one for each processor that the process may use, up to the quota of its
/// control group. All but the thread that calls [`run`](Self::run) are pinned, unless another
/// runtime has pinned workers to one of the processors, the quota is below their number, or the
/// process is in a network namespace of its own, as in a container ([`pinning`](crate::pinning)).
/// Starting a worker starts a thread, so a program makes one runtime and keeps it. Entering it is
/// cheap: an empty [`run`](Self::run) takes about 50 ns, a region that is forked onto two workers
/// and joined 0.2 to 0.6 µs, and idle workers use 0.04 ms of processor time a second
/// (`benches/TASKS.md`, virtual machines with two processors).
///
/// A task that blocks its thread, by a lock, a socket, or sleep, occupies its worker while it is
/// blocked; no further worker is started for it. Tasks that wait for each other use cells, phasers,
/// handles or other futures, which do not.
///
/// Dropping it ends the worker threads. Tasks of [`spawn`](Self::spawn) and
/// [`run_async`](Self::run_async) that have not begun are dropped then, and suspended ones; the
/// drop waits for those that run, unless a task of this runtime drops it.
///
/// A child of `fork` may use it: its first call there starts other threads, which are neither
/// pinned nor observed. Tasks of the parent stay with the parent: there, a handle of one of them
/// ends as cancelled.
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
    outer: PerProcess<Outer>,
    engine: Arc<Engine>,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.get() {
            outer.end(&self.engine);
        }
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

    fn outer(&self) -> &Outer {
        self.outer.get_or_init(Outer::new)
    }

    #[cfg(feature = "serde")]
    pub(crate) fn serves(&self) -> &Serves {
        &self.engine.serves
    }

    pub(crate) fn start(plan: Plan) -> Result<Self> {
        Ok(Self {
            outer: PerProcess::new(Outer::new()),
            engine: Arc::new(Engine::start(plan)?),
        })
    }

    /// Runs `body` as a task on the calling thread, which is one of the workers during the call,
    /// and returns when it and all tasks that it spawned have ended. Called from a task it is a
    /// nested scope. It does not return while a task waits, for a cell that is not put for example:
    /// if nothing else runs, a line on standard error reports the waits after some seconds
    /// ([`Stalled`](crate::watch::Stalled)).
    ///
    /// Any number of threads may be inside at the same time, and may wait for each other there. At
    /// least four of them, and as many as there are workers up to 16, share their tasks with the
    /// workers. The tasks of a further one run on its own thread alone, until it calls `run` again:
    /// it need not wait, but it gets no help, and is not [observed](Builder::observe). Programs
    /// with more threads than that let a few of them call `run`.
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
    /// With the first panic of `body` or of a task; or, with
    /// [`Stalled::Panic`](crate::watch::Stalled::Panic), if no task can continue.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
        self.engine.threads.run(body)
    }

    /// Runs the future that `body` returns and all that it spawns; the calling thread is a worker
    /// during the call.
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

    /// As [`run`](Self::run), and is cancelled after `after`: tasks that have not begun by then are
    /// dropped. A running one ends earlier where it polls
    /// [`cancelled`](tautline_core::task::Cx::cancelled), and at its next loop of `par`, `par_for`
    /// or `concurrent`, which unwinds out of the run ([`Cx::par`](tautline_core::task::Cx::par),
    /// Cancellation). In a task use a [`Deadline`].
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # use std::time::Duration;
    /// use tautline::balance::Reason;
    ///
    /// // Counts leaves, and takes an age.
    /// fn count(cx: &mut Cx, depth: u32) -> u64 {
    ///     if depth == 0 || cx.cancelled().is_some() {
    ///         return 1;
    ///     }
    ///     let (a, b) = cx.join(|cx| count(cx, depth - 1), |cx| count(cx, depth - 1));
    ///     a + b
    /// }
    /// let rt = Runtime::new()?;
    /// let outcome = rt.run_within(Duration::from_millis(20), |cx| count(cx, 60));
    /// assert_eq!(outcome.unwrap_err().reason, Reason::Deadline);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the time has passed, or a task has cancelled the run: see
    /// [`finish`](tautline_core::task::Cx::finish).
    ///
    /// # Panics
    /// As [`run`](Self::run), and as [`Deadline::after`].
    pub fn run_within<'e, R>(
        &self,
        after: Duration,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R,
    ) -> Result<R, Cancelled> {
        let deadline = Deadline::after(after);
        self.run(|cx| cx.finish_until(&deadline, body))
    }

    /// Spawns `body` as a task, from any thread, and returns immediately; the handle gives its
    /// value, with that of the tasks that it spawns. The task borrows nothing; a dropped handle
    /// detaches it. Tasks spawned so, and by [`run_async`](Self::run_async), start in the order of
    /// the calls.
    ///
    /// The first call starts a thread, which works in this runtime as a caller of
    /// [`run`](Self::run) does. If the system refuses it, the calling thread runs `body` before
    /// this returns, and the next call tries to start the thread again. `body` must then not wait
    /// for what the caller does afterwards, such as to send a message or to release a lock.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::new()?;
    /// let numbers: Vec<u64> = (1..=1000).collect();
    /// let sum = rt.spawn(move |cx| cx.par(&numbers).map(|n| n * n).sum::<u64>());
    /// // Something else, while it runs.
    /// assert_eq!(sum.join().unwrap(), 333_833_500);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn spawn<R: Send + 'static>(
        &self,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'static>) -> R + Send + 'static,
    ) -> Detached<R> {
        self.outer().spawn(&self.engine, body)
    }

    /// Starts `body` as [`spawn`](Self::spawn) does, to be awaited by another executor, as that of
    /// tokio. If the future is dropped, by a timeout say, the computation is cancelled: it is a
    /// [`finish`](tautline_core::task::Cx::finish).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # let rt = Runtime::new()?;
    /// # rt.block_on(async |_: TaskCx| {
    /// // In any executor:
    /// let both = rt.run_async(|cx| cx.join(|_| 1, |_| 2)).await;
    /// assert_eq!(both.unwrap(), (1, 2));
    /// # });
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The output is that of a [handle](Detached): an error if a task panicked or cancelled the
    /// computation, or the runtime was dropped.
    pub fn run_async<R: Send + 'static>(
        &self,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'static>) -> R + Send + 'static,
    ) -> Running<R> {
        self.outer().run(&self.engine, body)
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
        let mut choices = self.engine.plan.explain().to_vec();
        let shared = self.engine.processors.shared();
        choices.extend(
            shared.map(|line| Choice::chosen("placement", &line, Source::Detected, line.clone())),
        );
        choices
    }

    /// Returns the time that each worker has spent in each state until now; `None` if the runtime
    /// is not [observed](Builder::observe).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::watch::{Observe, State};
    ///
    /// let rt = Runtime::builder().observe(Observe::new()).build()?;
    /// rt.run(|cx| cx.par_for(0..1000, |n| _ = n * n));
    /// let times = rt.times().expect("it is observed");
    /// assert!(times.total().of(State::Computing) > 0);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn times(&self) -> Option<TimeTable> {
        self.engine.watch.get()?.times()
    }

    /// Returns the activity of every worker at this moment, to be printed. Takes no lock and waits
    /// for no worker, so it serves to find out why a program does not continue.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).build()?;
    /// rt.run(|_| eprint!("{}", rt.dump())); // `worker 0: computing`, and so on
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn dump(&self) -> Dump {
        Dump::of(self.engine.threads.pool(), self.engine.threads.callers())
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
        &self.engine.plan
    }

    /// Returns the present tick of the clock by which workers are watched.
    #[cfg(feature = "serde")]
    pub(crate) fn now(&self) -> u64 {
        use tautline_core::port::Clock;
        self.engine.threads.pool().port().now()
    }

    /// Returns the number of workers, the caller of [`run`](Self::run) included. Fewer than
    /// requested if the system refused threads.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// assert_eq!(Runtime::builder().workers(3).build()?.workers(), 3);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.engine.threads.workers()
    }

    /// Changes the number of workers, at any time. Surplus workers go on standby as soon as they
    /// find no task.
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
    /// No worker, or more than [`Builder::at_most`]; or the system refused a thread: then there are
    /// as many as it permits.
    pub fn set_workers(&self, workers: usize) -> Result<()> {
        let most = self.engine.threads.most();
        if !(1..=most).contains(&workers) {
            return refuse("workers", workers, format!("1 to {most}"));
        }
        let refused = |source| Error::Threads {
            threads: workers,
            source,
        };
        self.engine.threads.set_workers(workers).map_err(refused)
    }
}

/// Returns the runtime of the process, which the first call starts with the settings of the
/// environment ([`plan`](crate::plan)). It is never dropped: what is observed is not written at the
/// end, of which a message warns.
///
/// A library should take a [`Runtime`] or a [`Cx`] from its caller; this is for programs that want
/// no runtime of their own.
///
/// ```
/// # use tautline::prelude::*;
/// let rt = tautline::global()?;
/// assert_eq!(rt.run(|cx| cx.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// As [`Runtime::new`]; a later call tries again.
pub fn global() -> Result<&'static Runtime> {
    static RUNTIME: PerProcess<Runtime> = PerProcess::empty();
    static STARTING: PerProcess<Mutex<()>> = PerProcess::empty();
    // Nothing is lost by a panic inside.
    let starting = STARTING.get_or_init(Mutex::default);
    let _starting = starting.lock().unwrap_or_else(PoisonError::into_inner);
    match RUNTIME.get() {
        Some(runtime) => Ok(runtime),
        None => {
            let new = Runtime::new()?;
            if new.plan().observe.is_on() {
                messages::send(
                    "tautline: the global runtime is never dropped, and so writes no times, trace or life story; use `Runtime::new`",
                );
            }
            Ok(RUNTIME.get_or_init(|| new))
        }
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
