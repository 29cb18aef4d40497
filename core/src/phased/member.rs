//! Registrations on phasers of a scope, and requests to register a child.

use crate::phaser::{Mode, PhaserError, Registration};
use crate::port::{Barrier, Relax};
use crate::task::ScopeId;
use alloc::sync::Arc;
use core::any::Any;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A registration on a phaser that was created in a scope. It registers tasks of that scope only.
#[derive(Debug)]
pub struct Member<'scope, Q: Relax + Barrier> {
    /// First, so that it is dropped before the phase may end for want of this task.
    guard: Option<Arc<dyn Any + Send + Sync>>,
    pub(super) registration: Registration<Q>,
    scope: ScopeId,
    lifetime: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope, Q: Relax + Barrier> Member<'scope, Q> {
    pub(super) fn new(registration: Registration<Q>, scope: ScopeId) -> Self {
        Self {
            guard: None,
            registration,
            scope,
            lifetime: PhantomData,
        }
    }

    /// Keeps `guard` until this registration is dropped, and those of the tasks that it registers
    /// from now on, and that these register. It is dropped before the last of them leaves.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tautline_core::{phaser::{Mode, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let registered = Arc::new(());
    /// let is_left = Arc::downgrade(&registered);
    /// let member = cx.phaser(Mode::SignalWait)?.guarded(registered);
    /// assert!(is_left.upgrade().is_some());
    /// drop(member);
    /// assert!(is_left.upgrade().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn guarded(mut self, guard: Arc<dyn Any + Send + Sync>) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Requests the registration of a child in `mode`; see
    /// [`Cx::spawn_phased`](crate::task::Cx::spawn_phased).
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut member = cx.phaser(Mode::SignalWait)?;
    /// cx.spawn_phased([member.register(Mode::Signal)], async |mut task| task.signal().unwrap())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn register(&mut self, mode: Mode) -> Request<'_, 'scope, Q> {
        Request { parent: self, mode }
    }

    /// Requests the registration of a child that signals and waits.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut barrier = cx.phaser(Mode::SignalWait)?;
    /// for _ in 0..10 {
    ///     cx.spawn_phased([barrier.signal_wait()], async |mut task| task.next().await.unwrap())?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn signal_wait(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::SignalWait)
    }

    /// Requests the registration of a child that only signals.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut ready = cx.phaser(Mode::SignalWait)?;
    /// cx.spawn_phased([ready.signal_only()], async |mut task| task.signal().unwrap())?;
    /// cx.spawn_phased([ready.wait_only()], async |mut task| task.wait().await.unwrap())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn signal_only(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::Signal)
    }

    /// Requests the registration of a child that only waits.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut ready = cx.phaser(Mode::SignalWait)?;
    /// cx.spawn_phased([ready.wait_only()], async |mut task| {
    ///     task.wait().await.unwrap();
    ///     println!("all tasks that signal have signalled, or left");
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_only(&mut self) -> Request<'_, 'scope, Q> {
        self.register(Mode::Wait)
    }

    /// Requests the registration of a child in the mode of this task.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, Op, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let mut member = cx.phaser(Mode::SignalWait)?;
    /// assert_eq!(member.mode(), Mode::SignalWait);
    /// cx.spawn_phased([member.same()], async |mut task| task.next().await.unwrap())?;
    /// # Ok(())
    /// # }
    /// ```
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

/// The phaser on which a child is to be registered, and the mode.
#[derive(Debug)]
pub struct Request<'m, 'scope, Q: Relax + Barrier> {
    parent: &'m mut Member<'scope, Q>,
    mode: Mode,
}

impl<'scope, Q: Relax + Barrier> Request<'_, 'scope, Q> {
    pub(super) fn grant(self, scope: ScopeId) -> Result<Member<'scope, Q>, PhaserError> {
        if self.parent.scope != scope {
            return Err(PhaserError::Scope);
        }
        let child = self.parent.registration.register(self.mode)?;
        Ok(Member {
            guard: self.parent.guard.clone(),
            ..Member::new(child, scope)
        })
    }
}
