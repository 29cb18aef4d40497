//! What a task of a finish reaches the other ranks by.

use super::handler::{Entry, Failed, Handler, Handlers};
use super::record::{Arrival, Kind, next_framed, push_framed};
use super::reply::Reply;
use super::site::{Outgoing, Site, Within, refused};
use crate::execution::runtime::Cx;
use crate::ranks::collective::calls::assert_rank;
use crate::ranks::team::Team;
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::finish::FinishId;
use tautline_core::wire::{Fault, Portable, pack_within};

/// Bytes of a batch for a rank that are sent together.
const BATCH: usize = 1 << 12;

/// A finish of a team at one rank.
#[derive(Clone, Copy)]
pub(super) struct Region<'s> {
    pub(super) team: &'s Team,
    pub(super) handlers: &'s (dyn Handlers + 's),
}

impl Region<'_> {
    /// Returns what the ranks share; only called where there are several.
    pub(super) fn site(&self) -> &Arc<Site> {
        self.team.site.as_ref().expect("there is another rank")
    }

    /// Checks that an arrival has a handler.
    pub(super) fn check(&self, arrival: &Arrival) -> Result<(), Fault> {
        let entry = self.handlers.entry(arrival.handler as usize);
        let is_known = entry.is_some();
        is_known
            .then_some(())
            .ok_or_else(|| refused("the finish has no such handler"))
    }

    /// Whether a handler that an arrival has is short.
    pub(super) fn is_short(&self, handler: u32) -> bool {
        let entry = self.handlers.entry(handler as usize);
        entry.is_some_and(Entry::is_short)
    }
}

/// A [finish](super::Team::finish) of a team, as a task of it sees it: starts code at other ranks.
///
/// What it starts joins the innermost `finish` or `scope` of the context that is passed, as a task
/// that is spawned there does, wherever it runs.
///
/// It does not leave its finish:
/// ```compile_fail,E0521
/// # use tautline::prelude::*;
/// # use tautline::team::{At, Team, handler};
/// # fn f(cx: &mut Cx<'_, '_>, team: &mut Team) {
/// let nothing = handler(|_, _, (): ()| ());
/// let mut kept = None;
/// _ = team.finish(cx, &nothing, |_, at| kept = Some(at));
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct At<'s> {
    region: Region<'s>,
    from: Rank,
    /// `None` in the body.
    within: Option<Within>,
    /// The position of the handler that runs.
    handler: Option<u32>,
    in_short: bool,
}

impl fmt::Debug for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a finish at {} of {}", self.rank(), self.ranks())
    }
}

impl<'s> At<'s> {
    /// Returns that of the body.
    pub(super) fn of_body(region: Region<'s>) -> Self {
        Self {
            region,
            from: region.team.rank(),
            within: None,
            handler: None,
            in_short: false,
        }
    }

    /// Returns that of an activity that has arrived.
    pub(super) fn of_arrival(region: Region<'s>, from: Rank, within: Within, handler: u32) -> Self {
        Self {
            region,
            from,
            within: Some(within),
            handler: Some(handler),
            in_short: false,
        }
    }

    /// Returns the rank of the caller in the team.
    pub fn rank(self) -> Rank {
        self.region.team.rank()
    }

    /// Returns the number of ranks in the team.
    pub fn ranks(self) -> u32 {
        self.region.team.ranks()
    }

    /// Returns all ranks of the team.
    pub fn all(self) -> impl ExactSizeIterator<Item = Rank> + use<> {
        (0..self.ranks()).map(Rank)
    }

    /// Returns the rank that has spawned this activity; that of the caller in the body.
    pub fn from(self) -> Rank {
        self.from
    }

