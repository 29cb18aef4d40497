//! Waiting for a teamed call.

use crate::execution::runtime::Cx;
use std::fmt;
use std::future::IntoFuture;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A call of a [`Team`](super::Team) that has begun. The other ranks wait for it: dropped before
/// its end, it ends the calls of all ranks with an error.
#[must_use = "the other ranks wait until this one has waited for it"]
pub struct TeamCall<F>(F);

impl<F> fmt::Debug for TeamCall<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TeamCall")
    }
}

impl<F: Future> TeamCall<F> {
    #[inline]
    pub(super) fn new(future: F) -> Self {
        Self(future)
    }

    /// Waits for the end in a task, whose worker runs other tasks until then. Those run above this
    /// one on its stack, and must end before this returns. So a task is an async one, which
    /// `.await`s its calls, if other tasks of its rank wait for later calls of the same ranks, or
    /// if it runs beside activities that other ranks wait for.
    #[inline]
    pub fn wait(self, cx: &mut Cx<'_, '_>) -> F::Output {
        let mut future = pin!(self.0);
        // Mostly the messages come soon: no waker is made.
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(output) => output,
            Poll::Pending => cx.block_on(future),
        }
    }
}

impl<F: Future> IntoFuture for TeamCall<F> {
    type Output = F::Output;
    type IntoFuture = F;

    fn into_future(self) -> F {
        self.0
    }
}
