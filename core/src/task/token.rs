//! Tokens that cancel finishes from any thread.
//!
//! A token has a list of the finishes that it cancels. A finish is in the list while its body runs,
//! whose tasks are those of a finish inside it, so the list is left before the finish can end. The
//! cancelling thread takes a share of each finish under the lock of the list, which keeps the
//! finish open until the share is given up; it aborts them outside of the lock, since that wakes
//! futures and drops tasks, which may run any code.

use super::cx::Cx;
use super::future::TaskCx;
use super::pool::{Pool, TaskScope};
use super::scope::{Cancelled, Cause, wake};
use crate::finish::Reason;
use crate::port::{Host, Spin};
use crate::sync::Lock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::pin;
use core::ptr::NonNull;
use core::task::{Poll, Waker};

/// Cancels all that runs in a [`finish_until`](Cx::finish_until) with it, from any thread. Clones
/// are the same token.
///
/// A thread that handles Ctrl-C may call it, as that of the crate `ctrlc`; the handler of a signal
/// itself may not.
///
/// ```
/// # use tautline_core::{port::Host, task::{CancelToken, Cx}};
/// # use tautline_core::finish::Reason;
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let token = CancelToken::new();
/// let other = token.clone();
/// std::thread::spawn(move || other.cancel(Reason::Interrupted));
/// let outcome = cx.finish_until(&token, |cx| {
///     cx.spawn(|cx| while cx.cancelled().is_none() {
///         // One step of a long computation.
///     });
/// });
/// assert_eq!(outcome.unwrap_err().reason, Reason::Interrupted);
/// # }
/// ```
#[derive(Clone)]
pub struct CancelToken {
    state: Arc<Lock<State>>,
}

struct State {
    /// The reason why the token was cancelled.
    reason: Option<Reason>,
    finishes: Vec<Listed>,
    /// The number of finishes that were listed so far.
    count: u64,
}

/// A finish that a token cancels.
struct Listed {
    number: u64,
    scope: NonNull<()>,
    /// Takes a share of the scope.
    hold: unsafe fn(NonNull<()>),
    /// Aborts the scope, wakes its body, and gives up the share.
    abort: unsafe fn(NonNull<()>, Reason, Option<Waker>),
    /// The waker of the body, if that is a suspended future.
    body: Option<Waker>,
}

impl State {
    /// Returns where a finish is in the list, unless it was taken out by a cancellation.
    fn place_of(&self, number: u64) -> Option<usize> {
        self.finishes
            .iter()
            .position(|finish| finish.number == number)
    }
}

// SAFETY: the pointer leads to a `TaskScope`, which is Sync.
unsafe impl Send for Listed {}

// Under the lock of the state values are moved only; wakers and tasks, which may panic, run outside
// of it.
impl UnwindSafe for CancelToken {}
impl RefUnwindSafe for CancelToken {}

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        let state = State {
            reason: None,
            finishes: Vec::new(),
            count: 0,
        };
        Self {
            state: Arc::new(Lock::new(state)),
        }
    }

    /// Cancels the finishes that run with this token, and those that begin later, for `reason`.
    /// Returns false, and does nothing, if it was cancelled before.
    ///
    /// Tasks that have not begun are dropped, suspended ones too. A running one ends earlier where
    /// it polls [`Cx::cancelled`], and at its next loop of `par`, `par_for` or `concurrent`, which
    /// unwinds to the finish ([`Cx::par`], Cancellation). The calling thread drops tasks that wait
    /// for a cell.
    pub fn cancel(&self, reason: Reason) -> bool {
        let finishes = {
            let mut state = self.state.lock(&Spin);
            if state.reason.is_some() {
                return false;
            }
            state.reason = Some(reason);
            let finishes = mem::take(&mut state.finishes);
            for finish in &finishes {
                // SAFETY: listed, so the body of the finish has not returned.
                unsafe { (finish.hold)(finish.scope) };
            }
            finishes
        };
        for finish in finishes {
            // SAFETY: the share was taken above.
            unsafe { (finish.abort)(finish.scope, reason, finish.body) };
        }
        true
    }

    /// Returns the reason for which the token was cancelled, if it was.
    pub fn cancelled(&self) -> Option<Reason> {
        self.state.lock(&Spin).reason
    }

    /// Lists the innermost scope of `task`, a finish, until the guard is dropped.
    fn list<'scope, 'env, P: Host>(
        &self,
        task: TaskCx<'scope, 'env, P>,
    ) -> Result<Listing<'scope, 'env, P>, Cancelled> {
        let scope = NonNull::from(task.of_child()).cast();
        let mut state = self.state.lock(&Spin);
        if let Some(reason) = state.reason {
            drop(state);
            return Err(Cancelled { reason });
        }
        let number = state.count;
        state.count += 1;
        state.finishes.push(Listed {
            number,
            scope,
            hold: hold::<P>,
            abort: abort::<P>,
            body: None,
        });
        drop(state);
        let token = self.clone();
        Ok(Listing {
            token,
            number,
            _task: task,
        })
    }
}

/// Takes a share of a scope.
///
/// # Safety
/// The caller must have `scope` from a `TaskScope<P>` that is open.
unsafe fn hold<P: Host>(scope: NonNull<()>) {
    // SAFETY: the scope is open, as the caller ensures.
    unsafe { scope.cast::<TaskScope<P>>().as_ref() }.enter();
}

