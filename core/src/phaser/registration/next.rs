//! The waits of a task as futures.
#![forbid(unsafe_code)]

use super::Registration;
use crate::phaser::error::PhaserError;
use crate::port::{Barrier, Relax};
use crate::sync::note;
use crate::watch::{Site, Stall};
use core::future::Future;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};

impl<P: Relax + Barrier> Registration<P> {
    /// Waits until all tasks have signalled the phase.
    ///
    /// Yields the errors of [`wait_blocking`](Self::wait_blocking).
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// # async fn f() -> Result<(), PhaserError> {
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// task.signal()?;
    /// task.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn wait(&mut self) -> Next<'_, P> {
        Next::new(self, Stage::Wait, None)
    }

    /// Signals and waits, each if the mode permits it.
    ///
    /// Yields the errors of [`next_blocking`](Self::next_blocking).
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// # async fn f() -> Result<(), PhaserError> {
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// task.next().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[expect(clippy::should_implement_trait, reason = "the construct's own word")]
    #[track_caller]
    pub fn next(&mut self) -> Next<'_, P> {
        Next::new(self, Stage::Signal, None)
    }

    /// As [`next_single_blocking`](Self::next_single_blocking), without blocking a thread.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// # async fn f() -> Result<(), PhaserError> {
    /// let mut task = Registration::create(Spin, Mode::SignalWaitSingle, Config::default())?;
    /// task.next_single(|| println!("once in each phase")).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn next_single<F: FnOnce()>(&mut self, statement: F) -> Next<'_, P, F> {
        Next::new(self, Stage::Signal, Some(statement))
    }
}

/// A task's wait: see [`Registration::next`]. Dropping it does not undo a signal that was sent, and
/// leaves a statement to the other tasks that hold it.
///
/// Once woken, it must be polled or dropped, even if its task was woken for another future that it
/// awaits as well: the end of a phase wakes one task of each part of the tree, and that task wakes
/// the others of its part when it is polled. A task that instead awaits an action that another task
/// of its part performs after the phase waits for ever. Executors poll the task that they wake, and
/// `join!` and `select!` poll all their futures, so this requires a future that is polled once and
/// then kept across another `.await`. The tree cannot distinguish such a task from one whose worker
/// is busy: only its poll shows that it has been woken.
///
/// If leaked by [`mem::forget`](core::mem::forget), it leaves its task parked and its statement
/// owed until the registration is used again or dropped. Until then other tasks wait for this one
/// as for any task that does not continue.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Next<'a, P: Relax + Barrier, F = fn()> {
    task: &'a mut Registration<P>,
    stage: Stage,
    statement: Option<F>,
    /// The call that waits.
    site: Site,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Signal,
    Wait,
}

impl<'a, P: Relax + Barrier, F> Next<'a, P, F> {
    #[track_caller]
    fn new(task: &'a mut Registration<P>, stage: Stage, statement: Option<F>) -> Self {
        Self {
            task,
            stage,
            statement,
            site: Location::caller(),
        }
    }

    /// Sets the call that waits, where it is not the caller.
    pub(crate) fn at(mut self, site: Site) -> Self {
        self.site = site;
        self
    }
}

impl<P: Relax + Barrier, F> Drop for Next<'_, P, F> {
    fn drop(&mut self) {
        self.task.cancel_wait_and_single();
    }
}

impl<P: Relax + Barrier, F> Unpin for Next<'_, P, F> {}

impl<P: Relax + Barrier, F: FnOnce()> Future for Next<'_, P, F> {
    type Output = Result<(), PhaserError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self {
            task,
            stage,
            statement,
            site,
        } = &mut *self;
        if *stage == Stage::Signal {
            if statement.is_some() {
                task.request_single()?;
            }
            task.arrive()?;
            *stage = Stage::Wait;
        }
        let polled = if statement.is_none() {
            task.poll(cx.waker(), None)
        } else {
            let mut run = || {
                if let Some(statement) = statement.take() {
                    statement();
                }
            };
            task.poll(cx.waker(), Some(&mut run))
        };
        if polled.is_pending() {
            note(cx.waker(), Stall::PHASE, Some(site));
        }
        polled
    }
}
