//! The machine that carries messages: matching, credits and offers.
//!
//! # Algorithm
//! A message is sent at once if the receiver has [`Limits::eager`] bytes of room for this sender,
//! which it returns as its receives take messages. Beyond that only an offer is sent: what is known
//! of the message, without its body. Offers are matched as messages are, in the same order; the
//! receiver claims the body once a receive has matched it. So a rank keeps no more than that room
//! for each sender, except for offers, each of which is an outstanding send there; and a message
//! that waits for its receive never holds up a later one.

use super::offers::{Claimed, Offers};
use super::packet::{Bodies, Packet, Unexpected};
use super::unreceived::Short;
use super::{End, Incoming, Matching};
use crate::comm::error::Error;
use crate::comm::message::{Body, CommId, Envelope, Tag};
use crate::comm::operation::{Done, Effect, Event, Operation, Status};
use crate::comm::outcome::{done, received};
use crate::id::Rank;
use crate::machine::{Machine, Step, Tolerance};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::{fmt, mem};

/// Bytes that a message takes apart from its body.
const ENVELOPE: usize = 64;
/// Bytes up to which a vector is copied, so that its sender has it back at once.
pub(super) const COPIED: usize = 4096;
/// The greatest tag: that of a C `int`, as MPI's.
const LAST_TAG: Tag = Tag(i32::MAX as u32);

/// The memory of a [`Messenger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of messages from one rank that no receive has taken; each counts 64 bytes and its
    /// body. Should be the same at all ranks.
    pub eager: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { eager: 1 << 18 }
    }
}

/// The location of a message's body.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Here(Body),
    /// At the sender, under the number of an offer.
    Offered(u64),
}

/// The state of another rank.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    /// Bytes sent to it for which it has not returned the room.
    pub(super) sent: usize,
    /// Bytes of it that receives have taken and for which it was not returned the room.
    taken: usize,
    /// The least number of its next offer.
    next_offer: u64,
    pub(super) short: Short,
    pub(super) lost: Option<&'static str>,
}

/// The messages, receives and probes of one rank, as MPI matches them. `K` names operations, as the
/// driver likes.
///
/// From one rank to another, messages of one communicator are matched in the order in which they
/// were sent, and receives in the order in which they were posted: packets must arrive in the order
/// in which they were sent.
///
/// A message to the rank itself is a packet, too. A loss ends what depends on that rank, with
/// [`Error::Lost`] and [`Messenger::LOST`], which the driver knows better.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Messenger<K> {
    pub(super) here: Rank,
    pub(super) limits: Limits,
    pub(super) matching: Matching<K, Place>,
    pub(super) peers: Vec<Peer>,
    pub(super) offers: Offers<K>,
    /// Receives whose message was claimed, by its sender and number.
    pub(super) claimed: BTreeMap<(Rank, u64), Claimed<K>>,
    /// Memory of the receives that wait for their message, which have brought some.
    rooms: Vec<(K, Body)>,
    /// Of the last step; its memory is used again.
    ends: Vec<(K, End<Place>)>,
    /// Whether this rank receives no further message.
    pub(super) is_closed: bool,
}

impl<K: Copy + Eq> fmt::Debug for Messenger<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offers, claimed) = (self.offers.waiting(), self.claimed.len());
        write!(
            f,
            "{:?}, {offers} offered, {claimed} claimed",
            self.matching
        )
    }
}

impl<K> Messenger<K> {
    /// The occasion on which a loss was noticed, in the errors of this machine.
    pub const LOST: &'static str = "communicating with it";

    /// Creates the machine of rank `here` of `ranks`.
    pub fn new(here: Rank, ranks: u32, limits: Limits) -> Self {
        Self {
            here,
            limits,
            matching: Matching::default(),
            peers: alloc::vec![Peer::default(); ranks as usize],
            offers: Offers::default(),
            claimed: BTreeMap::new(),
            rooms: Vec::new(),
            ends: Vec::new(),
            is_closed: false,
        }
    }

    /// Checks the rank and the tag that an operation names.
    fn check(&self, rank: Option<Rank>, tag: Option<Tag>) -> Result<(), Error> {
        let ranks = self.peers.len() as u32;
        if let Some(rank) = rank.filter(|rank| rank.0 >= ranks) {
            return Err(Error::NoRank { rank, ranks });
        }
        let last = LAST_TAG;
        match tag.filter(|tag| *tag > last) {
            Some(tag) => Err(Error::NoTag { tag, last }),
            None => Ok(()),
        }
    }

    fn check_of(&self, operation: &Operation<K>) -> Result<(), Error> {
        match operation {
            Operation::Send { to, tag, .. } => self.check(Some(*to), Some(*tag)),
            Operation::Receive { pattern, .. } | Operation::Probe { pattern } => {
                self.check(pattern.source, pattern.tag)
            }
            Operation::Cancel(_) | Operation::Free(_) => Ok(()),
        }
    }