/// Aborts a scope, wakes its body, and gives up a share of it.
///
/// # Safety
/// The caller must have taken a share by [`hold`], and call this once for it.
unsafe fn abort<P: Host>(scope: NonNull<()>, reason: Reason, body: Option<Waker>) {
    let scope = scope.cast::<TaskScope<P>>();
    // SAFETY: the share keeps the scope.
    let pool = NonNull::from(unsafe { scope.as_ref() }.pool());
    let act = || {
        // SAFETY: the share keeps the scope.
        let this = unsafe { scope.as_ref() };
        this.abort(Cause::Cancelled(reason));
        if let Some(body) = body {
            wake(this.port(), body);
        }
        // SAFETY: the share that the caller has taken.
        unsafe { TaskScope::leave(scope) };
    };
    // SAFETY: the pool outlives its scopes, of which the share keeps one.
    unsafe { Pool::keep(pool, act) };
}

/// A finish in the list of a token.
struct Listing<'scope, 'env, P: Host> {
    token: CancelToken,
    number: u64,
    /// Keeps the finish open; dropped after it was removed from the list.
    _task: TaskCx<'scope, 'env, P>,
}

impl<P: Host> Listing<'_, '_, P> {
    /// Registers the waker of the body.
    ///
    /// # Errors
    /// If the token was cancelled.
    fn set_waker(&self, waker: Waker) -> Result<(), Cancelled> {
        let mut state = self.token.state.lock(&Spin);
        let before = match state.reason {
            Some(reason) => Err((Cancelled { reason }, waker)),
            None => Ok(state
                .place_of(self.number)
                .map(|at| state.finishes[at].body.replace(waker))),
        };
        // Outside of the lock: dropping a waker may run any code.
        drop(state);
        before.map(drop).map_err(|(cancelled, _waker)| cancelled)
    }

    /// Awaits `body`, and drops it when the token is cancelled.
    async fn race<T: Future>(&self, body: T) -> Result<T::Output, Cancelled> {
        let mut body = pin!(body);
        poll_fn(|cx| match self.set_waker(cx.waker().clone()) {
            Ok(()) => body.as_mut().poll(cx).map(Ok),
            Err(cancelled) => Poll::Ready(Err(cancelled)),
        })
        .await
    }
}

impl<P: Host> Drop for Listing<'_, '_, P> {
    fn drop(&mut self) {
        let mut state = self.token.state.lock(&Spin);
        let listed = state.place_of(self.number);
        let listed = listed.map(|at| state.finishes.swap_remove(at));
        // Outside of the lock: dropping a waker may run any code.
        drop(state);
        drop(listed);
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.cancelled())
            .finish()
    }
}

impl<P: Host> Cx<'_, '_, P> {
    /// As [`finish`](Self::finish), and cancelled when `token` is. Does not call `body` if the
    /// token was cancelled before.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::{CancelToken, Cx}};
    /// # use tautline_core::finish::Reason;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let token = CancelToken::new();
    /// assert_eq!(cx.finish_until(&token, |cx| cx.join(|_| 1, |_| 2)), Ok((1, 2)));
    /// token.cancel(Reason::GivenUp);
    /// let cancelled = cx.finish_until(&token, |_| unreachable!());
    /// assert_eq!(cancelled.map_err(|cancelled| cancelled.reason), Err::<(), _>(Reason::GivenUp));
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    ///
    /// # Panics
    /// As [`scope`](Self::scope).
    pub fn finish_until<'e, R>(
        &mut self,
        token: &CancelToken,
        body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    ) -> Result<R, Cancelled> {
        let outcome = self.finish(|cx| {
            let _listing = token.list(cx.task())?;
            cx.finish(body)
        });
        outcome.and_then(|outcome| outcome)
    }
}

impl<P: Host> TaskCx<'_, '_, P> {
    /// As [`finish`](Self::finish), and cancelled when `token` is. Does not call `body` if the
    /// token was cancelled before. The future that `body` returns is dropped when the token is
    /// cancelled.
    ///
    /// If this future is dropped before the tasks have ended, they continue, and the token does not
    /// cancel them any more.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::{CancelToken, TaskCx}};
    /// # use tautline_core::finish::Reason;
    /// # use tautline_core::flow::Ddf;
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// let token = CancelToken::new();
    /// let other = token.clone();
    /// task.spawn(move |_| _ = other.cancel(Reason::GivenUp));
    /// let outcome = task.finish_until(&token, |task| async move {
    ///     // This task would wait for ever.
    ///     task.spawn_async(|_| async { _ = Ddf::<()>::new().wait().await });
    /// });
    /// assert_eq!(outcome.await.unwrap_err().reason, Reason::GivenUp);
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    ///
    /// # Panics
    /// As [`finish`](Self::finish).
    pub async fn finish_until<F, T, R>(&self, token: &CancelToken, body: F) -> Result<R, Cancelled>
    where
        F: FnOnce(Self) -> T,
        T: Future<Output = R>,
    {
        let outcome = self.finish(|task| async move {
            let listing = token.list(task.clone())?;
            let inner = task.finish(|task| listing.race(body(task)));
            inner.await.and_then(|outcome| outcome)
        });
        outcome.await.and_then(|outcome| outcome)
    }
}
