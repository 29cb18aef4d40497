//! The communication worker of a communicator, and what it has to do.

use super::Error;
use crate::world::Attention;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use tautline_core::comm::{
    Body, Limits, Mail, Messenger, News, Packet, PacketLink, Recipient, Tasks, Worker,
};
use tautline_core::port::Link;
use tautline_core::wire::{self, Cause, Channel, Exchange, Garbled, Receiver, unpack};
use tautline_core::{PlaceId, Rank};

/// A communication worker, while its channel lives.
type Running = Option<Worker<Messenger<Post>>>;

/// A communication worker and its tasks.
pub(crate) struct Endpoint {
    tasks: Tasks,
    worker: Mutex<Running>,
    /// Whether a thread has found the worker locked.
    is_missed: AtomicBool,
    channel: Arc<Channel<Packet>>,
    packets: Option<Arc<dyn PacketLink>>,
    inbox: Arc<Inbox>,
}

/// What has arrived, put by turns of the exchange.
struct Inbox {
    state: Mutex<Arrived>,
    /// Whether there is news, or the channel has failed; written under the lock.
    is_full: AtomicBool,
    /// Turns of a balanced computation receive, too, and let no communication worker step.
    attention: Arc<Attention>,
}

#[derive(Default)]
struct Arrived {
    news: VecDeque<News>,
    failed: Option<wire::Error>,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, Arrived> {
        // It is consistent between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, news: News) {
        let mut state = self.state();
        state.news.push_back(news);
        self.set_full(true);
        drop(state);
        self.attention.notify();
    }

    fn set_full(&self, is_full: bool) {
        // ORDERING: Release, pairs with Acquire in is_full: the lock carries the news; no mutant: loom builds core alone.
        self.is_full.store(is_full, Ordering::Release);
    }

    fn is_full(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in set_full; no mutant: as there.
        self.is_full.load(Ordering::Acquire)
    }
}

/// The inbox, as the exchange uses it.
struct Arrivals(Arc<Inbox>);

impl Receiver for Arrivals {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Garbled> {
        let from = Rank(from.0);
        self.0.put(News::Packet(from, unpack(body)?));
        Ok(())
    }