    /// Whether a rank has left or is lost: it sends nothing any more.
    pub fn is_lost(&self, rank: Rank) -> bool {
        self.peers[rank.index()].lost.is_some()
    }

    pub(super) fn loss(&self, rank: Rank) -> Error {
        let doing = self.peers[rank.index()].lost;
        Error::Lost {
            rank,
            doing: doing.unwrap_or(Self::LOST),
        }
    }
}

impl<K: Copy + Eq> Messenger<K> {
    /// Lets the matching take a step, and does what follows from the receives and probes that it
    /// ends.
    pub(super) fn matched<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Matching<K, Place>, &mut dyn FnMut(K, End<Place>)) -> T,
    ) -> T {
        let mut ends = mem::take(&mut self.ends);
        let result = take(&mut self.matching, &mut |key, end| ends.push((key, end)));
        for (key, end) in ends.drain(..) {
            self.end(key, end, step);
        }
        self.ends = ends;
        result
    }

    fn end(&mut self, key: K, end: End<Place>, step: &mut Step<'_, Self>) {
        let into = self.room_of(key);
        let outcome = match end {
            End::Received(Incoming { envelope, body }) => match body {
                Place::Here(body) => {
                    self.return_room(&envelope, step);
                    received(&envelope, body, into)
                }
                Place::Offered(offer) => {
                    let from = envelope.source;
                    let bodies = step.calls();
                    let into =
                        into.and_then(|into| bodies.provide(from, offer, into, envelope.bytes));
                    Self::claim(from, offer, true, step);
                    let claimed = Claimed {
                        key,
                        envelope,
                        into,
                    };
                    self.claimed.insert((from, offer), claimed);
                    return;
                }
            },
            End::Truncated(message, limit) => {
                let Envelope {
                    source, tag, bytes, ..
                } = message.envelope;
                self.discard(message, step);
                Err(Error::Truncated {
                    source,
                    tag,
                    bytes,
                    limit,
                })
            }
            End::Probed(envelope) => Ok(done(&envelope, Body::default())),
            End::Cancelled => Ok(Done {
                status: Status::CANCELLED,
                body: Body::default(),
            }),
            End::Lost(rank) => Err(self.loss(rank)),
            End::Freed(comm) => Err(self.freed(comm)),
        };
        step.effect(Effect::Ended(key, outcome));
    }

    /// Drops a message that no receive takes.
    pub(super) fn discard(&mut self, message: Incoming<Place>, step: &mut Step<'_, Self>) {
        if self.is_closed {
            // Its sender was notified.
            return;
        }
        match message.body {
            Place::Here(_) => self.return_room(&message.envelope, step),
            Place::Offered(offer) => Self::claim(message.envelope.source, offer, false, step),
        }
    }

    /// The room of a message is free again; its sender is notified once half of its room is.
    pub(super) fn return_room(&mut self, envelope: &Envelope, step: &mut Step<'_, Self>) {
        let peer = &mut self.peers[envelope.source.index()];
        peer.taken += cost(envelope.bytes);
        if peer.taken >= self.limits.eager / 2 && peer.lost.is_none() {
            let bytes = mem::take(&mut peer.taken) as u64;
            step.send(envelope.source, Packet::Room { bytes });
        }
    }

    fn start(&mut self, key: K, operation: Operation<K>, step: &mut Step<'_, Self>) {
        let outcome = match operation {
            Operation::Send {
                comm,
                to,
                tag,
                body,
            } => {
                let envelope = self.envelope(comm, tag, &body);
                match self.send_short(envelope, to, body, step) {
                    Ok(outcome) => outcome,
                    Err(body) => return self.offer(key, to, envelope, body, step),
                }
            }
            Operation::Receive {
                pattern,
                limit,
                into,
            } => {
                let mut limit = limit;
                if into.is_vector() {
                    limit = limit.min(into.len());
                    self.rooms.push((key, into));
                }
                return self.matched(step, |matching, mut ended| {
                    matching.receive(key, pattern, limit, &mut ended);
                });
            }
            Operation::Probe { pattern } => {
                return self.matched(step, |matching, mut ended| {
                    matching.probe(key, pattern, &mut ended);
                });
            }
            Operation::Cancel(other) => {
                // A send that is offered, and a receive whose message is claimed, end as if not
                // withdrawn.
                self.matched(step, |matching, mut ended| {
                    matching.cancel(other, &mut ended)
                });
                Ok(Done::default())
            }
            Operation::Free(comm) => {
                let dropped =
                    self.matched(step, |matching, mut ended| matching.free(comm, &mut ended));
                for message in dropped {
                    self.drop_unreceived(message, step);
                }
                Ok(Done::default())
            }
        };
        step.effect(Effect::Ended(key, outcome));
    }

    fn arrive(
        &mut self,
        source: Rank,
        (comm, tag, bytes): (CommId, Tag, usize),
        body: Place,
        step: &mut Step<'_, Self>,
    ) {
        let envelope = Envelope {
            comm,
            source,
            tag,
            bytes,
        };
        let message = Incoming { envelope, body };
        let refused = self.matched(step, |matching, mut ended| {
            matching.arrive(message, &mut ended)
        });
        match refused {
            // Its sender learns from `Packet::Closed` that it is not received.
            Some(message) if self.is_closed => self.discard(message, step),
            Some(message) => self.drop_unreceived(message, step),
            None => {}
        }
    }

    /// Takes the memory that a receive has brought, if it has.
    fn room_of(&mut self, key: K) -> Option<Body> {
        let at = self.rooms.iter().position(|(of, _)| *of == key)?;
        Some(self.rooms.swap_remove(at).1)
    }

    /// Ends the operations that depend on a lost rank.
    fn lose(&mut self, rank: Rank, doing: &'static str, step: &mut Step<'_, Self>) {
        let Some(peer) = self.peers.get_mut(rank.index()) else {
            return;
        };
        if peer.lost.is_some() {
            return;
        }
        peer.lost = Some(doing);
        let error = self.loss(rank);
        let is_here = |body: &Place| matches!(body, Place::Here(_));
        self.matched(step, |matching, mut ended| {
            matching.lose(rank, is_here, &mut ended);
        });
        self.offers
            .lose(rank, |key| step.effect(Effect::Ended(key, Err(error))));
        self.claimed.retain(|(from, _), claimed| {
            if *from == rank {
                step.effect(Effect::Ended(claimed.key, Err(error)));
            }
            *from != rank
        });
    }
}

