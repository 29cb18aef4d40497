//! The waits of a task's registration, as they are reported.

use super::{Member, PoolPort};
use crate::phaser::{PhaserError, Registration};
use crate::port::Host;
use crate::task::pool::Suspends;
use core::future::Future;

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

    /// As [`Registration::wait_blocking`]. Blocks the worker: the tasks that it waits for have to run on
    /// others. In async code, `await` the other form.
    ///
    /// # Errors
    /// As [`Registration::wait_blocking`].
    pub fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        self.blocking(Registration::wait_blocking)
    }

    /// As [`Registration::next_blocking`]. Blocks the worker: the tasks that it waits for have to run on
    /// others. In async code, `await` the other form.
    ///
    /// # Errors
    /// As [`Registration::next_blocking`].
    pub fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.blocking(Registration::next_blocking)
    }

    /// As [`Registration::next_single_blocking`]. Blocks the worker: the tasks that it waits for have to run on
    /// others. In async code, `await` the other form.
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
