//! Finish for async code.

use super::{Held, TaskCx};
use crate::port::Host;
use crate::sync::{Lock, note};
use crate::task::pool::TaskScope;
use crate::task::scope::{Awaiter, Cancelled, Cause, Owner};
use crate::watch::Stall;
use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::task::Poll;

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    /// Runs the future that `body` returns, and waits, without occupying a worker, until all tasks
    /// spawned in it have ended.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// let done = task.finish(|task| async move {
    ///     task.spawn(|_| println!("one"));
    ///     task.spawn(|_| println!("two"));
    /// });
    /// // Suspends this task until both have ended.
    /// assert!(done.await.is_ok());
    /// # }
    /// ```
    ///
    /// # Errors
    /// If it, or a finish around it, was cancelled.
    ///
    /// # Panics
    /// With the first panic of a task in it. If the future is dropped before the tasks have ended,
    /// they continue, and a panic aborts the scope around them.
    pub async fn finish<F, T, R>(&self, body: F) -> Result<R, Cancelled>
    where
        F: FnOnce(Self) -> T,
        T: Future<Output = R>,
    {
        let finish = Finish::open(self);
        let result = body(finish.context.clone()).await;
        finish.closed().await?;
        Ok(result)
    }
}

/// A finish of async code that is open.
struct Finish<'scope, 'env, P: Host> {
    watch: Watch<P>,
    context: TaskCx<'scope, 'env, P>,
}

/// The waiter of a finish. Notifies the scope when it is dropped.
struct Watch<P: Host>(Arc<TaskScope<P>>);

impl<P: Host> Drop for Watch<P> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<'scope, 'env, P: Host> Finish<'scope, 'env, P> {
    fn open(around: &TaskCx<'scope, 'env, P>) -> Self {
        let outer = around.scope();
        // The tasks' share of the parent scope: what they borrow is alive until they have ended,
        // even if the future that waits for them is dropped.
        outer.enter();
        let owner = Owner::Future(Lock::new(Awaiter::NotPolled));
        let scope = TaskScope::new(outer.pool(), Some(outer), owner, outer.wait);
        let scope = Arc::new(scope.cancellable().marked(outer.mark()));
        // The tasks' reference to the Arc.
        _ = Arc::into_raw(Arc::clone(&scope));
        let context = TaskCx {
            scope: Held::Suspending(Arc::clone(&scope)),
            lifetimes: PhantomData,
        };
        let watch = Watch(scope);
        Self { watch, context }
    }

    /// Waits until all tasks have ended.
    async fn closed(self) -> Result<(), Cancelled> {
        let Self { watch, context } = self;
        let scope = &*watch.0;
        drop(context);
        poll_fn(|cx| {
            if scope.poll(cx.waker()) {
                Poll::Ready(())
            } else {
                note(cx.waker(), Stall::FINISH, None);
                Poll::Pending
            }
        })
        .await;
        match scope.take_cause() {
            None => Ok(()),
            Some(Cause::Cancelled(reason)) => Err(Cancelled { reason }),
            Some(Cause::Panic(payload)) => scope.port().resume(payload),
        }
    }
}
