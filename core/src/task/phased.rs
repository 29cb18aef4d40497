//! Phasers in tasks: tasks of a scope that wait for each other, phase by phase, without occupying a worker.
//!
//! # Algorithm
//! Habanero's phased tasks (Chatterjee 2013, 6.2). A phaser belongs to the scope in which it was created, and registers tasks
//! of that scope only: otherwise the scope's owner, which waits for its tasks, could be waited for by them. The owner's
//! registrations are dropped when the body of the scope ends, before the wait.
#![forbid(unsafe_code)]

use super::cx::Cx;
use super::future::TaskCx;
use super::pool::{Pool, Suspends};
use super::scope::ScopeId;
use crate::phaser::{Accumulator, Element, Mode, Op, Phaser, PhaserError, Registration};
use crate::port::{Barrier, Host, Relax};
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

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

/// A registration on a phaser that was created in a scope. It registers tasks of that scope only.
#[derive(Debug)]
pub struct Member<'scope, Q: Relax + Barrier> {
    registration: Registration<Q>,
    scope: ScopeId,
    lifetime: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope, Q: Relax + Barrier> Member<'scope, Q> {
    fn new(registration: Registration<Q>, scope: ScopeId) -> Self {
        Self {
            registration,
            scope,
            lifetime: PhantomData,
        }
    }

    /// Requests the registration of a child in `mode`; see [`Cx::spawn_phased`].
    pub fn register(&mut self, mode: Mode) -> Request<'_, 'scope, Q> {
        Request { parent: self, mode }
    }

    /// Requests the registration of a child that signals and waits.
    pub fn signal_wait(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::SignalWait)
    }

    /// Requests the registration of a child that only signals.
    pub fn signal_only(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::Signal)
    }

    /// Requests the registration of a child that only waits.
    pub fn wait_only(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::Wait)
    }

    /// Requests the registration of a child in the mode of this task.
    pub fn same(&mut self) -> Request<'_, 'scope, Q> {
        self.register(self.mode())
    }
}

impl<Q: Relax + Barrier> Deref for Member<'_, Q> {
    type Target = Registration<Q>;

    fn deref(&self) -> &Registration<Q> {
        &self.registration
    }
}

impl<Q: Relax + Barrier> DerefMut for Member<'_, Q> {
    fn deref_mut(&mut self) -> &mut Registration<Q> {
        &mut self.registration
    }
}

/// The waits of [`Registration`], reported for [`Pool::inspect`]: blocking ones as a state of the
/// worker that they occupy, the others by their number.
impl<'p, P: Host> Member<'_, PoolPort<'p, P>> {
    /// As [`Registration::wait`].
    pub fn wait(&mut self) -> impl Future<Output = Result<(), PhaserError>> + use<'_, 'p, P> {
        let pool = self.registration.port().0;
        Suspends::new(pool, self.registration.wait())
    }

    /// As [`Registration::next`].
    #[expect(clippy::should_implement_trait, reason = "the construct's own word")]
    pub fn next(&mut self) -> impl Future<Output = Result<(), PhaserError>> + use<'_, 'p, P> {
        let pool = self.registration.port().0;
        Suspends::new(pool, self.registration.next())
    }

    /// As [`Registration::wait_blocking`].
    ///
    /// # Errors
    /// As [`Registration::wait_blocking`].
    pub fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        self.blocking(Registration::wait_blocking)
    }

    /// As [`Registration::next_blocking`].
    ///
    /// # Errors
    /// As [`Registration::next_blocking`].
    pub fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.blocking(Registration::next_blocking)
    }

    /// As [`Registration::next_single_blocking`].
    ///
    /// # Errors
    /// As [`Registration::next_single_blocking`].
    ///
    /// # Panics
    /// As [`Registration::next_single_blocking`].
    pub fn next_single_blocking(&mut self, statement: impl FnOnce()) -> Result<(), PhaserError> {
        self.blocking(|registration| registration.next_single_blocking(statement))
    }

    fn blocking<R>(&mut self, wait: impl FnOnce(&mut Registration<PoolPort<'p, P>>) -> R) -> R {
        let pool = self.registration.port().0;
        pool.in_phase_wait(|| wait(&mut self.registration))
    }
}

/// The phaser on which a child is to be registered, and the mode.
#[derive(Debug)]
pub struct Request<'m, 'scope, Q: Relax + Barrier> {
    parent: &'m mut Member<'scope, Q>,
    mode: Mode,
}

