//! The end of a channel at one rank.

use super::any_end::{AnyEnd, Packed};
use super::shared::Shared;
use super::terms::Terms;
use super::{Encoding, Error, Fault, Name, Portable, Unencodable, pack_within};
use crate::id::{PlaceId, Rank};
use crate::sync::{AtomicBool, AtomicUsize, Lock, Ordering};
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
        let sent = self
            .end
            .push(from, to, Outgoing::Value(message), usize::MAX);
        debug_assert!(sent.is_none(), "there is no limit");
    }

    /// As [`send`](Self::send), a message that the caller has encoded, of at most
    /// [`Limits::body`](super::Limits::body) bytes: its receivers do not decode an `M`.
    ///
    /// # Panics
    /// As [`send`](Self::send), and if it is longer.
    pub fn send_encoded(&self, from: PlaceId, to: PlaceId, message: Encoding) {
        let (bytes, limit) = (message.body().len(), self.end.shared.limits.body);
        assert!(bytes <= limit, "a body of {bytes} bytes: at most {limit}");
        let sent = self
            .end
            .push(from, to, Outgoing::Encoded(message), usize::MAX);
        debug_assert!(sent.is_none(), "there is no limit");
    }

    /// Ends all channels with the error that a message for `to` cannot be encoded, once a turn
    /// comes to it.
    pub(crate) fn send_unencodable(&self, from: PlaceId, to: PlaceId, why: Unencodable) {
        let sent = self
            .end
            .push(from, to, Outgoing::Unencodable(why), usize::MAX);
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
        match self.end.push(from, to, Outgoing::Value(message), limit) {
            Some(Outgoing::Value(message)) => Err(message),
            _ => Ok(()),
        }
    }

    /// Returns another handle for messages of this end.
    pub(crate) fn sender(&self) -> Sender<M> {
        Sender(self.end.clone())
    }

    /// Returns the number of messages that wait to be encoded.
    pub fn waiting(&self) -> usize {
        self.end.waiting()
    }

    /// Returns the traffic of this end.
    pub fn traffic(&self) -> Traffic {
        self.end.queues().traffic
    }
}

impl<M: Portable + 'static> Drop for Channel<M> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in is_closed (wire.X4): what was sent before
        // counts.
        self.end.is_closed.store(true, Ordering::Release);
        self.end.shared.announce();
    }
}

/// Sends messages of a channel while its [`Channel`] lives; later ones leave if others do, too.
pub(crate) struct Sender<M>(Arc<End<M>>);

impl<M: Portable + 'static> Sender<M> {
    /// As [`Channel::send`].
    pub(crate) fn send(&self, from: PlaceId, to: PlaceId, message: M) {
        let sent = self.0.push(from, to, Outgoing::Value(message), usize::MAX);
        debug_assert!(sent.is_none(), "there is no limit");
    }
}

/// The shared part of a [`Channel`].
pub(super) struct End<M> {
    shared: Arc<Shared>,
    name: Name,
    terms: Terms,
    /// The total length of the outboxes. Changed under the lock, which a turn does without where
    /// nothing waits.
    waiting: AtomicUsize,
    is_closed: AtomicBool,
    queues: Lock<Queues<M>>,
    receiver: Box<dyn Receiver>,
}

impl<M> core::fmt::Debug for End<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.name)
    }
}

/// A message that waits.
enum Outgoing<M> {
    Value(M),
    Encoded(Encoding),
    Unencodable(Unencodable),
}

impl<M: Portable> Outgoing<M> {
    /// Appends its encoding to a parcel, at most `limit` bytes.
    fn pack(self, limit: usize, into: &mut Vec<u8>) -> Result<(), Unencodable> {
        match self {
            Self::Value(message) => pack_within(&message, limit, into),
            Self::Encoded(encoding) => {
                encoding.append_to(into);
                Ok(())
            }
            Self::Unencodable(why) => Err(why),
        }
    }

    /// As [`pack`](Self::pack), if it has at most `limit` bytes; else returns it.
    fn pack_short(self, limit: usize, into: &mut Vec<u8>) -> Result<(), Self> {
        match self {
            Self::Value(message) => {
                pack_within(&message, limit, into).map_err(|_| Self::Value(message))
            }
            Self::Encoded(encoding) if encoding.body().len() <= limit => {
                encoding.append_to(into);
                Ok(())
            }
            other => Err(other),
        }
    }
}

/// A message, from a place to a place.
type Sent<M> = (PlaceId, PlaceId, Outgoing<M>);

struct Queues<M> {
    /// The messages that wait, by rank.
    outbox: Vec<VecDeque<Sent<M>>>,
    traffic: Traffic,
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
            traffic: Traffic::default(),
        };
        Self {
            shared,
            name,
            terms,
            waiting: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            queues: Lock::new(queues),
            receiver,
        }
    }

    fn queues(&self) -> crate::sync::Guard<'_, Queues<M>> {
        self.queues.lock(&self.shared.relax())
    }

    fn waiting(&self) -> usize {
        // ORDERING: Relaxed: a turn counts what was sent before the announcement that it has seen
        // (wire.X1), or before the end was closed (wire.X4).
        self.waiting.load(Ordering::Relaxed)
    }

    /// Counts messages that have entered the outboxes, or left them. Called under the lock.
    fn count(&self, change: impl FnOnce(usize) -> usize) {
        // ORDERING: Relaxed: as in waiting; the lock orders the changes.
        self.waiting
            .store(change(self.waiting()), Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in the drop of the channel (wire.X4).
        self.is_closed.load(Ordering::Acquire)
    }

    /// Appends a message; returns it if `limit` messages wait for its rank.
    fn push(
        &self,
        from: PlaceId,
        to: PlaceId,
        message: Outgoing<M>,
        limit: usize,
    ) -> Option<Outgoing<M>> {
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
        self.count(|waiting| waiting + 1);
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
        if self.waiting() == 0 {
            return None;
        }
        let queues = self.queues();
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
        self.count(|waiting| waiting - 1);
        drop(queues);
        let start = into.len();
        let limit = self.shared.limits.body;
        let packed = message.pack(limit, into);
        self.queues().traffic.sent_bytes += (into.len() - start) as u64;
        Some(packed.map(|()| Packed { from, to, has_next }))
    }

    fn pack_more(&self, rank: Rank, into: &mut Vec<u8>, room: usize) -> Option<Packed> {
        let (from, to, message) = self.queues().outbox[rank.index()].pop_front()?;
        let start = into.len();
        let room = room.min(self.shared.limits.body);
        let packed = message.pack_short(room, into);
        let mut queues = self.queues();
        let outbox = &mut queues.outbox[rank.index()];
        if let Err(message) = packed {
            // The holder of the link alone takes from it.
            outbox.push_front((from, to, message));
            return None;
        }
        let has_next = !outbox.is_empty();
        self.count(|waiting| waiting - 1);
        queues.traffic.sent_bytes += (into.len() - start) as u64;
        drop(queues);
        Some(Packed { from, to, has_next })
    }

    fn forget(&self, rank: Rank) {
        let mut queues = self.queues();
        let dropped = core::mem::take(&mut queues.outbox[rank.index()]);
        self.count(|waiting| waiting - dropped.len());
        // The destructors of messages do not run under the lock.
        drop(queues);
    }

    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Fault> {
        if self.is_closed() {
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
        self.is_closed() || self.receiver.lost(error)
    }

    fn is_over(&self) -> bool {
        self.is_closed() && self.waiting() == 0
    }
}
