//! Tasks that are spawned from outside of a runtime, and the handles with which any thread or
//! executor waits for them.
//!
//! The tasks are those of one finish, which a thread of the runtime opens when the first is
//! spawned; the thread itself is one more caller of the runtime, and works as the others do. Bodies
//! wait in one queue. For each, a future in the finish spawns a task, which any worker may run, and
//! which starts the *oldest* body: workers run their newest tasks first and steal the oldest ones,
//! but bodies start first in, first out.

use crate::execution::engine::Engine;
use crate::process::contain::contain;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use tautline_core::finish::Reason;
use tautline_core::sync::note;
use tautline_core::task::{self, CancelToken, Cancelled};
use tautline_core::watch::Stall;
use tautline_node::pool::Node;
use tautline_node::process::Owned;

type Payload = Box<dyn Any + Send>;

/// Contexts of the tasks, which borrow nothing.
type Cx<'s> = task::Cx<'s, 'static, Node>;
type TaskCx<'s> = task::TaskCx<'s, 'static, Node>;

type Job = Box<dyn for<'s> FnOnce(&mut Cx<'s>) + Send>;

/// The reason why a task that was spawned from outside has no value.
pub enum Failure {
    /// The task, or one that it has spawned, panicked with this payload.
    Panicked(Payload),
    /// The task was cancelled, by itself or by the end of its runtime.
    Cancelled(Cancelled),
}

impl Failure {
    /// Returns the failure of a task whose runtime has ended, or belongs to another process.
    fn cancelled() -> Self {
        let reason = Reason::Interrupted;
        Self::Cancelled(Cancelled { reason })
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = match self {
            Self::Cancelled(cancelled) => return fmt::Display::fmt(cancelled, f),
            Self::Panicked(payload) => payload,
        };
        let text = payload.downcast_ref::<&str>().copied();
        match text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)) {
            Some(text) => write!(f, "the task panicked: {text}"),
            None => f.write_str("the task panicked"),
        }
    }
}

impl std::error::Error for Failure {}

/// The value of a task that was [spawned](crate::Runtime::spawn) from outside of the runtime:
/// joined by a thread, or awaited in any executor.
///
/// Dropping it detaches the task, which continues.
pub struct Detached<R> {
    /// In the child of `fork`, the task is not there.
    cell: Owned<Arc<Cell<R>>>,
    engine: Weak<Engine>,
}

impl<R> fmt::Debug for Detached<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detached").finish_non_exhaustive()
    }
}

/// State shared by a task and its handle.
struct Cell<R> {
    state: Mutex<State<R>>,
    ended: Condvar,
}

enum State<R> {
    Running(Option<Waker>),
    Ended(Result<R, Failure>),
    Taken,
}

impl<R> Cell<R> {
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().expect("no panic while the lock is held")
    }

    /// Takes the result, if there is one.
    fn take(&self) -> Option<Result<R, Failure>> {
        let mut state = self.state();
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

    /// Ends the task. Later results are ignored.
    fn end(&self, result: Result<R, Failure>) {
        let mut state = self.state();
        let State::Running(waker) = &mut *state else {
            return;
        };
        let waker = waker.take();
        *state = State::Ended(result);
        drop(state);
        self.ended.notify_all();
        contain(|| waker.into_iter().for_each(Waker::wake));
    }
}

/// The task's side. Dropped without a value, it reports that the task was cancelled.
struct Sender<R>(Arc<Cell<R>>);

impl<R> Drop for Sender<R> {
    fn drop(&mut self) {
        self.0.end(Err(Failure::cancelled()));
    }
}

impl<R> Detached<R> {
    /// Waits for the task: a worker of the same runtime runs other tasks until then, any other
    /// thread blocks.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::new()?;
    /// let task = rt.spawn(|cx| cx.join(|_| 1, |_| 2));
    /// assert_eq!(task.join().unwrap(), (1, 2));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the task panicked, or was cancelled.
    pub fn join(self) -> Result<R, Failure> {
        let here = self.engine.upgrade().filter(|engine| engine.is_worker());
        if let Some(engine) = here {
            return engine.threads.run(|cx| cx.block_on(self));
        }
        let Some(cell) = self.cell.get() else {
            return Err(Failure::cancelled());
        };
        let running = |state: &mut State<R>| matches!(state, State::Running(_));
        let state = cell.ended.wait_while(cell.state(), running);
        drop(state.expect("no panic while the lock is held"));
        cell.take().expect("the task has ended")
    }
}

