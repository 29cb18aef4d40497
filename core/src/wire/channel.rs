//! The end of a channel at one rank.

use super::any_end::{AnyEnd, Packed};
use super::shared::Shared;
use super::terms::Terms;
use super::{Error, Fault, Name, Portable, Unencodable, pack_within};
use crate::id::{PlaceId, Rank};
use crate::sync::Lock;
use crate::watch::Outstanding;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The consumer of a channel's messages.
pub trait Receiver: Send + Sync {
    /// Takes the encoding of a message from a place of another rank to a place of this rank, both
    /// checked.
    ///
    /// Called by the thread that runs [`Exchange::turn`](super::Exchange::turn), or that begins an
    /// operation for which messages have come, one message at a time, in the order in which the
    /// place sent them. It must return soon and may send, but not wait for a message.
    ///
    /// # Errors
    /// If the bytes are not what this end expects. All channels of this rank end with an error that
    /// names the sender.
    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Fault>;

    /// Called now and then while the channel is open. Provided: does nothing.
    ///
    /// # Errors
    /// If this rank cannot go on. All channels end.
    fn nudge(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether this rank waits for the ranks that have not opened the channel: for reports.
    /// Provided: returns true.
    fn awaits_ends(&self) -> bool {
        true
    }

    /// Returns what this rank waits for although all ranks have made its call; `None` if it waits
    /// for nothing more. For reports: it may take a lock, but not send. Provided: nothing is known.
    fn outstanding(&self) -> Option<Vec<Outstanding>> {
        Some(Vec::new())
    }

    /// Called when a rank has left: it sends nothing any more. Of one that has left before the
    /// channel was opened, called after its messages. Provided: does nothing.
    ///
    /// # Errors
    /// If this rank waits for that one. All channels end.
    fn left(&self, _rank: Rank) -> Result<(), Fault> {
        Ok(())
    }

    /// Called when all channels of this rank have ended with `error`, possibly several times.
    /// Provided: does nothing.
    fn fail(&self, _error: &Error) {}

    /// Called when `error.peer` is lost, if [losses are
    /// tolerated](super::Exchange::tolerate_losses). Returns whether the channel tolerates the
    /// loss. Provided: returns false, and the loss ends all channels.
    fn lost(&self, _error: &Error) -> bool {
        false
    }
}

impl<F: Fn(PlaceId, PlaceId, &[u8]) -> Result<(), Fault> + Send + Sync> Receiver for F {
    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Fault> {
        self(from, to, body)
    }
}

/// Counts of messages and bytes that passed through one end of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages given to [`Channel::send`], whether or not they have left.
    pub sent: u64,
    /// Messages that the receiver has taken. Messages that it sent from within the call are counted
    /// before.
    pub received: u64,
    /// Bytes of the bodies that have left.
    pub sent_bytes: u64,
    /// Bytes of the bodies that the receiver has taken.
    pub received_bytes: u64,
}

/// The end of a channel at this rank; made by [`Exchange::open`](super::Exchange::open). Dropping
/// it closes the end: what was sent still leaves, what arrives later is dropped.
#[derive(Debug)]
pub struct Channel<M: Portable + 'static> {
    end: Arc<End<M>>,
}

