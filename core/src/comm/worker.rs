//! The communication worker, a step machine.

use super::carrier::{Bounds, Carrier};
use super::error::Error;
use super::message::{Body, CommId, Pattern, Tag};
use super::operation::{Complete, Done, Operation, Outcome};
use super::slot::{Consumer, Owned, State, Ticket};
use super::tasks::{Task, Tasks};
use crate::id::Rank;
use crate::port::Bell;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

/// The communication worker of a rank, the only user of its carrier.
///
/// One thread at a time drives it: a dedicated one, or whichever runs the turns of the exchange. If the carrier is bound to its
/// thread, so is the worker:
///
/// ```compile_fail,E0277
/// # use tautline_core::{Rank, comm::*};
/// /// The handle of a library that only one thread may call.
/// struct Bound(*const ());
///
/// impl Mail for Bound {
///     // ...
/// #   fn here(&self) -> Rank { Rank(0) }
/// #   fn ranks(&self) -> u32 { 1 }
/// #   fn send(&mut self, _: Rank, _: Packet) {}
/// #   fn poll(&mut self) -> Option<News> { None }
/// }
///
/// fn movable<T: Send>() {}
/// movable::<Worker<Messenger<Bound>>>();
/// ```
///
/// Dropping it ends all tasks that have not ended with [`Error::Closed`], and each later one when it is submitted.
///
/// ```
/// use std::collections::VecDeque;
/// use std::sync::{Arc, Mutex};
/// use tautline_core::Rank;
/// use tautline_core::comm::*;
///
/// /// The mail of a program that runs as one rank.
/// #[derive(Default)]
/// struct ToItself(VecDeque<Packet>);
///
/// impl Mail for ToItself {
///     fn here(&self) -> Rank {
///         Rank(0)
///     }
///     fn ranks(&self) -> u32 {
///         1
///     }
///     fn send(&mut self, _: Rank, packet: Packet) {
///         self.0.push_back(packet);
///     }
///     fn poll(&mut self) -> Option<News> {
///         self.0.pop_front().map(|packet| News::Packet(Rank(0), packet))
///     }
/// }
///
/// let messenger = Messenger::new(ToItself::default(), Limits::default());
/// let mut worker = Worker::new(messenger, Arc::new(|| ()));
/// let tasks = worker.tasks().clone(); // for any thread
///
/// let world = CommId(0);
/// let received = Arc::new(Mutex::new(None));
/// let put = Arc::clone(&received);
/// tasks.submit(
///     Operation::Receive { pattern: Pattern::any(world), limit: 100, into: Body::default() },
///     Arc::new(move |outcome| *put.lock().unwrap() = Some(outcome)),
/// );
/// let body = b"hello".to_vec().into();
/// let send = Operation::Send { comm: world, to: Rank(0), tag: Tag(7), body };
/// tasks.submit(send, Arc::new(|outcome: Outcome| assert!(outcome.is_ok())));
///
/// while worker.step() {}
/// let done = received.lock().unwrap().take().unwrap()?;
/// assert_eq!((&*done.body, done.status.tag), (&b"hello"[..], Some(Tag(7))));
/// # Ok::<(), Error>(())
/// ```
pub struct Worker<C: Carrier> {
    consumer: Consumer<Task>,
    tasks: Tasks,
    active: Active,
    carrier: C,
}

impl<C: Carrier> fmt::Debug for Worker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "communication worker, {} active", self.active.count)
    }
}

impl<C: Carrier> Worker<C> {
    /// Creates a worker over `carrier`. A task that is submitted rings `bell`, which must end the wait of a thread that drives
    /// the worker.
    pub fn new(carrier: C, bell: Arc<dyn Bell>) -> Self {
        let consumer = Consumer::new();
        Self {
            tasks: Tasks::new(consumer.slots(), bell),
            consumer,
            active: Active::default(),
            carrier,
        }
    }

    /// Returns where tasks are submitted.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns what moves the messages, for what it can do besides.
    pub fn carrier(&mut self) -> &mut C {
        &mut self.carrier
    }

    /// Starts all tasks that wait, in order; then lets the carrier make progress, and completes what has ended. Returns whether
    /// anything moved. Never blocks.
    pub fn step(&mut self) -> bool {
        let mut moved = self.start_all();
        let Self {
            consumer,
            active,
            carrier,
            ..
        } = self;
        moved |= carrier.progress(&mut |ticket, outcome| {
            let (owned, done) = active.remove(ticket);
            complete(consumer, owned, done, outcome);
        });
        moved
    }

