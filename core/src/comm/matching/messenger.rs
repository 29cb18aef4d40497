//! The carrier over a channel of the program.
//!
//! # Algorithm
//! A message is sent at once as long as the receiver has [`Limits::eager`] bytes of room for this sender, which it returns
//! as its receives take messages. Beyond that only an offer is sent: what is known of the message, without its body. Offers are
//! matched as messages are, in the same order; the receiver claims the body once a receive has matched it. So a rank keeps
//! no more than that room for each sender, except for offers, each of which is an outstanding send there; and a message that
//! waits for its receive never holds up a later one.

use super::offers::{Offer, Offers};
use super::outcome::{done, received};
use super::packet::{Mail, News, Packet};
use super::unreceived::Short;
use super::{End, Incoming, Matching};
use crate::comm::carrier::{Bounds, Carrier};
use crate::comm::error::Error;
use crate::comm::message::{Body, CommId, Envelope, Pattern, Tag};
use crate::comm::operation::{Done, Outcome, Status};
use crate::comm::slot::Ticket;
use crate::id::Rank;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::{fmt, mem};

/// Bytes that a message takes apart from its body.
const ENVELOPE: usize = 64;
/// Bytes up to which a vector is copied, so that its sender has it back at once.
pub(super) const COPIED: usize = 4096;
/// Packets that one call takes at most, so that tasks are started between them.
const PACKETS: usize = 64;
/// The greatest tag: that of a C `int`, as MPI's.
const LAST_TAG: Tag = Tag(i32::MAX as u32);

/// The memory of a [`Messenger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of messages from one rank that no receive has taken; each counts 64 bytes and its body. Should be the same at all
    /// ranks.
    pub eager: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { eager: 1 << 18 }
    }
}

/// Where the body of a message is.
pub(super) enum Place {
    Here(Body),
    /// At the sender, under the number of an offer.
    Offered(u64),
}

/// A receive whose message was claimed.
struct Claimed {
    ticket: Ticket,
    envelope: Envelope,
    /// Memory of the receive that the mail does not use.
    into: Option<Body>,
}

/// What is known of another rank.
#[derive(Clone, Default)]
pub(super) struct Peer {
    /// Bytes sent to it for which it has not returned the room.
    pub(super) sent: usize,
    /// Bytes of it that receives have taken and for which it was not returned the room.
    taken: usize,
    pub(super) short: Short,
    pub(super) lost: Option<&'static str>,
}

/// The [`Carrier`] that matches messages itself, over a channel of the program.
pub struct Messenger<M> {
    pub(super) mail: M,
    pub(super) limits: Limits,
    pub(super) matching: Matching<Ticket, Place>,
    pub(super) peers: Vec<Peer>,
    pub(super) offers: Offers,
    /// Receives whose message was claimed, by its sender and number.
    claimed: BTreeMap<(Rank, u64), Claimed>,
    /// Memory of the receives that wait for their message, which have brought some.
    rooms: Vec<(Ticket, Body)>,
    /// Of the last step; its memory is used again.
    ends: Vec<(Ticket, End<Place>)>,
    /// Operations that have ended, to be reported.
    pub(super) ended: VecDeque<(Ticket, Outcome)>,
    /// Whether this rank receives no further message.
    pub(super) is_closed: bool,
}

impl<M> fmt::Debug for Messenger<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offers, claimed) = (self.offers.waiting(), self.claimed.len());
        write!(
            f,
            "{:?}, {offers} offered, {claimed} claimed",
            self.matching
        )
    }
}

impl<M: Mail> Messenger<M> {
    /// Creates the carrier of the rank whose mail this is.
    pub fn new(mail: M, limits: Limits) -> Self {
        let peers = alloc::vec![Peer::default(); mail.ranks() as usize];
        Self {
            mail,
            limits,
            matching: Matching::new(),
            peers,
            offers: Offers::default(),
            claimed: BTreeMap::new(),
            rooms: Vec::new(),
            ends: Vec::new(),
            ended: VecDeque::new(),
            is_closed: false,
        }
    }