/// As [`join`](Detached::join).
///
/// # Panics
/// If it is polled after it has returned the result.
impl<R> Future for Detached<R> {
    type Output = Result<R, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(cell) = self.cell.get() else {
            return Poll::Ready(Err(Failure::cancelled()));
        };
        if let Some(result) = cell.take() {
            return Poll::Ready(result);
        }
        let waker = cx.waker().clone();
        let before = match &mut *cell.state() {
            State::Running(slot) => slot.replace(waker),
            _ => Some(waker),
        };
        // Outside of the lock: dropping a waker may run any code.
        drop(before);
        // The task may have ended before the waker was registered.
        cell.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A computation that runs while it is [awaited](crate::Runtime::run_async). Dropping it cancels
/// the computation.
#[must_use = "dropping it cancels the computation"]
#[derive(Debug)]
pub struct Running<R> {
    task: Detached<Result<R, Cancelled>>,
    token: CancelToken,
}

impl<R> Future for Running<R> {
    type Output = Result<R, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = Pin::new(&mut self.task).poll(cx);
        ended.map(|ended| ended?.map_err(Failure::Cancelled))
    }
}

impl<R> Drop for Running<R> {
    fn drop(&mut self) {
        if self.task.cell.is_here() {
            self.token.cancel(Reason::GivenUp);
        }
    }
}

/// The tasks that were spawned from outside of a runtime.
pub(crate) struct Outer {
    queue: Arc<Queue>,
    /// Cancelled when the runtime ends.
    token: CancelToken,
    /// `None` until a task was spawned.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outer").finish_non_exhaustive()
    }
}

impl Outer {
    pub(crate) fn new() -> Self {
        Self {
            queue: Arc::default(),
            token: CancelToken::new(),
            thread: Mutex::new(None),
        }
    }

    /// Spawns `body` in the finish of this runtime, which keeps its threads.
    pub(crate) fn spawn<R, B>(&self, engine: &Arc<Engine>, body: B) -> Detached<R>
    where
        R: Send + 'static,
        B: for<'s> FnOnce(&mut Cx<'s>) -> R + Send + 'static,
    {
        let is_started = self.start(engine);
        let cell = Arc::new(Cell {
            state: Mutex::new(State::Running(None)),
            ended: Condvar::new(),
        });
        let sender = Sender(Arc::clone(&cell));
        let job = move |cx: &mut Cx<'_>| {
            // A panic would cancel the other tasks. A value or a payload that is not wanted is
            // dropped inside.
            contain(|| {
                let ended = catch_unwind(AssertUnwindSafe(|| cx.finish(body)));
                sender.0.end(match ended {
                    Ok(outcome) => outcome.map_err(Failure::Cancelled),
                    Err(payload) => Err(Failure::Panicked(payload)),
                });
                drop(sender);
            });
        };
        match is_started {
            true => self.queue.push(Box::new(job)),
            false => self.run_here(engine, Box::new(job)),
        }
        let engine = Arc::downgrade(engine);
        let cell = Owned::new(cell);
        Detached { cell, engine }
    }

    /// As [`spawn`](Self::spawn), cancelled when the returned future is dropped.
    pub(crate) fn run<R, B>(&self, engine: &Arc<Engine>, body: B) -> Running<R>
    where
        R: Send + 'static,
        B: for<'s> FnOnce(&mut Cx<'s>) -> R + Send + 'static,
    {
        let token = CancelToken::new();
        let of_task = token.clone();
        let body = move |cx: &mut Cx<'_>| cx.finish_until(&of_task, body);
        let task = self.spawn(engine, body);
        Running { task, token }
    }

    /// Runs `job` on the calling thread, in a finish of its own.
    fn run_here(&self, engine: &Engine, job: Job) {
        contain(|| _ = engine.threads.run(|cx| cx.finish_until(&self.token, job)));
    }

    /// Starts the thread that opens the finish, unless it was started before. Returns false if the
    /// system refuses it.
    fn start(&self, engine: &Arc<Engine>) -> bool {
        let mut thread = self.thread.lock().expect("no panic while the lock is held");
        if thread.is_some() {
            return true;
        }
        let (queue, token) = (Arc::clone(&self.queue), self.token.clone());
        let settings = engine.plan.thread.clone();
        let engine = Arc::clone(engine);
        let serve_all = move || {
            while !queue.is_closed() {
                // A finish that was ended because of a deadlock panics here; bodies that have not
                // started do so in the next.
                contain(|| {
                    let queue = Arc::clone(&queue);
                    _ = engine.threads.run(|cx| {
                        cx.finish_until(&token, |cx| cx.spawn_async(|task| serve(task, queue)))
                    });
                });
            }
        };
        let hooks = settings.clone();
        *thread = settings
            .spawn("spawn", move || hooks.hooked(serve_all))
            .ok();
        thread.is_some()
    }

    /// Cancels all tasks, and waits until they have ended, unless the calling thread may be inside
    /// of one.
    pub(crate) fn end(&self, engine: &Engine) {
        // First, so that no further finish begins.
        self.queue.close();
        self.token.cancel(Reason::Interrupted);
        let thread = self
            .thread
            .lock()
            .expect("no panic while the lock is held")
            .take();
        if let Some(thread) = thread.filter(|thread| may_join(engine, thread)) {
            thread.join().expect("panics are contained");
        }
    }
}

