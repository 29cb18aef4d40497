//! The communication worker of a communicator, and what it has to do.

mod unreceived;

use super::{COMM, Error};
use std::panic::Location;
use std::sync::{Arc, OnceLock};
use tautline_core::comm::{
    Bodies, Body, Combiner, Limits, Messenger, News, Outcome, Packet, PacketLink, Pattern,
    Recipient, Tag, Tasks, Worker,
};
use tautline_core::deque;
use tautline_core::port::Link;
use tautline_core::progress::Progress;
use tautline_core::wire::{self, Cause, Channel, Exchange, Fault, Receiver, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_node::SpinThenYield;
use unreceived::Unsent;

/// News that one step takes at most, so that tasks are started between them.
const NEWS: usize = 64;

/// A communication worker, while its channel lives.
type Running = Option<Worker>;

/// A communication worker and its tasks.
pub(crate) struct Endpoint {
    tasks: Tasks,
    worker: Combiner<Running>,
    channel: Arc<Channel<Packet>>,
    packets: Option<Arc<dyn PacketLink>>,
    inbox: Arc<Inbox>,
    pub(crate) unsent: Unsent,
}

/// Arrivals, put by turns of the exchange.
struct Inbox {
    news: deque::Inbox<News>,
    /// The error with which the channel has ended.
    failed: OnceLock<wire::Error>,
    /// Turns of a balanced computation receive, too, and let no communication worker step.
    progress: Arc<Progress>,
}

impl Inbox {
    fn put(&self, news: News) {
        self.news.push(news, &SpinThenYield::default());
        self.progress.notify();
    }
}

/// The inbox, as the exchange uses it.
struct Arrivals(Arc<Inbox>);

impl Receiver for Arrivals {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let from = Rank(from.0);
        self.0.put(News::Packet(from, unpack(body)?));
        Ok(())
    }

    fn fail(&self, error: &wire::Error) {
        // The first error counts.
        _ = self.0.failed.set(error.clone());
        self.0.progress.notify();
    }

    fn lost(&self, error: &wire::Error) -> bool {
        let doing = match error.cause {
            Cause::Lost { doing } => doing,
            _ => "receiving from it",
        };
        self.0.put(News::Lost(error.peer, doing));
        true
    }
}

impl Recipient for Inbox {
    fn take(&self, news: News) {
        self.put(news);
    }
}

/// Packets of a messenger that a link has besides its parcels, under the number of the channel.
struct Beside {
    number: u32,
    packets: Arc<dyn PacketLink>,
}

impl Bodies for Beside {
    fn send(&mut self, to: Rank, offer: u64, body: Body) -> Result<Option<Body>, Body> {
        Ok(self.packets.send_body(self.number, to, offer, body))
    }

    fn provide(&mut self, from: Rank, offer: u64, memory: Body, bytes: usize) -> Option<Body> {
        self.packets
            .provide(self.number, (from, offer), memory, bytes)
    }
}

impl Endpoint {
    /// Opens the next channel, for the call at `site`; its packets go by `packets`, if the link has
    /// that. Notifies `progress` of what arrives.
    pub(crate) fn open<L: Link>(
        exchange: &Exchange<L>,
        packets: Option<Arc<dyn PacketLink>>,
        site: &Location<'_>,
        progress: Arc<Progress>,
    ) -> Self {
        let inbox = Arc::new(Inbox {
            news: deque::Inbox::new(),
            failed: OnceLock::new(),
            progress,
        });
        let arrivals = Arrivals(Arc::clone(&inbox));
        let channel = Arc::new(exchange.open_at(site, "communicator", 1, arrivals));
        let (number, here) = (channel.ordinal(), exchange.here());
        let mut bodies: Box<dyn Bodies> = Box::new(());
        let carrier: Box<dyn FnMut(Rank, Packet) + Send> = match packets.clone() {
            Some(packets) => {
                packets.open(number, inbox.clone());
                bodies = Box::new(Beside {
                    number,
                    packets: Arc::clone(&packets),
                });
                Box::new(move |to, packet| packets.send(number, to, packet))
            }
            None => {
                let channel = Arc::clone(&channel);
                Box::new(move |to: Rank, packet| {
                    channel.send(PlaceId(here.0), PlaceId(to.0), packet);
                })
            }
        };
        let messenger = Messenger::new(here, exchange.ranks(), Limits::default());
        let worker = Worker::new(messenger, bodies, carrier, Arc::new(|| ()));
        Self {
            tasks: worker.tasks().clone(),
            worker: Combiner::new(Some(worker)),
            channel,
            packets,
            inbox,
            unsent: Unsent::default(),
        }
    }