/// Returns the room that a message takes.
pub(super) const fn cost(bytes: usize) -> usize {
    bytes.saturating_add(ENVELOPE)
}

impl<K: Copy + Eq> Machine for Messenger<K> {
    type Peer = Rank;
    type Message = Packet;
    type Event = Event<K>;
    type Effect = Effect<K>;
    type Calls = dyn Bodies;
    type Refusal = Unexpected;

    fn event(&mut self, event: Event<K>, step: &mut Step<'_, Self>) {
        match event {
            Event::Start(key, operation) => match self.check_of(&operation) {
                Ok(()) => self.start(key, operation, step),
                Err(error) => step.effect(Effect::Ended(key, Err(error))),
            },
            Event::SendAtOnce {
                comm,
                to,
                tag,
                body,
            } => {
                let sent = match self.check(Some(to), Some(tag)) {
                    Ok(()) => {
                        let envelope = self.envelope(comm, tag, &body);
                        self.send_short(envelope, to, body, step)
                    }
                    Err(error) => Ok(Err(error)),
                };
                step.effect(sent.map_or_else(Effect::Returned, Effect::AtOnce));
            }
            Event::ReceiveAtOnce { pattern, limit } => {
                let received = match self.check(pattern.source, pattern.tag) {
                    Ok(()) => self.take_short(pattern, limit, step),
                    Err(error) => Some(Err(error)),
                };
                if let Some(outcome) = received {
                    step.effect(Effect::AtOnce(outcome));
                }
            }
            Event::Sent { offer, body } => {
                // Unknown if its receiver has been lost.
                if let Some((key, envelope)) = self.offers.left(offer) {
                    step.effect(Effect::Ended(key, Ok(done(&envelope, body))));
                }
            }
            Event::Close => self.close(step),
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        packet: Packet,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Unexpected> {
        let peer = self.peers.get_mut(from.index()).ok_or(Unexpected)?;
        if peer.lost.is_some() {
            return Ok(());
        }
        match packet {
            Packet::Message { comm, tag, body } => {
                let bytes = body.len();
                self.count_arrived(from, step);
                self.arrive(from, (comm, tag, bytes), Place::Here(body), step);
            }
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            } => {
                if offer < peer.next_offer {
                    return Err(Unexpected);
                }
                peer.next_offer = offer.checked_add(1).ok_or(Unexpected)?;
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                self.arrive(from, (comm, tag, bytes), Place::Offered(offer), step);
            }
            Packet::Claim { offer, is_wanted } => {
                return self.answered(from, offer, is_wanted, step);
            }
            Packet::Body { offer, body } => return self.fetched(from, offer, body, step),
            Packet::Left => self.lose(from, "receiving from it, which has left", step),
            Packet::Closed { messages } => return self.closed(from, messages, step),
            Packet::Arrived { messages } => return peer.short.acknowledged(messages),
            Packet::Room { bytes } => {
                let left = usize::try_from(bytes).ok();
                let left = left.and_then(|bytes| peer.sent.checked_sub(bytes));
                peer.sent = left.ok_or(Unexpected)?;
            }
        }
        Ok(())
    }

    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        self.lose(rank, Self::LOST, step);
        Tolerance::Tolerated
    }
}
