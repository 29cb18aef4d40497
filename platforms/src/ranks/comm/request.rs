//! Operations that were started.

use super::{Error, Result};
use crate::execution::runtime::{Cx, Ddf, Hold};
use crate::process::contain::contain;
use crate::ranks::engine::{Endpoint, ProgressEngine, assert_may_block, inside};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::mem;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tautline_core::Rank;
use tautline_core::comm::{Body, Complete, Operation, Outcome, Pattern, Status, Tag, Ticket};
use tautline_core::flow;
use tautline_core::wire::{Malformed, Why};

/// A function that decodes the body of a message of as many bytes.
pub(super) type Decode<T> = fn(Body, usize) -> Result<T, Malformed>;

/// Returns the vector of which a body was made, with the elements of the message alone.
pub(super) fn elements<T: 'static>(body: Body, bytes: usize) -> Result<Vec<T>, Malformed> {
    const { assert!(size_of::<T>() > 0, "elements without bytes need no message") };
    let (count, rest) = (bytes / size_of::<T>(), bytes % size_of::<T>());
    let malformed = |why| Malformed {
        expected: std::any::type_name::<Vec<T>>(),
        bytes,
        why,
    };
    if rest > 0 {
        return Err(malformed(Why::Left(rest)));
    }
    let elements = body.into_vec::<T>();
    let mut elements = elements.ok_or_else(|| malformed(Why::Wrong))?;
    elements.truncate(count);
    Ok(elements)
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received<T> {
    /// The value: of a receive, of a collective operation; `()` for what was sent.
    pub value: T,
    /// The message: its sender, its tag, and the length of its encoding in bytes.
    pub status: Status,
}

/// An operation that was started: a cell that is full once it has ended. Dropping it does not
/// cancel the operation, and the end of the [`World`](crate::world::World) waits for sends and
/// collective operations.
pub struct Request<T> {
    cell: Cell<T>,
    engine: Arc<ProgressEngine>,
    /// The operation's ticket, by which it can be cancelled.
    task: Option<(Arc<Endpoint>, Ticket)>,
}

/// The cell of a request.
enum Cell<T> {
    /// Full from the start.
    Own(Ddf<Result<Received<T>>>),
    /// Filled by the communication worker.
    Shared(Arc<Running<T>>),
}

/// An operation that the communication worker ends.
pub(super) struct Running<T> {
    cell: Ddf<Result<Received<T>>>,
    hold: Mutex<Holding>,
}

/// The holds of an operation.
enum Holding {
    /// Released when the operation has ended; rarely more than one.
    Until(Vec<Hold>),
    Ended,
}

impl<T> Default for Running<T> {
    fn default() -> Self {
        Self {
            cell: Ddf::default(),
            hold: Mutex::new(Holding::Until(Vec::new())),
        }
    }
}

impl<T> Running<T> {
    fn holding(&self) -> MutexGuard<'_, Holding> {
        // It is consistent between any two statements that change it.
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the holds, as the cell is full.
    fn take_holds(&self) -> Vec<Hold> {
        match mem::replace(&mut *self.holding(), Holding::Ended) {
            Holding::Until(holds) => holds,
            Holding::Ended => Vec::new(),
        }
    }
}

impl<T> Deref for Cell<T> {
    type Target = Ddf<Result<Received<T>>>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Own(cell) => cell,
            Self::Shared(running) => &running.cell,
        }
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.cell.is_full() {
            "ended"
        } else {
            "pending"
        };
        write!(f, "a request that is {state}")
    }
}

/// Ends an operation, once; empty afterwards.
pub(super) struct Completion<T>(Mutex<Option<Arc<Running<T>>>>);

impl<T> Completion<T> {
    pub(super) fn new(running: Arc<Running<T>>) -> Self {
        Self(Mutex::new(Some(running)))
    }

    /// Whether the request was dropped.
    fn is_dropped(&self) -> bool {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running
            .as_ref()
            .is_some_and(|running| Arc::strong_count(running) == 1)
    }

    /// Fills the cell, wakes what waits for it, and releases the holds; the program's code that
    /// this runs cannot panic on the calling thread. Later calls have no effect.
    pub(super) fn put(&self, ended: Result<Received<T>>) {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(running) = taken else {
            return;
        };
        let waiters = running.cell.fill(ended).ok();
        // The cell is full: a hold that comes later is released at once.
        let holds = running.take_holds();
        // Before what waits runs, which may take the value out of the cell; if nothing waits, the
        // value is dropped here.
        contain(|| drop(running));
        if let Some(mut waiters) = waiters {
            while contain(|| waiters.release()).is_none() {}
        }
        contain(|| drop(holds));
    }
}

/// A [`Completion`] of a communication task.
pub(super) struct Task<T> {
    pub(super) completion: Completion<T>,
    pub(super) decode: Decode<T>,
    pub(super) endpoint: Arc<Endpoint>,
    /// The receiver and the tag, of a send.
    pub(super) sent: Option<(Rank, Tag)>,
}

