//! Handles: the value of a spawned task, for one waiter.
//!
//! The task and its handle share a cell guarded by a lock, so a handle adds no lock-free word. No
//! foreign code runs under that lock: wakers are cloned, woken and dropped outside of it, and
//! values are moved.
//!
//! A handle is a separate method, [`Cx::spawn_value`], since a wait for a task needs memory that
//! outlives the task, also where its value is `()`; a plain spawn has none.

use super::cx::Cx;
use super::future::TaskCx;
use super::pool::TaskScope;
use super::scope::wake;
use crate::port::{Host, Spin};
use crate::sync::{Lock, note};
use crate::watch::Stall;
use alloc::sync::Arc;
use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

/// The value of a task that was spawned with [`Cx::spawn_value`] and its siblings: joined by a
/// task, or awaited by async code, in any executor.
///
/// Dropping it detaches the task: its scope still waits for it, and its value is dropped.
///
/// ```
/// # use tautline_core::{port::Host, task::Cx};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>, words: &[&str]) {
/// let total: usize = cx.scope(|cx| {
///     let lengths: Vec<_> = words
///         .iter()
///         .map(|word| cx.spawn_value(move |_| word.len()))
///         .collect();
///     lengths.into_iter().map(|length| length.join(cx).unwrap()).sum()
/// });
/// # }
/// ```
#[must_use = "`spawn` costs less if the value is not needed"]
pub struct Handle<R> {
    cell: Arc<Lock<State<R>>>,
}

// Under the lock of the cell values are moved only: no panic leaves it between two states.
impl<R> UnwindSafe for Handle<R> {}
impl<R> RefUnwindSafe for Handle<R> {}

/// The progress of a task.
enum State<R> {
    /// Live. The waker is that of the handle, if it was polled.
    Running(Option<Waker>),
    /// Ended.
    Ended(Result<R, JoinError>),
    /// The handle has taken the result.
    Taken,
}

/// The reason why a task has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The task panicked. The payload reaches the owner of its scope.
    Panicked,
    /// The scope of the task was cancelled, or another of its tasks panicked, before this one had
    /// ended.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panicked => "the task panicked",
            Self::Cancelled => "the task was cancelled before it had ended",
        })
    }
}

impl core::error::Error for JoinError {}

impl<R> Handle<R> {
    /// Waits for the task, and runs other tasks until it ends. It is for tasks that the calling one
    /// has spawned, or that were spawned by those; in a scope that waits by
    /// [`Wait::Own`](super::Wait::Own), for those of that scope or of one inside it, since no other
    /// is run.
    ///
    /// The tasks that a wait runs are on its stack, and the waiting task cannot resume before they
    /// have ended. So two tasks that join tasks which began before them may each be below the one
    /// that the other waits for, on two workers, and wait for ever. In a graph of tasks that wait
    /// for each other, await the handles in async tasks, which occupy no stack.
    ///
    /// A lock that is held during the wait may be requested by a task that the wait runs, which
    /// then deadlocks.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sum = cx.spawn_value(|_| (1..=100).sum::<u32>());
    /// // Other work.
    /// assert_eq!(sum.join(cx), Ok(5050));
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the task has no value: it panicked, or was cancelled.
    pub fn join<P: Host>(self, cx: &mut Cx<'_, '_, P>) -> Result<R, JoinError> {
        match self.take() {
            Some(result) => result,
            None => {
                let mut this = self;
                cx.block_on(poll_fn(|cx| {
                    let polled = Pin::new(&mut this).poll(cx);
                    if polled.is_pending() {
                        note(cx.waker(), Stall::TASK, None);
                    }
                    polled
                }))
            }
        }
    }

    /// Takes the result, if there is one.
    fn take(&self) -> Option<Result<R, JoinError>> {
        let mut state = self.cell.lock(&Spin);
        match mem::replace(&mut *state, State::Taken) {
            State::Ended(result) => Some(result),
            running @ State::Running(_) => {
                *state = running;
                None
            }
            State::Taken => {
                drop(state);
                panic!("a handle was polled after it had returned its result")
            }
        }
    }
}

/// As [`join`](Handle::join).
///
/// # Panics
/// If it is polled after it has returned the result.
impl<R> Future for Handle<R> {
    type Output = Result<R, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(result) = self.take() {
            return Poll::Ready(result);
        }
        let waker = cx.waker().clone();
        let before = match &mut *self.cell.lock(&Spin) {
            State::Running(slot) => slot.replace(waker),
            _ => Some(waker),
        };
        // Outside of the lock: dropping a waker may run any code.
        drop(before);
        // The task may have ended before the waker was registered.
        self.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<R> fmt::Debug for Handle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// The task's side of a handle. Dropped without a value, it reports that the task was cancelled.
struct Sender<'s, P: Host, R> {
    scope: &'s TaskScope<P>,
    cell: Arc<Lock<State<R>>>,
}

impl<'s, P: Host, R> Sender<'s, P, R> {
    /// Creates both sides for a task of `scope`.
    fn new(scope: &'s TaskScope<P>) -> (Self, Handle<R>) {
        let cell = Arc::new(Lock::new(State::Running(None)));
        let handle = Handle {
            cell: Arc::clone(&cell),
        };
        (Self { scope, cell }, handle)
    }

