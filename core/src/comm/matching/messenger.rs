//! The carrier over a channel of the program.
//!
//! # Algorithm
//! A message is sent at once as long as the receiver has [`Limits::eager`] bytes of room for this sender, which it returns
//! as its receives take messages. Beyond that only an offer is sent: what is known of the message, without its body. Offers are
//! matched as messages are, in the same order; the receiver claims the body once a receive has matched it. So a rank keeps
//! no more than that room for each sender, except for offers, each of which is an outstanding send there; and a message that
//! waits for its receive never holds up a later one.

use super::packet::{Mail, News, Packet};
use super::{End, Incoming, Matching};
use crate::comm::carrier::{Bounds, Carrier};
use crate::comm::error::Error;
use crate::comm::message::{CommId, Envelope, Pattern, Tag};
use crate::comm::operation::{Done, Outcome, Status};
use crate::comm::slot::Ticket;
use crate::id::Rank;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::{fmt, mem};

/// Bytes that a message takes apart from its body.
const ENVELOPE: usize = 64;
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
enum Body {
    Here(Vec<u8>),
    /// At the sender, under the number of an offer.
    Offered(u64),
}

/// A send whose receiver has not claimed the body.
struct Offer {
    ticket: Ticket,
    to: Rank,
    envelope: Envelope,
    body: Vec<u8>,
}

/// What is known of another rank.
#[derive(Clone, Default)]
struct Peer {
    /// Bytes sent to it for which it has not returned the room.
    sent: usize,
    /// Bytes of it that receives have taken and for which it was not returned the room.
    taken: usize,
    lost: Option<&'static str>,
}

/// The [`Carrier`] that matches messages itself, over a channel of the program.
pub struct Messenger<M> {
    mail: M,
    limits: Limits,
    matching: Matching<Ticket, Body>,
    peers: Vec<Peer>,
    /// What this rank has offered, by number.
    offers: BTreeMap<u64, Offer>,
    next_offer: u64,
    /// Receives whose message was claimed, by its sender and number.
    claimed: BTreeMap<(Rank, u64), (Ticket, Envelope)>,
    /// Operations that have ended, to be reported.
    ended: VecDeque<(Ticket, Outcome)>,
}

