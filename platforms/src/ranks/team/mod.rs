//! Groups of ranks that make calls together. Feature `serde`.
//!
//! A [`Team`] has some or all ranks of a program. All of its ranks make the same calls of it in the
//! same order, its *teamed calls*; ranks outside of it take no part. A call begins at once and
//! returns a [`TeamCall`], for which a task waits:
//!
//! | a program waits | by |
//! |---|---|
//! | in a task, whose worker runs others | [`wait`](TeamCall::wait) |
//! | in async code | `.await` |
//!
//! ```
//! use tautline::prelude::*;
//! use tautline::world;
//!
//! let sums = world::loopback(4, |world| {
//!     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
//!     rt.run(|cx| {
//!         let mut team = world.team();
//!         let parity = team.rank().0 % 2;
//!         // Two teams, of the even and the odd ranks.
//!         let half = team.split(Some(parity)).wait(cx)?;
//!         let mut half = half.expect("a team for each colour");
//!         half.all_reduce(world.rank().0, |a, b| a + b).wait(cx)
//!     })
//! });
//! assert_eq!(sums.into_iter().collect::<tautline::Result<Vec<_>>>()?, [2, 4, 2, 4]);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! A call borrows its team, so two tasks of a rank cannot make calls of one team at the same time:
//! ```compile_fail,E0499
//! # use tautline::prelude::*;
//! # fn f(cx: &mut Cx<'_, '_>, team: &mut tautline::team::Team) {
//! let first = team.barrier();
//! let second = team.barrier();
//! _ = (first.wait(cx), second.wait(cx));
//! # }
//! ```
//! ```compile_fail,E0499
//! # use tautline::prelude::*;
//! # fn f(cx: &mut Cx<'_, '_>, mut team: tautline::team::Team) {
//! cx.scope(|cx| {
//!     cx.spawn(|cx| _ = team.barrier().wait(cx));
//!     cx.spawn(|cx| _ = team.barrier().wait(cx));
//! });
//! # }
//! ```
//! [`dup`](Team::dup) makes another team of the same ranks. [`Team::finish`] starts tasks at any
//! rank, [`Team::phaser`] lets the tasks of all ranks proceed in phases.
//!
//! # Source
//! `TeamedPlaceGroup`: Finnerty 2022, 4.1; teams of coarrays and `MPI_Comm_split`.
#![forbid(unsafe_code)]

mod call;
mod calls;
mod finish;
mod phaser;

pub use crate::ranks::error::{RankError, RankErrorKind};
pub use call::TeamCall;
pub(crate) use finish::text_of;
pub use finish::{
    Arguments, At, Batch, BatchHandler, Handler, Handlers, Reply, batch_handler, handler,
};
pub use phaser::{TeamAccumulator, TeamPhaser, ThreadAccumulator, ThreadRegistration};
pub use tautline_core::comm::{Number, Operator};

use crate::Result;
use crate::error::Error;
use crate::ranks::collective::{Call, Running, calls as made};
use crate::ranks::engine::{ProgressEngine, assert_may_block};
use crate::ranks::statistics::{FinishCounts, Statistics};
use crate::ranks::world::World;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tautline_core::Rank;
use tautline_core::collective::{CollectForAll, Wave};
use tautline_core::group::{Group, Name};
use tautline_core::machine::Machine;
use tautline_core::service::{Calls, Kind};
use tautline_core::wire::Portable;

/// Some or all ranks of a program, which make calls together.
///
/// Its ranks are numbered from 0, in the order of the ranks of the program.
///
/// Dropping it is no call; its calls, a few hundred bytes, are kept as long as the world.
pub struct Team {
    engine: Arc<ProgressEngine>,
    calls: Calls,
    /// The part in the last finish; `None` at the only rank.
    site: Option<Arc<finish::Site>>,
    /// The handlers of the last finish of several ranks.
    handlers: Option<&'static finish::Listed>,
    /// The counts of the finishes before.
    finishes: FinishCounts,
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of a team of {}", self.rank(), self.ranks())
    }
}

impl World {
    /// Returns a team of all ranks. Every rank makes this call, in the same order as other calls
    /// over the world; it sends no message.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # use tautline::world;
    /// world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut team = world.team();
    ///     rt.run(|cx| team.barrier().wait(cx))
    /// });
    /// ```
    pub fn team(&self) -> Team {
        let engine = self.engine();
        engine.assert_rank();
        Team {
            engine: Arc::clone(engine),
            calls: engine.operations.all(),
            site: None,
            handlers: None,
            finishes: FinishCounts::default(),
        }
    }
}

impl Team {
    /// Returns the rank of the caller in the team.
    pub fn rank(&self) -> Rank {
        self.group().here()
    }