impl<T: Send + Sync> Complete for Task<T> {
    fn complete(self: Arc<Self>, outcome: Outcome) {
        // The hook has reported the panic; the communication worker continues.
        let ended = contain(|| self.ended(outcome)).unwrap_or(Err(Error::Panicked));
        if let (Err(error), Some(sent)) = (&ended, self.sent)
            && self.completion.is_dropped()
        {
            self.endpoint.unsent.count(sent, error);
        }
        self.completion.put(ended);
    }
}

impl<T> Task<T> {
    fn ended(&self, outcome: Outcome) -> Result<Received<T>> {
        self.endpoint.ended(outcome, self.decode)
    }
}

impl Endpoint {
    /// Returns the result of an operation whose message is decoded by `decode`.
    fn ended<T>(&self, outcome: Outcome, decode: Decode<T>) -> Result<Received<T>> {
        let done = outcome.map_err(|error| match error {
            tautline_core::comm::Error::Closed => self.closed(),
            other => other.into(),
        })?;
        let status = done.status;
        if status.is_cancelled {
            return Err(Error::Cancelled);
        }
        let value = decode(done.body, status.bytes).map_err(|error| Error::Malformed {
            source: status.source.expect("only messages are decoded"),
            tag: status.tag.unwrap_or_default(),
            error,
        })?;
        Ok(Received { value, status })
    }
}

/// Sends a message without a task.
///
/// # Errors
/// The body, if it cannot leave at once: to be submitted.
pub(super) fn send_at_once(
    engine: &ProgressEngine,
    endpoint: &Endpoint,
    to: Rank,
    tag: Tag,
    body: Body,
) -> Result<Result<Received<()>>, Body> {
    if engine.progress.is_dedicated() || engine.progress.ends() {
        return Err(body);
    }
    engine.assert_rank();
    let sent = inside(|| endpoint.send_at_once(to, tag, body));
    if engine.packets.is_none() {
        // Its errors reach those that wait.
        inside(|| _ = engine.exchange.turn());
    }
    engine.drive_alone();
    match sent {
        Some(sent) => sent.map(|outcome| endpoint.ended(outcome, |_, _| Ok(()))),
        None => Ok(Err(Error::Panicked)),
    }
}

/// Waits for a message without a task, for a while.
pub(super) fn receive_at_once<T>(
    engine: &ProgressEngine,
    endpoint: &Endpoint,
    pattern: Pattern,
    limit: usize,
    decode: Decode<T>,
) -> Option<Result<Received<T>>> {
    if engine.progress.is_dedicated() || engine.progress.ends() {
        return None;
    }
    engine.assert_rank();
    let (mut received, mut seen) = (None, None);
    drive(engine, || {
        received = inside(|| endpoint.receive_at_once(pattern, limit, &mut seen)).flatten();
        received.is_some()
    });
    // A step may have left something to do.
    engine.drive_alone();
    let outcome = received?;
    let ended = contain(|| endpoint.ended(outcome, decode));
    Some(ended.unwrap_or(Err(Error::Panicked)))
}

impl<T> Request<T> {
    pub(super) fn of(engine: &Arc<ProgressEngine>, running: Arc<Running<T>>) -> Self {
        Self {
            cell: Cell::Shared(running),
            engine: Arc::clone(engine),
            task: None,
        }
    }

    /// Returns a request that has ended.
    pub(super) fn ended(engine: &Arc<ProgressEngine>, ended: Result<Received<T>>) -> Self {
        let cell = Ddf::default();
        _ = cell.put(ended);
        Self {
            cell: Cell::Own(cell),
            engine: Arc::clone(engine),
            task: None,
        }
    }

    /// Returns a request that has ended with `error`.
    pub(super) fn failed(engine: &Arc<ProgressEngine>, error: Error) -> Self {
        Self::ended(engine, Err(error))
    }

    /// Returns a request that has ended, if the world was dropped: its end waits for what was
    /// started before.
    pub(super) fn refused(engine: &Arc<ProgressEngine>, endpoint: &Endpoint) -> Option<Self> {
        engine.assert_rank();
        // A thread that does not observe the end yet starts one more operation.
        let is_refused = engine.progress.ends();
        is_refused.then(|| Self::failed(engine, endpoint.closed()))
    }

    pub(super) fn submit(
        engine: &Arc<ProgressEngine>,
        endpoint: &Arc<Endpoint>,
        operation: Operation,
        decode: Decode<T>,
    ) -> Self
    where
        T: Send + Sync + 'static,
    {
        if let Some(refused) = Self::refused(engine, endpoint) {
            return refused;
        }
        let running = Arc::<Running<T>>::default();
        let task = Task {
            completion: Completion::new(Arc::clone(&running)),
            decode,
            endpoint: Arc::clone(endpoint),
            sent: match &operation {
                Operation::Send { to, tag, .. } => Some((*to, *tag)),
                _ => None,
            },
        };
        let ticket = endpoint.tasks().submit(operation, Arc::new(task));
        engine.start(endpoint);
        Self {
            cell: Cell::Shared(running),
            engine: Arc::clone(engine),
            task: Some((Arc::clone(endpoint), ticket)),
        }
    }

