//! The ranks of a program: what a computation over several memories runs on. Feature `serde`.
//!
//! Every rank runs the same program, and makes the same calls over the world in the same order.
//! Ranks are processes of one machine ([`World::join`], feature `process`) or of several (feature
//! `mpi`), or threads of one process ([`loopback`]); each has its own workers, and only encoded
//! values pass between them.
//!
//! [`Balancer::across`](crate::balance::Balancer::across) balances work over the ranks. Operations
//! combine values of all ranks:
//!
//! | result | values combined | all values | rank 0's values |
//! |---|---|---|---|
//! | at all ranks | [`all_reduce`](World::all_reduce) | [`all_gather`](World::all_gather) | [`broadcast`](World::broadcast) |
//! | at rank 0 | [`reduce`](World::reduce) | [`gather`](World::gather) | |
//! | another one at each rank | [`scan`](World::scan) | [`all_to_all`](World::all_to_all) | [`scatter`](World::scatter) |
//!
//! [`barrier`](World::barrier) has no value. None of them detects quiescence, as the
//! core's [`Quiesce`](tautline_core::collective::Quiesce) does: a program counts the messages that
//! it sends over a [communicator](crate::comm) itself, and each other call ends when its messages
//! have been processed.
#![forbid(unsafe_code)]

mod agree;
mod builder;
mod clocks;
mod collective;
mod idle;
#[cfg(feature = "process")]
mod join;

pub use crate::ranks::engine::progress::ProgressMode;
pub use crate::ranks::engine::{OpenAccess, OpenCall, Waiting};
pub use crate::ranks::error::{RankError, RankErrorKind};
pub use crate::ranks::statistics::Statistics;
pub use builder::{WorldBuilder, loopback};
pub use tautline_core::Rank;
pub use tautline_core::port::{Bell, Link, Lost};
pub use tautline_core::wire::{Bulk, Limits, Portable};

use crate::observe::watch::Printer;
use crate::ranks::engine::{AnyLink, Handle, ProgressEngine, is_inside, progress};
use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tautline_core::port::Alone;
use tautline_core::wire::Exchange;
use tautline_node::process::Owned;

/// The ranks of a program, seen from one of them.
///
/// Workers send and receive while they compute, a progress thread while none does. That one sleeps
/// unless there is something to do, but polls about 20 times a second, over MPI about 250 times.
///
/// Dropped, it ends receives, and waits until messages have left, those that wait for a receive
/// have arrived, and collective operations have ended, whether or not their requests were kept; or
/// until the ranks that they need have ended, for 10 seconds without progress at most. Operations
/// over a communicator that are started from then on end with an error.
///
/// A child of `fork` is no rank: calls over the world of its parent panic there, and a drop has no
/// effect.
///
/// ```
/// use tautline::world;
///
/// let sums = world::loopback(3, |world| world.all_reduce(world.rank().0, |a, b| a + b));
/// assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == 3)));
/// ```
pub struct World {
    engine: Arc<ProgressEngine>,
    /// For idle workers, and for reports.
    handle: Handle,
    /// `None` at the only rank, for which nothing arrives.
    thread: Option<Owned<JoinHandle<()>>>,
    /// Prints for which ranks this one waits.
    _printer: Option<Owned<Printer>>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.rank(), self.ranks())
    }
}

impl World {
    /// Returns the world of a program that runs as a single process. It starts no thread and waits
    /// for nothing.
    ///
    /// ```
    /// use tautline::world::World;
    ///
    /// assert_eq!((World::alone().rank().0, World::alone().ranks()), (0, 1));
    /// ```
    pub fn alone() -> Self {
        Self {
            engine: ProgressEngine::new(Limits::default(), Box::new(Alone), None, false),
            handle: Handle::default(),
            thread: None,
            _printer: None,
        }
    }

