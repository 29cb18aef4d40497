//! The waits of a task as futures.
#![forbid(unsafe_code)]

use super::{PhaserError, Registration};
use crate::port::{Barrier, Relax};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// What a task waits for: see [`Registration::next`]. Dropped, it leaves the task where it is: a signal that was given counts, and
/// a statement is left to the other tasks that have it.
///
/// Once woken, it must be polled or dropped, also if its task was woken for another future that it awaits as well: the end of a phase
/// wakes one task of each part of the tree, and that one wakes the others of its part when it is polled. A task that, instead, awaits
/// what another task of its part does behind the phase waits for ever. Executors poll the task that they wake, and `join!` and
/// `select!` poll all that they were given, so only a future that is polled once and then kept beside an `.await` comes to that.
/// The tree cannot tell such a task from one whose worker is busy: nothing but its poll shows that it has been woken.
///
/// Leaked by [`mem::forget`](core::mem::forget), it leaves its task asleep and its statement owed until the registration is used
/// again, or dropped: that does both. Until then the others wait for the task as for any that does not go on.
#[derive(Debug)]
#[must_use = "nothing happens before it is awaited"]
pub struct Next<'a, P: Relax + Barrier, F = fn()> {
    task: &'a mut Registration<P>,
    stage: Stage,
    statement: Option<F>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Signal,
    Wait,
}

impl<'a, P: Relax + Barrier, F> Next<'a, P, F> {
    pub(super) fn new(task: &'a mut Registration<P>, stage: Stage, statement: Option<F>) -> Self {
        Self {
            task,
            stage,
            statement,
        }
    }
}

impl<P: Relax + Barrier, F> Drop for Next<'_, P, F> {
    fn drop(&mut self) {
        self.task.rise_and_let_go();
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
        } = &mut *self;
        if *stage == Stage::Signal {
            if statement.is_some() {
                task.want_single()?;
            }
            task.arrive()?;
            *stage = Stage::Wait;
        }
        if statement.is_none() {
            return task.poll(cx.waker(), None);
        }
        let mut run = || {
            if let Some(statement) = statement.take() {
                statement();
            }
        };
        task.poll(cx.waker(), Some(&mut run))
    }
}
