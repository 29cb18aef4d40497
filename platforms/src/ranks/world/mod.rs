//! The ranks of a program: what a computation over several memories runs on. Feature `serde`.
//!
//! Every rank runs the same program, and makes the same calls over the world in the same order. Ranks are processes of one machine
//! ([`World::join`], feature `process`) or of several (feature `mpi`), or threads of one process ([`loopback`]); each has its own workers, and only encoded values pass
//! between them.
//!
//! [`Balancer::across`](crate::balance::Balancer::across) balances work over the ranks. Operations combine values of all ranks:
//!
//! | result | values combined | all values | rank 0's values |
//! |---|---|---|---|
//! | at all ranks | [`all_reduce`](World::all_reduce) | [`all_gather`](World::all_gather) | [`broadcast`](World::broadcast) |
//! | at rank 0 | [`reduce`](World::reduce) | [`gather`](World::gather) | |
//! | another one at each rank | [`scan`](World::scan) | [`all_to_all`](World::all_to_all) | [`scatter`](World::scatter) |
//!
//! [`barrier`](World::barrier) has no value. None of them determines that no message is under way, as the core's
//! [`Quiesce`](tautline_core::collective::Quiesce) does: what a program sends of its own, over a [communicator](crate::comm), it counts
//! itself, and each other call ends when its messages have been processed.
#![forbid(unsafe_code)]

mod agree;
mod clocks;
mod collective;
pub(crate) mod home;
mod inside;
#[cfg(feature = "process")]
mod join;
mod lent;
mod mailbox;
mod owned;
mod progress;
#[cfg(feature = "mpi")]
mod share;
mod waiting;

pub(crate) use inside::inside;
use inside::is_inside;
pub(crate) use lent::Lent;
use owned::RankOwned;
pub use progress::Progress;
use progress::carry;
pub use tautline_core::Rank;
pub use tautline_core::balance::{Left, RankError};
pub use tautline_core::port::{Bell, Link, Lost};
pub use tautline_core::wire::{Bulk, Cause, Limits, Portable};

use crate::observe::watch::{Printer, add_awaiting};
use crate::ranks::comm::Endpoint;
use crate::setting::{DUMP, environment};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};
use std::{fmt, io};
use tautline_core::comm::PacketLink;
use tautline_core::port::Alone;
pub(crate) use tautline_core::progress::Pending;
use tautline_core::progress::{Driver, Pace, Progress as Turns};
use tautline_core::service::{Calls, Operations};
use tautline_core::wire::Exchange;
use tautline_node::process::Owned;
use tautline_node::{Loopback, SpinThenYield, pool};
use waiting::Patience;
pub use waiting::Waiting;

/// For how long a thread polls by itself over a link with packets, MPI's, whose bell cannot wake: the progress thread would poll as long.
const POLLING_PACKETS: Duration = Duration::from_micros(320);

/// Bytes of a message of a communicator beside its body, at most.
const FRAME: usize = 64;

/// The ranks of a program, seen from one of them.
///
/// Workers send and receive while they compute, a progress thread while none does. That one sleeps unless there is something to
/// do, but polls about 20 times a second, over MPI about 250 times.
///
/// Dropped, it ends receives, and waits until messages have left, those that wait for a receive
/// have arrived, and collective operations have ended, whether or not their requests were kept; or
/// until the ranks that they need have ended, for 10 seconds without progress at most. Operations
/// over a communicator that are started from then on end with an error.
///
/// A child of `fork` is no rank: calls over the world of its parent panic there, and a drop has no effect.
///
/// ```
/// use tautline::world;
///
/// let sums = world::loopback(3, |world| world.all_reduce(world.rank().0, |a, b| a + b));
/// assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == 3)));
/// ```
pub struct World {
    shared: Arc<Shared>,
    /// For idle workers, and for reports.
    lent: Lent,
    /// `None` at the only rank, for which nothing arrives.
    thread: Option<Owned<JoinHandle<()>>>,
    /// Prints for which ranks this one waits.
    _printer: Option<Owned<Printer>>,
}