    /// Selects which threads of this rank communicate, from now on. Balanced computations of this
    /// rank are not affected: their workers communicate while they compute.
    ///
    /// ```
    /// use tautline::comm::Tag;
    /// use tautline::world::{self, ProgressMode, Rank};
    ///
    /// let received = world::loopback(2, |world| {
    ///     world.progress(ProgressMode::Dedicated);
    ///     let (comm, other) = (world.comm(), Rank(1 - world.rank().0));
    ///     comm.send(&world.rank().0, other, Tag(1))?;
    ///     comm.recv::<u32>(other, Tag(1)).map(|received| received.value)
    /// });
    /// assert_eq!(received.into_iter().collect::<Result<Vec<_>, _>>()?, [1, 0]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn progress(&self, mode: ProgressMode) {
        let is_dedicated = mode == ProgressMode::Dedicated && self.thread.is_some();
        self.engine.assert_rank();
        self.engine.progress.dedicate(is_dedicated, &*self.engine);
    }

    /// Limits how long this rank waits until the others make the call that it has made. After the
    /// limit the computation ends with an error that names the ranks that have not and, of a
    /// collective call, its place in the program, and all channels between the ranks with it.
    /// Without a limit, the default, it waits forever for a rank that does something else and does
    /// not end.
    ///
    /// ```
    /// use std::sync::Barrier;
    /// use std::time::Duration;
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// let ended = Barrier::new(2);
    /// let errors = world::loopback(2, |world| {
    ///     world.wait_at_most(Duration::from_millis(100));
    ///     let sum = || Runtime::builder().workers(1).pinned(false).build()?.balancer().across(world).sum(0..100u64, |n, _| n);
    ///     let error = world.is_home().then(|| sum().map(|run| run.output).unwrap_err().to_string());
    ///     // Rank 1 neither makes the call nor ends before rank 0 has given up.
    ///     ended.wait();
    ///     error
    /// });
    /// let error = errors[0].as_ref().expect("that of rank 0");
    /// assert!(error.ends_with("rank 1 has not opened it within 100.0ms"), "{error}");
    /// ```
    pub fn wait_at_most(&self, limit: Duration) {
        self.engine.patience.limit(limit);
    }

    /// Tolerates the loss of ranks, from now on. Without this call, the default, a loss ends all
    /// operations over ranks with an error. All ranks call it, before all of these.
    ///
    /// A balanced computation that loses a rank other than rank 0 ends early for
    /// [`Reason::Lost`](crate::balance::Reason::Lost), and its output is what the ranks that are
    /// left had found, at all of them. It is still an error if results were in flight to rank 0
    /// when the rank was lost. Later computations end at once, as partial ones.
    ///
    /// The calls, finishes and phases of a [team](crate::team::Team) with the lost rank end with an
    /// error that names it, at all ranks that are left, as do all later ones of that team: a finish
    /// once the activities that had begun there have ended. Teams without it continue. So a program
    /// makes the teams with which it continues before: by [`split`](crate::team::Team::split).
    ///
    /// Messages that the lost rank has sent may be dropped. What a loss cancels must not await a
    /// call of a team without that rank: given up, it ends everything, as a panic does elsewhere
    /// than in what the loss ends. Over MPI no loss is tolerated: the library ends all ranks. A
    /// launcher gives the ranks that are left 1.5 s to end.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// let runs = world::loopback(2, |world| {
    ///     world.tolerate_losses();
    ///     let rt = Runtime::builder().workers(1).pinned(false).build()?;
    ///     let balancer = rt.balancer();
    ///     balancer.across(world).sum(0..100u64, |n, _| n).map(|run| (run.output, run.complete))
    /// });
    /// for run in runs {
    ///     assert_eq!(run?, (4950, true)); // no rank was lost
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn tolerate_losses(&self) {
        _ = self.engine.tolerates_losses.set(());
        self.exchange().tolerate_losses();
    }

    /// Whether [`tolerate_losses`](Self::tolerate_losses) was called.
    pub fn tolerates_losses(&self) -> bool {
        self.engine.tolerates_losses.get().is_some()
    }

    /// Returns for which ranks this one waits to make the call that it has made, if it does.
    /// With the variable [`TAUTLINE_DUMP`](crate::watch) it is printed upon `SIGUSR1`.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let waits = world::loopback(2, |world| {
    ///     let waits = world.waiting().is_some(); // no call has been made
    ///     world.barrier().map(|()| waits)
    /// });
    /// assert!(waits.into_iter().all(|waits| waits.is_ok_and(|waits| !waits)));
    /// ```
    pub fn waiting(&self) -> Option<Waiting> {
        self.engine.patience.waiting()
    }

    /// Returns the calls over ranks that have not ended at this one, each with its place in the
    /// program, and the ranks and activities that it waits for: calls and finishes of teams, phases
    /// of their phasers, and collective calls of communicators. For reports: it takes the locks of
    /// these calls. Printed upon `SIGUSR1` as [`waiting`](Self::waiting), and by
    /// [`Stalled`](crate::watch::Stalled).
    ///
    /// ```
    /// use std::sync::Barrier;
    /// use std::time::Duration;
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// let is_seen = Barrier::new(2);
    /// let lines = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut team = world.team();
    ///     rt.run(|cx| {
    ///         if !world.is_home() {
    ///             is_seen.wait();
    ///         }
    ///         let barrier = team.barrier();
    ///         let line = world.is_home().then(|| loop {
    ///             match &world.open_calls()[..] {
    ///                 // Rank 1 was asked, and has not made the call.
    ///                 [open] if !open.absent().is_empty() => break open.to_string(),
    ///                 _ => std::thread::sleep(Duration::from_millis(1)),
    ///             }
    ///         });
    ///         if world.is_home() {
    ///             is_seen.wait();
    ///         }
    ///         barrier.wait(cx).map(|()| line)
    ///     })
    /// });
    /// let lines: Vec<_> = lines.into_iter().collect::<Result<_, tautline::Error>>()?;
    /// let line = lines[0].as_ref().expect("that of rank 0");
    /// // rank 0: operation 0 of group 1 (barrier) at src/main.rs:14:28, of rank 0, rank 1,
    /// // open for 104.2ms: rank 1 has not begun it
    /// assert!(line.starts_with("rank 0: operation 0 of group 1 (barrier) at "), "{line}");
    /// assert!(line.ends_with(": rank 1 has not begun it"), "{line}");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn open_calls(&self) -> Vec<OpenCall> {
        self.engine.patience.open_calls(&self.engine)
    }

    /// Returns the accesses of this rank to [shared objects](crate::globals) that wait for other
    /// ranks, a line for each object. Printed upon `SIGUSR1` as [`waiting`](Self::waiting). An
    /// object that a thread is changing at that moment is left out.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let lines = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut globals = world.globals();
    ///     let mut create = || globals.create(Rank(0), || 7u32);
    ///     rt.run(|cx| {
    ///         let mut team = world.team();
    ///         // Rank 0 creates it later than rank 1 reads it.
    ///         let value = (!world.is_home()).then(|| create().read_async());
    ///         let lines = world.open_accesses();
    ///         team.barrier().wait(cx)?;
    ///         match value {
    ///             Some(value) => assert_eq!(*cx.block_on(value)?, 7),
    ///             None => drop(create()),
    ///         }
    ///         team.barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(lines.first().map(ToString::to_string))
    ///     })
    /// });
    /// let lines: Vec<_> = lines.into_iter().collect::<Result<_, _>>()?;
    /// // rank 1: 1 access to object 0 of rank 0 (u32, created at src/main.rs:8:69) waits for rank 0
    /// let line = lines[1].as_ref().expect("that of rank 1");
    /// assert!(line.starts_with("rank 1: 1 access to object 0 of rank 0 (u32"), "{line}");
    /// assert!(line.ends_with(" waits for rank 0"), "{line}");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn open_accesses(&self) -> Vec<OpenAccess> {
        self.engine.open_accesses()
    }

    /// Returns the counts of what this rank has sent so far: in the calls and finishes of teams and
    /// in collective calls. Messages between two ranks of a communicator, and those of balanced
    /// computations, are counted in parcels only. The activities, reports and waits of a finish are
    /// added when it has ended.
    ///
    /// ```
    /// use std::ops::Add;
    /// use tautline::world;
    ///
    /// let sums = world::loopback(2, |world| {
    ///     world.barrier()?;
    ///     // Of both ranks, which have made one call each before this one.
    ///     world.reduce(world.statistics(), Add::add)
    /// });
    /// let sums = sums.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let all = sums[0].expect("that of rank 0");
    /// assert_eq!(all.calls, 2);
    /// assert!(all.messages >= 2 && all.parcels >= 2, "{all:?}");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        self.engine.statistics()
    }

    /// Returns the rank of the caller.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// assert_eq!(world::loopback(3, |world| world.rank().0), [0, 1, 2]);
    /// ```
    pub fn rank(&self) -> Rank {
        self.exchange().here()
    }

    /// Returns the number of ranks.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// assert_eq!(world::loopback(2, |world| world.ranks()), [2, 2]);
    /// ```
    pub fn ranks(&self) -> u32 {
        self.exchange().ranks()
    }

    /// Whether the caller is rank 0, which starts with the work and reports the result.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// assert_eq!(world::loopback(2, |world| world.is_home()), [true, false]);
    /// ```
    pub fn is_home(&self) -> bool {
        self.rank() == Rank(0)
    }

    /// Returns the engine for uses that end when this world is dropped.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn engine(&self) -> &Arc<ProgressEngine> {
        &self.engine
    }

    pub(crate) fn exchange(&self) -> &Exchange<AnyLink> {
        &self.engine.exchange
    }
}

impl Drop for World {
    /// Leaves: the other ranks do not take this one for lost. During a panic, their calls end with
    /// an error. It waits, except then, and if code that the world runs calls it, such as a waker.
    fn drop(&mut self) {
        if !self.engine.exchange.is_here() {
            return;
        }
        let engine = &*self.engine;
        engine.progress.end(thread::panicking(), engine);
        match self.thread.take().and_then(Owned::into_inner) {
            Some(thread) => {
                // In a turn, the calling thread may be that one, or have what that one waits for.
                if !is_inside() {
                    // It contains the program's panics; a panic here could abort the process.
                    let _ = thread.join();
                }
            }
            None if is_inside() => (),
            None => progress::end(&self.engine, &self.handle),
        }
    }
}
