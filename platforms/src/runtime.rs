//! The runtime for tasks: fork and join, scopes, data flow, on the workers of this machine.
#![forbid(unsafe_code)]

use crate::hierarchy::Hierarchy;
use crate::phaser;
use crate::pinning::Pinning;
use crate::{Error, Machine, Platform, Result};
use std::borrow::Cow;
use tautline_node::pool::{Node, Plan, Threads};

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
}

/// What a [`Runtime`] is made with.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    machine: Machine,
    workers: Option<usize>,
    most: usize,
    pinned: bool,
    pinning: Option<Pinning>,
    platform: Option<Platform>,
    outside: Outside,
    phasers: Option<phaser::Config>,
}

impl Runtime {
    /// A worker for each processor that this process may use, pinned as the environment asks for
    /// ([`pinning`](crate::pinning)); `TAUTLINE_WORKERS` overrides the number.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Anything else.
    pub fn builder() -> Builder {
        Builder {
            machine: Machine::discover(),
            workers: None,
            most: 0,
            pinned: true,
            pinning: None,
            platform: None,
            outside: Outside::default(),
            phasers: None,
        }
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

    /// How many workers there are, the caller of [`run`](Self::run) included. Fewer than were asked for if the
    /// system refused threads.
    pub fn workers(&self) -> usize {
        self.threads.workers()
    }

    /// Changes the number of workers, at any time. Those that are too many rest as soon as they have nothing to
    /// do.
    ///
    /// # Errors
    /// None, or more than [`Builder::at_most`]; or the system refused a thread: then there are as many as it
    /// allowed.
    pub fn set_workers(&self, workers: usize) -> Result<()> {
        allowed("workers", workers, self.threads.most())?;
        let refused = |source| Error::Threads {
            threads: workers,
            source,
        };
        self.threads.set_workers(workers).map_err(refused)
    }
}

impl Builder {
    /// So many workers, the caller of [`Runtime::run`] included. Default: `TAUTLINE_WORKERS`, else the workers of the
    /// [`platform`](Self::platform), else one for each processor that this process may use.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Leaves room for so many workers later. Default: the processors of this process, or the workers if they are
    /// more.
    pub fn at_most(mut self, workers: usize) -> Self {
        self.most = workers;
        self
    }

    /// Whether workers are pinned to processors. Default: yes.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// Pins the workers so. Default: as the environment asks for.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = Some(pinning);
        self
    }

    /// The places that tasks can be bound to ([`Cx::spawn_in`](tautline_core::task::Cx::spawn_in)), and with them who robs
    /// whom first. Default: one place with all workers.
    pub fn platform(mut self, platform: Platform) -> Self {
        self.platform = Some(platform);
        self
    }

    /// Where tasks wait that were bound to a place by a worker that is not below it.
    pub fn outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    /// How phasers of tasks are built. Default: by the [rule](mod@phaser::rule), and as the environment asks for.
    pub fn phasers(mut self, config: phaser::Config) -> Self {
        self.phasers = Some(config);
        self
    }

    /// Starts the workers. If the system refuses some of the threads, there are fewer workers, and a line on
    /// standard error says so.
    ///
    /// # Errors
    /// No worker, or more than 4096; a `TAUTLINE_WORKERS` or a [degree](phaser::DEGREE_VARIABLE) that is none; a
    /// pinning in the environment that is malformed.
    pub fn build(self) -> Result<Runtime> {
        let pinning = match self.pinning {
            Some(pinning) => pinning,
            None => Pinning::from_environment(&self.machine)?,
        };
        let tree = self.platform.as_ref().map(Platform::hierarchy);
        let processors = pinning.processors().max(1);
        let default = tree.map_or(processors, |tree| tree.workers() as usize);
        let workers = match self.workers {
            Some(workers) => workers,
            None => from_environment()?.unwrap_or(default),
        };
        allowed("workers", workers, MOST)?;
        let phasers = match self.phasers {
            Some(phasers) => phasers,
            None => phaser::config(&self.machine, None)?,
        };
        pinning.warn(workers, self.pinned);
        let known =
            |platform: &Platform| (0..workers as u32).map_while(|w| platform.cpu(w)).collect();
        let cpus: Vec<usize> = self.platform.as_ref().map_or_else(Vec::new, known);
        let cpus = match (self.pinned, cpus.len() < workers) {
            (false, _) => Vec::new(),
            (true, false) => cpus,
            (true, true) => pinning.cpus(workers),
        };
        let tree = tree
            .cloned()
            .or_else(|| Hierarchy::single(workers as u32).ok());
        let threads = Threads::start(&Plan {
            workers,
            most: self.most.max(workers).max(processors).min(MOST),
            tree: tree.expect("there is a worker"),
            outside: self.outside,
            cpus,
            phasers,
        });
        if threads.workers() < workers {
            let got = threads.workers();
            eprintln!("tautline: {workers} workers wanted, the system allows {got}");
        }
        Ok(Runtime { threads })
    }
}

/// More would be a mistake.
const MOST: usize = 4096;

fn from_environment() -> Result<Option<usize>> {
    let Ok(value) = std::env::var("TAUTLINE_WORKERS") else {
        return Ok(None);
    };
    match value.parse() {
        Ok(workers) => Ok(Some(workers)),
        Err(_) => Err(Error::Setting {
            setting: "TAUTLINE_WORKERS",
            value,
            allowed: Cow::from(format!("1 to {MOST}")),
        }),
    }
}

fn allowed(setting: &'static str, value: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::Setting {
        setting,
        value: value.to_string(),
        allowed: Cow::from(format!("1 to {most}")),
    })
}
