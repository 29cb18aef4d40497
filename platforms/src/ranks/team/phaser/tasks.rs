//! Phasers and accumulators of the tasks of all ranks.
//!
//! # Algorithm
//! Chatterjee 2013, 5.6: the phase of a rank ends when its tasks have signalled, then that of all
//! ranks, by one exchange. Each rank has two phasers of its own: its tasks signal and wait on both.
//! The *carrier*, a task too, waits on the first, makes the exchange, and signals on the second,
//! which so ends for no task before the exchange has. The second phaser carries the result: only
//! the carrier contributes to it.
//!
//! Different from it, the exchange begins at the last signal of the rank, even if its task only
//! signals, and no task waits for it on behalf of others. A rank whose tasks have left takes part
//! in the exchanges without a value, until all ranks have left. Decision 58 in `docs/decisions` has
//! the alternatives.

use super::Team;
use super::part::{NoReduction, Part, Reduction, Value, combination, together};
use crate::Result;
use crate::execution::runtime::{Cx, Hold};
use crate::phaser::{
    Element, Member, Mode, Op, Phased, PhaserError, PoolPort, Request, TaskAccumulator,
};
use crate::ranks::collective::{Call, abandon, calls as made};
use std::any::type_name;
use std::mem;
use std::panic::Location;
use std::sync::{Arc, Weak};
use tautline_core::service::Kind;
use tautline_node::pool::Node;

/// A phaser of the tasks of all ranks of a team, made by [`Team::phaser`] or [`Team::accumulator`].
/// While it lives, its rank has a task that has not signalled: dropped, as the body of its scope
/// ends or before, it leaves the phases to the tasks that it has registered.
#[derive(Debug)]
pub struct TeamPhaser<'scope> {
    gather: Member<'scope>,
    release: Member<'scope>,
}

/// A reduction over the tasks of all ranks of a team, made by [`Team::accumulator`].
#[derive(Clone, Debug)]
pub struct TeamAccumulator<'scope, T> {
    local: TaskAccumulator<'scope, T>,
    global: TaskAccumulator<'scope, T>,
}

impl Team {
    /// Creates a phaser of the tasks of all ranks. No task leaves a phase before the tasks of all
    /// ranks have signalled it. No phase ends before the result is dropped at each rank.
    ///
    /// It is a phaser of the scope of `cx`, whose tasks it registers, in any mode. Ranks may have
    /// different numbers of tasks, and may leave: a rank without tasks keeps no other one from
    /// ending its phases. Its scope ends when all ranks have left.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     rt.run(|cx| {
    ///         let mut barrier = world.team().phaser(cx)?;
    ///         for _ in 0..3 {
    ///             cx.spawn_phased(barrier.signal_wait(), async |mut task| {
    ///                 for step in 0..10 {
    ///                     // The work of a step; then that of all tasks of all ranks is done.
    ///                     task.next().await.unwrap();
    ///                 }
    ///             })?;
    ///         }
    ///         Ok::<(), tautline::Error>(())
    ///     })
    /// })
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of all [calls](Self#errors). If an exchange fails later, the scope of `cx` ends with a
    /// panic whose payload is the [`Error`](crate::Error). A scope that is cancelled before all
    /// ranks have left, also by a panic, ends the calls of all ranks with an error.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn phaser<'scope>(&mut self, cx: &mut Cx<'scope, '_>) -> Result<TeamPhaser<'scope>> {
        let [gather, release] = [cx.phaser(Mode::SignalWait)?, cx.phaser(Mode::SignalWait)?];
        let site = Location::caller();
        let own = self.of_phaser(cx, site, "phaser".into())?;
        spawn_carrier(cx, (own, site), [gather, release], NoReduction, together)
    }

    /// As [`phaser`](Self::phaser), with a reduction: `op` combines the values that the tasks of
    /// all ranks contribute in a phase. Its tasks signal and wait. The values of a rank are
    /// combined first, then those of the ranks, in their order: all get the same bits.
    ///
    /// ```
    /// use tautline::phaser::Op;
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// let largest = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     rt.run(|cx| {
    ///         let (largest, mut member) = world.team().accumulator::<u32>(cx, Op::Max)?;
    ///         let own = world.rank().0 + 40;
    ///         let task = cx.spawn_phased_value(member.signal_wait(), async move |mut task| {
    ///             largest.put(&mut task, own)?;
    ///             task.next().await?;
    ///             Ok::<_, tautline::phaser::PhaserError>(largest.get())
    ///         })?;
    ///         drop(member);
    ///         Ok::<_, tautline::Error>(task.join(cx).expect("no panic")?)
    ///     })
    /// });
    /// assert_eq!(largest.into_iter().collect::<Result<Vec<_>, _>>()?, [42; 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`phaser`](Self::phaser), and [`PhaserError::Operator`].
    ///
    /// # Teamed
    /// A call of all ranks of the team, with the same type and operator.
    #[track_caller]
    pub fn accumulator<'scope, T: Element>(
        &mut self,
        cx: &mut Cx<'scope, '_>,
        op: Op,
    ) -> Result<(TeamAccumulator<'scope, T>, TeamPhaser<'scope>)> {
        let kind = Kind::from("accumulator")
            .with("operator", op as u64)
            .of_types(type_name::<T>());
        let (local, gather) = cx.accumulator::<T>(op)?;
        let (global, release) = cx.accumulator::<T>(op)?;
        let site = Location::caller();
        let own = self.of_phaser(cx, site, kind)?;
        let accumulator = TeamAccumulator { local, global };
        let (local, global) = (accumulator.local.clone(), accumulator.global.clone());
        let (reduction, combine) = (Reduction { local, global }, combination::<T>(op));
        let phaser = spawn_carrier(cx, (own, site), [gather, release], reduction, combine)?;
        Ok((accumulator, phaser))
    }

    /// Returns a team for the exchanges of a phaser.
    fn of_phaser(
        &self,
        cx: &mut Cx<'_, '_>,
        site: &'static Location<'static>,
        kind: Kind,
    ) -> Result<Self> {
        let same = self.divided(site, kind, Some(0)).wait(cx)?;
        Ok(same.expect("all ranks have the same colour"))
    }
}

