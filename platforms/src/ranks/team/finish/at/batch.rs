//! Calls of a handler that travel together.

use super::{At, Handler};
use crate::execution::runtime::Cx;
use crate::ranks::collective::calls::assert_rank;
use crate::ranks::team::finish::record::{Kind, LENGTH, push_framed};
use crate::ranks::team::finish::site::Outgoing;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::thread;
use tautline_core::Rank;
use tautline_core::finish::FinishId;
use tautline_core::wire::{Portable, pack_within};

/// Bytes of a batch for a rank that are sent together.
const BATCH: usize = 1 << 12;

impl<'s> At<'s> {
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
    /// If `handler` was not passed to the finish.
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
            at: Self {
                in_short: self.in_short,
                ..self.of_handler(position)
            },
            finish,
            buffers: (0..self.ranks()).map(|_| Vec::new()).collect(),
            types: PhantomData,
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
    types: PhantomData<fn(A)>,
}

impl<A> fmt::Debug for Batch<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.buffers.iter().map(Vec::len).sum();
        write!(f, "a batch of {bytes} bytes")
    }
}

impl<'c, A: Portable + 'static> Batch<'c, A> {
    /// Adds a call with `args` at rank `to` of the team, and may wait as [`At::spawn`] does. At the
    /// own rank, a short handler is called at once, and another one is spawned.
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
        let (limit, buffer) = (at.limit(), &mut self.buffers[to.index()]);
        let mut begin = buffer.len();
        let written = push_framed(buffer, |buffer| {
            pack_within(&args, limit.saturating_sub(LENGTH), buffer)
        });
        if let Err(why) = written {
            panic!("arguments of a handler: {why}");
        }
        if buffer.len() > limit {
            // Earlier calls are sent without it.
            let last = buffer.split_off(begin);
            self.send(to);
            self.buffers[to.index()] = last;
            begin = 0;
        }
        if begin == 0
            && let Some(finish) = self.finish
        {
            at.await_room(cx, finish, to);
        }
        if self.buffers[to.index()].len() >= BATCH {
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
            self.send(to);
        }
    }

    fn send(&mut self, to: Rank) {
        let (Some(finish), Some(handler)) = (self.finish, self.at.handler) else {
            return;
        };
        let args = mem::take(&mut self.buffers[to.index()]);
        if args.is_empty() {
            return;
        }
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
        if !thread::panicking() {
            self.send_all();
        }
        if let Some(finish) = self.finish {
            self.at.region.site().end_batch(finish);
        }
    }
}
