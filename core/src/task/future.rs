//! Async code among tasks: futures that wait without holding a worker.

use super::job::{Spawned, Task, spawn_future};
use super::phased::ScopeId;
use super::pool::Pool;
use super::scope::{Await, Cause, Owner, Scope};
use super::{Awaited, Cancelled, Cx};
use crate::finish::Reason;
use crate::id::WorkerId;
use crate::phaser::Config;
use crate::port::{Host, Spin};
use crate::sync::{AtomicUsize, Lock, Ordering};
use alloc::sync::Arc;
use alloc::task::Wake;
use core::future::{Future, poll_fn};
use core::marker::PhantomData;
use core::pin::{Pin, pin};
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};

/// What async code is given instead of a [`Cx`]: it stays the same when a suspended task goes on elsewhere.
///
/// Children may borrow what lives for `'scope`: that is the scope of the last [`Cx`] around them, which blocks until all
/// of them have ended. What an async task owns itself they cannot borrow, since the task may be dropped before them.
pub struct TaskCx<'scope, 'env: 'scope, P: Host> {
    scope: Held<'scope, P>,
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// The scope that children join.
enum Held<'scope, P: Host> {
    /// Opened by a [`Cx`].
    Blocking(&'scope Scope<P>),
    /// Opened by async code; with a share of it.
    Suspending(Arc<Scope<P>>),
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
            // SAFETY: the share that came with it.
            let leave = || unsafe { Scope::leave(NonNull::from(&**scope)) };
            // SAFETY: the pool outlives its scopes; that share keeps one.
            unsafe { Pool::keep(NonNull::from(scope.pool()), leave) };
        }
    }
}

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    fn scope(&self) -> &Scope<P> {
        match &self.scope {
            Held::Blocking(scope) => scope,
            Held::Suspending(scope) => scope,
        }
    }

    pub(super) fn scope_id(&self) -> ScopeId {
        ScopeId(self.scope().number())
    }

    /// How phasers are built here.
    pub(super) fn phasers(&self) -> Config {
        self.scope().pool().phasers()
    }

    /// The scope for as long as a child of it is under way.
    fn of_child(&self) -> &'scope Scope<P> {
        // SAFETY: a scope outlives its tasks, and what `'scope` stands for outlives this one too.
        unsafe { NonNull::from(self.scope()).as_ref() }
    }

    /// Lets `body` run some time before the enclosing scope ends, on any worker. One allocation.
    pub fn spawn(&self, body: impl FnOnce(&mut Cx<'scope, 'env, P>) + Send + 'scope) {
        let scope = self.of_child();
        scope.enter();
        Pool::schedule(Spawned::task(scope, body));
    }

    /// Lets the future that `body` gives run some time before the enclosing scope ends. One allocation.
    pub fn spawn_async<F, T>(&self, body: F)
    where
        F: FnOnce(Self) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        // Before the scope counts it: it may panic.
        let future = body(self.clone());
        let scope = self.of_child();
        scope.enter();
        Pool::schedule(spawn_future(scope, future));
    }

    /// Runs the child at once and leaves what follows the `await` to whoever comes first, this worker or a thief
    /// (work-first).
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

    /// Runs the future that `body` gives and, without holding a worker, waits until all that was spawned in it has
    /// ended too.
    ///
    /// # Errors
    /// It, or a finish around it, was cancelled.
    ///
    /// # Panics
    /// With the first panic of a task in it. If the future is dropped before the tasks have ended, they go on, and the scope
    /// around them gets the panic.
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

    /// Ends the innermost finish around this task; see [`Cx::cancel`].
    pub fn cancel(&self, reason: Reason) -> bool {
        self.scope().cancel(reason)
    }

    /// Why a finish around this task was cancelled, if one was.
    pub fn cancelled(&self) -> Option<Reason> {
        self.scope().reason()
    }
}

/// A finish of async code, open.
struct Finish<'scope, 'env, P: Host> {
    watch: Watch<P>,
    context: TaskCx<'scope, 'env, P>,
}

/// The one who waits for a finish, until it is dropped.
struct Watch<P: Host>(Arc<Scope<P>>);

