//! Async code in tasks: futures that wait without occupying a worker.

mod block_on;
mod finish;

use super::cx::Cx;
use super::job::Task;
use super::job::future::spawn_future;
use super::job::spawned::Spawned;
use super::pool::{Pool, TaskScope};
use super::scope::ScopeId;
use crate::finish::Reason;
use crate::port::Host;
use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// The context of async code. Unlike a [`Cx`], it stays valid when a suspended task resumes on
/// another worker.
///
/// Children may borrow what lives for `'scope`: that is the scope of the innermost [`Cx`] around
/// them, which blocks until all of them have ended. They cannot borrow what an async task owns,
/// since the task may be dropped before them: they take a share of it, or borrow what was made
/// before the scope.
///
/// ```
/// # use tautline_core::{flow::Ddf, port::Host, task::TaskCx};
/// # fn f<'s, P: Host>(task: TaskCx<'s, '_, P>, parts: &'s [u32], sum: &'s Ddf<u32>, outer: &'s Ddf<u32>) {
/// // The children own their contexts, and borrow `parts` and the cells, which outlive the scope.
/// task.spawn_async(move |_| async move { println!("{}", sum.wait().await + outer.wait().await) });
/// task.spawn(move |_| _ = sum.put(parts.iter().sum()));
/// # }
/// ```
pub struct TaskCx<'scope, 'env: 'scope, P: Host> {
    scope: Held<'scope, P>,
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

// A scope counts and is aborted as a whole: a panic of a task leaves it consistent.
impl<P: Host> UnwindSafe for TaskCx<'_, '_, P> {}
impl<P: Host> RefUnwindSafe for TaskCx<'_, '_, P> {}

/// The scope that children join.
enum Held<'scope, P: Host> {
    /// Opened by a [`Cx`].
    Blocking(&'scope TaskScope<P>),
    /// Opened by async code; the context holds a share of it.
    Suspending(Arc<TaskScope<P>>),
}

impl<P: Host> Clone for TaskCx<'_, '_, P> {
    fn clone(&self) -> Self {
        let scope = match &self.scope {
            Held::Blocking(scope) => Held::Blocking(scope),
            Held::Suspending(scope) => {
                scope.enter();
                Held::Suspending(Arc::clone(scope))
            }
        };
        Self {
            scope,
            lifetimes: PhantomData,
        }
    }
}

