//! The context of a task: its worker, its scope, and the scopes that it opens.

mod join;
mod spawn;

use super::pool::{Pool, TaskScope};
use super::scope::{Around, Cancelled, Cause, Owner, discard};
use super::wait::{Wait, no_unwind};
use super::worker::Worker;
use super::worker::help::Help;
use crate::deque::split::Index;
use crate::finish::Reason;
use crate::id::WorkerId;
use crate::port::Host;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// The context of a task: the worker on which it runs, and the scope that its children join.
///
/// Children may borrow what lives for `'env`, and what lives for `'scope`.
///
/// What is borrowed must outlive the scope:
/// ```compile_fail,E0373
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     cx.scope(|cx| {
///         let gone_too_soon = 1;
///         cx.spawn(|_| assert_eq!(gone_too_soon, 1));
///     });
/// }
/// ```
/// What a task borrows mutably is borrowed until the scope has ended:
/// ```compile_fail,E0499
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let mut out = 0;
///     cx.scope(|cx| {
///         cx.spawn(|_| out = 1);
///         cx.spawn(|_| out = 2);
///     });
/// }
/// ```
/// ```compile_fail,E0503
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let mut out = 0;
///     cx.scope(|cx| {
///         cx.spawn(|_| out = 1);
///         assert!(out < 2);
///     });
/// }
/// ```
/// It stays with its task: neither another thread can use it,
/// ```compile_fail,E0277
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     std::thread::scope(|s| _ = s.spawn(|| cx.worker()));
/// }
/// ```
/// nor a child,
/// ```compile_fail,E0277
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &Cx<'_, '_, P>, inner: &mut Cx<'_, '_, P>) {
///     inner.join(|_| (), |_| _ = cx.worker());
/// }
/// ```
/// nor is it usable while an inner one is:
/// ```compile_fail,E0501
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     cx.scope(|_| cx.spawn(|_| ()));
/// }
/// ```
/// Captured values must be `Send`:
/// ```compile_fail,E0277
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let here = std::rc::Rc::new(1);
///     cx.scope(|cx| cx.spawn(move |_| assert_eq!(*here, 1)));
/// }
/// ```
/// Without these errors it compiles:
/// ```
/// # use tautline_core::{port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     let (lives, mut out) = (1, 0);
///     cx.scope(|cx| {
///         cx.spawn(|_| out = lives);
///         cx.spawn(|cx| assert_eq!(cx.join(|_| lives, |_| lives), (1, 1)));
///     });
///     assert_eq!(out, 1);
/// }
/// ```
pub struct Cx<'scope, 'env: 'scope, P: Host> {
    worker: NonNull<Worker<P>>,
    scope: &'scope TaskScope<P>,
    /// The scope and the mark of this task; alive while it runs.
    around: NonNull<Around<Pool<P>>>,
    /// Invariant in both lifetimes, as `std::thread::Scope`.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    #[inline(always)]
    pub(super) fn new(worker: &Worker<P>, scope: &'scope TaskScope<P>) -> Self {
        Self {
            worker: worker.pointer(),
            scope,
            around: scope.around(),
            lifetimes: PhantomData,
        }
    }

    /// Creates the context of a fork that `on` has stolen.
    ///
    /// # Safety
    /// `around` must be what is around the fork, and alive while the context is used, and `'scope`
    /// the lifetime of its scope.
    pub(super) unsafe fn of_fork(on: &Worker<P>, around: NonNull<Around<Pool<P>>>) -> Self {
        Self {
            worker: on.pointer(),
            // SAFETY: as the caller ensures.
            scope: unsafe { Around::scope(around).as_ref() },
            around,
            lifetimes: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn at(&self) -> &Worker<P> {
        // SAFETY: a task has its Cx only while it runs on that worker, whose seat is then held.
        unsafe { self.worker.as_ref() }
    }

    #[inline(always)]
    pub(super) fn inside(&self) -> &'scope TaskScope<P> {
        self.scope
    }

    /// Returns the worker that runs this task.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut tasks_by_worker = [0; 64];
    /// tasks_by_worker[cx.worker().index()] += 1;
    /// # }
    /// ```
    pub fn worker(&self) -> WorkerId {
        self.at().id()
    }

    /// Returns the pool that runs this task.
    pub fn pool(&self) -> &Pool<P> {
        self.at().pool()
    }

    /// As [`pool`](Self::pool), for the lifetime of the scope.
    pub(crate) fn pool_of_scope(&self) -> &'scope Pool<P> {
        self.scope.pool()
    }

    /// Returns the mark of this task: that of the innermost region around its creation, or 0.
    pub(crate) fn mark(&self) -> u64 {
        // SAFETY: what is around a task is alive while it runs.
        unsafe { self.around.as_ref() }.mark()
    }

    /// Calls `body` in a region with this mark, which its forks and scopes have, too.
    #[inline]
    pub(crate) fn marked<R>(&mut self, mark: u64, body: impl FnOnce(&mut Self) -> R) -> R {
        // Outlives the forks of `body`, which are joined before it returns or unwinds.
        let around = Around::of_region(self.scope, mark);
        body(&mut Self {
            worker: self.worker,
            scope: self.scope,
            around: NonNull::from(&around),
            lifetimes: PhantomData,
        })
    }

    /// Returns the tasks that may run in a wait of this task for those pushed from `base` on.
    pub(super) fn help(&self, base: Index) -> Help<'scope, P> {
        Help::of(self.scope, base)
    }

    /// Runs `body` and returns when it and all tasks spawned in it, directly or by its tasks, have
    /// ended. Cannot be cancelled from outside.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut squares = [0; 10];
    /// cx.scope(|cx| {
    ///     for (i, square) in squares.iter_mut().enumerate() {
    ///         cx.spawn(move |_| *square = i * i);
    ///     }
    /// });
    /// assert_eq!(squares[9], 81);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With the panic of `body`, else with the first panic of a task. Tasks that have not begun by
    /// then are dropped.
    pub fn scope<'e, R>(&mut self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R) -> R {
        self.scope_with(Wait::Help, body)
    }

    /// As [`scope`](Self::scope), with the given wait mode.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use std::sync::Mutex;
    /// # use tautline_core::task::Wait;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let total = Mutex::new(0);
    /// let mut guard = total.lock().unwrap();
    /// let (mut a, mut b) = (0, 0);
    /// // While this task waits, its worker runs no unrelated task, which might lock `total`, too.
    /// cx.scope_with(Wait::Own, |cx| {
    ///     cx.spawn(|_| a = 1);
    ///     cx.spawn(|_| b = 2);
    /// });
    /// *guard += a + b;
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn scope_with<'e, R>(
        &mut self,
        wait: Wait,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> R {
        match self.open(wait, false, body) {
            Ok(result) => result,
            Err(reason) => unreachable!("a scope was cancelled: {reason}"),
        }
    }

    /// Runs `body` and returns when it and all tasks spawned in it, directly or by its tasks, have
    /// ended (Chatterjee, `finish`). A task in it may [`cancel`](Self::cancel) it.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::finish::Reason;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let found = cx.finish(|cx| {
    ///     for candidate in 1..100 {
    ///         cx.spawn(move |cx| {
    ///             if candidate * candidate == 49 {
    ///                 cx.cancel(Reason::Found);
    ///             }
    ///         });
    ///     }
    /// });
    /// assert_eq!(found.unwrap_err().reason, Reason::Found);
    /// # }
    /// ```
    ///
    /// # Errors
    /// If it, or a finish around it, was cancelled: tasks that had not begun by then were dropped,
    /// and loops may have unwound to it.
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn finish<'e, R>(
        &mut self,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Cancelled> {
        self.finish_with(Wait::Help, body)
    }

    /// As [`finish`](Self::finish), with the given wait mode.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::task::Wait;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let done = cx.finish_with(Wait::Park, |cx| cx.spawn(|_| println!("a task of this finish")));
    /// assert!(done.is_ok());
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn finish_with<'e, R>(
        &mut self,
        wait: Wait,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Cancelled> {
        self.open(wait, true, body)
            .map_err(|reason| Cancelled { reason })
    }

    fn open<'e, R>(
        &mut self,
        wait: Wait,
        cancellable: bool,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Reason> {
        // A wait inside an isolated task must not run other tasks either.
        let wait = match self.scope.wait {
            Wait::Help => wait,
            outer => outer,
        };
        let owner = Owner::Worker(self.worker());
        let scope = TaskScope::new(self.pool(), Some(self.scope), owner, wait);
        let scope = scope.marked(self.mark());
        let scope = if cancellable {
            scope.cancellable()
        } else {
            scope
        };
        Self::inside_of(self.at(), &scope, body)
    }

    /// Opens a scope without a parent, on a worker that runs no task, or inside its running task.
    pub(super) fn enter<'e, R>(
        worker: &Worker<P>,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> R {
        let owner = Owner::Worker(worker.id());
        let scope = TaskScope::new(worker.pool(), None, owner, worker.isolation());
        match Self::inside_of(worker, &scope, body) {
            Ok(result) => result,
            Err(reason) => unreachable!("a scope was cancelled: {reason}"),
        }
    }

    fn inside_of<'e, R>(
        worker: &Worker<P>,
        scope: &TaskScope<P>,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Reason> {
        let port = worker.pool().port();
        let run = || {
            let _isolation = worker.isolate(scope.wait);
            let base = worker.own().bottom();
            // Caught, since other tasks run during the wait, and must not be unwound.
            let outcome = port.catch(|| body(&mut Cx::new(worker, scope)));
            close(worker, scope, base, outcome.is_err());
            outcome
        };
        let outcome = if worker.is_below_floor(core::ptr::from_ref(scope).addr()) {
            worker.on_more_stack(run)
        } else {
            run()
        };
        match (outcome, scope.take_cause()) {
            (Ok(result), None) => Ok(result),
            (Ok(_), Some(Cause::Cancelled(reason))) => Err(reason),
            (Ok(_), Some(Cause::Panic(payload))) => port.resume(payload),
            (Err(payload), cause) => Self::unwound(scope, payload, cause),
        }
    }

    /// Ends a scope whose body has unwound with `payload`: by a panic, or by a cancellation, over
    /// which a panic of a task takes precedence.
    #[cold]
    fn unwound<R>(
        scope: &TaskScope<P>,
        payload: P::Payload,
        cause: Option<Cause<P::Payload>>,
    ) -> Result<R, Reason> {
        let port = scope.port();
        if !port.is_cancellation(&payload) {
            discard(port, cause);
            port.resume(payload)
        }
        let reason = match cause {
            Some(Cause::Panic(panic)) => {
                discard(port, payload);
                port.resume(panic)
            }
            Some(Cause::Cancelled(reason)) => Some(reason),
            None => scope.reason().filter(|_| scope.cancellable),
        };
        match reason {
            Some(reason) => {
                discard(port, payload);
                Err(reason)
            }
            None => port.resume(payload),
        }
    }

    /// Runs the body of a task of `scope`, unless the scope was aborted: then `body` is only
    /// dropped. A panic aborts the scope.
    #[inline]
    pub(super) fn run_in(
        on: &Worker<P>,
        scope: &'scope TaskScope<P>,
        body: impl FnOnce(&mut Self),
    ) {
        let port = on.pool().port();
        let outcome = if scope.is_aborted() {
            port.catch(|| drop(body))
        } else {
            port.catch(|| {
                let _isolation = on.isolate(scope.wait);
                body(&mut Cx::new(on, scope))
            })
        };
        if let Err(payload) = outcome {
            scope.abort_by_task(payload);
        }
    }

    /// Returns whether loops of this task are to be cut short: a finish around it was cancelled,
    /// and the machine can unwind to it.
    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        self.scope.reason().is_some() && self.pool().port().cancellation().is_some()
    }

    /// Unwinds to the finish that was cancelled; [`is_cut`](Self::is_cut) has returned true.
    #[cold]
    pub(crate) fn unwind_to_finish(&self) -> ! {
        let port = self.pool().port();
        match port.cancellation() {
            Some(payload) => port.resume(payload),
            None => unreachable!("a loop was cut short on a machine without unwinding"),
        }
    }

    /// Cancels the innermost [`finish`](Self::finish) around this task: its tasks that have not
    /// begun are dropped. A running one ends earlier where it polls [`cancelled`](Self::cancelled),
    /// and at its next loop of `par`, `par_for` or `concurrent`, which unwinds to the finish
    /// ([`par`](Self::par), Cancellation). Later reasons are ignored. Returns false if there is no
    /// finish around it.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::finish::Reason;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// // A context of async code may be moved to another thread: here to one that waits for a deadline.
    /// let outcome = cx.finish(|cx| {
    ///     let task = cx.task();
    ///     std::thread::scope(|threads| {
    ///         threads.spawn(move || task.cancel(Reason::Deadline));
    ///     });
    /// });
    /// assert_eq!(outcome.unwrap_err().reason, Reason::Deadline);
    /// # }
    /// ```
    pub fn cancel(&self, reason: Reason) -> bool {
        self.scope.cancel(reason)
    }

    /// Returns the reason why a finish around this task was cancelled, if one was.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// for step in 0..1_000_000 {
    ///     if cx.cancelled().is_some() {
    ///         return;
    ///     }
    ///     // One step of a long computation.
    /// }
    /// # }
    /// ```
    pub fn cancelled(&self) -> Option<Reason> {
        self.scope.reason()
    }
}

/// Waits until all tasks of the scope have ended, which are cancelled if its body panicked.
#[inline]
fn close<P: Host>(worker: &Worker<P>, scope: &TaskScope<P>, base: Index, has_panicked: bool) {
    // Tasks access the scope, and what they borrow, until they have ended.
    no_unwind(|| {
        if has_panicked {
            scope.abort_by_body();
        }
        await_tasks(worker, scope, base);
    });
}

/// Waits until all tasks of the scope have ended.
#[inline]
fn await_tasks<P: Host>(worker: &Worker<P>, scope: &TaskScope<P>, base: Index) {
    let help = Help::of(scope, base);
    // While no other worker has a task of it, the scope costs its owner no atomic access. Bound
    // tasks precede own ones.
    let is_flat = worker.pool().is_flat();
    while is_flat && !scope.is_over() && worker.help_newest(&help) {}
    if is_flat && !scope.is_over() {
        // Once: a future that yields is queued again, and then other tasks come first.
        _ = worker.help_queued(scope);
    }
    if !scope.is_over() && !scope.settle() {
        worker.wait(scope.counter(), help);
    }
}