impl<P: Host> Drop for Watch<P> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<'scope, 'env, P: Host> Finish<'scope, 'env, P> {
    fn open(around: &TaskCx<'scope, 'env, P>) -> Self {
        let outer = around.scope();
        // The tasks' share of the scope around them: what they borrow is alive until they have ended, even if the
        // future that waits for them is dropped.
        outer.enter();
        let owner = Owner::Future(Lock::new(Await::Nobody));
        let scope =
            Arc::new(Scope::new(outer.pool(), Some(outer), owner, outer.wait).cancellable());
        // The tasks' share of the memory.
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
                Poll::Pending
            }
        })
        .await;
        match scope.take_cause() {
            None => Ok(()),
            Some(Cause::Cancelled(reason)) => Err(Cancelled { reason }),
            Some(Cause::Panic(payload)) => scope.pool().port().resume(payload),
        }
    }
}

/// Gives the worker to a child first.
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
    /// What async code is given to spawn into the enclosing scope.
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

    /// Lets the future that `body` gives run some time before the enclosing scope ends, on any worker, suspended without
    /// one. One allocation.
    pub fn spawn_async<F, T>(&mut self, body: F)
    where
        F: FnOnce(TaskCx<'scope, 'env, P>) -> T,
        T: Future<Output = ()> + Send + 'scope,
    {
        self.task().spawn_async(body);
    }

    /// Runs `future` to its end and helps with other tasks meanwhile.
    ///
    /// # Panics
    /// With the panic of `future`.
    pub fn block_on<T: Future>(&mut self, future: T) -> T::Output {
        let mut future = pin!(future);
        let signal = Arc::new(Signal::new(self.pool(), self.worker()));
        let waker = Waker::from(Arc::clone(&signal));
        let _silenced = Silenced(&signal);
        loop {
            signal.reset();
            let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
            let forked = self.at().run_next();
            if let Poll::Ready(output) = poll {
                return output;
            }
            let base = self.at().own().bottom();
            if !forked && signal.is_done() {
                // It was woken while it ran: others first.
                self.at().help_once(&self.help(base));
            }
            self.at().wait(&*signal, self.help(base));
        }
    }
}

/// Wakes a worker that waits for a future.
///
/// # Orderings
/// | id | release side | acquire side | what becomes visible | model |
/// |---|---|---|---|---|
/// | B1 | `wake` | `reset` | what the waker did before | `block_on_*` in `verify/tests/task.rs` |
struct Signal<P: Host> {
    state: AtomicUsize,
    worker: WorkerId,
    /// Wakers may outlive the pool: none when nobody waits any more.
    pool: Lock<Option<NonNull<Pool<P>>>>,
}

const WOKEN: usize = 1;
const ASLEEP: usize = 2;

// SAFETY: the pool is Sync, and is there while the pointer is, which is under the lock.
unsafe impl<P: Host> Send for Signal<P> {}
// SAFETY: as above.
unsafe impl<P: Host> Sync for Signal<P> {}

impl<P: Host> Signal<P> {
    fn new(pool: &Pool<P>, worker: WorkerId) -> Self {
        Self {
            state: AtomicUsize::new(0),
            worker,
            pool: Lock::new(Some(NonNull::from(pool))),
        }
    }

    fn reset(&self) {
        // ORDERING: Acquire, pairs with Release in wake (B1): the poll that follows sees why.
        self.state.swap(0, Ordering::Acquire);
    }
}

impl<P: Host> Awaited for Signal<P> {
    fn is_done(&self) -> bool {
        // ORDERING: Relaxed: the reset before the next poll acquires (B1).
        self.state.load(Ordering::Relaxed) & WOKEN != 0
    }

    fn sleep(&self) -> bool {
        // ORDERING: Relaxed: of two changes of one word the second sees the first; the reset acquires (B1).
        self.state.fetch_or(ASLEEP, Ordering::Relaxed) & WOKEN == 0
    }
}

impl<P: Host> Wake for Signal<P> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: Release, pairs with Acquire in reset (B1).
        if self.state.fetch_or(WOKEN, Ordering::Release) & ASLEEP == 0 {
            return;
        }
        if let Some(pool) = &*self.pool.lock(&Spin) {
            // SAFETY: there while the pointer is.
            let pool = unsafe { pool.as_ref() };
            pool.port().unpark(self.worker);
        }
    }
}

/// Nobody waits any more, whether by return or by panic.
struct Silenced<'a, P: Host>(&'a Signal<P>);

impl<P: Host> Drop for Silenced<'_, P> {
    fn drop(&mut self) {
        *self.0.pool.lock(&Spin) = None;
    }
}
