//! The communication worker of a communicator, and what it has to do.

use super::Error;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use tautline_core::comm::{Limits, Mail, Messenger, News, Packet, Tasks, Worker};
use tautline_core::port::Link;
use tautline_core::wire::{self, Cause, Channel, Exchange, Garbled, Receiver, unpack};
use tautline_core::{PlaceId, Rank};

/// A communication worker and its tasks.
pub(crate) struct Endpoint {
    tasks: Tasks,
    /// `None` once the channels have ended.
    worker: Mutex<Option<Worker<Messenger<Post>>>>,
    channel: Arc<Channel<Frame>>,
    inbox: Arc<Inbox>,
}

/// What has arrived, put by turns of the exchange.
struct Inbox {
    state: Mutex<Arrived>,
    /// Called for what has arrived.
    notify: Box<dyn Fn() + Send + Sync>,
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
        self.state().news.push_back(news);
        (self.notify)();
    }
}

/// What the endpoints of a communicator send each other.
#[derive(Serialize, Deserialize)]
enum Frame {
    Packet(Packet),
    /// The world of the sender ends: no packet follows.
    Left,
}

/// The inbox, as the exchange uses it.
struct Arrivals(Arc<Inbox>);

impl Receiver for Arrivals {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Garbled> {
        let from = Rank(from.0);
        self.0.put(match unpack(body)? {
            Frame::Packet(packet) => News::Packet(from, packet),
            Frame::Left => News::Lost(from, "receiving from it, which has left"),
        });
        Ok(())
    }

    fn fail(&self, error: &wire::Error) {
        self.0.state().failed.get_or_insert_with(|| error.clone());
        (self.0.notify)();
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

/// The channel, as the messenger uses it.
struct Post {
    here: Rank,
    ranks: u32,
    channel: Arc<Channel<Frame>>,
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
        let place = |rank: Rank| PlaceId(rank.0);
        let frame = Frame::Packet(packet);
        self.channel.send(place(self.here), place(to), frame);
    }

    fn poll(&mut self) -> Option<News> {
        self.inbox.state().news.pop_front()
    }
}

impl Endpoint {
    /// Opens the next channel, for the call at `site`. Calls `notify` for what arrives.
    pub(super) fn open<L: Link>(
        exchange: &Exchange<L>,
        site: &Location<'_>,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let inbox = Arc::new(Inbox {
            state: Mutex::default(),
            notify: Box::new(notify),
        });
        let arrivals = Arrivals(Arc::clone(&inbox));
        let channel = Arc::new(exchange.open_at(site, "communicator", 1, arrivals));
        let post = Post {
            here: exchange.here(),
            ranks: exchange.ranks(),
            channel: Arc::clone(&channel),
            inbox: Arc::clone(&inbox),
        };
        let worker = Worker::new(Messenger::new(post, Limits::default()), Arc::new(|| ()));
        Self {
            tasks: worker.tasks().clone(),
            worker: Mutex::new(Some(worker)),
            channel,
            inbox,
        }
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

    /// Does what there is to do, and returns whether there was anything; `None` if another thread does.
    pub(crate) fn step(&self) -> Option<bool> {
        let mut worker = match self.worker.try_lock() {
            Ok(worker) => worker,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let Some(running) = &mut *worker else {
            return Some(false);
        };
        let moved = running.step();
        if self.inbox.state().failed.is_some() {
            // Its tasks end with that error.
            *worker = None;
            return Some(true);
        }
        Some(moved)
    }

    /// Notifies the other ranks that this one sends nothing any more.
    pub(crate) fn leave(&self, here: Rank, ranks: u32) {
        for to in (0..ranks).filter(|to| *to != here.0) {
            self.channel.send(PlaceId(here.0), PlaceId(to), Frame::Left);
        }
    }

    /// Ends all operations that have not ended.
    pub(crate) fn close(&self) {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        *worker = None;
    }
}