    fn fail(&self, error: &wire::Error) {
        let mut state = self.0.state();
        state.failed.get_or_insert_with(|| error.clone());
        self.0.set_full(true);
        drop(state);
        self.0.attention.notify();
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

/// The channel, as the messenger uses it, or the way beside it that the link has.
struct Post {
    here: Rank,
    ranks: u32,
    channel: Arc<Channel<Packet>>,
    /// Under the number of the channel.
    packets: Option<Arc<dyn PacketLink>>,
    inbox: Arc<Inbox>,
}

impl Mail for Post {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn send(&mut self, to: Rank, packet: Packet) {
        if let Some(packets) = &self.packets {
            return packets.send(self.channel.ordinal(), to, packet);
        }
        let place = |rank: Rank| PlaceId(rank.0);
        self.channel.send(place(self.here), place(to), packet);
    }

    fn send_body(&mut self, to: Rank, offer: u64, body: Body) -> Option<Body> {
        if let Some(packets) = &self.packets {
            return packets.send_body(self.channel.ordinal(), to, offer, body);
        }
        let copy = body.clone();
        self.send(to, Packet::Body { offer, body: copy });
        Some(body)
    }

    fn provide(&mut self, from: Rank, offer: u64, memory: Body, bytes: usize) -> Option<Body> {
        match &self.packets {
            Some(packets) => packets.provide(self.channel.ordinal(), (from, offer), memory, bytes),
            None => Some(memory),
        }
    }

    fn poll(&mut self) -> Option<News> {
        if !self.inbox.is_full() {
            return None;
        }
        let mut state = self.inbox.state();
        let news = state.news.pop_front();
        if state.news.is_empty() && state.failed.is_none() {
            self.inbox.set_full(false);
        }
        news
    }
}

impl Endpoint {
    /// Opens the next channel, for the call at `site`; its packets go by `packets`, if the link has that. Notifies `attention` of what arrives.
    pub(super) fn open<L: Link>(
        exchange: &Exchange<L>,
        packets: Option<Arc<dyn PacketLink>>,
        site: &Location<'_>,
        attention: Arc<Attention>,
    ) -> Self {
        let inbox = Arc::new(Inbox {
            state: Mutex::default(),
            is_full: AtomicBool::new(false),
            attention,
        });
        let arrivals = Arrivals(Arc::clone(&inbox));
        let channel = Arc::new(exchange.open_at(site, "communicator", 1, arrivals));
        if let Some(packets) = &packets {
            packets.open(channel.ordinal(), inbox.clone());
        }
        let post = Post {
            here: exchange.here(),
            ranks: exchange.ranks(),
            channel: Arc::clone(&channel),
            packets: packets.clone(),
            inbox: Arc::clone(&inbox),
        };
        let worker = Worker::new(Messenger::new(post, Limits::default()), Arc::new(|| ()));
        Self {
            tasks: worker.tasks().clone(),
            worker: Mutex::new(Some(worker)),
            is_missed: AtomicBool::new(false),
            channel,
            packets,
            inbox,
        }
    }

    /// Returns the number of its packets, the same at all ranks.
    pub(super) fn number(&self) -> u32 {
        self.channel.ordinal()
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the error with which the channels have ended; else that the world has.
    pub(super) fn closed(&self) -> Error {
        match &self.inbox.state().failed {
            Some(error) => Error::Wire(error.clone()),
            None => Error::Closed,
        }
    }

    /// Does what there is to do, unless another thread does, which then does what has come since, too. Returns whether there was anything.
    pub(crate) fn step(&self) -> bool {
        let mut moved = false;
        loop {
            let Some(mut worker) = self.try_lock().or_else(|| self.try_again()) else {
                return moved;
            };
            // ORDERING: Acquire, pairs with Release in try_again: what that thread has submitted is observed below; one that misses the
            // lock from here on sets it again; no mutant: loom builds core alone.
            self.is_missed.swap(false, Ordering::Acquire);
            moved |= self.step_of(&mut worker);
            drop(worker);
            // ORDERING: SeqCst, pairs with the fence of try_again: that thread gets the lock, or it is observed; no mutant: loom builds
            // core alone.
            fence(Ordering::SeqCst);
            // ORDERING: Relaxed: the fence above orders it.
            if !self.is_missed.load(Ordering::Relaxed) {
                return moved;
            }
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Running>> {
        match self.worker.try_lock() {
            Ok(worker) => Some(worker),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Makes the thread that holds the lock look once more, or takes the lock.
    fn try_again(&self) -> Option<MutexGuard<'_, Running>> {
        // ORDERING: Release, pairs with Acquire in step; no mutant: as there.
        self.is_missed.store(true, Ordering::Release);
        // ORDERING: SeqCst, pairs with the fence of step; no mutant: as there.
        fence(Ordering::SeqCst);
        self.try_lock()
    }

    fn step_of(&self, worker: &mut Running) -> bool {
        let Some(running) = worker else {
            return false;
        };
        let moved = running.step();
        if self.inbox.is_full() && self.inbox.state().failed.is_some() {
            // Its tasks end with that error.
            *worker = None;
            return true;
        }
        moved
    }

    /// Whether an operation has not ended.
    pub(crate) fn is_awaiting(&self) -> bool {
        let Some(worker) = self.try_lock() else {
            // A thread works for it.
            return true;
        };
        let is_awaiting = worker.as_ref().is_some_and(|worker| !worker.is_idle());
        drop(worker);
        // A thread may have found it locked.
        self.inbox.attention.notify();
        is_awaiting
    }

    /// Notifies the other ranks that this one sends nothing any more.
    pub(crate) fn leave(&self, here: Rank, ranks: u32) {
        for to in (0..ranks).filter(|to| *to != here.0) {
            // On the way of the packets, behind all others.
            match &self.packets {
                Some(packets) => packets.send(self.number(), Rank(to), Packet::Left),
                None => self
                    .channel
                    .send(PlaceId(here.0), PlaceId(to), Packet::Left),
            }
        }
    }

    /// Ends all operations that have not ended.
    pub(crate) fn close(&self) {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        *worker = None;
        if let Some(packets) = &self.packets {
            packets.close(self.channel.ordinal());
        }
    }
}
