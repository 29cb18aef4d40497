//! Finishes with tasks at any rank.

mod at;
#[cfg(test)]
mod fuzz;
mod listed;
mod pump;
mod record;
mod reply;
mod site;
mod text;
mod traced;

pub use at::{Arguments, At, Batch, BatchHandler, Handler, Handlers, batch_handler, handler};
pub use reply::Reply;

use super::Team;
use crate::Result;
use crate::error::Error;
use crate::execution::runtime::Cx;
use crate::ranks::error::RankError;
use at::Region;
pub(super) use listed::Listed;
use listed::listed;
pub(super) use site::Site;
use std::any::type_name;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use tautline_core::task::Cancelled;
pub(crate) use text::text_of;
use traced::Traced;

impl Team {
    /// Runs `body` at each rank of the team, and returns when the bodies of all ranks have ended,
    /// and all that they have spawned, directly or by what they have spawned, at any rank
    /// (`finish` and `async at` of X10). While it is open, each rank can start the `handlers` of
    /// the others by the [`At`] of its tasks.
    ///
    /// In it, `cx.finish` and `cx.scope` wait for what was spawned in them at all ranks; they nest
    /// as they do inside a rank. A finish of another team, or of a [copy](Team::dup) of this one,
    /// may run inside; then activities of the outer one do not wait on the stack of a worker
    /// (`wait`, `cx.finish`, `cx.scope`), but `.await` as async tasks: a body that is below them on
    /// the stack could not continue to the call that other ranks wait for. A task that waits in a
    /// scope with [`Wait::Own`](tautline_core::task::Wait)
    /// keeps its worker from serving the finish: with one worker it waits for ever for other ranks.
    ///
    /// Tasks that a handler spawns beside itself cannot borrow what it borrows, since they may
    /// outlive its call: it starts a handler at the own rank, or opens a scope.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::team::handler;
    /// use tautline::world::{self, Rank};
    ///
    /// world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let hello = handler(|_, at, n: u32| println!("{n} from {} at {}", at.from(), at.rank()));
    ///     rt.run(|cx| {
    ///         world.team().finish(cx, &hello, |cx, at| {
    ///             if at.rank() == Rank(0) {
    ///                 // Waits for all of them.
    ///                 cx.scope(|cx| at.all().for_each(|to| at.spawn(cx, to, &hello, 7)));
    ///             }
    ///         })
    ///     })
    /// });
    /// ```
    ///
    /// # Errors
    /// At every rank, if a handler has panicked, the body of another rank has, the finish was
    /// cancelled, or a rank was lost, which may be
    /// [tolerated](crate::world::World::tolerate_losses) outside of it: tasks that had not begun by
    /// then were dropped. The text of the first panic is in the error. Those of all
    /// [calls](Self#errors).
    ///
    /// # Panics
    /// With the panic of the body of this rank, to which those of what its scopes have spawned
    /// count, at other ranks as text: `rank 2: TEXT`.
    ///
    /// # Teamed
    /// A call of all ranks of the team, with the same handlers in the same order.
    #[track_caller]
    pub fn finish<'e, H: Handlers, R>(
        &'e mut self,
        cx: &mut Cx<'_, '_>,
        handlers: &'e H,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e>, At<'s>) -> R,
    ) -> Result<R> {
        if let Some(site) = self.site.take() {
            self.finishes.add(site.counts());
        }
        let location = Location::caller();
        if self.ranks() > 1 {
            let list = listed(type_name::<H>(), handlers, self.handlers);
            self.handlers = Some(list);
            let site = Site::begin(&self.engine, &self.calls, location, &list.text);
            site.trace(cx, location);
            self.site = Some(site);
        }
        // From here on it is shared by tasks, which borrow it and the handlers.
        let team = &*self;
        let region = Region { team, handlers };
        let Some(site) = &team.site else {
            let ended = cx.finish(|cx| body(cx, At::of_body(region)));
            return ended.map_err(|cancelled| Error::Rank(team.cancelled_here(cancelled)));
        };
        let ended = serve(cx, region, site, body);
        let outcome = site.outcome();
        team.engine.finished(site.counts());
        let ended = ended.unwrap_or_else(|payload| resume_unwind(payload));
        let outcome = outcome.map_err(|error| Error::Rank(error.into()))?;
        match (outcome, ended) {
            (Some(outcome), _) => Err(Error::Rank(RankError::of_outcome(team.group(), &outcome))),
            (None, ended) => ended.map_err(|it| Error::Rank(team.cancelled_here(it))),
        }
    }

    fn cancelled_here(&self, cancelled: Cancelled) -> RankError {
        RankError::cancelled(self.group().member(self.rank()), cancelled)
    }
}

/// Runs the body of a rank, and serves the others until all have ended.
fn serve<'e, R>(
    cx: &mut Cx<'_, '_>,
    region: Region<'e>,
    site: &Arc<Site>,
    body: impl for<'s> FnOnce(&mut Cx<'s, 'e>, At<'s>) -> R,
) -> std::thread::Result<Result<R, Cancelled>> {
    cx.scope(|cx| {
        cx.spawn_async(|task| pump::serve(task, region));
        let run = || {
            cx.finish_until(&site.body, |cx| {
                let _run = site.traced().map(Traced::body);
                body(cx, At::of_body(region))
            })
        };
        let ended = catch_unwind(AssertUnwindSafe(run));
        site.body_ended(pump::failed(site.here, &ended));
        ended
    })
}
