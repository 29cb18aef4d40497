//! The waits of tasks for a phase, as they are reported and counted.

use super::{Member, PoolPort};
use crate::phaser::{PhaserError, Registration};
use crate::port::Host;
use crate::task::Pool;
use crate::watch::Awaits;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// The waits of [`Registration`], reported for
/// [`Pool::inspect`](crate::task::Pool::inspect): blocking ones as a state of the
/// worker that they occupy, the others by their number.
impl<'p, P: Host> Member<'_, PoolPort<'p, P>> {
    /// As [`Registration::wait`].
    #[track_caller]
    pub fn wait(&mut self) -> impl Future<Output = Result<(), PhaserError>> + use<'_, 'p, P> {
        let pool = self.registration.port().0;
        Suspends::new(pool, self.registration.wait())
    }

    /// As [`Registration::next`].
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "the construct's own word")]
    pub fn next(&mut self) -> impl Future<Output = Result<(), PhaserError>> + use<'_, 'p, P> {
        let pool = self.registration.port().0;
        Suspends::new(pool, self.registration.next())
    }

    /// As [`Registration::wait_blocking`]. Blocks the worker: the tasks that it waits for have to
    /// run on others. In async code, `await` the other form.
    ///
    /// # Errors
    /// As [`Registration::wait_blocking`].
    pub fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        self.blocking(Registration::wait_blocking)
    }

    /// As [`Registration::next_blocking`]. Blocks the worker: the tasks that it waits for have to
    /// run on others. In async code, `await` the other form.
    ///
    /// # Errors
    /// As [`Registration::next_blocking`].
    pub fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.blocking(Registration::next_blocking)
    }

    /// As [`Registration::next_single_blocking`]. Blocks the worker: the tasks that it waits for
    /// have to run on others. In async code, `await` the other form.
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
        pool.blocking(Awaits::Phase, || wait(&mut self.registration))
    }
}

/// A wait for a phase that counts its task as suspended while it is, if the pool
/// [counts](Pool::counts_suspended) such tasks.
pub(super) struct Suspends<'p, P: Host, F> {
    /// The pool, while the task is counted or may be.
    pool: Option<&'p Pool<P>>,
    wait: F,
    is_suspended: bool,
}

impl<'p, P: Host, F> Suspends<'p, P, F> {
    pub(super) fn new(pool: &'p Pool<P>, wait: F) -> Self {
        Self {
            pool: pool.counts_suspended().then_some(pool),
            wait,
            is_suspended: false,
        }
    }

    #[cold]
    fn record(&mut self, pool: &Pool<P>, suspended: bool) {
        pool.count_suspended(suspended);
        self.is_suspended = suspended;
    }
}

impl<P: Host, F: Future + Unpin> Future for Suspends<'_, P, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.wait).poll(cx);
        if let Some(pool) = self.pool {
            if polled.is_pending() != self.is_suspended {
                self.record(pool, polled.is_pending());
            }
        }
        polled
    }
}

impl<P: Host, F> Drop for Suspends<'_, P, F> {
    fn drop(&mut self) {
        if let (Some(pool), true) = (self.pool, self.is_suspended) {
            self.record(pool, false);
        }
    }
}