impl<P: Host> Drop for TaskCx<'_, '_, P> {
    fn drop(&mut self) {
        if let Held::Suspending(scope) = &self.scope {
            // SAFETY: the share that the context holds.
            let leave = || unsafe { TaskScope::leave(NonNull::from(&**scope)) };
            // SAFETY: the pool outlives its scopes, of which the share keeps one.
            unsafe { Pool::keep(NonNull::from(scope.pool()), leave) };
        }
    }
}

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    fn scope(&self) -> &TaskScope<P> {
        match &self.scope {
            Held::Blocking(scope) => scope,
            Held::Suspending(scope) => scope,
        }
    }

    /// Returns the identity of the enclosing scope, which no other scope of the pool has, before or
    /// after.
    pub fn scope_id(&self) -> ScopeId {
        self.scope().id()
    }

    /// Returns the scope with the lifetime of its children.
    pub(super) fn of_child(&self) -> &'scope TaskScope<P> {
        // SAFETY: a scope outlives its tasks, and `'scope`, that of the scope around it, outlives
        // it.
        unsafe { NonNull::from(self.scope()).as_ref() }
    }

    /// Spawns `body` as a task of the enclosing scope, on any worker. One allocation.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// task.spawn(|cx| {
    ///     let (a, b) = cx.join(|_| 1, |_| 2);
    ///     println!("{}", a + b);
    /// });
    /// # }
    /// ```
    pub fn spawn(&self, body: impl FnOnce(&mut Cx<'scope, 'env, P>) + Send + 'scope) {
        let scope = self.of_child();
        scope.enter();
        Pool::schedule(Spawned::task(scope, body));
    }

    /// Spawns the future that `body` returns as a task of the enclosing scope. One allocation.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// task.spawn_async(|task| async move {
    ///     task.yield_now().await;
    ///     println!("later");
    /// });
    /// # }
    /// ```
    pub fn spawn_async<F, T>(&self, body: F)
    where
        F: FnOnce(Self) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        // Called before the scope counts the task, since it may panic.
        let future = body(self.clone());
        let scope = self.of_child();
        scope.enter();
        Pool::schedule(spawn_future(scope, future));
    }

    /// Runs the child immediately; the continuation after the `await` may be stolen (work-first).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// task.fork(|_| async { println!("first") }).await;
    /// println!("second, possibly on another worker");
    /// # }
    /// ```
    pub fn fork<F, T>(
        &self,
        body: F,
    ) -> impl Future<Output = ()> + Send + use<'scope, 'env, F, T, P>
    where
        F: FnOnce(Self) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        let future = body(self.clone());
        let scope = self.of_child();
        scope.enter();
        let child = Some(spawn_future(scope, future));
        Forking { child }
    }

    /// Cancels the innermost finish around this task; see [`Cx::cancel`].
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # use tautline_core::finish::Reason;
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// let outcome = task.finish(|task| async move { task.cancel(Reason::GivenUp) }).await;
    /// assert_eq!(outcome.unwrap_err().reason, Reason::GivenUp);
    /// # }
    /// ```
    pub fn cancel(&self, reason: Reason) -> bool {
        self.scope().cancel(reason)
    }

    /// Returns the pool, for the lifetime of the scope.
    pub(crate) fn pool(&self) -> &'scope Pool<P> {
        self.of_child().pool()
    }

    /// Returns the machine under the pool.
    pub(crate) fn port(&self) -> &P {
        self.scope().pool().port()
    }

    /// Returns the position of the calling worker among the leaves of the pool's tree.
    pub(crate) fn position(&self) -> usize {
        let pool = self.scope().pool();
        pool.position(pool.port().current())
    }

    /// Returns whether other tasks wait for the worker that polls this one: a long task may then
    /// [yield](Self::yield_now).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// for step in 0..1_000_000 {
    ///     if task.should_yield() {
    ///         task.yield_now().await;
    ///     }
    ///     // One step of a long computation.
    /// }
    /// # }
    /// ```
    pub fn should_yield(&self) -> bool {
        self.scope().pool().has_waiting()
    }

    /// Lets other tasks run before this one resumes.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// while task.cancelled().is_none() {
    ///     // A step of a background task.
    ///     task.yield_now().await;
    /// }
    /// # }
    /// ```
    pub async fn yield_now(&self) {
        let mut yielded = false;
        poll_fn(|cx| {
            if core::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Returns the reason why a finish around this task was cancelled, if one was.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// if let Some(reason) = task.cancelled() {
    ///     println!("cancelled: {}", reason.name());
    /// }
    /// # }
    /// ```
    pub fn cancelled(&self) -> Option<Reason> {
        self.scope().reason()
    }
}

/// A fork of async code: runs the child before the continuation.
struct Forking<P: Host> {
    child: Option<Task<P>>,
}

impl<P: Host> Forking<P> {
    fn start(&mut self) -> bool {
        let child = self.child.take();
        child.map(Pool::schedule_next).is_some()
    }
}

impl<P: Host> Future for Forking<P> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.start() {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<P: Host> Drop for Forking<P> {
    fn drop(&mut self) {
        self.start();
    }
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    /// Returns the identity of the enclosing scope, which no other scope of the pool has, before or
    /// after.
    pub fn scope_id(&self) -> ScopeId {
        self.inside().id()
    }

    /// Returns the context with which async code spawns into the enclosing scope.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let task = cx.task();
    /// cx.block_on(async move {
    ///     task.spawn(|_| println!("a task of the enclosing scope"));
    /// });
    /// # }
    /// ```
    pub fn task(&self) -> TaskCx<'scope, 'env, P> {
        let scope = self.inside();
        TaskCx {
            scope: match scope.share() {
                Some(shared) => Held::Suspending(shared),
                None => Held::Blocking(scope),
            },
            lifetimes: PhantomData,
        }
    }

    /// Spawns the future that `body` returns as a task of the enclosing scope, on any worker; while
    /// suspended, it occupies none. One allocation.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::flow::Ddf;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let cell = Ddf::new();
    /// cx.scope(|cx| {
    ///     cx.spawn_async(|_| async { println!("{}", cell.wait().await) });
    ///     cx.spawn(|_| cell.put(42).unwrap());
    /// });
    /// # }
    /// ```
    pub fn spawn_async<F, T>(&mut self, body: F)
    where
        F: FnOnce(TaskCx<'scope, 'env, P>) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        self.task().spawn_async(body);
    }
}