/// A link whose type is forgotten, so that a program is compiled once for all of them.
type AnyLink = Box<dyn Link + Send>;

/// What a world shares with its thread.
pub(crate) struct Shared {
    pub(crate) exchange: RankOwned<Exchange<AnyLink>>,
    pub(crate) operations: Arc<Operations>,
    /// The operations of the world itself.
    calls: Calls,
    /// The way of packets of communicators, if the link has one beside its parcels.
    pub(crate) packets: Option<Arc<dyn PacketLink>>,
    /// Which threads communicate.
    pub(crate) progress: Arc<Turns>,
    /// The most bytes of a message.
    pub(crate) body: usize,
    /// Whether a thread communicates while no other does.
    is_driven: bool,
    /// Shared, so that none is locked while a communication worker completes what a task waits for.
    endpoints: RankOwned<RwLock<Arc<[Arc<Endpoint>]>>>,
    /// The progress thread.
    carrier: OnceLock<Thread>,
    /// Of the clock.
    origin: Instant,
    /// Full if it does without ranks that are lost.
    tolerates_losses: OnceLock<()>,
    patience: RankOwned<Patience>,
}

impl Shared {
    fn new(
        limits: Limits,
        link: AnyLink,
        packets: Option<Arc<dyn PacketLink>>,
        is_driven: bool,
    ) -> Arc<Self> {
        let mut pace = Pace::default();
        if packets.is_some() {
            pace.polling = POLLING_PACKETS.as_nanos() as u64;
        }
        let progress = Arc::new(Turns::new(link.bell(), pace));
        let exchange = Exchange::within(limits, link, SpinThenYield::default());
        let operations = Operations::open(&exchange, SpinThenYield::default());
        Arc::new(Self {
            packets,
            progress,
            calls: operations.all(),
            operations,
            body: limits.body.saturating_sub(FRAME),
            is_driven,
            endpoints: RankOwned::new(RwLock::new(Arc::default())),
            carrier: OnceLock::new(),
            origin: Instant::now(),
            exchange: RankOwned::new(exchange),
            tolerates_losses: OnceLock::new(),
            patience: RankOwned::new(Patience::default()),
        })
    }

    /// Panics in the child of `fork`, where what it awaits does not happen.
    pub(crate) fn assert_rank(&self) {
        _ = self.exchange.here();
    }

    /// Enters the communication worker of a communicator.
    pub(crate) fn add_endpoint(&self, endpoint: Arc<Endpoint>) {
        let endpoints = self.endpoints.write();
        // It is consistent between any two statements that change it.
        let mut endpoints = endpoints.unwrap_or_else(PoisonError::into_inner);
        let all = endpoints.iter().cloned().chain([endpoint]);
        *endpoints = all.collect();
    }

    fn endpoints(&self) -> Arc<[Arc<Endpoint>]> {
        let endpoints = self.endpoints.read();
        endpoints.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets the communication worker of `endpoint` start what was submitted.
    pub(crate) fn start(&self, endpoint: &Endpoint) {
        if self.progress.delegate() {
            return;
        }
        inside(|| {
            if endpoint.step() {
                // If the channels have ended, the next step ends what was submitted.
                if self.packets.is_none() && self.exchange.turn().is_err() {
                    endpoint.step();
                }
            }
        });
        self.drive_alone();
    }

    /// Does all that there is to do, if no thread will: at the only rank.
    pub(crate) fn drive_alone(&self) {
        if !self.is_driven {
            while self.progress.turn(self) {}
            if is_inside() {
                return;
            }
            inside(|| self.end_given_up());
            if self.progress.ends() {
                self.end();
            }
        }
    }
}

impl Shared {
    /// Whether a message or another rank may end an operation of this one.
    fn is_awaiting(&self) -> bool {
        let endpoints = self.endpoints();
        self.progress.is_pending() || endpoints.iter().any(|endpoint| endpoint.is_awaiting())
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.rank(), self.ranks())
    }
}