impl<M: Portable + 'static> Channel<M> {
    pub(super) fn new(end: Arc<End<M>>) -> Self {
        Self { end }
    }

    /// Returns its position in the order in which the channels were opened, which is the same at
    /// all ranks.
    pub fn ordinal(&self) -> u32 {
        self.end.name.ordinal
    }

    /// Sends `message` from a place of this rank to any place. It waits as a value; a thread in
    /// [`Exchange::turn`](super::Exchange::turn) encodes it and passes it to the link. Any thread
    /// may call this, under a lock too: it is short and does not block.
    ///
    /// Messages of one rank to another arrive in the order of these calls. Once the channels have
    /// failed, messages are dropped.
    ///
    /// The number of messages that wait is not bounded here. Protocols whose places have few
    /// messages in flight use this, others [`try_send`](Self::try_send).
    ///
    /// # Panics
    /// If `from` is not a place of this rank, or `to` not a place of the program.
    pub fn send(&self, from: PlaceId, to: PlaceId, message: M) {
        let sent = self.end.push(from, to, Ok(message), usize::MAX);
        debug_assert!(sent.is_none(), "there is no limit");
    }

    /// Ends all channels with the error that a message for `to` cannot be encoded, once a turn
    /// comes to it.
    pub(crate) fn send_unencodable(&self, from: PlaceId, to: PlaceId, why: Unencodable) {
        let sent = self.end.push(from, to, Err(why), usize::MAX);
        debug_assert!(sent.is_none(), "there is no limit");
    }

    /// As [`send`](Self::send), if fewer than [`Limits::waiting`](super::Limits::waiting) messages
    /// wait for the rank of `to`; else returns the message. The caller should then run
    /// [`Exchange::turn`](super::Exchange::turn) before it tries again.
    ///
    /// # Errors
    /// If that many messages wait.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    pub fn try_send(&self, from: PlaceId, to: PlaceId, message: M) -> Result<(), M> {
        let limit = self.end.shared.limits.waiting;
        match self.end.push(from, to, Ok(message), limit) {
            Some(Ok(message)) => Err(message),
            _ => Ok(()),
        }
    }

    /// Returns another handle for messages of this end.
    pub(crate) fn sender(&self) -> Sender<M> {
        Sender(self.end.clone())
    }

    /// Returns the number of messages that wait to be encoded.
    pub fn waiting(&self) -> usize {
        self.end.queues().waiting
    }

    /// Returns the traffic of this end.
    pub fn traffic(&self) -> Traffic {
        self.end.queues().traffic
    }
}

impl<M: Portable + 'static> Drop for Channel<M> {
    fn drop(&mut self) {
        self.end.queues().is_closed = true;
        self.end.shared.announce();
    }
}

/// Sends messages of a channel while its [`Channel`] lives; later ones leave if others do, too.
pub(crate) struct Sender<M>(Arc<End<M>>);

impl<M: Portable + 'static> Sender<M> {
    /// As [`Channel::send`].
    pub(crate) fn send(&self, from: PlaceId, to: PlaceId, message: M) {
        let sent = self.0.push(from, to, Ok(message), usize::MAX);
        debug_assert!(sent.is_none(), "there is no limit");
    }
}

/// The shared part of a [`Channel`].
pub(super) struct End<M> {
    shared: Arc<Shared>,
    name: Name,
    terms: Terms,
    queues: Lock<Queues<M>>,
    receiver: Box<dyn Receiver>,
}

impl<M> core::fmt::Debug for End<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// A message, from a place to a place; or why it cannot be encoded.
type Sent<M> = (PlaceId, PlaceId, Result<M, Unencodable>);

struct Queues<M> {
    /// The messages that wait, by rank.
    outbox: Vec<VecDeque<Sent<M>>>,
    /// The total length of the outboxes.
    waiting: usize,
    traffic: Traffic,
    is_closed: bool,
}

impl<M: Portable + 'static> End<M> {
    pub(super) fn new(
        shared: Arc<Shared>,
        name: Name,
        terms: Terms,
        receiver: Box<dyn Receiver>,
    ) -> Self {
        let queues = Queues {
            outbox: (0..shared.ranks).map(|_| VecDeque::new()).collect(),
            waiting: 0,
            traffic: Traffic::default(),
            is_closed: false,
        };
        Self {
            shared,
            name,
            terms,
            queues: Lock::new(queues),
            receiver,
        }
    }

    fn queues(&self) -> crate::sync::Guard<'_, Queues<M>> {
        self.queues.lock(&self.shared.relax())
    }

    /// Appends a message; returns it if `limit` messages wait for its rank.
    fn push(
        &self,
        from: PlaceId,
        to: PlaceId,
        message: Result<M, Unencodable>,
        limit: usize,
    ) -> Option<Result<M, Unencodable>> {
        let places = self.terms.places;
        let (here, ranks) = (self.shared.here, self.shared.ranks);
        assert_eq!(from.0 / places, here.0, "{from} sends from {here}");
        let rank = (to.0 / places) as usize;
        assert!(
            rank < ranks as usize,
            "{to} of {ranks} ranks of {places} places"
        );
        if self.shared.is_dead() {
            return None;
        }
        let mut queues = self.queues();
        if queues.outbox[rank].len() >= limit {
            return Some(message);
        }
        queues.outbox[rank].push_back((from, to, message));
        queues.waiting += 1;
        queues.traffic.sent += 1;
        drop(queues);
        self.shared.announce();
        None
    }
}

