//! Phased tasks: tasks of a scope that wait for each other, phase by phase, without occupying a
//! worker.
//!
//! | part | what it is |
//! |---|---|
//! | [`Cx::phaser`], [`Cx::accumulator`], [`Cx::adopt`] | creates a [phaser](crate::phaser) of the enclosing scope, and registers the calling task: [`Member`] |
//! | [`Cx::spawn_phased`], `value` | spawns a task with the registrations of some [`Request`]s; with a handle |
//! | [`Phased`] | the context of such a task |
//! | `wait` | the waits of tasks, as the pool's workers report and count them |
//! | `config` | how the phasers of a pool are built |
//!
//! # Algorithm
//! Habanero's phased tasks (Chatterjee 2013, 6.2). A phaser belongs to the scope in which it was
//! created, and registers tasks of that scope only: otherwise the scope's owner, which waits for
//! its tasks, could be waited for by them. The owner's registrations are dropped when the body of
//! the scope ends, before the wait.
//!
//! # Proved
//! It has no words of its own: phase order and progress are those of phasers, for up to a dozen
//! tasks under random schedules in `verify/tests/phased.rs`.
#![forbid(unsafe_code)]

mod config;
mod member;
mod value;
mod wait;

pub use member::{Member, Request};

use crate::phaser::{Accumulator, Element, Mode, Op, Phaser, PhaserError, Registration};
use crate::port::{Barrier, Host, Relax};
use crate::task::{Cx, Pool, TaskCx};
use crate::watch::Site;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::panic::Location;
use wait::Suspends;

/// The port of a scope's phasers: waits as the pool's port does, without barrier lines.
pub struct PoolPort<'scope, P: Host>(&'scope Pool<P>);

impl<P: Host> fmt::Debug for PoolPort<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PoolPort")
    }
}

impl<P: Host> Relax for PoolPort<'_, P> {
    fn relax(&self, turn: u32) {
        self.0.port().relax(turn);
    }

    fn yield_now(&self, turn: u32) {
        self.0.port().yield_now(turn);
    }
}

impl<P: Host> Barrier for PoolPort<'_, P> {}

/// An accumulator of a scope, with the registration of the task that created it.
pub type Accumulates<'scope, T, P> = (
    Accumulator<T, PoolPort<'scope, P>>,
    Member<'scope, PoolPort<'scope, P>>,
);

/// The context of a phased task: its registrations, and its scope.
pub struct Phased<'scope, 'env: 'scope, P: Host, Q: Relax + Barrier = PoolPort<'scope, P>> {
    cx: TaskCx<'scope, 'env, P>,
    members: Vec<Member<'scope, Q>>,
}

