//! The ways into a world: by a launcher, by links of one's own, as threads of one process.
#![forbid(unsafe_code)]

use super::World;
use crate::observe::watch::{Printer, add_awaiting};
use crate::ranks::engine::progress::carry;
use crate::ranks::engine::{AnyLink, Handle, ProgressEngine};
use crate::setting::{DUMP, environment};
use crate::{Error, Result};
use std::sync::Arc;
use std::thread;
use tautline_core::comm::PacketLink;
use tautline_core::port::Link;
use tautline_core::wire::Limits;
use tautline_node::process::Owned;
use tautline_node::{Loopback, pool};

/// The settings of a [`World`] that is to be joined, created by [`World::builder`].
///
/// ```
/// use tautline::Error;
/// use tautline::world::{Limits, RankErrorKind, World};
/// use tautline_node::Loopback;
///
/// let limits = Limits { body: 1000, ..Limits::default() }; // bytes of a message
/// let builder = World::builder().limits(limits);
/// let runs = builder.links(Loopback::new(2), |world| world.gather(vec![7u8; 2000]));
/// let Err(Error::Rank(error)) = &runs[1] else { panic!("it was encoded") };
/// assert_eq!(error.kind(), RankErrorKind::Encoding, "{error}");
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it joins nothing by itself"]
pub struct WorldBuilder {
    limits: Limits,
    /// Those to compare in place of the process's.
    #[cfg(feature = "process")]
    pub(super) arguments: Option<Vec<std::ffi::OsString>>,
}

impl World {
    /// Returns a builder with the default settings.
    pub fn builder() -> WorldBuilder {
        WorldBuilder::default()
    }
}

impl WorldBuilder {
    /// Bounds the memory for messages, which should be done alike at all ranks.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Joins the ranks that `link` connects, as one of them.
    ///
    /// ```
    /// use tautline::world::World;
    /// use tautline_node::Loopback;
    ///
    /// let [link] = Loopback::new(1).try_into().expect("one link");
    /// let world = World::builder().link(link)?;
    /// assert_eq!(world.ranks(), 1);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub fn link(&self, link: impl Link + Send + 'static) -> Result<World> {
        self.start(Box::new(link), None)
    }

    /// Runs `program` as each rank, over these links, as [`loopback`] does.
    ///
    /// ```
    /// use tautline::world::World;
    /// use tautline_node::Loopback;
    ///
    /// let ranks = World::builder().links(Loopback::new(2), |world| world.rank().0);
    /// assert_eq!(ranks, [0, 1]);
    /// ```
    ///
    /// # Panics
    /// With the panic of a rank, after all have ended; or if the system refuses a thread.
    pub fn links<T: Send, L: Link + Send + 'static>(
        &self,
        links: impl IntoIterator<Item = L>,
        program: impl Fn(&World) -> T + Sync,
    ) -> Vec<T> {
        let program = &program;
        let run = |link| {
            let world = self.link(link).expect("a thread for the link");
            // The ranks have the clock of this process.
            _ = world.engine.behind.set((0, 0));
            program(&world)
        };
        let run = &run;
        thread::scope(|scope| {
            let start = |link: L| {
                let named = thread::Builder::new().name(link.here().to_string());
                let started = named.spawn_scoped(scope, move || run(link));
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

    pub(super) fn start(
        &self,
        link: AnyLink,
        packets: Option<Arc<dyn PacketLink>>,
    ) -> Result<World> {
        let engine = ProgressEngine::new(self.limits, link, packets, true);
        let handle = Handle::new(&engine);
        add_awaiting(handle.awaiting());
        let (carried, described) = (Arc::clone(&engine), Arc::clone(&engine));
        let here = engine.exchange.here();
        // With the stack of a worker: values may nest deep, and this thread decodes those of
        // communicators.
        let threads = pool::Thread {
            name: "tautline-link".to_owned(),
            ..pool::Thread::default()
        };
        let ended = handle.clone();
        let thread = threads.spawn(here.0, move || carry(&carried, &ended));
        let refused = |source| Error::Threads { threads: 1, source };
        let thread = thread.map_err(refused)?;
        _ = engine.carrier.set(thread.thread().clone());
        // Builders of runtimes report what is wrong with the variable.
        let is_dumped = environment::flag(&DUMP).unwrap_or(false);
        let describe = move || {
            let waiting = described.patience.waiting();
            let open = described.patience.open_calls(&described);
            // Of an operation, it is one of the open calls.
            let waiting = waiting.filter(|waiting| !waiting.is_of_operation());
            let waiting = waiting.map(|waiting| format!("tautline: {waiting}\n"));
            let open = open.into_iter().map(|open| format!("tautline: {open}\n"));
            let accesses = described.open_accesses().into_iter();
            let accesses = accesses.map(|open| format!("tautline: {open}\n"));
            match Vec::from_iter(waiting.into_iter().chain(open).chain(accesses)) {
                lines if !lines.is_empty() => lines.concat(),
                _ => format!("tautline: {here}: waits for no rank to make its call\n"),
            }
        };
        let printer = is_dumped.then(|| Printer::start(describe).ok());
        Ok(World {
            engine,
            handle,
            thread: Some(Owned::new(thread)),
            _printer: printer.flatten().map(Owned::new),
        })
    }
}

/// Runs `program` as each of `ranks` ranks, on as many threads of this process, and returns the
/// results by rank. The threads are named `rank 0`, `rank 1` and so on, which the message of a
/// panic shows. A panic discards all results: a program that wants the errors of the other ranks
/// prints them in `program`.
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
/// With the panic of a rank, after all have ended; if `ranks` is 0, or if the system refuses a
/// thread.
pub fn loopback<T: Send>(ranks: u32, program: impl Fn(&World) -> T + Sync) -> Vec<T> {
    World::builder().links(Loopback::new(ranks), program)
}