    /// Starts `handler` with `args` at rank `to` of the team. At the own rank it is a task with
    /// these arguments: nothing is encoded.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use tautline::prelude::*;
    /// use tautline::team::handler;
    /// use tautline::world;
    ///
    /// let counts = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let count = AtomicU32::new(0);
    ///     let add = handler(|_, _, n: u32| _ = count.fetch_add(n, Relaxed));
    ///     rt.run(|cx| {
    ///         world.team().finish(cx, &add, |cx, at| {
    ///             for to in at.all() {
    ///                 at.spawn(cx, to, &add, 10 + at.rank().0);
    ///             }
    ///         })
    ///     })?;
    ///     Ok::<_, tautline::Error>(count.into_inner())
    /// });
    /// assert!(counts.into_iter().all(|count| count.is_ok_and(|count| count == 33)));
    /// ```
    ///
    /// # Panics
    /// If the team has no such rank, `handler` is none of the finish's, or the arguments cannot be
    /// encoded or are longer than the [limit](crate::world::Limits) of a message. Nothing was sent
    /// then.
    #[track_caller]
    pub fn spawn<'c, F, A, R>(
        self,
        cx: &mut Cx<'c, '_>,
        to: Rank,
        handler: &Handler<F, A, R>,
        args: A,
    ) where
        's: 'c,
        A: Portable + 'static,
    {
        let position = self.position(handler);
        self.spawn_at(cx, to, position, args);
    }

    /// Starts the handler that runs at rank `to`, as [`spawn`](Self::spawn).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use tautline::prelude::*;
    /// use tautline::team::handler;
    /// use tautline::world::{self, Rank};
    ///
    /// // A binary tree of tasks, each at another rank than its parent.
    /// let counts = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let count = AtomicU32::new(0);
    ///     let visit = handler(|cx, at, depth: u32| {
    ///         count.fetch_add(1, Relaxed);
    ///         for _ in 0..2 * u32::from(depth > 0) {
    ///             at.again(cx, Rank(1 - at.rank().0), depth - 1);
    ///         }
    ///     });
    ///     rt.run(|cx| {
    ///         world.team().finish(cx, &visit, |cx, at| {
    ///             if at.rank() == Rank(0) {
    ///                 at.spawn(cx, Rank(0), &visit, 3);
    ///             }
    ///         })
    ///     })?;
    ///     Ok::<_, tautline::Error>(count.into_inner())
    /// });
    /// assert_eq!(counts.into_iter().collect::<Result<Vec<_>, _>>()?, [1 + 4, 2 + 8]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn); in the body, and if `A` is not the type of the handler's arguments.
    #[track_caller]
    pub fn again<'c, A>(self, cx: &mut Cx<'c, '_>, to: Rank, args: A)
    where
        's: 'c,
        A: Portable + 'static,
    {
        let position = self.handler.expect("no handler runs: this is the body");
        let (takes, name) = self.entry(position).takes();
        let is_same = takes == TypeId::of::<A>();
        assert!(
            is_same,
            "the handler takes {name}, not {}",
            std::any::type_name::<A>()
        );
        self.spawn_at(cx, to, position, args);
    }

    #[track_caller]
    fn spawn_at<'c, A>(self, cx: &mut Cx<'c, '_>, to: Rank, position: u32, args: A)
    where
        's: 'c,
        A: Portable + 'static,
    {
        assert_rank(self.region.team.group(), to);
        if to == self.rank() {
            return self.spawn_here(cx, position, args);
        }
        let out = Outgoing {
            to,
            handler: position,
            kind: Kind::Spawn,
            args: self.encoded(&args),
        };
        self.region.site().spawn(cx, self.within, out, None);
    }

    fn spawn_here<'c, A>(self, cx: &mut Cx<'c, '_>, position: u32, args: A)
    where
        's: 'c,
        A: Send + 'static,
    {
        let at = self.of_handler(position);
        let mut args = Some(args);
        cx.spawn(move |cx| at.entry(position).run_here(cx, at, &mut args, &mut ()));
    }

    /// Starts `handler` at rank `to`, as [`spawn`](Self::spawn), and returns its result once that
    /// has come. The finish waits for it, too.
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn call<'c, F, A, R>(
        self,
        cx: &mut Cx<'c, '_>,
        to: Rank,
        handler: &Handler<F, A, R>,
        args: A,
    ) -> Reply<R>
    where
        's: 'c,
        A: Portable + 'static,
        R: Portable + Sync + 'static,
    {
        assert_rank(self.region.team.group(), to);
        let position = self.position(handler);
        let (reply, promise) = Reply::new(to, self.in_short);
        if to == self.rank() {
            let (at, mut args) = (self.of_handler(position), Some(args));
            cx.spawn(move |cx| {
                let mut result: Option<R> = None;
                at.entry(position).run_here(cx, at, &mut args, &mut result);
                if let Some(result) = result {
                    promise.put(Ok(result));
                }
            });
            return reply;
        }
        let out = Outgoing {
            to,
            handler: position,
            kind: Kind::Spawn,
            args: self.encoded(&args),
        };
        let answer = Some(Box::new(promise) as _);
        self.region.site().spawn(cx, self.within, out, answer);
        reply
    }

    /// Returns a batch of calls of `handler`: many of them travel in one message. They join the
    /// innermost finish or scope of `cx`, in which the batch must be dropped.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    /// use tautline::prelude::*;
    /// use tautline::team::handler;
    /// use tautline::world::{self, Rank};
    ///
    /// // A histogram whose bins are spread over the ranks.
    /// let sums = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let bins: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
    ///     let add = handler(|_, _, bin: usize| _ = bins[bin].fetch_add(1, Relaxed)).short();
    ///     rt.run(|cx| {
    ///         world.team().finish(cx, &add, |cx, at| {
    ///             let mut batch = at.batch(cx, &add);
    ///             for n in 0..1000usize {
    ///                 let bin = n * n % 16;
    ///                 batch.push(cx, Rank(bin as u32 % 2), bin / 2);
    ///             }
    ///         })
    ///     })?;
    ///     Ok::<u64, tautline::Error>(bins.into_iter().map(AtomicU64::into_inner).sum())
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?.iter().sum::<u64>(), 2000);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `handler` is none of the finish's.
    #[track_caller]
    pub fn batch<'c, F, A, R>(self, cx: &Cx<'c, '_>, handler: &Handler<F, A, R>) -> Batch<'c, A>
    where
        's: 'c,
        A: Portable + 'static,
    {
        let position = self.position(handler);
        let site = self.region.team.site.as_ref();
        let finish = site.map(|site| site.begin_batch(cx, self.within));
        Batch {
            at: self.of_handler(position),
            finish,
            buffers: (0..self.ranks()).map(|_| Vec::new()).collect(),
            encoded: Vec::new(),
            types: PhantomData,
        }
    }

    fn of_handler(self, position: u32) -> Self {
        Self {
            from: self.rank(),
            handler: Some(position),
            in_short: false,
            ..self
        }
    }

    /// Runs an activity that has arrived.
    pub(super) fn run<'c>(self, cx: &mut Cx<'c, '_>, arrival: &Arrival)
    where
        's: 'c,
    {
        let entry = self.entry(arrival.handler);
        let at = Self {
            in_short: entry.is_short(),
            ..self
        };
        let args = &arrival.args.0[..];
        match arrival.kind {
            Kind::Spawn => _ = at.run_one(cx, args, false),
            Kind::Call(call) => {
                let result = at.run_one(cx, args, true);
                self.region.site().reply(self.from, call, result);
            }
            Kind::Batch => {
                let mut batch = args;
                while !batch.is_empty() {
                    let Some(args) = next_framed(&mut batch) else {
                        let (from, site) = (self.from, entry.site());
                        panic!("the handler at {site}: {from} has sent a malformed batch");
                    };
                    if entry.is_short() {
                        at.run_one(cx, args, false);
                    } else {
                        let args = args.to_vec();
                        cx.spawn(move |cx| _ = at.run_one(cx, &args, false));
                    }
                }
            }
        }
    }

    fn run_one<'c>(self, cx: &mut Cx<'c, '_>, args: &[u8], answers: bool) -> Vec<u8>
    where
        's: 'c,
    {
        let position = self.handler.expect("a handler runs");
        let entry = self.entry(position);
        let (site, from) = (entry.site(), self.from);
        match entry.run(cx, self, args, answers) {
            Ok(result) => result,
            Err(Failed::Arguments(malformed)) => {
                panic!("the handler at {site}: the arguments from {from} have {malformed}")
            }
            Err(Failed::Result(why)) => panic!("the result of the handler at {site}: {why}"),
        }
    }

    /// Returns the most bytes of encoded values.
    pub(super) fn limit(self) -> usize {
        self.region.team.engine.body
    }

    fn entry(self, position: u32) -> &'s dyn Entry {
        let entry = self.region.handlers.entry(position as usize);
        entry.expect("positions are checked when they arrive")
    }

    #[track_caller]
    fn position<F, A, R>(self, handler: &Handler<F, A, R>) -> u32 {
        let is_same = |entry: &dyn Entry| ptr::addr_eq(entry, handler);
        let mut positions = (0..).map_while(|at| self.region.handlers.entry(at));
        let position = positions.position(is_same);
        position.expect("a handler that was passed to the finish") as u32
    }

    #[track_caller]
    fn encoded(self, args: &impl Portable) -> Vec<u8> {
        let mut body = Vec::new();
        match pack_within(args, self.limit(), &mut body) {
            Ok(()) => body,
            Err(why) => panic!("arguments of a handler: {why}"),
        }
    }
}