/// Returns whether the calling thread can wait for the one of [`Outer`].
fn may_join(engine: &Engine, thread: &JoinHandle<()>) -> bool {
    !engine.is_worker() && thread.thread().id() != thread::current().id()
}

/// Spawns a task for each body in a queue, until it is closed. The future has the type of a
/// balanced computation's, so that programs find the task for it compiled.
fn serve(task: TaskCx<'_>, queue: Arc<Queue>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
    Box::pin(async move {
        queue.reopen();
        let next = |cx: &mut Context<'_>| {
            let polled = queue.poll(cx.waker());
            if polled.is_pending() {
                note(cx.waker(), Stall::OUTSIDE, None);
            }
            polled
        };
        while poll_fn(next).await.is_some() {
            let queue = Arc::clone(&queue);
            // Pops nothing if the queue was closed after the poll.
            task.spawn(move |cx| queue.pop().into_iter().for_each(|job| job(cx)));
        }
    })
}

/// The bodies that have not started.
#[derive(Default)]
struct Queue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// The number of tasks that were spawned for them.
    tasks: usize,
    waker: Option<Waker>,
    is_closed: bool,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().expect("no panic while the lock is held")
    }

    fn push(&self, job: Job) {
        let waker = {
            let mut waiting = self.waiting();
            waiting.jobs.push_back(job);
            waiting.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// States that no task was spawned for the bodies: those of an earlier finish were dropped with
    /// it.
    fn reopen(&self) {
        self.waiting().tasks = 0;
    }

    /// Requests a task for the next body without one; `None` once the queue is closed.
    fn poll(&self, waker: &Waker) -> Poll<Option<()>> {
        let mut waiting = self.waiting();
        if waiting.tasks < waiting.jobs.len() {
            waiting.tasks += 1;
            return Poll::Ready(Some(()));
        }
        if waiting.is_closed {
            return Poll::Ready(None);
        }
        waiting.waker = Some(waker.clone());
        Poll::Pending
    }

    /// Takes the oldest body. Called by each task once.
    fn pop(&self) -> Option<Job> {
        let mut waiting = self.waiting();
        waiting.tasks -= 1;
        waiting.jobs.pop_front()
    }

    fn is_closed(&self) -> bool {
        self.waiting().is_closed
    }

    /// Drops the bodies that have not started.
    fn close(&self) {
        let (jobs, waker) = {
            let mut waiting = self.waiting();
            waiting.is_closed = true;
            (mem::take(&mut waiting.jobs), waiting.waker.take())
        };
        waker.into_iter().for_each(Waker::wake);
        for job in jobs {
            contain(|| drop(job));
        }
    }
}