impl<M: Portable + 'static> AnyEnd for End<M> {
    fn name(&self) -> Name {
        self.name
    }

    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn waits_for(&self, start: u32) -> Option<Rank> {
        let queues = self.queues();
        if queues.waiting == 0 {
            return None;
        }
        (start..self.shared.ranks)
            .map(Rank)
            .find(|r| !queues.outbox[r.index()].is_empty())
    }

    fn pack_next(&self, rank: Rank, into: &mut Vec<u8>) -> Option<Result<Packed, Unencodable>> {
        let mut queues = self.queues();
        let outbox = &mut queues.outbox[rank.index()];
        let (from, to, message) = outbox.pop_front()?;
        let has_next = !outbox.is_empty();
        if !has_next {
            // The memory of a burst is not kept.
            outbox.shrink_to(self.shared.limits.waiting);
        }
        queues.waiting -= 1;
        drop(queues);
        let start = into.len();
        let limit = self.shared.limits.body;
        let packed = message.and_then(|message| pack_within(&message, limit, into));
        self.queues().traffic.sent_bytes += (into.len() - start) as u64;
        Some(packed.map(|()| Packed { from, to, has_next }))
    }

    fn pack_more(&self, rank: Rank, into: &mut Vec<u8>, room: usize) -> Option<Packed> {
        let (from, to, message) = self.queues().outbox[rank.index()].pop_front()?;
        let start = into.len();
        let room = room.min(self.shared.limits.body);
        let fits = message
            .as_ref()
            .is_ok_and(|message| pack_within(message, room, into).is_ok());
        let mut queues = self.queues();
        let outbox = &mut queues.outbox[rank.index()];
        if !fits {
            // The holder of the link alone takes from it.
            outbox.push_front((from, to, message));
            return None;
        }
        let has_next = !outbox.is_empty();
        queues.waiting -= 1;
        queues.traffic.sent_bytes += (into.len() - start) as u64;
        // The destructor of the message does not run under the lock.
        drop(queues);
        Some(Packed { from, to, has_next })
    }

    fn forget(&self, rank: Rank) {
        let mut queues = self.queues();
        let dropped = core::mem::take(&mut queues.outbox[rank.index()]);
        queues.waiting -= dropped.len();
        // The destructors of messages do not run under the lock.
        drop(queues);
    }

    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Fault> {
        if self.queues().is_closed {
            return Ok(());
        }
        self.receiver.take(from, to, body)?;
        let mut queues = self.queues();
        queues.traffic.received += 1;
        queues.traffic.received_bytes += body.len() as u64;
        Ok(())
    }

    fn nudge(&self) -> Result<(), Fault> {
        self.receiver.nudge()
    }

    fn awaits_ends(&self) -> bool {
        self.receiver.awaits_ends()
    }

    fn left(&self, rank: Rank) -> Result<(), Fault> {
        self.receiver.left(rank)
    }

    fn fail(&self, error: &Error) {
        self.receiver.fail(error);
    }

    fn lost(&self, error: &Error) -> bool {
        self.queues().is_closed || self.receiver.lost(error)
    }

    fn is_over(&self) -> bool {
        let queues = self.queues();
        queues.is_closed && queues.waiting == 0
    }
}