impl<'scope, 'env, P: Host, Q: Relax + Barrier> Phased<'scope, 'env, P, Q> {
    /// Returns the context with which the task spawns into its scope.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, Mode, Op, Phaser, PhaserError}, port::Host};
    /// # async fn f<P: Host>(mut task: Phased<'_, '_, P>) -> Result<(), PhaserError> {
    /// task.task().spawn(|_| println!("a task that is not phased"));
    /// task.next().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn task(&self) -> &TaskCx<'scope, 'env, P> {
        &self.cx
    }

    /// Returns all registrations of this task.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, Mode, Op, Phaser, PhaserError}, port::Host};
    /// # async fn f<P: Host>(mut task: Phased<'_, '_, P>) -> Result<(), PhaserError> {
    /// // Registered on two phasers: signals the first, waits for the second.
    /// let [own, neighbour] = task.members() else { unreachable!() };
    /// own.signal()?;
    /// neighbour.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn members(&mut self) -> &mut [Member<'scope, Q>] {
        &mut self.members
    }

    /// Adds a registration on a phaser that this task has created.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, Mode, Op, Phaser, PhaserError}, port::Host};
    /// # async fn f<P: Host>(mut task: Phased<'_, '_, P>) -> Result<(), PhaserError> {
    /// let member = task.phaser(Mode::SignalWait)?;
    /// task.join(member);
    /// task.next().await?; // on both phasers
    /// # Ok(())
    /// # }
    /// ```
    pub fn join(&mut self, member: Member<'scope, Q>) {
        self.members.push(member);
    }

    /// Returns the registration on `phaser`.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Phaser, PhaserError}, port::Host};
    /// # fn f<'s, P: Host>(mut task: Phased<'s, '_, P>, phaser: &Phaser<PoolPort<'s, P>>) -> Result<(), PhaserError> {
    /// task.on(phaser)?.signal()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::NotRegistered`].
    pub fn on(&mut self, phaser: &Phaser<Q>) -> Result<&mut Member<'scope, Q>, PhaserError> {
        let member = self.members.iter_mut().find(|m| m.is_on(phaser));
        member.ok_or(PhaserError::NotRegistered)
    }

    /// Drops the registration on `phaser`.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Phaser, PhaserError}, port::Host};
    /// # async fn f<'s, P: Host>(mut task: Phased<'s, '_, P>, phaser: &Phaser<PoolPort<'s, P>>) -> Result<(), PhaserError> {
    /// task.drop_from(phaser)?;
    /// task.next().await?; // on the other phasers
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::NotRegistered`].
    pub fn drop_from(&mut self, phaser: &Phaser<Q>) -> Result<(), PhaserError> {
        let member = self.members.iter().position(|m| m.is_on(phaser));
        self.members
            .remove(member.ok_or(PhaserError::NotRegistered)?);
        Ok(())
    }

    /// Signals on all phasers.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, Mode, Op, Phaser, PhaserError}, port::Host};
    /// # async fn f<P: Host>(mut task: Phased<'_, '_, P>) -> Result<(), PhaserError> {
    /// task.signal()?;
    /// println!("beside the tasks that have not signalled yet");
    /// task.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Registration::signal`]: the first.
    pub fn signal(&mut self) -> Result<(), PhaserError> {
        self.members.iter_mut().try_for_each(|m| m.signal())
    }

    /// Waits on all phasers.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, Mode, Op, Phaser, PhaserError}, port::Host};
    /// # async fn f<P: Host>(mut task: Phased<'_, '_, P>) -> Result<(), PhaserError> {
    /// task.signal()?;
    /// task.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Registration::wait`]: the first.
    #[track_caller]
    pub fn wait(
        &mut self,
    ) -> impl Future<Output = Result<(), PhaserError>> + use<'_, 'scope, 'env, P, Q> {
        self.wait_at(Location::caller())
    }

    async fn wait_at(&mut self, site: Site) -> Result<(), PhaserError> {
        let pool = self.cx.pool();
        for member in &mut self.members {
            let wait = member.registration.wait().at(site);
            if pool.counts_suspended() {
                Suspends::new(pool, wait).await?;
            } else {
                wait.await?;
            }
        }
        Ok(())
    }

    /// Signals on all phasers, then waits on all of them.
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, Mode, Op, Phaser, PhaserError}, port::Host};
    /// # async fn f<P: Host>(mut task: Phased<'_, '_, P>) -> Result<(), PhaserError> {
    /// for phase in 0..10 {
    ///     // The work of one phase.
    ///     task.next().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Registration::next`]: the first.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "the construct's own word")]
    pub fn next(
        &mut self,
    ) -> impl Future<Output = Result<(), PhaserError>> + use<'_, 'scope, 'env, P, Q> {
        self.next_at(Location::caller())
    }

    async fn next_at(&mut self, site: Site) -> Result<(), PhaserError> {
        let pool = self.cx.pool();
        if let [member] = &mut self.members[..] {
            let next = member.registration.next().at(site);
            return if pool.counts_suspended() {
                Suspends::new(pool, next).await
            } else {
                next.await
            };
        }
        self.signal()?;
        self.wait_at(site).await
    }

    /// Puts `value` into the accumulator, then calls [`next`](Self::next).
    ///
    /// ```
    /// # use tautline_core::{phased::{Phased, PoolPort}, phaser::{Accumulator, PhaserError}, port::Host};
    /// # async fn f<'s, P: Host>(mut task: Phased<'s, '_, P>, largest: Accumulator<u64, PoolPort<'s, P>>) -> Result<(), PhaserError> {
    /// task.accum_next(&largest, 7).await?;
    /// assert!(largest.get() >= 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Accumulator::put`] and [`next`](Self::next).
    #[track_caller]
    pub fn accum_next<'t, T: Element>(
        &'t mut self,
        accumulator: &'t Accumulator<T, Q>,
        value: T,
    ) -> impl Future<Output = Result<(), PhaserError>> + use<'t, 'scope, 'env, T, P, Q> {
        let site = Location::caller();
        async move {
            accumulator.put(self.on(&accumulator.phaser())?, value)?;
            self.next_at(site).await
        }
    }
}

