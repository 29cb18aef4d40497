//! The communication worker, the driver of a machine.

use super::error::Error;
use super::matching::{Messenger, News};
use super::message::{Body, CommId, Pattern, Tag};
use super::operation::{Complete, Done, Effect, Event, Operation, Outcome};
use super::slot::{Consumer, Owned, State, Ticket};
use super::tasks::{Task, Tasks};
use crate::id::Rank;
use crate::machine::{Action, Machine, Step};
use crate::port::Bell;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, mem};

/// Sends a message to another rank.
type Carrier<M> = Box<dyn FnMut(Rank, M) + Send>;

/// The communication worker of a rank: tasks from any thread, which a machine carries out. One
/// thread at a time drives it.
///
/// Dropping it ends all tasks that have not ended with [`Error::Closed`], and each later one when
/// it is submitted.
///
/// ```
/// use std::sync::{Arc, Mutex, mpsc};
/// use tautline_core::Rank;
/// use tautline_core::comm::*;
///
/// // A program that runs as one rank: its packets come back.
/// let (packets, arrived) = mpsc::channel();
/// let messenger = Messenger::new(Rank(0), 1, Limits::default());
/// let carrier = move |to, packet| packets.send((to, packet)).expect("it is received below");
/// let mut worker = Worker::new(messenger, Box::new(()), Box::new(carrier), Arc::new(|| ()));
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
/// assert!(worker.step());
/// for (to, packet) in arrived.try_iter() {
///     worker.receive(to, packet); // from itself
/// }
/// let done = received.lock().unwrap().take().unwrap()?;
/// assert_eq!((&*done.body, done.status.tag), (&b"hello"[..], Some(Tag(7))));
/// # Ok::<(), Error>(())
/// ```
pub struct Worker<M: Machine = Messenger<Ticket>> {
    consumer: Consumer<Task>,
    tasks: Tasks,
    active: Active,
    machine: M,
    calls: Box<M::Calls>,
    carrier: Carrier<M::Message>,
    /// The operations that the machine has ended, to be completed after the step.
    effects: VecDeque<M::Effect>,
    /// The losses, and when each was noticed.
    losses: Vec<(Rank, &'static str)>,
}

impl<M: Machine> fmt::Debug for Worker<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "communication worker, {} active", self.active.count)
    }
}

impl<M: Machine<Peer = Rank, Event = Event, Effect = Effect>> Worker<M> {
    /// Creates a worker. `calls` answers the machine within its steps, and `carrier` sends its
    /// messages, in order. A task that is submitted rings `bell`, which must end the wait of a
    /// thread that drives the worker.
    pub fn new(
        machine: M,
        calls: Box<M::Calls>,
        carrier: Carrier<M::Message>,
        bell: Arc<dyn Bell>,
    ) -> Self {
        let consumer = Consumer::new();
        Self {
            tasks: Tasks::new(consumer.slots(), bell),
            consumer,
            active: Active::default(),
            machine,
            calls,
            carrier,
            effects: VecDeque::new(),
            losses: Vec::new(),
        }
    }

    /// Returns where tasks are submitted.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Starts all tasks that wait, in order, and completes those that have ended. Returns whether
    /// there were any. Never blocks.
    pub fn step(&mut self) -> bool {
        let found = self.consumer.refill();
        while let Some((owned, task)) = self.consumer.next() {
            self.start(owned, task);
        }
        found
    }

    /// Lets the machine process a message. If it refuses the message, the sender is lost.
    pub fn receive(&mut self, from: Rank, message: M::Message) {
        let received = self.drive(|machine, step| machine.receive(from, message, step));
        self.complete_all();
        if received.is_err() {
            self.lost(from, "taking a packet of it that is not expected");
        }
    }

    /// Lets the machine process the loss of a rank, and when it was noticed, as in "while sending
    /// to it". Losses after the first have no effect.
    pub fn lost(&mut self, rank: Rank, doing: &'static str) {
        if self.losses.iter().any(|(lost, _)| *lost == rank) {
            return;
        }
        self.losses.push((rank, doing));
        // What depends on it ends; the others continue.
        _ = self.drive(|machine, step| machine.lost(rank, step));
        self.complete_all();
    }

    /// Ends the receives of this rank: see [`Event::Close`].
    pub fn close(&mut self) {
        self.event(Event::Close);
    }

    fn event(&mut self, event: Event) {
        self.drive(|machine, step| machine.event(event, step));
        self.complete_all();
    }