/// Runs `program` as each of `ranks` ranks, on as many threads of this process, and returns the results by rank. The threads
/// are named `rank 0`, `rank 1` and so on, which the message of a panic shows. A panic discards all results: a
/// program that wants the errors of the other ranks prints them in `program`.
///
/// ```
/// use tautline::prelude::*;
/// use tautline::world;
///
/// let runs = world::loopback(2, |world| {
///     let rt = Runtime::builder().workers(1).pinned(false).build()?;
///     let balancer = rt.balancer();
///     // The ways to climb 20 stairs by ones and twos.
///     balancer.across(world).sum([20u32], |stairs, todo| {
///         todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
///         u64::from(stairs == 0)
///     })
/// });
/// for run in runs {
///     assert_eq!(run?.output, 10_946);
/// }
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Panics
/// With the panic of a rank, after all have ended; if `ranks` is 0, or if the system refuses a thread.
pub fn loopback<T: Send>(ranks: u32, program: impl Fn(&World) -> T + Sync) -> Vec<T> {
    over(Loopback::new(ranks), program)
}

/// As [`loopback`], over other links: one for each rank.
///
/// ```
/// use tautline::world;
/// use tautline_node::Loopback;
///
/// let ranks = world::over(Loopback::new(2), |world| world.rank().0);
/// assert_eq!(ranks, [0, 1]);
/// ```
///
/// # Panics
/// With the panic of a rank, after all have ended; or if the system refuses a thread.
pub fn over<T: Send, L: Link + Send + 'static>(
    links: impl IntoIterator<Item = L>,
    program: impl Fn(&World) -> T + Sync,
) -> Vec<T> {
    within(Limits::default(), links, program)
}

/// As [`over`], with other bounds of the memory for messages.
///
/// ```
/// use tautline::Error;
/// use tautline::world::{self, Cause, Limits, RankError};
/// use tautline_node::Loopback;
///
/// let limits = Limits { body: 1000, ..Limits::default() }; // bytes of a message
/// let runs = world::within(limits, Loopback::new(2), |world| world.gather(vec![7u8; 2000]));
/// let Err(Error::Ranks(RankError::Wire(error))) = &runs[1] else { panic!("not encoded") };
/// assert!(matches!(error.cause, Cause::Unencodable(_)), "{error}");
/// ```
///
/// # Panics
/// As [`over`].
pub fn within<T: Send, L: Link + Send + 'static>(
    limits: Limits,
    links: impl IntoIterator<Item = L>,
    program: impl Fn(&World) -> T + Sync,
) -> Vec<T> {
    let program = &program;
    thread::scope(|scope| {
        let start = |link: L| {
            let named = thread::Builder::new().name(link.here().to_string());
            let started = named.spawn_scoped(scope, move || program(&World::within(limits, link)));
            started.expect("a thread for the rank")
        };
        let ranks: Vec<_> = links.into_iter().map(start).collect();
        let ended: Vec<_> = ranks
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        let unwound = |panic| std::panic::resume_unwind(panic);
        ended
            .into_iter()
            .map(|rank| rank.unwrap_or_else(unwound))
            .collect()
    })
}

impl World {
    /// Returns the world of a program that runs as a single process. It starts no thread and waits for nothing.
    ///
    /// ```
    /// use tautline::world::World;
    ///
    /// assert_eq!((World::alone().rank().0, World::alone().ranks()), (0, 1));
    /// ```
    pub fn alone() -> Self {
        Self {
            shared: Shared::new(Limits::default(), Box::new(Alone), None, false),
            lent: Lent::default(),
            thread: None,
            _printer: None,
        }
    }