    /// Sends a message without a task, behind the tasks that wait, which start first.
    ///
    /// # Errors
    /// The body, if the message cannot leave at once: to be submitted.
    pub fn send_at_once(
        &mut self,
        comm: CommId,
        to: Rank,
        tag: Tag,
        body: Body,
    ) -> Result<Outcome, Body> {
        self.start_all();
        match check(&self.carrier.bounds(), Some(to), Some(tag)) {
            Ok(()) => self.carrier.send_at_once(comm, to, tag, body),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Receives a message without a task, behind the tasks that wait, which start first; returns `None` unless one has arrived.
    pub fn receive_at_once(&mut self, pattern: Pattern, limit: usize) -> Option<Outcome> {
        self.start_all();
        match check(&self.carrier.bounds(), pattern.source, pattern.tag) {
            Ok(()) => self.carrier.receive_at_once(pattern, limit),
            Err(error) => Some(Err(error)),
        }
    }

    /// Whether no task waits or is active: if no thread submits any more, the worker may end.
    pub fn is_idle(&self) -> bool {
        self.active.count == 0 && self.consumer.is_empty()
    }

    /// Starts all tasks that wait, in order. Returns whether there were any.
    fn start_all(&mut self) -> bool {
        let found = self.consumer.refill();
        while let Some((owned, task)) = self.consumer.next() {
            self.start(owned, task);
        }
        found
    }

    /// Starts an operation. It is active unless it has ended at once.
    fn start(&mut self, owned: Owned, Task { operation, done }: Task) {
        match self.outcome(owned.ticket(), operation) {
            Some(outcome) => complete(&self.consumer, owned, done, outcome),
            None => {
                self.consumer.set(&owned, State::Active);
                self.active.insert(owned, done);
            }
        }
    }

    fn outcome(&mut self, ticket: Ticket, operation: Operation) -> Option<Outcome> {
        let Self {
            carrier, active, ..
        } = self;
        let (rank, tag) = match &operation {
            Operation::Send { to, tag, .. } => (Some(*to), Some(*tag)),
            Operation::Receive { pattern, .. } | Operation::Probe { pattern } => {
                (pattern.source, pattern.tag)
            }
            Operation::Cancel(_) | Operation::Free(_) => (None, None),
        };
        if let Err(error) = check(&carrier.bounds(), rank, tag) {
            return Some(Err(error));
        }
        match operation {
            Operation::Send {
                comm,
                to,
                tag,
                body,
            } => carrier.send(ticket, comm, to, tag, body),
            Operation::Receive {
                pattern,
                limit,
                into,
            } => carrier.receive(ticket, pattern, limit, into),
            Operation::Probe { pattern } => carrier.probe(ticket, pattern),
            Operation::Cancel(other) => {
                // A ticket is returned by a submission, so its task was started before: it is active, or over.
                if active.has(other) {
                    carrier.cancel(other);
                }
                Some(Ok(Done::default()))
            }
            Operation::Free(comm) => {
                carrier.free(comm);
                Some(Ok(Done::default()))
            }
        }
    }
}

/// Checks the rank and the tag that an operation names.
fn check(bounds: &Bounds, rank: Option<Rank>, tag: Option<Tag>) -> Result<(), Error> {
    let Bounds { ranks, last_tag } = *bounds;
    if let Some(rank) = rank.filter(|rank| rank.0 >= ranks) {
        return Err(Error::NoRank { rank, ranks });
    }
    match tag.filter(|tag| *tag > last_tag) {
        Some(tag) => Err(Error::NoTag {
            tag,
            last: last_tag,
        }),
        None => Ok(()),
    }
}

/// Completes a task: the request is put and the share of the scope released by `done`; only then is the slot available.
fn complete(consumer: &Consumer<Task>, owned: Owned, done: Arc<dyn Complete>, outcome: Outcome) {
    consumer.set(&owned, State::Completed);
    done.complete(outcome);
    consumer.recycle(owned);
}

impl<C: Carrier> Drop for Worker<C> {
    fn drop(&mut self) {
        let closed = || Err(Error::Closed);
        for (owned, done) in self.active.drain() {
            complete(&self.consumer, owned, done, closed());
        }
        // What is left of a step that panicked comes before what is in the inbox.
        for is_closed in [false, true] {
            if is_closed {
                self.consumer.close();
            }
            while let Some((owned, task)) = self.consumer.next() {
                complete(&self.consumer, owned, task.done, closed());
            }
        }
    }
}

/// The active tasks, by the index of their slot; private to the worker.
#[derive(Default)]
struct Active {
    entries: Vec<Option<(Owned, Arc<dyn Complete>)>>,
    count: usize,
}

impl Active {
    fn insert(&mut self, owned: Owned, done: Arc<dyn Complete>) {
        let index = owned.ticket().index();
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some((owned, done));
        self.count += 1;
    }

    fn has(&self, ticket: Ticket) -> bool {
        let entry = self.entries.get(ticket.index());
        matches!(entry, Some(Some((owned, _))) if owned.ticket() == ticket)
    }

    /// # Panics
    /// If the task is not active.
    fn remove(&mut self, ticket: Ticket) -> (Owned, Arc<dyn Complete>) {
        assert!(
            self.has(ticket),
            "the carrier ended {ticket:?}, which is not active"
        );
        self.count -= 1;
        self.entries[ticket.index()]
            .take()
            .expect("it is active, as asserted above")
    }

    fn drain(&mut self) -> impl Iterator<Item = (Owned, Arc<dyn Complete>)> + use<> {
        self.count = 0;
        mem::take(&mut self.entries).into_iter().flatten()
    }
}