    /// Lets the matching take a step, and does what follows from the receives and probes that it ends.
    pub(super) fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Matching<Ticket, Place>, &mut dyn FnMut(Ticket, End<Place>)) -> T,
    ) -> T {
        let mut ends = mem::take(&mut self.ends);
        let result = step(&mut self.matching, &mut |ticket, end| {
            ends.push((ticket, end));
        });
        for (ticket, end) in ends.drain(..) {
            self.end(ticket, end);
        }
        self.ends = ends;
        result
    }

    fn end(&mut self, ticket: Ticket, end: End<Place>) {
        let into = self.room_of(ticket);
        let outcome = match end {
            End::Received(Incoming { envelope, body }) => match body {
                Place::Here(body) => {
                    self.return_room(&envelope);
                    received(&envelope, body, into)
                }
                Place::Offered(offer) => {
                    let from = envelope.source;
                    let provide = |into| self.mail.provide(from, offer, into, envelope.bytes);
                    let into = into.and_then(provide);
                    self.claim(from, offer, true);
                    let claimed = Claimed {
                        ticket,
                        envelope,
                        into,
                    };
                    let before = self.claimed.insert((from, offer), claimed);
                    debug_assert!(before.is_none(), "an offer is matched once");
                    return;
                }
            },
            End::Truncated(message, limit) => {
                let Envelope {
                    source, tag, bytes, ..
                } = message.envelope;
                self.discard(message);
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
            End::Lost(rank) => Err(self.lost(rank)),
            End::Freed(comm) => Err(self.freed(comm)),
        };
        self.ended.push_back((ticket, outcome));
    }

    pub(super) fn lost(&self, rank: Rank) -> Error {
        let doing = self.peers[rank.index()].lost;
        Error::Lost {
            rank,
            doing: doing.unwrap_or_default(),
        }
    }

    /// Drops a message that no receive takes.
    pub(super) fn discard(&mut self, message: Incoming<Place>) {
        if self.is_closed {
            // Its sender was notified.
            return;
        }
        match message.body {
            Place::Here(_) => self.return_room(&message.envelope),
            Place::Offered(offer) => self.claim(message.envelope.source, offer, false),
        }
    }

    fn claim(&mut self, from: Rank, offer: u64, is_wanted: bool) {
        self.mail.send(from, Packet::Claim { offer, is_wanted });
    }

    /// The room of a message is free again; its sender is notified once half of its room is.
    pub(super) fn return_room(&mut self, envelope: &Envelope) {
        let peer = &mut self.peers[envelope.source.index()];
        peer.taken += cost(envelope.bytes);
        if peer.taken >= self.limits.eager / 2 && peer.lost.is_none() {
            let bytes = mem::take(&mut peer.taken) as u64;
            self.mail.send(envelope.source, Packet::Room { bytes });
        }
    }

    /// Takes a packet. Returns false if the messenger of a rank would not send it.
    fn take(&mut self, from: Rank, packet: Packet) -> bool {
        match packet {
            Packet::Message { comm, tag, body } => {
                let bytes = body.len();
                self.count_arrived(from);
                self.arrive(from, (comm, tag, bytes), Place::Here(body));
                true
            }
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            } => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                self.arrive(from, (comm, tag, bytes), Place::Offered(offer));
                true
            }
            Packet::Claim { offer, is_wanted } => self.claimed(from, offer, is_wanted),
            Packet::Body { offer, body } => {
                let Some(claimed) = self.claimed.remove(&(from, offer)) else {
                    return false;
                };
                let bytes = claimed.envelope.bytes;
                // The body is in the memory of the receive, which may be longer, or as long as the message.
                let is_whole = match claimed.into.is_none() && body.is_vector() {
                    true => body.len() >= bytes,
                    false => body.len() == bytes,
                };
                if is_whole {
                    let outcome = received(&claimed.envelope, body, claimed.into);
                    self.ended.push_back((claimed.ticket, outcome));
                } else {
                    // The receive ends with the loss of the sender.
                    self.claimed.insert((from, offer), claimed);
                }
                is_whole
            }
            Packet::Left => {
                self.lose(from, "receiving from it, which has left");
                true
            }
            Packet::Closed { messages } => self.closed(from, messages),
            Packet::Arrived { messages } => self.peers[from.index()].short.acknowledged(messages),
            Packet::Room { bytes } => {
                let sent = &mut self.peers[from.index()].sent;
                let left = usize::try_from(bytes)
                    .ok()
                    .and_then(|b| sent.checked_sub(b));
                left.map(|left| *sent = left).is_some()
            }
        }
    }

    fn arrive(&mut self, source: Rank, (comm, tag, bytes): (CommId, Tag, usize), body: Place) {
        let envelope = Envelope {
            comm,
            source,
            tag,
            bytes,
        };
        let message = Incoming { envelope, body };
        let refused = self.step(|matching, mut ended| matching.arrive(message, &mut ended));
        match refused {
            // Its sender learns from `Packet::Closed` that it is not received.
            Some(message) if self.is_closed => self.discard(message),
            Some(message) => self.drop_unreceived(message),
            None => {}
        }
    }

    /// The receiver of an offer has answered.
    fn claimed(&mut self, from: Rank, number: u64, is_wanted: bool) -> bool {
        let Some(offer) = self.offers.answered(from, number) else {
            return false;
        };
        let Offer {
            ticket,
            envelope,
            body,
            ..
        } = offer;
        let back = match body.is_vector() {
            true if is_wanted => match self.mail.send_body(from, number, body) {
                Some(body) => body,
                None => {
                    self.offers.leaves(number, ticket, from, envelope);
                    return true;
                }
            },
            true => body,
            false => {
                if is_wanted {
                    let offer = number;
                    self.mail.send(from, Packet::Body { offer, body });
                }
                Body::default()
            }
        };
        self.ended.push_back((ticket, Ok(done(&envelope, back))));
        true
    }

    /// The body of an offer has left, and is the sender's again.
    fn sent(&mut self, offer: u64, body: Body) {
        // Unknown if its receiver was lost meanwhile.
        if let Some((ticket, envelope)) = self.offers.left(offer) {
            self.ended.push_back((ticket, Ok(done(&envelope, body))));
        }
    }

    /// Takes the memory that a receive has brought, if it has.
    fn room_of(&mut self, ticket: Ticket) -> Option<Body> {
        let at = self.rooms.iter().position(|(of, _)| *of == ticket)?;
        Some(self.rooms.swap_remove(at).1)
    }

    /// Ends what depends on a lost rank.
    fn lose(&mut self, rank: Rank, doing: &'static str) {
        let peer = &mut self.peers[rank.index()];
        if peer.lost.is_some() {
            return;
        }
        peer.lost = Some(doing);
        let error = self.lost(rank);
        let is_here = |body: &Place| matches!(body, Place::Here(_));
        self.step(|matching, mut ended| matching.lose(rank, is_here, &mut ended));
        let ended = &mut self.ended;
        self.offers
            .lose(rank, |ticket| ended.push_back((ticket, Err(error))));
        self.claimed.retain(|(from, _), claimed| {
            if *from == rank {
                ended.push_back((claimed.ticket, Err(error)));
            }
            *from != rank
        });
    }

    /// Returns the outcome of an operation that was just started, if it has ended.
    fn at_once(&mut self, ticket: Ticket) -> Option<Outcome> {
        let last = self.ended.back()?;
        (last.0 == ticket).then(|| self.ended.pop_back().expect("looked at above").1)
    }
}

