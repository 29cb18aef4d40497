//! Starting handlers at other ranks.

use super::{At, Entry, Handler, packed};
use crate::execution::runtime::Cx;
use crate::ranks::collective::calls::assert_rank;
use crate::ranks::team::finish::record::Kind;
use crate::ranks::team::finish::reply::{Answer, Reply};
use crate::ranks::team::finish::site::Outgoing;
use std::any::{TypeId, type_name};
use std::ptr;
use tautline_core::Rank;
use tautline_core::finish::FinishId;
use tautline_core::wire::Portable;

impl<'s> At<'s> {
    /// Starts `handler` with `args` at rank `to` of the team. At the own rank it is a task with
    /// these arguments: nothing is encoded.
    ///
    /// If 1 MiB of such activities of this rank has not begun at rank `to`, the call waits, and
    /// runs other tasks until then: a lock that these acquire must not be held. Tasks that another
    /// rank has started do not wait, else ranks that spawn at each other might wait for each other;
    /// nor does a task above eight waiting ones on the stack.
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
    /// If the team has no such rank, `handler` was not passed to the finish, or the arguments
    /// cannot be encoded or are longer than the [limit](crate::world::Limits) of a message. Nothing
    /// was sent then.
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
    /// As [`spawn`](Self::spawn); in the body, and if `A` is not the type of the handler's
    /// arguments.
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
            type_name::<A>()
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
        let out = self.outgoing(to, position, &args);
        self.send(cx, out, None);
    }

    /// Sends an activity, and waits if there is no room for another one.
    #[track_caller]
    fn send(self, cx: &mut Cx<'_, '_>, out: Outgoing, answer: Option<Box<dyn Answer>>) {
        let (site, to) = (self.region.site(), out.to);
        if let Some(finish) = site.spawn(cx, self.within, out, answer) {
            self.await_room(cx, finish, to);
        }
    }

    /// Waits for room on the way to a rank, unless another rank has started this: ranks whose
    /// activities spawn at each other would wait for each other.
    pub(super) fn await_room(self, cx: &mut Cx<'_, '_>, finish: FinishId, to: Rank) {
        if self.within.is_none() && !self.in_short {
            self.region.site().await_room(cx, finish, to);
        }
    }

    pub(super) fn spawn_here<'c, A>(self, cx: &mut Cx<'c, '_>, position: u32, args: A)
    where
        's: 'c,
        A: Send + 'static,
    {
        let at = Self {
            in_short: self.entry(position).is_short(),
            ..self.of_handler(position)
        };
        let mut args = Some(args);
        cx.spawn(move |cx| {
            let _run = at.traced(None);
            at.entry(position).run_here(cx, at, &mut args, &mut ());
        });
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
        let (reply, promise) = Reply::new(self.region.team.world_rank(to), self.in_short);
        if to == self.rank() {
            let (at, mut args) = (self.of_handler(position), Some(args));
            cx.spawn(move |cx| {
                let _run = at.traced(None);
                let mut result: Option<R> = None;
                at.entry(position).run_here(cx, at, &mut args, &mut result);
                if let Some(result) = result {
                    promise.put(Ok(result));
                }
            });
            return reply;
        }
        let out = self.outgoing(to, position, &args);
        let answer = Some(Box::new(promise) as _);
        self.send(cx, out, answer);
        reply
    }

    #[track_caller]
    pub(super) fn position<F, A: 'static, R>(self, handler: &Handler<F, A, R>) -> u32 {
        // One that contains another one may have its address.
        let takes = TypeId::of::<A>();
        let is_same = |it: &dyn Entry| ptr::addr_eq(it, handler) && it.takes().0 == takes;
        let mut positions = (0..).map_while(|at| self.region.handlers.entry(at));
        let position = positions.position(is_same);
        position.expect("a handler that was passed to the finish") as u32
    }

    /// Encodes the arguments of an activity for another rank.
    #[track_caller]
    fn outgoing(self, to: Rank, handler: u32, args: &impl Portable) -> Outgoing {
        let args = packed(args, self.limit());
        Outgoing {
            to,
            handler,
            kind: Kind::Spawn,
            args: args.unwrap_or_else(|why| panic!("arguments of a handler: {why}")),
        }
    }
}