impl<'scope> TeamPhaser<'scope> {
    /// Requests the registration of a task in `mode`, for
    /// [`spawn_phased`](tautline_core::task::Cx::spawn_phased): both requests are for the same
    /// task, as are both of its [`members`](Phased::members) if it registers another one.
    pub fn register(&mut self, mode: Mode) -> [Request<'_, 'scope>; 2] {
        [self.gather.register(mode), self.release.register(mode)]
    }

    /// Requests the registration of a task that signals and waits.
    pub fn signal_wait(&mut self) -> [Request<'_, 'scope>; 2] {
        self.register(Mode::SignalWait)
    }

    /// Requests the registration of a task that only signals.
    pub fn signal_only(&mut self) -> [Request<'_, 'scope>; 2] {
        self.register(Mode::Signal)
    }

    /// Requests the registration of a task that only waits.
    pub fn wait_only(&mut self) -> [Request<'_, 'scope>; 2] {
        self.register(Mode::Wait)
    }
}

impl<'scope, T: Element> TeamAccumulator<'scope, T> {
    /// Contributes `value` to the phase that `task` is about to signal; a later value replaces an
    /// earlier one.
    ///
    /// # Errors
    /// As [`Accumulator::put`](crate::phaser::Accumulator).
    pub fn put(&self, task: &mut Phased<'scope, '_>, value: T) -> Result<(), PhaserError> {
        self.local.put(task.on(&self.local.phaser())?, value)
    }

    /// Returns the result of the phase that ended last, of all ranks; before the first end, the
    /// result of no values. A registered task may call this until it signals the phase after the
    /// next.
    pub fn get(&self) -> T {
        self.global.get()
    }
}

/// Spawns the carrier, and returns the registration of the calling task.
fn spawn_carrier<'scope, 'env>(
    cx: &mut Cx<'scope, 'env>,
    (team, site): (Team, &'static Location<'static>),
    [mut gather, mut release]: [Member<'scope>; 2],
    part: impl Part<PoolPort<'scope, Node>> + 'scope,
    combine: impl Fn(Value, Value) -> Value + Copy + Send + Sync + 'scope,
) -> Result<TeamPhaser<'scope>> {
    let registered = Arc::new(());
    let (tasks, hold) = (Arc::downgrade(&registered), cx.hold());
    let both = [gather.signal_wait(), release.signal_wait()];
    cx.spawn_phased(both, async move |task| {
        let carrier = TaskCarrier {
            task: Some(task),
            team,
            site,
            tasks,
            hold,
            has_ended: false,
        };
        carrier.carry(part, combine).await;
    })?;
    Ok(TeamPhaser {
        gather: gather.guarded(registered),
        release,
    })
}

/// The task that ends the phases of this rank with those of the others.
struct TaskCarrier<'scope, 'env> {
    /// `None` once dropped.
    task: Option<Phased<'scope, 'env>>,
    /// Makes a call for each phase: its number is that of the phase.
    team: Team,
    /// The call that has made the phaser.
    site: &'static Location<'static>,
    /// Lives while tasks of this rank are registered.
    tasks: Weak<()>,
    hold: Hold,
    /// Whether the tasks of all ranks have left.
    has_ended: bool,
}

impl<'scope> TaskCarrier<'scope, '_> {
    async fn carry(
        mut self,
        part: impl Part<PoolPort<'scope, Node>>,
        combine: impl Fn(Value, Value) -> Value + Copy + Send + Sync,
    ) {
        while !self.has_ended {
            if let Err(why) = self.exchange(&part, combine).await {
                // Before its registrations are dropped.
                return self.hold.abort(Box::new(why));
            }
        }
    }

    /// Makes the exchange of a phase.
    async fn exchange(
        &mut self,
        part: &impl Part<PoolPort<'scope, Node>>,
        combine: impl Fn(Value, Value) -> Value + Copy + Send,
    ) -> Result<()> {
        let task = self.task.as_mut().expect("it is not dropped");
        task.members()[GATHER].next().await?;
        let is_present = u32::from(self.tasks.strong_count() > 0);
        let all = made::all_reduce(self.team.group(), (is_present, part.own()), combine);
        let kind = "phase".into();
        let all = self.team.begin(self.site, Call { kind, ..all });
        let (ranks, result) = all.await?;
        if ranks == 0 {
            self.has_ended = true;
            return Ok(());
        }
        part.publish(&mut task.members()[RELEASE], result)?;
        Ok(task.members()[RELEASE].next().await?)
    }
}

/// Dropped before the end, as its scope is cancelled or an exchange has failed: the phases of the
/// other ranks do not end either.
impl Drop for TaskCarrier<'_, '_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // A task that runs would find its phase ended if these left: their memory is lost instead.
        mem::forget(self.task.take());
        if self.team.ranks() > 1 {
            abandon(&self.team.engine, &self.team.calls);
        }
    }
}

/// The carrier's registrations.
const GATHER: usize = 0;
const RELEASE: usize = 1;