    /// Returns the number of its packets, the same at all ranks.
    pub(crate) fn number(&self) -> u32 {
        self.channel.ordinal()
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the error with which the channels have ended; else that the world has.
    pub(crate) fn closed(&self) -> Error {
        match self.inbox.failed.get() {
            Some(error) => error.clone().into(),
            None => Error::Closed,
        }
    }

    /// Does what there is to do, unless another thread does, which then does what has come since,
    /// too. Returns whether there was anything.
    pub(crate) fn step(&self) -> bool {
        self.worker.run(|worker| self.step_of(worker))
    }

    /// Sends a message without a task, after all operations submitted before.
    ///
    /// # Errors
    /// The body, if it cannot leave at once, or another thread has the worker.
    pub(crate) fn send_at_once(&self, to: Rank, tag: Tag, body: Body) -> Result<Outcome, Body> {
        let mut sent = Err(body);
        self.worker.run(|worker| {
            let moved = self.step_of(worker);
            let (Some(running), Err(body)) = (worker, &mut sent) else {
                return moved;
            };
            sent = running.send_at_once(COMM, to, tag, std::mem::take(body));
            true
        });
        sent
    }

    /// Receives a message without a task, after operations submitted before, if one has arrived and
    /// no other thread has the worker. A thread that polls passes the same `seen`, empty at first:
    /// while nothing has come, a poll takes no lock.
    pub(crate) fn receive_at_once(
        &self,
        pattern: Pattern,
        limit: usize,
        seen: &mut Option<usize>,
    ) -> Option<Outcome> {
        let moves = self.worker.moves();
        if *seen == Some(moves) && self.inbox.news.is_empty() {
            return None;
        }
        let mut received = None;
        self.worker.run(|worker| {
            let moved = self.step_of(worker);
            if let (Some(running), None) = (worker, &received) {
                received = running.receive_at_once(pattern, limit);
            }
            *seen = Some(moves);
            moved || received.is_some()
        });
        received
    }

    fn step_of(&self, worker: &mut Running) -> bool {
        let Some(running) = worker else {
            return false;
        };
        let mut moved = running.step();
        for _ in 0..NEWS {
            let Some(news) = self.inbox.news.pop(&SpinThenYield::default()) else {
                break;
            };
            running.take(news);
            moved = true;
        }
        if self.inbox.failed.get().is_some() {
            // Its tasks end with that error.
            *worker = None;
            return true;
        }
        if !self.inbox.news.is_empty() {
            // There is more than a step takes.
            self.inbox.progress.notify();
        }
        moved
    }

    /// Whether an operation has not ended.
    pub(crate) fn is_awaiting(&self) -> bool {
        let is_awaiting = |worker: &mut Running| worker.as_ref().is_some_and(|w| !w.is_idle());
        let Some(is_awaiting) = self.worker.try_with(is_awaiting) else {
            // A thread works for it.
            return true;
        };
        // A thread may have found it taken.
        self.inbox.progress.notify();
        is_awaiting
    }

    /// Whether the endpoint is quiescent: all operations have ended, and no message is in flight,
    /// after the receives have ended. A thread that finds the worker taken by this check is
    /// served by the next poll.
    pub(crate) fn has_ended(&self) -> bool {
        let has_ended = |worker: &mut Running| match worker {
            Some(worker) => worker.is_idle() && worker.machine().is_settled(),
            None => true,
        };
        let has_ended = self.worker.with(&SpinThenYield::default(), has_ended);
        self.inbox.progress.set_due();
        has_ended
    }

    /// Ends the receives, as the program has ended; what was sent may still be claimed.
    pub(crate) fn end_receives(&self) {
        self.worker.with(&SpinThenYield::default(), |worker| {
            if let Some(worker) = worker {
                worker.close();
            }
        });
        self.inbox.progress.notify();
    }

    /// Notifies the other ranks that this one sends nothing any more.
    pub(crate) fn leave(&self, here: Rank, ranks: u32) {
        for to in (0..ranks).filter(|to| *to != here.0) {
            // On the way of the packets, after all others.
            match &self.packets {
                Some(packets) => packets.send(self.number(), Rank(to), Packet::Left),
                None => self
                    .channel
                    .send(PlaceId(here.0), PlaceId(to), Packet::Left),
            }
        }
    }

    /// Ends all operations that have not ended, and reports messages that were not received.
    pub(crate) fn close(&self, here: Rank) {
        // Dropped outside of the lock: that ends operations, whose completions are the program's
        // code.
        let worker = self.worker.with(&SpinThenYield::default(), Option::take);
        if let Some(worker) = worker {
            worker
                .machine()
                .unreceived()
                .for_each(|messages| unreceived::report(here, messages));
        }
        // Of those, the program has dropped the requests.
        self.unsent.report(here);
        if let Some(packets) = &self.packets {
            packets.close(self.channel.ordinal());
        }
    }
}