    /// Sends a message without a task, after the tasks that wait, which start first.
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
        self.step();
        let event = Event::SendAtOnce {
            comm,
            to,
            tag,
            body,
        };
        self.drive(|machine, step| machine.event(event, step));
        match self.effects.pop_back() {
            Some(Effect::AtOnce(outcome)) => Ok(self.explained(outcome)),
            Some(Effect::Returned(body)) => Err(body),
            Some(Effect::Ended(..)) | None => unreachable!("it is sent or returned"),
        }
    }

    /// Receives a message without a task, after the tasks that wait, which start first; returns
    /// `None` unless one has arrived.
    pub fn receive_at_once(&mut self, pattern: Pattern, limit: usize) -> Option<Outcome> {
        self.step();
        let event = Event::ReceiveAtOnce { pattern, limit };
        self.drive(|machine, step| machine.event(event, step));
        match self.effects.pop_back()? {
            Effect::AtOnce(outcome) => Some(self.explained(outcome)),
            Effect::Ended(..) | Effect::Returned(_) => unreachable!("it belongs to no task"),
        }
    }

    /// Whether there is neither a waiting nor an active task: if no thread submits any more, the
    /// worker may end.
    pub fn is_idle(&self) -> bool {
        self.active.count == 0 && self.consumer.is_empty()
    }

    /// Starts an operation. It is active unless it has ended at once.
    fn start(&mut self, owned: Owned, Task { operation, done }: Task) {
        let ticket = owned.ticket();
        let event = match operation {
            // A ticket is returned by a submission, so its task was started before: it is active,
            // or over.
            Operation::Cancel(other) if !self.active.has(other) => {
                return complete(&self.consumer, owned, done, Ok(Done::default()));
            }
            operation => Event::Start(ticket, operation),
        };
        self.drive(|machine, step| machine.event(event, step));
        let own = match self.effects.pop_back() {
            Some(Effect::Ended(of, outcome)) if of == ticket => Some(outcome),
            other => {
                self.effects.extend(other);
                None
            }
        };
        match own {
            Some(outcome) => {
                self.complete_all();
                complete(&self.consumer, owned, done, self.explained(outcome));
            }
            None => {
                self.consumer.set(&owned, State::Active);
                self.active.insert(owned, done);
                self.complete_all();
            }
        }
    }

    /// Lets the machine take a step. Its effects wait for the end of it.
    fn drive<R>(&mut self, take: impl FnOnce(&mut M, &mut Step<'_, M>) -> R) -> R {
        // Of a step that panicked.
        self.complete_all();
        let Self {
            machine,
            calls,
            carrier,
            effects,
            ..
        } = self;
        let mut act = |action| match action {
            Action::Send(to, message) => carrier(to, message),
            Action::Effect(effect) => effects.push_back(effect),
        };
        take(machine, &mut Step::new(&mut **calls, &mut act))
    }

    /// Completes the tasks that a step has ended.
    fn complete_all(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            let Effect::Ended(ticket, outcome) = effect else {
                unreachable!("it belongs to no task");
            };
            let (owned, done) = self.active.remove(ticket);
            complete(&self.consumer, owned, done, self.explained(outcome));
        }
    }

    /// States in an error when the loss was noticed, which the machine is not told.
    fn explained(&self, outcome: Outcome) -> Outcome {
        let Err(Error::Lost { rank, doing }) = outcome else {
            return outcome;
        };
        let noticed = self.losses.iter().find(|(lost, _)| *lost == rank);
        let doing = match noticed {
            Some((_, noticed)) if doing == Messenger::<Ticket>::LOST => noticed,
            _ => doing,
        };
        Err(Error::Lost { rank, doing })
    }
}

impl Worker {
    /// Processes the reports of the messenger's link.
    pub fn take(&mut self, news: News) {
        match news {
            News::Packet(from, packet) => self.receive(from, packet),
            News::Sent { offer, body, .. } => self.event(Event::Sent { offer, body }),
            News::Lost(rank, doing) => self.lost(rank, doing),
        }
    }
}

/// Completes a task: the request is put and the share of the scope released by `done`; only then is
/// the slot available.
fn complete(consumer: &Consumer<Task>, owned: Owned, done: Arc<dyn Complete>, outcome: Outcome) {
    consumer.set(&owned, State::Completed);
    done.complete(outcome);
    consumer.recycle(owned);
}

impl<M: Machine> Drop for Worker<M> {
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
            "the machine ended {ticket:?}, which is not active"
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