    /// Joins the ranks that `link` connects.
    ///
    /// # Panics
    /// If the system refuses a thread.
    pub fn of(link: impl Link + Send + 'static) -> Self {
        Self::within(Limits::default(), link)
    }

    /// As [`of`](Self::of), with other bounds of the memory for messages, which should be the same at all ranks.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    pub fn within(limits: Limits, link: impl Link + Send + 'static) -> Self {
        Self::start(limits, Box::new(link), None).expect("a thread for the link")
    }

    fn start(
        limits: Limits,
        link: AnyLink,
        packets: Option<Arc<dyn PacketLink>>,
    ) -> io::Result<Self> {
        let shared = Shared::new(limits, link, packets, true);
        let lent = Lent::new(&shared);
        add_awaiting(lent.awaiting());
        let (carried, described) = (Arc::clone(&shared), Arc::clone(&shared));
        let here = shared.exchange.here();
        // With the stack of a worker: values may nest deep, and this thread decodes those of communicators.
        let threads = pool::Thread {
            name: "tautline-link".to_owned(),
            ..pool::Thread::default()
        };
        let ended = lent.clone();
        let thread = threads.spawn(here.0, move || carry(&carried, &ended))?;
        _ = shared.carrier.set(thread.thread().clone());
        // Builders of runtimes report what is wrong with the variable.
        let is_dumped = environment::flag(&DUMP).unwrap_or(false);
        let describe = move || match described.patience.waiting() {
            Some(waiting) => format!("tautline: {waiting}\n"),
            None => format!("tautline: {here}: waits for no rank to make its call\n"),
        };
        let printer = is_dumped.then(|| Printer::start(describe).ok());
        Ok(Self {
            shared,
            lent,
            thread: Some(Owned::new(thread)),
            _printer: printer.flatten().map(Owned::new),
        })
    }

    /// Limits how long this rank waits until the others make the call that it has made. After the limit the computation ends with an
    /// error that names the ranks that have not, and all channels between the ranks with it. Without a limit, the default, it
    /// waits forever for a rank that does something else and does not end.
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
        self.shared.patience.limit(limit);
    }

    /// Does without ranks that are lost, from now on: a balanced computation that loses one, other than rank 0, ends early for
    /// [`Reason::Lost`](crate::balance::Reason::Lost), and its output is what the ranks that are left had found, at all of them. Without this call, the default,
    /// it ends with an error. All ranks call it, before the computations.
    ///
    /// An error it is still if results were on their way to rank 0 when the rank was lost, if a rank panics, and for all other operations over
    /// the ranks. Later computations end at once, as partial ones. A launcher gives the ranks that are left 1.5 s to end.
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
        _ = self.shared.tolerates_losses.set(());
        self.exchange().tolerate_losses();
    }

    /// Whether [`tolerate_losses`](Self::tolerate_losses) was called.
    pub fn tolerates_losses(&self) -> bool {
        self.shared.tolerates_losses.get().is_some()
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
        self.shared.patience.waiting()
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

    /// Returns what may use this world until it is dropped.
    pub(crate) fn lent(&self) -> &Lent {
        &self.lent
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn exchange(&self) -> &Exchange<AnyLink> {
        &self.shared.exchange
    }
}

impl Drop for World {
    /// Leaves: the other ranks do not take this one for lost. During a panic, their calls end with
    /// an error. It waits, except then, and if code that the world runs calls it, such as a waker.
    fn drop(&mut self) {
        if !self.shared.exchange.is_here() {
            return;
        }
        let shared = &*self.shared;
        shared.progress.end(thread::panicking(), shared);
        match self.thread.take().and_then(Owned::into_inner) {
            Some(thread) => {
                // In a turn, the calling thread may be that one, or have what that one waits for.
                if !is_inside() {
                    // It contains the program's panics; a panic here could abort the process.
                    let _ = thread.join();
                }
            }
            None if is_inside() => (),
            None => progress::end(&self.shared, &self.lent),
        }
    }
}