    /// Returns the number of ranks in the team.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.group().ranks()
    }

    /// Returns the rank of the program that has this rank in the team.
    ///
    /// # Panics
    /// If the team has no such rank.
    pub fn world_rank(&self, rank: Rank) -> Rank {
        self.group().member(rank)
    }

    /// Returns the counts of what this rank has sent in the calls of this team, without those of
    /// its phasers, copies and parts: they are in [those of the world](World::statistics).
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::team::handler;
    /// use tautline::world::{self, Rank};
    ///
    /// let spawns = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let nothing = handler(|_, _, (): ()| ());
    ///     let mut team = world.team();
    ///     rt.run(|cx| {
    ///         team.finish(cx, &nothing, |cx, at| {
    ///             // One of the two is at this rank, without a message.
    ///             at.all().for_each(|to| at.spawn(cx, to, &nothing, ()));
    ///         })
    ///     })?;
    ///     Ok::<_, tautline::Error>(team.statistics().spawns)
    /// });
    /// assert_eq!(spawns.into_iter().collect::<Result<Vec<_>, _>>()?, [1, 1]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        let mut finishes = self.finishes;
        if let Some(site) = &self.site {
            finishes.add(site.counts());
        }
        Statistics::of(self.calls.counts(), finishes)
    }

    #[inline]
    fn group(&self) -> &Group {
        self.calls.group()
    }

    /// Divides the team into teams of the ranks with the same colour; those without get `None`. The
    /// ranks of a new team are in the order of this one.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # use tautline::world;
    /// let ranks = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let colour = (!world.is_home()).then_some(7);
    ///     rt.run(|cx| {
    ///         let others = world.team().split(colour).wait(cx)?;
    ///         Ok::<_, tautline::Error>(others.map(|others| others.rank().0))
    ///     })
    /// });
    /// assert_eq!(ranks.into_iter().collect::<Result<Vec<_>, _>>()?, [None, Some(0), Some(1)]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of all [calls](Self#errors).
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn split(
        &mut self,
        colour: Option<u32>,
    ) -> TeamCall<impl Future<Output = Result<Option<Self>>> + Send + use<'_>> {
        self.divided(Location::caller(), "split".into(), colour)
    }

    /// Divides the team, by a call of a kind.
    fn divided(
        &self,
        site: &'static Location<'static>,
        kind: Kind,
        colour: Option<u32>,
    ) -> TeamCall<impl Future<Output = Result<Option<Self>>> + Send + use<'_>> {
        let running = self.divide(site, kind, colour);
        TeamCall::new(async move { self.part(colour, &running.await?) })
    }

    /// As [`divided`](Self::divided), for a thread that waits.
    fn divided_blocking(
        &self,
        site: &'static Location<'static>,
        kind: Kind,
        colour: Option<u32>,
    ) -> Result<Option<Self>> {
        assert_may_block();
        let all = self.divide(site, kind, colour).block()?;
        self.part(colour, &all)
    }

    /// Begins a division.
    fn divide(
        &self,
        site: &'static Location<'static>,
        kind: Kind,
        colour: Option<u32>,
    ) -> Running<Wave<CollectForAll<Coloured>>> {
        // The first rank of each new team names it.
        // ORDERING: Relaxed: only the numbers of one rank must differ.
        let number = self.engine.groups.fetch_add(1, Ordering::Relaxed);
        let call = made::all_gather(self.group(), (colour, number));
        self.begin(site, Call { kind, ..call })
    }

    /// Returns the team of the ranks with this colour, after a division.
    fn part(&self, colour: Option<u32>, all: &[Coloured]) -> Result<Option<Self>> {
        let (engine, calls) = (&self.engine, &self.calls);
        if all.len() != calls.group().ranks() as usize {
            return Err(violated("values of another number of ranks"));
        }
        let with = |rank: &u32| colour.is_some() && all[*rank as usize].0 == colour;
        let ranks = (0..all.len() as u32).filter(with);
        let members = ranks.clone().map(|rank| calls.group().member(Rank(rank)));
        let here = calls.group().member(calls.group().here());
        let first = ranks.clone().next();
        Ok(first.and_then(|first| {
            let home = calls.group().member(Rank(first));
            let number = all[first as usize].1;
            let group = Group::of(here, members)?;
            Some(Self {
                engine: Arc::clone(engine),
                calls: engine.operations.of(Name { home, number }, group),
                site: None,
                handlers: None,
                finishes: FinishCounts::default(),
            })
        }))
    }

    /// Makes another team of the same ranks, whose calls have an order of their own.
    ///
    /// # Errors
    /// Those of all [calls](Self#errors).
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn dup(&mut self) -> TeamCall<impl Future<Output = Result<Self>> + Send + use<'_>> {
        let split = self.split(Some(0));
        TeamCall::new(async move {
            let same = split.await?;
            Ok(same.expect("all ranks have the same colour"))
        })
    }

    fn begin<M>(&self, site: &'static Location<'static>, call: Call<M>) -> Running<M>
    where
        M: Machine<Peer = Rank, Calls = (), Message: Portable + 'static>,
    {
        Running::begin(&self.engine, &self.calls, site, call)
    }
}

/// The colour of a rank in a division, and the number that it has for the new team.
type Coloured = (Option<u32>, u32);

/// Returns the error of a result that correct ranks do not make.
fn violated(why: &str) -> Error {
    Error::Rank(RankError::refused(Rank(0), why))
}