impl<M> fmt::Debug for Messenger<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offers, claimed) = (self.offers.len(), self.claimed.len());
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
            offers: BTreeMap::new(),
            next_offer: 0,
            claimed: BTreeMap::new(),
            ended: VecDeque::new(),
        }
    }

    /// Lets the matching take a step, and does what follows from the receives and probes that it ends.
    fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Matching<Ticket, Body>, &mut dyn FnMut(Ticket, End<Body>)) -> T,
    ) -> T {
        let mut ends = Vec::new();
        let result = step(&mut self.matching, &mut |ticket, end| {
            ends.push((ticket, end));
        });
        for (ticket, end) in ends {
            self.end(ticket, end);
        }
        result
    }

    fn end(&mut self, ticket: Ticket, end: End<Body>) {
        let outcome = match end {
            End::Received(Incoming { envelope, body }) => match body {
                Body::Here(body) => {
                    self.return_room(&envelope);
                    let status = Status::of(&envelope);
                    Ok(Done { status, body })
                }
                Body::Offered(offer) => {
                    self.claim(envelope.source, offer, true);
                    let before = self
                        .claimed
                        .insert((envelope.source, offer), (ticket, envelope));
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
            End::Probed(envelope) => Ok(Done {
                status: Status::of(&envelope),
                body: Vec::new(),
            }),
            End::Cancelled => Ok(Done {
                status: Status::CANCELLED,
                body: Vec::new(),
            }),
            End::Lost(rank) => Err(self.lost(rank)),
            End::Freed(comm) => Err(Error::Freed { comm }),
        };
        self.ended.push_back((ticket, outcome));
    }

    fn lost(&self, rank: Rank) -> Error {
        let doing = self.peers[rank.index()].lost;
        Error::Lost {
            rank,
            doing: doing.unwrap_or_default(),
        }
    }

    /// Drops a message that no receive takes.
    fn discard(&mut self, message: Incoming<Body>) {
        match message.body {
            Body::Here(_) => self.return_room(&message.envelope),
            Body::Offered(offer) => self.claim(message.envelope.source, offer, false),
        }
    }

    fn claim(&mut self, from: Rank, offer: u64, is_wanted: bool) {
        self.mail.send(from, Packet::Claim { offer, is_wanted });
    }

    /// The room of a message is free again; its sender is notified once half of its room is.
    fn return_room(&mut self, envelope: &Envelope) {
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
                self.arrive(from, (comm, tag, bytes), Body::Here(body));
                true
            }
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            } => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                self.arrive(from, (comm, tag, bytes), Body::Offered(offer));
                true
            }
            Packet::Claim { offer, is_wanted } => self.claimed(from, offer, is_wanted),
            Packet::Body { offer, body } => {
                let Some((ticket, envelope)) = self.claimed.remove(&(from, offer)) else {
                    return false;
                };
                let is_whole = body.len() == envelope.bytes;
                let status = Status::of(&envelope);
                if is_whole {
                    self.ended.push_back((ticket, Ok(Done { status, body })));
                } else {
                    // The receive ends with the loss of the sender.
                    self.claimed.insert((from, offer), (ticket, envelope));
                }
                is_whole
            }
            Packet::Room { bytes } => {
                let sent = &mut self.peers[from.index()].sent;
                let left = usize::try_from(bytes)
                    .ok()
                    .and_then(|b| sent.checked_sub(b));
                left.map(|left| *sent = left).is_some()
            }
        }
    }

    fn arrive(&mut self, source: Rank, (comm, tag, bytes): (CommId, Tag, usize), body: Body) {
        let envelope = Envelope {
            comm,
            source,
            tag,
            bytes,
        };
        let message = Incoming { envelope, body };
        let refused = self.step(|matching, mut ended| matching.arrive(message, &mut ended));
        if let Some(message) = refused {
            self.discard(message);
        }
    }

    /// The receiver of an offer has answered.
    fn claimed(&mut self, from: Rank, number: u64, is_wanted: bool) -> bool {
        let Some(offer) = self.offers.remove(&number) else {
            return false;
        };
        if offer.to != from {
            self.offers.insert(number, offer);
            return false;
        }
        if is_wanted {
            let body = offer.body;
            let offer = number;
            self.mail.send(from, Packet::Body { offer, body });
        }
        let status = Status::of(&offer.envelope);
        let body = Vec::new();
        self.ended
            .push_back((offer.ticket, Ok(Done { status, body })));
        true
    }

    /// Ends what depends on a lost rank.
    fn lose(&mut self, rank: Rank, doing: &'static str) {
        let peer = &mut self.peers[rank.index()];
        if peer.lost.is_some() {
            return;
        }
        peer.lost = Some(doing);
        let error = self.lost(rank);
        let is_here = |body: &Body| matches!(body, Body::Here(_));
        self.step(|matching, mut ended| matching.lose(rank, is_here, &mut ended));
        let ended = &mut self.ended;
        self.offers.retain(|_, offer| {
            if offer.to == rank {
                ended.push_back((offer.ticket, Err(error)));
            }
            offer.to != rank
        });
        self.claimed.retain(|(from, _), (ticket, _)| {
            if *from == rank {
                ended.push_back((*ticket, Err(error)));
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
const fn cost(bytes: usize) -> usize {
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
        body: Vec<u8>,
    ) -> Option<Outcome> {
        if self.matching.is_freed(comm) {
            return Some(Err(Error::Freed { comm }));
        }
        let bytes = body.len();
        let envelope = Envelope {
            comm,
            source: self.mail.here(),
            tag,
            bytes,
        };
        let peer = &mut self.peers[to.index()];
        if peer.lost.is_some() {
            return Some(Err(self.lost(to)));
        }
        let sent = peer.sent.saturating_add(cost(bytes));
        if sent <= self.limits.eager {
            peer.sent = sent;
            self.mail.send(to, Packet::Message { comm, tag, body });
            let status = Status::of(&envelope);
            return Some(Ok(Done {
                status,
                body: Vec::new(),
            }));
        }
        let offer = self.next_offer;
        self.next_offer += 1;
        let bytes = bytes as u64;
        self.mail.send(
            to,
            Packet::Offer {
                comm,
                tag,
                bytes,
                offer,
            },
        );
        let kept = Offer {
            ticket,
            to,
            envelope,
            body,
        };
        self.offers.insert(offer, kept);
        None
    }

    fn receive(&mut self, ticket: Ticket, pattern: Pattern, limit: usize) -> Option<Outcome> {
        self.step(|matching, mut ended| matching.receive(ticket, pattern, limit, &mut ended));
        self.at_once(ticket)
    }

    fn probe(&mut self, ticket: Ticket, pattern: Pattern) -> Option<Outcome> {
        self.step(|matching, mut ended| matching.probe(ticket, pattern, &mut ended));
        self.at_once(ticket)
    }

    fn cancel(&mut self, ticket: Ticket) {
        // A send that is offered, and a receive whose message is claimed, end as if not withdrawn.
        self.step(|matching, mut ended| matching.cancel(ticket, &mut ended));
    }

    fn free(&mut self, comm: CommId) {
        let dropped = self.step(|matching, mut ended| matching.free(comm, &mut ended));
        for message in dropped {
            self.discard(message);
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