/// Calls of a handler that travel together, made by [`At::batch`]. Sent when a few kilobytes are
/// there for a rank, by [`flush`](Self::flush), and when it is dropped; what it still has when its
/// task panics is dropped.
pub struct Batch<'c, A> {
    at: At<'c>,
    /// `None` at the only rank.
    finish: Option<FinishId>,
    buffers: Vec<Vec<u8>>,
    encoded: Vec<u8>,
    types: PhantomData<fn(A)>,
}

impl<A> fmt::Debug for Batch<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.buffers.iter().map(Vec::len).sum();
        write!(f, "a batch of {bytes} bytes")
    }
}

impl<'c, A: Portable + 'static> Batch<'c, A> {
    /// Adds a call with `args` at rank `to` of the team. At the own rank, a short handler is
    /// called at once, and another one is spawned.
    ///
    /// # Panics
    /// As [`At::spawn`].
    #[track_caller]
    pub fn push(&mut self, cx: &mut Cx<'c, '_>, to: Rank, args: A) {
        let at = self.at;
        assert_rank(at.region.team.group(), to);
        let position = at.handler.expect("that of the batch");
        if to == at.rank() {
            let entry = at.entry(position);
            if !entry.is_short() {
                return at.spawn_here(cx, position, args);
            }
            let at = At {
                in_short: true,
                ..at
            };
            return entry.run_here(cx, at, &mut Some(args), &mut ());
        }
        self.encoded.clear();
        if let Err(why) = pack_within(&args, at.limit(), &mut self.encoded) {
            panic!("arguments of a handler: {why}");
        }
        let buffer = &mut self.buffers[to.index()];
        push_framed(&self.encoded, buffer);
        if buffer.len() >= BATCH {
            self.send(to);
        }
    }

    /// Sends what is there.
    pub fn flush(&mut self) {
        self.send_all();
    }
}

impl<A> Batch<'_, A> {
    fn send_all(&mut self) {
        for to in self.at.all() {
            if !self.buffers[to.index()].is_empty() {
                self.send(to);
            }
        }
    }

    fn send(&mut self, to: Rank) {
        let (Some(finish), Some(handler)) = (self.finish, self.at.handler) else {
            return;
        };
        let args = std::mem::take(&mut self.buffers[to.index()]);
        let kind = Kind::Batch;
        let out = Outgoing {
            to,
            handler,
            kind,
            args,
        };
        self.at.region.site().send_batch(finish, out);
    }
}

impl<A> Drop for Batch<'_, A> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.send_all();
        }
        if let Some(finish) = self.finish {
            self.at.region.site().end_batch(finish);
        }
    }
}
