//! Phasers among tasks: a scope's tasks that wait for each other, phase by phase, without holding a worker.
//!
//! # Algorithm
//! Habanero's phased tasks (Chatterjee 2013, 6.2). A phaser belongs to the scope in which it was created, and registers tasks of that
//! scope only: else its owner, who waits for the scope's tasks, could be waited for by them. What the owner holds of it is gone
//! when the body of the scope ends, before the wait.
#![forbid(unsafe_code)]

use super::cx::Cx;
use super::future::TaskCx;
use crate::phaser::{Accumulator, Element, Mode, Op, Phaser, PhaserError, Registration};
use crate::port::{Barrier, Host, Relax};
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Which of the pool's scopes it is; no member gets to another pool, as lifetimes tell scopes of different calls apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScopeId(pub(super) usize);

/// The port of a scope's phasers: waits as the pool's port does, without barrier lines.
pub struct PoolPort<'scope, P>(&'scope P);

impl<P> fmt::Debug for PoolPort<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PoolPort")
    }
}

impl<P: Relax> Relax for PoolPort<'_, P> {
    fn relax(&self, turn: u32) {
        self.0.relax(turn);
    }

    fn yield_now(&self, turn: u32) {
        self.0.yield_now(turn);
    }
}

impl<P> Barrier for PoolPort<'_, P> {}

/// A registration on a phaser that was created in a scope; it registers tasks of that scope only.
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

    /// Asks for a child registered as `mode`; see [`Cx::spawn_phased`].
    pub fn register(&mut self, mode: Mode) -> Request<'_, 'scope, Q> {
        Request { parent: self, mode }
    }

    /// Asks for a child that signals and waits.
    pub fn signal_wait(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::SignalWait)
    }

    /// Asks for a child that only signals.
    pub fn signal_only(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::Signal)
    }

    /// Asks for a child that only waits.
    pub fn wait_only(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::Wait)
    }

    /// Asks for a child that may do what this task may.
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

/// What a child is to be registered on, and how.
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

/// What a phased task is given: its place among the others, and the means to spawn more.
pub struct Phased<'scope, 'env: 'scope, P: Host, Q: Relax + Barrier = PoolPort<'scope, P>> {
    cx: TaskCx<'scope, 'env, P>,
    members: Vec<Member<'scope, Q>>,
}

impl<'scope, 'env, P: Host, Q: Relax + Barrier> Phased<'scope, 'env, P, Q> {
    /// The scope, to spawn into.
    pub fn task(&self) -> &TaskCx<'scope, 'env, P> {
        &self.cx
    }

    /// All registrations of this task.
    pub fn members(&mut self) -> &mut [Member<'scope, Q>] {
        &mut self.members
    }

    /// Adds a registration, of a phaser that this task has created.
    pub fn join(&mut self, member: Member<'scope, Q>) {
        self.members.push(member);
    }

    /// The registration on one phaser.
    ///
    /// # Errors
    /// [`PhaserError::NotRegistered`].
    pub fn on(&mut self, phaser: &Phaser<Q>) -> Result<&mut Member<'scope, Q>, PhaserError> {
        let member = self.members.iter_mut().find(|m| m.is_on(phaser));
        member.ok_or(PhaserError::NotRegistered)
    }

    /// Takes this task off one phaser.
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
        for member in &mut self.members {
            member.wait().await?;
        }
        Ok(())
    }

    /// Signals on all phasers, then waits on all of them.
    ///
    /// # Errors
    /// As [`Registration::next`]: the first.
    pub async fn next(&mut self) -> Result<(), PhaserError> {
        if let [member] = &mut self.members[..] {
            return member.next().await;
        }
        self.signal()?;
        self.wait().await
    }

    /// Brings `value` into the accumulator, then [`next`](Self::next).
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

    /// As [`Cx::spawn_phased`].
    ///
    /// # Errors
    /// As [`Cx::spawn_phased`].
    pub fn spawn_phased<'m, F, T>(
        &self,
        on: impl IntoIterator<Item = Request<'m, 'scope, Q>>,
        body: F,
    ) -> Result<(), PhaserError>
    where
        'scope: 'm,
        Q: 'm + Send + Sync,
        F: FnOnce(Self) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        self.cx.spawn_phased(on, body)
    }
}

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    fn pool_port(&self) -> PoolPort<'scope, P> {
        PoolPort(self.of_child().pool().port())
    }

    /// A new phaser of this task's scope, built as the pool says, with the caller registered on it, alone.
    ///
    /// # Errors
    /// As [`Registration::create`].
    pub fn phaser(&self, mode: Mode) -> Result<Member<'scope, PoolPort<'scope, P>>, PhaserError> {
        let registration = Registration::create(self.pool_port(), mode, self.phasers())?;
        Ok(self.adopt(registration))
    }

    /// As [`phaser`](Self::phaser), signal-wait, with a reduction: `op` makes one of the values of a phase.
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

    /// Makes a registration that nobody else has one of a phaser of this task's scope.
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
    /// A new phaser of the enclosing scope, built as the pool says, with the caller registered on it, alone. It is gone when the
    /// body of the scope ends.
    ///
    /// # Errors
    /// As [`Registration::create`].
    pub fn phaser(&self, mode: Mode) -> Result<Member<'scope, PoolPort<'scope, P>>, PhaserError> {
        self.task().phaser(mode)
    }

    /// As [`phaser`](Self::phaser), signal-wait, with a reduction: `op` makes one of the values of a phase.
    ///
    /// # Errors
    /// As [`Accumulator::create`].
    pub fn accumulator<T: Element>(
        &self,
        op: Op,
    ) -> Result<Accumulates<'scope, T, P>, PhaserError> {
        self.task().accumulator(op)
    }

    /// As [`TaskCx::adopt`], for a phaser that is built in any other way.
    pub fn adopt<Q: Relax + Barrier>(&self, registration: Registration<Q>) -> Member<'scope, Q> {
        self.task().adopt(registration)
    }

    /// Lets the future that `body` gives run some time before the enclosing scope ends, registered as `on` says before it
    /// begins; what it is given ends its registrations with it. A panic in it ends them too, and the scope.
    ///
    /// # Errors
    /// [`PhaserError::Capability`]; [`PhaserError::Scope`]: a phaser of another scope. Nothing is spawned then.
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
