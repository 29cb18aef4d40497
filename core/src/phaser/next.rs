//! The waits of a task as futures.
#![forbid(unsafe_code)]

use super::{PhaserError, Registration};
use crate::port::{Barrier, Relax};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// What a task waits for: see [`Registration::next`]. Dropped, it leaves the task where it is: a signal that was given counts, and
/// a statement is left to others who have it. Once woken, it is to be polled or dropped: others may depend on it for their waking.
#[derive(Debug)]
#[must_use = "nothing happens before it is awaited"]
pub struct Next<'a, P: Relax + Barrier, F = fn()> {
    task: &'a mut Registration<P>,
    stage: Stage,
    statement: Option<F>,
    /// The phase in which it wants the statement run.
    wants: Option<usize>,
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
            wants: None,
        }
    }
}

impl<P: Relax + Barrier, F> Drop for Next<'_, P, F> {
    fn drop(&mut self) {
        self.task.rise();
        if let Some(phase) = self.wants {
            self.task.let_go(phase);
        }
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
            wants,
        } = &mut *self;
        if *stage == Stage::Signal {
            if statement.is_some() {
                *wants = Some(task.want_single()?);
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