    /// Releases `hold` when the operation has ended, or at once if it has:
    /// `comm.isend(&value, to, tag).hold(cx.hold())` has the scope around a task wait for the
    /// operation. Of several holds each is kept.
    pub fn hold(self, hold: Hold) -> Self {
        let later = match &self.cell {
            Cell::Own(_) => Some(hold),
            Cell::Shared(running) => match &mut *running.holding() {
                Holding::Until(holds) => {
                    holds.push(hold);
                    None
                }
                Holding::Ended => Some(hold),
            },
        };
        // Outside of the lock: the scope may end.
        drop(later);
        self
    }

    /// Returns the cell, which is full once the operation has ended: for
    /// [`spawn_when`](tautline_core::task::Cx::spawn_when), and for lists of cells.
    pub fn cell(&self) -> &Ddf<Result<Received<T>>> {
        &self.cell
    }

    /// Returns the result of the operation; `None` if it has not ended. Does not communicate.
    pub fn test(&self) -> Option<&Result<Received<T>>> {
        self.cell.get().ok()
    }

    /// Withdraws a receive or a probe, which ends with [`Error::Cancelled`] unless a message has
    /// come before. Has no effect on what is sent, nor on collective operations.
    pub fn cancel(&self) {
        if let Some((endpoint, ticket)) = &self.task {
            self.engine.assert_rank();
            let ignored = |_: Outcome| ();
            endpoint
                .tasks()
                .submit(Operation::Cancel(*ticket), Arc::new(ignored));
            self.engine.start(endpoint);
        }
    }

    /// Waits for the end; the calling thread communicates, then sleeps. In a task, this blocks its
    /// worker: use [`wait`](Self::wait), or `.await`.
    ///
    /// # Errors
    /// The error of the operation, if it has not succeeded.
    pub fn wait_blocking(self) -> Result<Received<T>>
    where
        T: Send + Sync,
    {
        drive(&self.engine, || self.cell.is_full());
        if !self.cell.is_full() {
            block_on(self.cell.wait());
        }
        self.into_ended()
    }

    /// Waits for the end in a task, whose worker runs other tasks until then.
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
    pub fn wait(self, cx: &mut Cx<'_, '_>) -> Result<Received<T>>
    where
        T: Send + Sync,
    {
        let cell = self.cell();
        if !cell.is_full() {
            self.engine.assert_rank();
            cx.scope(|cx| cx.spawn_when(cell, |_, _| ()));
        }
        self.into_ended()
    }

    /// Takes the result out of a full cell.
    fn into_ended(self) -> Result<Received<T>> {
        let mut running = match self.cell {
            Cell::Own(cell) => return cell.into_inner().expect("it is full"),
            Cell::Shared(running) => running,
        };
        loop {
            match Arc::try_unwrap(running) {
                Ok(running) => return running.cell.into_inner().expect("it is full"),
                // Another thread has just filled it, and releases it before it runs anything else.
                Err(shared) => running = shared,
            }
            thread::yield_now();
        }
    }
}

impl<T: Send + Sync + 'static> IntoFuture for Request<T> {
    type Output = Result<Received<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Received<T>>> + Send>>;

    /// Waits for the end; the task occupies no worker until then.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            if !self.cell.is_full() {
                self.engine.assert_rank();
            }
            _ = self.cell.wait().await;
            self.into_ended()
        })
    }
}

/// Waits for all of `requests`, as [`Request::wait_blocking`].
///
/// # Errors
/// The first that has not succeeded, in their order, when all have ended.
pub fn wait_all_blocking<T: Send + Sync>(
    requests: impl IntoIterator<Item = Request<T>>,
) -> Result<Vec<Received<T>>, Error> {
    let ended: Vec<_> = requests.into_iter().map(Request::wait_blocking).collect();
    ended.into_iter().collect()
}

/// Waits until one of `requests` has ended, as [`Request::wait_blocking`]; returns its index, and
/// how it has ended. It is removed from the list, whose last one takes its place.
///
/// # Panics
/// If `requests` is empty.
pub fn wait_any_blocking<T: Send + Sync>(
    requests: &mut Vec<Request<T>>,
) -> (usize, Result<Received<T>>) {
    let first = requests.first().expect("no request to wait for");
    let is_over = || requests.iter().any(|request| request.cell.is_full());
    drive(&first.engine, is_over);
    let cells: Vec<_> = requests.iter().map(Request::cell).collect();
    let any = flow::wait_any(cells).expect("at least one, as checked above");
    let (at, _) = block_on(any);
    (at, requests.swap_remove(at).into_ended())
}

/// Communicates until `is_over`, or until nothing has moved for a while.
fn drive(engine: &ProgressEngine, mut is_over: impl FnMut() -> bool) {
    if is_over() {
        return;
    }
    assert_may_block();
    engine.assert_rank();
    engine.progress.poll_until(engine, is_over);
    // A turn may have dropped the only rank's world.
    engine.drive_alone();
}

/// Sleeps until the future is ready.
fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut future).poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A thread that sleeps.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
