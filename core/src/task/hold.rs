//! Holds: shares of a scope that any thread may release.
//!
//! A hold is a share as a task has one, without a body. It refers to the scope by pointer, without
//! a lifetime: the scope and its pool live until the share is given up, so a hold that is never
//! dropped keeps them for ever.

use super::cx::Cx;
use super::future::TaskCx;
use super::pool::{Pool, TaskScope};
use super::scope::{Cause, MemberKey, discard};
use crate::finish::Reason;
use crate::port::Host;
use crate::watch::Site;
use core::fmt;
use core::panic::{Location, RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::task::Waker;

/// A share of a scope, which does not end before it is dropped, on any thread: by [`Cx::hold`].
///
/// What runs outside of the pool joins a scope with it: an operation of a communication thread, of
/// a device, of another library. Its end releases the scope as that of a task does: what the thread
/// did before the drop is visible after the scope, and its owner is woken if this was the last
/// share. An abort of the scope, by a panic or a cancellation, does not release holds: the scope
/// waits for them, and reports the first panic or the cancellation afterwards.
///
/// A hold borrows nothing. If it is leaked, or dropped only after the scope, the scope does not
/// end; a runtime in which nothing else runs reports the calls that took the holds.
///
/// ```
/// # use tautline_core::{port::Host, task::{Cx, Hold}};
/// # use std::sync::mpsc::{self, Sender};
/// # fn f<P: Host + 'static>(cx: &mut Cx<'_, '_, P>) {
/// // A thread that communicates, say. It is no worker.
/// let (requests, received) = mpsc::channel::<(u32, Sender<u32>, Hold<P>)>();
/// std::thread::spawn(move || {
///     for (n, answers, hold) in received {
///         answers.send(2 * n).unwrap();
///         drop(hold);
///     }
/// });
/// let (answers, answer) = mpsc::channel();
/// cx.scope(|cx| requests.send((21, answers, cx.hold())).unwrap());
/// assert_eq!(answer.try_recv(), Ok(42)); // sent before the scope has ended
/// # }
/// ```
#[must_use = "dropped, it does not hold the scope"]
pub struct Hold<P: Host> {
    scope: NonNull<TaskScope<P>>,
    /// The call that took it.
    site: Site,
    watch: Option<MemberKey>,
}

// A scope counts and is aborted as a whole: a panic of a task leaves it consistent.
impl<P: Host> UnwindSafe for Hold<P> {}
impl<P: Host> RefUnwindSafe for Hold<P> {}

// SAFETY: the scope is Sync, and alive until the hold gives up its share, which any thread may do.
unsafe impl<P: Host> Send for Hold<P> {}
// SAFETY: the scope is Sync, and payloads are Send.
unsafe impl<P: Host> Sync for Hold<P> {}

impl<P: Host> Hold<P> {
    /// Creates a hold of `scope`, which already counts it.
    fn of(scope: &TaskScope<P>, site: Site) -> Self {
        scope.add_hold(site);
        Self {
            scope: NonNull::from(scope),
            site,
            watch: None,
        }
    }

    /// Aborts the scope with a panic, as that of a task does, and releases the hold. Tasks that
    /// have not begun are dropped, some of them by this thread. The owner of the scope gets
    /// `payload` if it is the first panic.
    ///
    /// ```
    /// # use tautline_core::{port::{Host, Unwind}, task::Cx};
    /// # use std::any::Any;
    /// # use std::panic::{AssertUnwindSafe, catch_unwind};
    /// # fn f<P: Host + Unwind<Payload = Box<dyn Any + Send>> + 'static>(cx: &mut Cx<'_, '_, P>) {
    /// let sent = catch_unwind(AssertUnwindSafe(|| {
    ///     cx.scope(|cx| {
    ///         let hold = cx.hold();
    ///         std::thread::spawn(move || hold.fail(Box::new("rank 3 is lost")));
    ///     });
    /// }));
    /// assert_eq!(sent.unwrap_err().downcast_ref(), Some(&"rank 3 is lost"));
    /// # }
    /// ```
    pub fn fail(self, payload: P::Payload) {
        self.abort(payload);
    }

    /// As [`fail`](Self::fail), but the scope still waits for the hold.
    pub fn abort(&self, payload: P::Payload) {
        self.scope().abort(Cause::Panic(payload));
    }

    /// Cancels the innermost finish around the hold, as a task does by [`Cx::cancel`]. Returns
    /// false without such a finish.
    pub fn cancel(&self, reason: Reason) -> bool {
        self.scope().cancel(reason)
    }

    /// Wakes `waker` once the scope is aborted, by a panic or a cancellation, or at once if it was;
    /// it may be woken at other times, too. It is dropped with the hold.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::finish::Reason;
    /// # use std::sync::Arc;
    /// # use std::task::Wake;
    /// # fn f<P: Host + 'static>(cx: &mut Cx<'_, '_, P>) {
    /// struct Stop;
    ///
    /// impl Wake for Stop {
    ///     fn wake(self: Arc<Self>) {
    ///         println!("what runs outside of the pool is to stop");
    ///     }
    /// }
    ///
    /// _ = cx.finish(|cx| {
    ///     let mut hold = cx.hold();
    ///     hold.watch(Arc::new(Stop).into());
    ///     cx.cancel(Reason::Found);
    ///     assert!(hold.is_aborted());
    /// });
    /// # }
    /// ```
    pub fn watch(&mut self, waker: Waker) {
        let before = self.watch.replace(self.scope().add_watch(waker.clone()));
        before
            .into_iter()
            .for_each(|key| self.scope().remove_watch(key));
        if self.is_aborted() {
            waker.wake();
        }
    }

    /// Returns whether the scope was aborted: its tasks that have not begun are dropped.
    pub fn is_aborted(&self) -> bool {
        self.scope().is_aborted()
    }

    /// Returns the reason why a finish around the hold was cancelled, if one was.
    pub fn cancelled(&self) -> Option<Reason> {
        self.scope().reason()
    }

    fn scope(&self) -> &TaskScope<P> {
        // SAFETY: the share keeps the scope until `self` is dropped.
        unsafe { self.scope.as_ref() }
    }
}

impl<P: Host> Drop for Hold<P> {
    fn drop(&mut self) {
        let Self { scope, site, watch } = *self;
        // SAFETY: the share keeps the scope, and so its pool.
        let pool = NonNull::from(unsafe { scope.as_ref() }.pool());
        // By pointer: the scope may be freed before this returns.
        let release = || {
            // SAFETY: the share keeps the scope until it is given up, next.
            let held = unsafe { scope.as_ref() };
            if let Some(key) = watch {
                // Its drop may run any code.
                discard(held.port(), held.port().catch(|| held.remove_watch(key)));
            }
            held.remove_hold(site);
            // SAFETY: the share that was taken when the hold was created.
            unsafe { TaskScope::leave(scope) };
        };
        // SAFETY: the share keeps the pool until `release` gives it up.
        unsafe { Pool::keep(pool, release) };
    }
}

impl<P: Host> fmt::Debug for Hold<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hold({})", self.site)
    }
}