    /// Calls a part of the task. Returns `None` if it has unwound: then the scope is aborted before
    /// the handle is notified, so that a panic of the waiter cannot precede this one.
    fn catch<T>(&self, part: impl FnOnce() -> T) -> Option<T> {
        match self.scope.port().catch(part) {
            Ok(value) => Some(value),
            Err(payload) => {
                let error = match self.scope.port().is_cancellation(&payload) {
                    true => JoinError::Cancelled,
                    false => JoinError::Panicked,
                };
                self.scope.abort_by_task(payload);
                self.end(Err(error));
                None
            }
        }
    }

    /// Ends the task, and wakes the waiter. Later results are ignored.
    fn end(&self, result: Result<R, JoinError>) {
        let mut state = self.cell.lock(&Spin);
        let State::Running(waker) = &mut *state else {
            return;
        };
        let waker = waker.take();
        *state = State::Ended(result);
        drop(state);
        if let Some(waker) = waker {
            wake(self.scope.port(), waker);
        }
    }
}

impl<P: Host, R> Drop for Sender<'_, P, R> {
    fn drop(&mut self) {
        self.end(Err(JoinError::Cancelled));
    }
}

impl<'scope, 'env, P: Host> Cx<'scope, 'env, P> {
    /// As [`spawn`](Self::spawn), and returns a handle that gives the value of `body`. One
    /// allocation more.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>, numbers: &[u64]) {
    /// let (sum, max) = cx.scope(|cx| {
    ///     let sum = cx.spawn_value(|_| numbers.iter().sum::<u64>());
    ///     let max = cx.spawn_value(|_| numbers.iter().max());
    ///     (sum.join(cx).unwrap(), max.join(cx).unwrap())
    /// });
    /// # }
    /// ```
    pub fn spawn_value<R: Send + 'scope>(
        &mut self,
        body: impl FnOnce(&mut Self) -> R + Send + 'scope,
    ) -> Handle<R> {
        let (sender, handle) = Sender::new(self.inside());
        self.spawn(move |cx| sender.run(|| body(cx)));
        handle
    }

    /// As [`spawn_async`](Self::spawn_async), and returns a handle that gives the value of the
    /// future. One allocation more.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use std::num::ParseIntError;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>, text: &str) {
    /// let parsed = cx.scope(|cx| {
    ///     let sum = cx.spawn_async_value(async |_| {
    ///         let (a, b) = text.split_once('+').unwrap_or((text, "0"));
    ///         Ok::<u32, ParseIntError>(a.parse::<u32>()? + b.parse::<u32>()?)
    ///     });
    ///     sum.join(cx).unwrap()
    /// });
    /// # }
    /// ```
    pub fn spawn_async_value<F, T>(&mut self, body: F) -> Handle<T::Output>
    where
        F: FnOnce(TaskCx<'scope, 'env, P>) -> T,
        T: Future<Output: Send> + Send + 'scope,
    {
        self.task().spawn_async_value(body)
    }
}

impl<'scope, 'env, P: Host> TaskCx<'scope, 'env, P> {
    /// As [`spawn`](Self::spawn), and returns a handle that gives the value of `body`. One
    /// allocation more.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// let value = task.spawn_value(|cx| cx.join(|_| 1, |_| 2));
    /// assert_eq!(value.await, Ok((1, 2)));
    /// # }
    /// ```
    pub fn spawn_value<R: Send + 'scope>(
        &self,
        body: impl FnOnce(&mut Cx<'scope, 'env, P>) -> R + Send + 'scope,
    ) -> Handle<R> {
        let (sender, handle) = Sender::new(self.of_child());
        self.spawn(move |cx| sender.run(|| body(cx)));
        handle
    }

    /// As [`spawn_async`](Self::spawn_async), and returns a handle that gives the value of the
    /// future. One allocation more.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::TaskCx};
    /// # async fn f<P: Host>(task: TaskCx<'_, '_, P>) {
    /// let double = |n: u32| async move { n.checked_mul(2).ok_or("too large") };
    /// let value = task.spawn_async_value(|_| async move {
    ///     let n = double(21).await?;
    ///     Ok::<_, &str>(n)
    /// });
    /// assert_eq!(value.await, Ok(Ok(42)));
    /// # }
    /// ```
    pub fn spawn_async_value<F, T>(&self, body: F) -> Handle<T::Output>
    where
        F: FnOnce(Self) -> T,
        T: Future<Output: Send> + Send + 'scope,
    {
        let (sender, handle) = Sender::new(self.of_child());
        self.spawn_async(|task| {
            let future = body(task);
            async move {
                let mut future = pin!(future);
                let value = poll_fn(|cx| match sender.catch(|| future.as_mut().poll(cx)) {
                    Some(poll) => poll.map(Some),
                    None => Poll::Ready(None),
                });
                if let Some(value) = value.await {
                    sender.end(Ok(value));
                }
            }
        });
        handle
    }
}

impl<P: Host, R> Sender<'_, P, R> {
    /// Runs the task.
    fn run(self, body: impl FnOnce() -> R) {
        if let Some(value) = self.catch(body) {
            self.end(Ok(value));
        }
    }
}
