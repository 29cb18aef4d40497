//! The finish of a team, as its tasks see it.

mod arguments;
mod batch;
mod handler;
mod run;
mod spawn;

pub use arguments::Arguments;
pub use batch::Batch;
pub use handler::{BatchHandler, Handler, batch_handler, handler};
pub(super) use run::Arrived;

use super::record::{Arrival, HEAD};
use super::site::{Site, Within, refused};
use crate::execution::runtime::Cx;
use crate::ranks::error::RankError;
use crate::ranks::team::Team;
use std::any::{Any, TypeId};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::wire::{Fault, Malformed, Portable, Unencodable, pack_within};

/// Bytes of most values, for which the memory is allocated once.
const SHORT: usize = 64;

/// Encodes arguments or a result, in at most `limit` bytes.
fn packed(value: &impl Portable, limit: usize) -> Result<Vec<u8>, Unencodable> {
    let mut bytes = Vec::with_capacity(SHORT);
    pack_within(value, limit, &mut bytes)?;
    Ok(bytes)
}

/// A finish of a team at one rank.
#[derive(Clone, Copy)]
pub(super) struct Region<'s> {
    pub(super) team: &'s Team,
    pub(super) handlers: &'s (dyn Handlers + 's),
}

impl<'s> Region<'s> {
    /// Returns what the ranks share; only called where there are several.
    pub(super) fn site(&self) -> &'s Arc<Site> {
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

/// A [finish](crate::team::Team::finish) of a team, as a task of it sees it: starts code at other
/// ranks.
///
/// Started code joins the innermost `finish` or `scope` of the context that is passed, as a task
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

    /// Returns the error of the first rank that has cancelled activities of this one by
    /// [`Reason::Lost`](crate::balance::Reason), if there is one: of a lost rank, its loss.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::team::{At, RankError};
    ///
    /// /// Runs tasks, also at other ranks; the error names the rank by which they were cancelled.
    /// fn attempt<'s>(
    ///     cx: &mut Cx<'s, '_>,
    ///     at: At<'s>,
    ///     tasks: impl FnOnce(&mut Cx<'_, '_>),
    /// ) -> Result<(), Option<RankError>> {
    ///     cx.finish(|cx| tasks(cx)).map_err(|_| at.lost())
    /// }
    /// ```
    pub fn lost(self) -> Option<RankError> {
        let site = self.region.team.site.as_ref()?;
        site.lost()
    }

    fn of_handler(self, position: u32) -> Self {
        Self {
            from: self.rank(),
            handler: Some(position),
            in_short: false,
            ..self
        }
    }

    /// Returns the most bytes of encoded values.
    pub(super) fn limit(self) -> usize {
        self.region.team.engine.body.saturating_sub(HEAD)
    }

    fn entry(self, position: u32) -> &'s dyn Entry {
        let entry = self.region.handlers.entry(position as usize);
        entry.expect("positions are checked when they arrive")
    }
}

/// The handlers of a [finish](crate::team::Team::finish): one, or a tuple of references to up to 8.
/// Implemented for no other types.
pub trait Handlers: Sync {
    /// Returns the handler at a position.
    #[doc(hidden)]
    fn entry(&self, position: usize) -> Option<&dyn Entry>;
}

/// A handler whose types are erased.
pub trait Entry: Sync {
    fn is_short(&self) -> bool;

    fn site(&self) -> &'static Location<'static>;

    /// Returns the type of the arguments, and its name.
    fn takes(&self) -> (TypeId, &'static str);

    /// Runs with encoded arguments, and returns the encoded result, if `answers`.
    fn run<'s>(
        &self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        args: &[u8],
        answers: bool,
    ) -> Result<Vec<u8>, Failed>;

    /// Runs with the encoded arguments of a batch. Only called of short ones.
    fn run_batch<'s>(&self, cx: &mut Cx<'s, '_>, at: At<'s>, batch: &[u8]);

    /// Runs with `args`, an `Option` of the arguments, and leaves the result in `result`, unless
    /// that is no `Option` of it.
    fn run_here<'s>(
        &self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        args: &mut (dyn Any + Send),
        result: &mut dyn Any,
    );
}

/// The reason why a handler has no result.
pub enum Failed {
    Arguments(Malformed),
    Result(Unencodable),
}