impl<P: Host> Cx<'_, '_, P> {
    /// Returns a share of the enclosing scope, which does not end before the share is dropped, by
    /// any thread.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// # fn f<P: Host + 'static>(cx: &mut Cx<'_, '_, P>) {
    /// static DONE: AtomicU32 = AtomicU32::new(0);
    /// cx.scope(|cx| {
    ///     for _ in 0..3 {
    ///         let hold = cx.hold();
    ///         std::thread::spawn(move || {
    ///             DONE.fetch_add(1, Relaxed);
    ///             drop(hold);
    ///         });
    ///     }
    /// });
    /// assert_eq!(DONE.load(Relaxed), 3);
    /// # }
    /// ```
    #[track_caller]
    pub fn hold(&self) -> Hold<P> {
        let scope = self.inside();
        scope.enter_on(self.worker());
        Hold::of(scope, Location::caller())
    }
}

impl<P: Host> TaskCx<'_, '_, P> {
    /// Returns a share of the enclosing scope; see [`Cx::hold`].
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// # async fn f<P: Host + 'static>(task: TaskCx<'_, '_, P>) {
    /// static DONE: AtomicBool = AtomicBool::new(false);
    /// let finish = task.finish(async |task| {
    ///     let hold = task.hold();
    ///     std::thread::spawn(move || {
    ///         DONE.store(true, Relaxed);
    ///         drop(hold);
    ///     });
    /// });
    /// // Suspends this task until the thread has dropped the hold.
    /// assert!(finish.await.is_ok() && DONE.load(Relaxed));
    /// # }
    /// ```
    #[track_caller]
    pub fn hold(&self) -> Hold<P> {
        let scope = self.of_child();
        scope.enter();
        Hold::of(scope, Location::caller())
    }
}
