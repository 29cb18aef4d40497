//! Phased tasks that return a value.

use super::{Phased, Request};
use crate::phaser::PhaserError;
use crate::port::{Barrier, Host, Relax};
use crate::task::{Cx, Handle, TaskCx};
use core::future::Future;

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    /// As [`spawn_phased`](Self::spawn_phased), and returns a handle that gives the value of the
    /// future. One allocation more.
    ///
    /// # Errors
    /// As [`Cx::spawn_phased`].
    pub fn spawn_phased_value<'m, F, T, Q>(
        &self,
        on: impl IntoIterator<Item = Request<'m, 'scope, Q>>,
        body: F,
    ) -> Result<Handle<T::Output>, PhaserError>
    where
        'scope: 'm,
        Q: Relax + Barrier + Send + Sync + 'm,
        F: FnOnce(Phased<'scope, 'env, P, Q>) -> T,
        T: Future<Output: Send> + Send + 'scope,
    {
        let members = self.granted(on)?;
        Ok(self.spawn_async_value(|cx| body(Phased { cx, members })))
    }
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    /// As [`spawn_phased`](Self::spawn_phased), and returns a handle that gives the value of the
    /// future. One allocation more.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Mode, PhaserError}, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), PhaserError> {
    /// let phases = cx.scope(|cx| {
    ///     let mut barrier = cx.phaser(Mode::SignalWait)?;
    ///     let task = cx.spawn_phased_value([barrier.signal_wait()], async |mut task| {
    ///         for _ in 0..10 {
    ///             task.next().await?;
    ///         }
    ///         Ok::<_, PhaserError>(10)
    ///     })?;
    ///     drop(barrier); // a member that waits for the value would not signal
    ///     task.join(cx).expect("the task does not panic")
    /// })?;
    /// assert_eq!(phases, 10);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`spawn_phased`](Self::spawn_phased).
    pub fn spawn_phased_value<'m, F, T, Q>(
        &mut self,
        on: impl IntoIterator<Item = Request<'m, 'scope, Q>>,
        body: F,
    ) -> Result<Handle<T::Output>, PhaserError>
    where
        'scope: 'm,
        Q: Relax + Barrier + Send + Sync + 'm,
        F: FnOnce(Phased<'scope, 'env, P, Q>) -> T,
        T: Future<Output: Send> + Send + 'scope,
    {
        self.task().spawn_phased_value(on, body)
    }
}