impl<'scope, Q: Relax + Barrier> Request<'_, 'scope, Q> {
    fn grant(self, scope: ScopeId) -> Result<Member<'scope, Q>, PhaserError> {
        if self.parent.scope != scope {
            return Err(PhaserError::Scope);
        }
        let child = self.parent.registration.register(self.mode)?;
        Ok(Member::new(child, scope))
    }
}

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
    pub fn task(&self) -> &TaskCx<'scope, 'env, P> {
        &self.cx
    }

    /// Returns all registrations of this task.
    pub fn members(&mut self) -> &mut [Member<'scope, Q>] {
        &mut self.members
    }

    /// Adds a registration on a phaser that this task has created.
    pub fn join(&mut self, member: Member<'scope, Q>) {
        self.members.push(member);
    }

    /// Returns the registration on `phaser`.
    ///
    /// # Errors
    /// [`PhaserError::NotRegistered`].
    pub fn on(&mut self, phaser: &Phaser<Q>) -> Result<&mut Member<'scope, Q>, PhaserError> {
        let member = self.members.iter_mut().find(|m| m.is_on(phaser));
        member.ok_or(PhaserError::NotRegistered)
    }

    /// Drops the registration on `phaser`.
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
    /// # Errors
    /// As [`Registration::signal`]: the first.
    pub fn signal(&mut self) -> Result<(), PhaserError> {
        self.members.iter_mut().try_for_each(|m| m.signal())
    }

    /// Waits on all phasers.
    ///
    /// # Errors
    /// As [`Registration::wait`]: the first.
    pub async fn wait(&mut self) -> Result<(), PhaserError> {
        let pool = self.cx.of_child().pool();
        for member in &mut self.members {
            if pool.counts_suspended() {
                Suspends::new(pool, member.registration.wait()).await?;
            } else {
                member.registration.wait().await?;
            }
        }
        Ok(())
    }

    /// Signals on all phasers, then waits on all of them.
    ///
    /// # Errors
    /// As [`Registration::next`]: the first.
    pub async fn next(&mut self) -> Result<(), PhaserError> {
        let pool = self.cx.of_child().pool();
        if let [member] = &mut self.members[..] {
            return if pool.counts_suspended() {
                Suspends::new(pool, member.registration.next()).await
            } else {
                member.registration.next().await
            };
        }
        self.signal()?;
        self.wait().await
    }

    /// Puts `value` into the accumulator, then calls [`next`](Self::next).
    ///
    /// # Errors
    /// As [`Accumulator::put`] and [`next`](Self::next).
    pub async fn accum_next<T: Element>(
        &mut self,
        accumulator: &Accumulator<T, Q>,
        value: T,
    ) -> Result<(), PhaserError> {
        accumulator.put(self.on(&accumulator.phaser())?, value)?;
        self.next().await
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
        PoolPort(self.of_child().pool())
    }

    /// Creates a phaser of this task's scope, configured by the pool, and registers the calling task.
    ///
    /// # Errors
    /// As [`Registration::create`].
    pub fn phaser(&self, mode: Mode) -> Result<Member<'scope, PoolPort<'scope, P>>, PhaserError> {
        let registration = Registration::create(self.pool_port(), mode, self.phasers())?;
        Ok(self.adopt(registration))
    }

    /// As [`phaser`](Self::phaser) in signal-wait mode, with a reduction: `op` combines the values of a phase.
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

    /// Makes the phaser of `registration`, which must be its only one, a phaser of this task's scope.
    pub fn adopt<Q: Relax + Barrier>(&self, registration: Registration<Q>) -> Member<'scope, Q> {
        Member::new(registration, self.scope_id())
    }

    /// As [`Cx::spawn_phased`].
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
        let scope = self.scope_id();
        let members = on.into_iter().map(|request| request.grant(scope));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        self.spawn_async(|cx| body(Phased { cx, members }));
        Ok(())
    }
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    /// Creates a phaser of the enclosing scope, configured by the pool, and registers the calling task until the body of the
    /// scope ends.
    ///
    /// # Errors
    /// As [`Registration::create`].
    pub fn phaser(&self, mode: Mode) -> Result<Member<'scope, PoolPort<'scope, P>>, PhaserError> {
        self.task().phaser(mode)
    }

    /// As [`phaser`](Self::phaser) in signal-wait mode, with a reduction: `op` combines the values of a phase.
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
    pub fn adopt<Q: Relax + Barrier>(&self, registration: Registration<Q>) -> Member<'scope, Q> {
        self.task().adopt(registration)
    }

    /// Spawns the future that `body` returns as a task of the enclosing scope, with the registrations that `on` requests. They
    /// are dropped with the context, also by a panic.
    ///
    /// # Errors
    /// [`PhaserError::Capability`], or [`PhaserError::Scope`] for a phaser of another scope. Nothing is spawned then.
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