/// A phased task spawns as its [`TaskCx`] does.
impl<'scope, 'env, P: Host, Q: Relax + Barrier> Deref for Phased<'scope, 'env, P, Q> {
    type Target = TaskCx<'scope, 'env, P>;

    fn deref(&self) -> &Self::Target {
        &self.cx
    }
}

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    fn pool_port(&self) -> PoolPort<'scope, P> {
        PoolPort(self.pool())
    }

    /// Creates a phaser of this task's scope, configured by the pool, and registers the calling
    /// task.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, Op, PhaserError, Registration}, port::{Host, Spin}, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut member = task.phaser(Mode::SignalWait)?;
    /// task.spawn_phased([member.signal_wait()], async |mut task| task.next().await.unwrap())?;
    /// member.next().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Registration::create`].
    pub fn phaser(&self, mode: Mode) -> Result<Member<'scope, PoolPort<'scope, P>>, PhaserError> {
        let registration = Registration::create(self.pool_port(), mode, self.phasers())?;
        Ok(self.adopt(registration))
    }

    /// As [`phaser`](Self::phaser) in signal-wait mode, with a reduction: `op` combines the values
    /// of a phase.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, Op, PhaserError, Registration}, port::{Host, Spin}, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let (count, mut member) = task.accumulator::<u64>(Op::Sum)?;
    /// count.put(&mut member, 1)?;
    /// member.next().await?;
    /// assert_eq!(count.get(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Accumulator::create`].
    pub fn accumulator<T: Element>(
        &self,
        op: Op,
    ) -> Result<Accumulates<'scope, T, P>, PhaserError> {
        let (accumulator, registration) =
            Accumulator::create(self.pool_port(), op, None, self.phasers())?;
        Ok((accumulator, self.adopt(registration)))
    }

    /// Makes the phaser of `registration`, which must be its only one, a phaser of this task's
    /// scope.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, Op, PhaserError, Registration}, port::{Host, Spin}, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let config = Config { degree: 8, ..Config::default() };
    /// let member = task.adopt(Registration::create(Spin, Mode::SignalWait, config)?);
    /// assert_eq!(member.phaser().config().degree, 8);
    /// # Ok(())
    /// # }
    /// ```
    pub fn adopt<Q: Relax + Barrier>(&self, registration: Registration<Q>) -> Member<'scope, Q> {
        Member::new(registration, self.scope_id())
    }

    /// As [`Cx::spawn_phased`].
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, Op, PhaserError, Registration}, port::{Host, Spin}, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut member = task.phaser(Mode::SignalWait)?;
    /// task.spawn_phased([member.signal_only()], async |mut child| child.signal().unwrap())?;
    /// member.next().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Cx::spawn_phased`].
    pub fn spawn_phased<'m, F, T, Q>(
        &self,
        on: impl IntoIterator<Item = Request<'m, 'scope, Q>>,
        body: F,
    ) -> Result<(), PhaserError>
    where
        'scope: 'm,
        Q: Relax + Barrier + Send + Sync + 'm,
        F: FnOnce(Phased<'scope, 'env, P, Q>) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        let members = self.granted(on)?;
        self.spawn_async(|cx| body(Phased { cx, members }));
        Ok(())
    }

    /// Returns the registrations that `on` requests for a new task.
    fn granted<'m, Q: Relax + Barrier + 'm>(
        &self,
        on: impl IntoIterator<Item = Request<'m, 'scope, Q>>,
    ) -> Result<Vec<Member<'scope, Q>>, PhaserError>
    where
        'scope: 'm,
    {
        let scope = self.scope_id();
        on.into_iter().map(|request| request.grant(scope)).collect()
    }
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    /// Creates a phaser of the enclosing scope, configured by the pool, and registers the calling
    /// task until the body of the scope ends.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut barrier = cx.phaser(Mode::SignalWait)?;
    /// for _ in 0..10 {
    ///     cx.spawn_phased([barrier.signal_wait()], async |mut task| {
    ///         println!("before");
    ///         task.next().await.unwrap();
    ///         println!("after all have come");
    ///     })?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Registration::create`].
    pub fn phaser(&self, mode: Mode) -> Result<Member<'scope, PoolPort<'scope, P>>, PhaserError> {
        self.task().phaser(mode)
    }

    /// As [`phaser`](Self::phaser) in signal-wait mode, with a reduction: `op` combines the values
    /// of a phase.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let (sum, mut member) = cx.accumulator::<f64>(Op::Sum)?;
    /// for _ in 0..4 {
    ///     let sum = sum.clone();
    ///     cx.spawn_phased([member.signal_wait()], async move |mut task| {
    ///         task.accum_next(&sum, 0.25).await.unwrap();
    ///         assert_eq!(sum.get(), 1.0);
    ///     })?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Accumulator::create`].
    pub fn accumulator<T: Element>(
        &self,
        op: Op,
    ) -> Result<Accumulates<'scope, T, P>, PhaserError> {
        self.task().accumulator(op)
    }

    /// As [`TaskCx::adopt`], for a phaser that was created otherwise.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::{Host, Spin}, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let config = Config { degree: 8, ..Config::default() };
    /// let mut member = cx.adopt(Registration::create(Spin, Mode::SignalWait, config)?);
    /// cx.spawn_phased([member.signal_wait()], async |mut task| task.next().await.unwrap())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn adopt<Q: Relax + Barrier>(&self, registration: Registration<Q>) -> Member<'scope, Q> {
        self.task().adopt(registration)
    }

    /// Spawns the future that `body` returns as a task of the enclosing scope, with the
    /// registrations that `on` requests. They are dropped with the context, also by a panic.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let (mut east, mut west) = (cx.phaser(Mode::SignalWait)?, cx.phaser(Mode::SignalWait)?);
    /// cx.spawn_phased([east.signal_only(), west.wait_only()], async |mut task| {
    ///     task.next().await.unwrap(); // signals east, waits for west
    /// })?;
    /// cx.spawn_phased([west.signal_only(), east.wait_only()], async |mut task| {
    ///     task.next().await.unwrap();
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Capability`], or [`PhaserError::Scope`] for a phaser of another scope.
    /// Nothing is spawned then.
    pub fn spawn_phased<'m, F, T, Q>(
        &mut self,
        on: impl IntoIterator<Item = Request<'m, 'scope, Q>>,
        body: F,
    ) -> Result<(), PhaserError>
    where
        'scope: 'm,
        Q: Relax + Barrier + Send + Sync + 'm,
        F: FnOnce(Phased<'scope, 'env, P, Q>) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        self.task().spawn_phased(on, body)
    }
}