/// Returns the room that a message takes.
pub(super) const fn cost(bytes: usize) -> usize {
    bytes.saturating_add(ENVELOPE)
}

impl<M: Mail> Carrier for Messenger<M> {
    fn bounds(&self) -> Bounds {
        Bounds {
            ranks: self.mail.ranks(),
            last_tag: LAST_TAG,
        }
    }

    fn send(
        &mut self,
        ticket: Ticket,
        comm: CommId,
        to: Rank,
        tag: Tag,
        body: Body,
    ) -> Option<Outcome> {
        let envelope = self.envelope(comm, tag, &body);
        let body = match self.send_short(envelope, to, body) {
            Ok(outcome) => return Some(outcome),
            Err(body) => body,
        };
        let kept = Offer {
            ticket,
            to,
            envelope,
            body,
        };
        let offer = self.offers.add(kept);
        let bytes = envelope.bytes as u64;
        self.mail.send(
            to,
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            },
        );
        None
    }

    fn receive(
        &mut self,
        ticket: Ticket,
        pattern: Pattern,
        limit: usize,
        into: Body,
    ) -> Option<Outcome> {
        let limit = match into.is_vector() {
            true => {
                let room = into.len();
                self.rooms.push((ticket, into));
                limit.min(room)
            }
            false => limit,
        };
        self.step(|matching, mut ended| matching.receive(ticket, pattern, limit, &mut ended));
        self.at_once(ticket)
    }

    fn probe(&mut self, ticket: Ticket, pattern: Pattern) -> Option<Outcome> {
        self.step(|matching, mut ended| matching.probe(ticket, pattern, &mut ended));
        self.at_once(ticket)
    }

    fn send_at_once(
        &mut self,
        comm: CommId,
        to: Rank,
        tag: Tag,
        body: Body,
    ) -> Result<Outcome, Body> {
        let envelope = self.envelope(comm, tag, &body);
        self.send_short(envelope, to, body)
    }

    fn receive_at_once(&mut self, pattern: Pattern, limit: usize) -> Option<Outcome> {
        self.take_short(pattern, limit)
    }

    fn cancel(&mut self, ticket: Ticket) {
        // A send that is offered, and a receive whose message is claimed, end as if not withdrawn.
        self.step(|matching, mut ended| matching.cancel(ticket, &mut ended));
    }

    fn free(&mut self, comm: CommId) {
        let dropped = self.step(|matching, mut ended| matching.free(comm, &mut ended));
        for message in dropped {
            self.drop_unreceived(message);
        }
    }

    fn progress(&mut self, ended: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        let mut moved = false;
        for _ in 0..PACKETS {
            let Some(news) = self.mail.poll() else {
                break;
            };
            moved = true;
            match news {
                News::Lost(rank, doing) => self.lose(rank, doing),
                News::Sent { offer, body, .. } => self.sent(offer, body),
                // What a rank sends after an unexpected packet is not taken.
                News::Packet(from, _) if self.peers[from.index()].lost.is_some() => {}
                News::Packet(from, packet) => {
                    if !self.take(from, packet) {
                        self.lose(from, "taking a packet of it that is not expected");
                    }
                }
            }
        }
        moved |= !self.ended.is_empty();
        while let Some((ticket, outcome)) = self.ended.pop_front() {
            ended(ticket, outcome);
        }
        moved
    }
}
