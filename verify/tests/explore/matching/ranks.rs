//! Ranks whose programs send, receive, probe and withdraw: their driver, and their invariants.

use super::link::Link;
use super::rule::{End, Key, Name, Post, Required, Seen, required};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tautline_core::comm::{
    Bodies, Body, CommId, Done, Effect, Envelope, Error, Event, Limits, Messenger, Operation,
    Outcome, Packet, Pattern, Tag,
};
use tautline_core::machine::no_calls;
use tautline_core::{PlaceId, Rank};
use tautline_verify::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};

/// Bytes that a message takes in addition to its body.
const ENVELOPE: usize = 64;
/// Bytes up to which a vector needs no offer.
const COPIED: usize = 4096;

/// A step of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Send(Outgoing),
    /// Sends at once if that is possible, else as [`Op::Send`].
    SendAtOnce(Outgoing),
    Receive(Wanted),
    ReceiveAtOnce(Wanted),
    Probe(Wanted),
    /// Receives the message that the probe at this place has found, and not a byte more.
    ReceiveProbed(Key),
    Cancel(Key),
    Free(u32),
    /// Continues when the operation at this place has ended.
    Await(Key),
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) to: u32,
    pub(crate) comm: u32,
    pub(crate) tag: u32,
    pub(crate) bytes: usize,
    pub(crate) is_vector: bool,
}

/// A message to be received, or to be found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) comm: u32,
    pub(crate) from: Option<u32>,
    pub(crate) tag: Option<u32>,
    pub(crate) limit: usize,
    /// Whether it brings memory.
    pub(crate) is_vector: bool,
}

impl Wanted {
    fn pattern(&self) -> Pattern {
        Pattern {
            comm: CommId(self.comm),
            source: self.from.map(Rank),
            tag: self.tag.map(Tag),
        }
    }
}

/// The programs of all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) programs: &'static [&'static [Op]],
    /// Bytes of room for each sender.
    pub(crate) room: usize,
    /// Whether the link moves vectors from memory to memory.
    pub(crate) is_direct: bool,
    pub(crate) fault: Option<Fault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Messages without an offer are lost.
    Lose,
    /// Room is not given back.
    Keep,
    /// A message arrives with another tag.
    Confuse,
    /// Nothing is withdrawn.
    Insist,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// The next operation of the program.
    Next,
    /// A vector leaves that the link has kept.
    Depart,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The operations that have begun.
    next: Key,
    seen: Vec<Seen>,
    ends: BTreeMap<Key, End>,
    /// The sends whose message or offer has left.
    sent: BTreeSet<Key>,
    /// The bytes of room in use, by receiver.
    used: BTreeMap<Rank, usize>,
    /// The bytes of room returned, by sender.
    returned: BTreeMap<Rank, usize>,
    link: Link,
}

/// The messages on their way, by sender and receiver.
pub(crate) type Flying = BTreeMap<(Rank, Rank), VecDeque<Key>>;

impl Exchange {
    fn op(&self, here: Rank, key: Key) -> Op {
        self.programs[here.index()][key]
    }

    fn outgoing(&self, (from, key): Name) -> Outgoing {
        match self.op(from, key) {
            Op::Send(outgoing) | Op::SendAtOnce(outgoing) => outgoing,
            other => panic!("{other:?} sends nothing"),
        }
    }

    fn envelope(&self, name: Name) -> Envelope {
        let outgoing = self.outgoing(name);
        Envelope {
            comm: CommId(outgoing.comm),
            source: name.0,
            tag: Tag(outgoing.tag),
            bytes: outgoing.bytes,
        }
    }

    /// Returns the message: its name, and zeros.
    fn bytes(&self, name: Name) -> Vec<u8> {
        let mut bytes = vec![0; self.outgoing(name).bytes];
        bytes[0] = 1 + name.0.0 as u8;
        bytes[1] = name.1 as u8;
        bytes
    }

    fn body(&self, name: Name) -> Body {
        let bytes = self.bytes(name);
        match self.outgoing(name).is_vector {
            true => Body::of(bytes),
            false => bytes.into(),
        }
    }

    fn wanted(&self, here: Rank, state: &State, key: Key) -> Wanted {
        match self.op(here, key) {
            Op::Receive(wanted) | Op::ReceiveAtOnce(wanted) | Op::Probe(wanted) => wanted,
            Op::ReceiveProbed(of) => match state.ends[&of] {
                End::Probed(found) => Wanted {
                    comm: found.comm.0,
                    from: Some(found.source.0),
                    tag: Some(found.tag.0),
                    limit: found.bytes,
                    is_vector: false,
                },
                other => panic!("{other:?} of a probe"),
            },
            other => panic!("{other:?} receives nothing"),
        }
    }

    /// Whether there is room for a message without an offer, or a vector that long needs none.
    fn fits(&self, state: &State, outgoing: &Outgoing) -> bool {
        let used = state.used.get(&Rank(outgoing.to)).copied().unwrap_or(0);
        let is_copied = !outgoing.is_vector || outgoing.bytes <= COPIED;
        is_copied && used + ENVELOPE + outgoing.bytes <= self.room
    }

    /// Returns the operation at `key`, and takes note of it.
    fn operation(&self, here: Rank, state: &mut State, key: Key) -> Operation<Key> {
        match self.op(here, key) {
            Op::Send(outgoing) | Op::SendAtOnce(outgoing) => Operation::Send {
                comm: CommId(outgoing.comm),
                to: Rank(outgoing.to),
                tag: Tag(outgoing.tag),
                body: self.body((here, key)),
            },
            Op::Receive(_) | Op::ReceiveProbed(_) => {
                let wanted = self.wanted(here, state, key);
                let (pattern, limit) = (wanted.pattern(), wanted.limit);
                let post = Post::Receive(limit);
                state.seen.push(Seen::Posted(key, pattern, post));
                let into = match wanted.is_vector {
                    true => Body::of(vec![0xff_u8; limit]),
                    false => Body::default(),
                };
                Operation::Receive {
                    pattern,
                    limit,
                    into,
                }
            }
            Op::Probe(wanted) => {
                let pattern = wanted.pattern();
                state.seen.push(Seen::Posted(key, pattern, Post::Probe));
                Operation::Probe { pattern }
            }
            Op::Cancel(of) => {
                state.seen.push(Seen::Cancelled(of));
                Operation::Cancel(of)
            }
            Op::Free(comm) => {
                state.seen.push(Seen::Freed(CommId(comm)));
                Operation::Free(CommId(comm))
            }
            Op::ReceiveAtOnce(_) | Op::Await(_) => unreachable!("no operation of a task"),
        }
    }

    /// Returns the end of a send that reports `done`: its vector is back as it was.
    fn sent(&self, name: Name, state: &State, done: &Done) -> Option<End> {
        let outgoing = self.outgoing(name);
        let is_back = match outgoing.is_vector {
            true => done.body.is_vector() && done.body == self.bytes(name),
            false => done.body.is_empty(),
        };
        let is_sent = is_back && state.sent.contains(&name.1);
        is_sent.then_some(End::Sent)
    }

    /// Returns the end of a receive that reports `done`: the message, as it was sent.
    fn took(&self, here: Rank, state: &State, key: Key, done: &Done) -> Option<End> {
        let (status, body) = (done.status, &done.body);
        let message = body.get(..status.bytes)?;
        let from = Rank(u32::from(message.first()?.checked_sub(1)?));
        let name = (from, usize::from(*message.get(1)?));
        let envelope = self.envelope(name);
        let wanted = self.wanted(here, state, key);
        let is_whole = message == self.bytes(name)
            && (status.source, status.tag) == (Some(from), Some(envelope.tag))
            && wanted.pattern().accepts(&envelope);
        // Its own memory, which is longer, or the message alone.
        let is_memory = match wanted.is_vector {
            true => body.is_vector() && body.len() == wanted.limit,
            false => body.len() == status.bytes,
        };
        (is_whole && is_memory && !status.is_cancelled).then_some(End::Took(name))
    }

    /// Returns the end that an outcome is; `None` if it cannot be.
    fn end(&self, here: Rank, state: &State, key: Key, outcome: &Outcome) -> Option<End> {
        let done = match outcome {
            Ok(done) => done,
            Err(Error::Freed { .. }) => return Some(End::Freed),
            Err(Error::Lost { rank, .. }) => return Some(End::Lost(*rank)),
            Err(Error::Truncated {
                source, tag, bytes, ..
            }) => {
                let shown = (*source, *tag, *bytes);
                let mut seen = state.seen.iter().rev();
                return seen.find_map(|event| match event {
                    Seen::Arrived { name, envelope, .. } => {
                        let Envelope {
                            source, tag, bytes, ..
                        } = *envelope;
                        (shown == (source, tag, bytes)).then_some(End::Truncated(*name))
                    }
                    _ => None,
                });
            }
            Err(_) => return None,
        };
        match self.op(here, key) {
            Op::Send(_) | Op::SendAtOnce(_) => self.sent((here, key), state, done),
            Op::Cancel(_) | Op::Free(_) => (*done == Done::default()).then_some(End::Done),
            _ if done.status.is_cancelled => Some(End::Cancelled),
            Op::Probe(wanted) => Some(End::Probed(Envelope {
                comm: CommId(wanted.comm),
                source: done.status.source?,
                tag: done.status.tag?,
                bytes: done.status.bytes,
            })),
            _ => self.took(here, state, key, done),
        }
    }

    /// Records the end of an operation.
    fn record(&self, at: &mut At<'_, Self>, key: Key, outcome: &Outcome) {
        let Some(end) = self.end(at.here, at.driver, key, outcome) else {
            return at.find(Flaw::Count);
        };
        match at.driver.ends.insert(key, end) {
            None | Some(End::Nothing) => {}
            Some(_) => at.find(Flaw::Repeated),
        }
    }

    /// Whether a sender lacks room that its receiver has given back, once nothing is on its way.
    fn is_room_lost(&self, view: &View<Parts<Self>>) -> bool {
        let is_lost = |from: Rank, sender: &State, to: Rank, receiver: &State| {
            let arrived = receiver.seen.iter().filter_map(|event| match event {
                Seen::Arrived {
                    envelope, is_here, ..
                } if envelope.source == from && *is_here => Some(ENVELOPE + envelope.bytes),
                _ => None,
            });
            let returned = receiver.returned.get(&from).copied().unwrap_or(0);
            let used = sender.used.get(&to).copied().unwrap_or(0);
            used + returned != arrived.sum()
        };
        let of = |(place, part): (PlaceId, _)| (Rank(place.0), part);
        let mut living = view.living().map(of);
        living.any(|(from, sender): (_, &PartOf<Self>)| {
            let mut others = view.living().map(of);
            others.any(|(to, receiver): (_, &PartOf<Self>)| {
                is_lost(from, &sender.driver, to, &receiver.driver)
            })
        })
    }

    /// Returns what is wrong with the ends and with the memory of a rank.
    fn wrong(&self, here: Rank, part: &PartOf<Self>, is_over: bool) -> Option<Flaw> {
        let Part {
            machine,
            driver: state,
        } = part;
        let Required {
            ends,
            kept,
            gone,
            is_doubled,
        } = required(&state.seen);
        if is_doubled {
            return Some(Flaw::Repeated);
        }
        let (mut posted, mut claimed) = (0, 0);
        for (key, right, is_later) in ends {
            let own = state.ends.get(&key).copied();
            posted += usize::from(right.is_none());
            let from = match right {
                Some(End::Took((from, _))) if is_later => from,
                _ if own == right => continue,
                _ => return Some(Flaw::Outcome),
            };
            claimed += usize::from(own.is_none());
            let is_lost = machine.is_lost(from) && own == Some(End::Lost(from));
            if own != right && !is_lost && (is_over || own.is_some()) {
                return Some(Flaw::Outcome);
            }
        }
        let is_waiting = |key: &usize| {
            let op = self.op(here, *key);
            matches!(op, Op::Send(_) | Op::SendAtOnce(_)) && !state.ends.contains_key(key)
        };
        let offered = (0..state.next).filter(is_waiting).count() - state.link.departing.len();
        let memory = format!(
            "{posted} posted, {} unexpected, {offered} offered, {claimed} claimed",
            kept.len()
        );
        // At most half of the room, once it is free, is not given back.
        let owes = |from: Rank| {
            let of = gone.iter().filter(|(sender, _)| *sender == from);
            let free: usize = of.map(|(_, bytes)| ENVELOPE + bytes).sum();
            let returned = state.returned.get(&from).copied().unwrap_or(0);
            !machine.is_lost(from) && !(returned..returned + (self.room / 2).max(1)).contains(&free)
        };
        let is_kept = format!("{machine:?}") != memory || (0..self.peers()).map(Rank).any(owes);
        is_kept.then_some(Flaw::Requests)
    }
}

impl Checked for Exchange {
    type Machine = Messenger<Key>;
    type Driver = State;
    type Act = Act;
    type Ghost = Flying;

    fn peers(&self) -> u32 {
        self.programs.len() as u32
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let limits = Limits { eager: self.room };
        let mut driver = State::default();
        driver.link.is_direct = self.is_direct;
        Part {
            machine: Messenger::new(here, self.peers(), limits),
            driver,
        }
    }

    fn acts(&self, here: Rank, part: &PartOf<Self>, _: &Flying) -> Vec<Act> {
        let state = &part.driver;
        let mut acts = Vec::new();
        let next = self.programs[here.index()].get(state.next);
        let may = |op: &Op| match op {
            Op::Await(of) => state.ends.contains_key(of),
            Op::ReceiveProbed(of) => matches!(state.ends.get(of), Some(End::Probed(_))),
            _ => true,
        };
        if next.is_some_and(may) {
            acts.push(Act::Next);
        }
        if !state.link.departing.is_empty() {
            acts.push(Act::Depart);
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<Key>> {
        if act == Act::Depart {
            let (to, offer, body) = at.driver.link.departing.pop_front()?;
            let copy = body.to_vec().into();
            at.send(to, Packet::Body { offer, body: copy });
            return Some(Event::Sent { offer, body });
        }
        let (here, key) = (at.here, at.driver.next);
        at.driver.next += 1;
        match self.op(here, key) {
            Op::Await(_) => None,
            Op::SendAtOnce(outgoing) => Some(Event::SendAtOnce {
                comm: CommId(outgoing.comm),
                to: Rank(outgoing.to),
                tag: Tag(outgoing.tag),
                body: self.body((here, key)),
            }),
            Op::ReceiveAtOnce(wanted) => {
                let (pattern, limit) = (wanted.pattern(), wanted.limit);
                let post = Post::AtOnce(limit);
                at.driver.seen.push(Seen::Posted(key, pattern, post));
                at.driver.ends.insert(key, End::Nothing);
                Some(Event::ReceiveAtOnce { pattern, limit })
            }
            op => {
                let operation = self.operation(here, at.driver, key);
                if let (Op::Cancel(_), Some(Fault::Insist)) = (op, self.fault) {
                    at.driver.ends.insert(key, End::Done);
                    return None;
                }
                Some(Event::Start(key, operation))
            }
        }
    }

    fn calls(state: &mut State) -> &mut (dyn Bodies + 'static) {
        match state.link.is_direct {
            true => &mut state.link,
            false => no_calls(),
        }
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Messenger<Key>,
        effect: Effect<Key>,
    ) -> Option<Event<Key>> {
        let key = at.driver.next - 1;
        match effect {
            Effect::Ended(key, outcome) => self.record(at, key, &outcome),
            Effect::AtOnce(outcome) => self.record(at, key, &outcome),
            Effect::Returned(body) => {
                // It could have left, or it is another.
                let name = (at.here, key);
                let outgoing = self.outgoing(name);
                let is_same = body == self.bytes(name) && body.is_vector() == outgoing.is_vector;
                if !is_same || self.fits(at.driver, &outgoing) {
                    at.find(Flaw::Requests);
                }
                let operation = self.operation(at.here, at.driver, key);
                return Some(Event::Start(key, operation));
            }
        }
        None
    }

    fn send(&self, at: &mut At<'_, Self>, to: Rank, packet: Packet) -> Option<Packet> {
        let (here, key) = (at.here, at.driver.next.saturating_sub(1));
        match &packet {
            Packet::Message { .. } | Packet::Offer { .. } => {
                let outgoing = self.outgoing((here, key));
                let is_here = matches!(packet, Packet::Message { .. });
                if is_here != self.fits(at.driver, &outgoing) {
                    at.find(Flaw::Requests);
                }
                if !at.driver.sent.insert(key) {
                    at.find(Flaw::Repeated);
                }
                if is_here {
                    *at.driver.used.entry(to).or_default() += ENVELOPE + outgoing.bytes;
                }
                at.ghost.entry((here, to)).or_default().push_back(key);
            }
            Packet::Room { bytes } => {
                *at.driver.returned.entry(to).or_default() += *bytes as usize;
            }
            _ => {}
        }
        match (self.fault, &packet) {
            (Some(Fault::Lose), Packet::Message { .. })
            | (Some(Fault::Keep), Packet::Room { .. }) => None,
            _ => Some(packet),
        }
    }

    fn receive(&self, at: &mut At<'_, Self>, from: Rank, packet: Packet) -> Option<(Rank, Packet)> {
        let packet = match packet {
            Packet::Message { comm, tag, body }
                if self.fault == Some(Fault::Confuse) && tag == Tag(0) =>
            {
                let tag = Tag(1);
                Packet::Message { comm, tag, body }
            }
            packet => packet,
        };
        let packet = match packet {
            Packet::Message { .. } | Packet::Offer { .. } => {
                let flying = at.ghost.entry((from, at.here)).or_default();
                let name = (from, flying.pop_front()?);
                at.driver.seen.push(Seen::Arrived {
                    name,
                    envelope: self.envelope(name),
                    is_here: matches!(packet, Packet::Message { .. }),
                });
                packet
            }
            Packet::Room { bytes } => {
                let used = at.driver.used.entry(from).or_default();
                *used = used.saturating_sub(bytes as usize);
                packet
            }
            // The link has put it into the memory of the receive.
            Packet::Body { offer, body } => {
                let memory = at.driver.link.memories.remove(&(from, offer));
                let body = match memory {
                    Some(mut memory) => {
                        memory.bytes_mut()[..body.len()].copy_from_slice(&body);
                        memory
                    }
                    None => body,
                };
                Packet::Body { offer, body }
            }
            _ => packet,
        };
        Some((from, packet))
    }

    /// Takes note of a loss, before which everything else in the step was.
    fn stepped(&self, at: &mut At<'_, Self>, before: &Messenger<Key>, after: &Messenger<Key>) {
        let mut ranks = (0..self.peers()).map(Rank);
        if let Some(rank) = ranks.find(|rank| after.is_lost(*rank) && !before.is_lost(*rank)) {
            at.driver.seen.push(Seen::Lost(rank));
            at.driver.link.departing.retain(|(to, ..)| *to != rank);
        }
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let is_over = view.parcels.is_empty() && self.is_final(view);
        let mut living = view.living();
        let wrong = living.find_map(|(place, part)| self.wrong(Rank(place.0), part, is_over));
        let is_living = |rank: Rank| !view.is_lost(PlaceId(rank.0));
        let mut flying = view.ghost.ghost.iter();
        let is_missing = flying.any(|((from, to), messages)| {
            is_living(*from) && is_living(*to) && !messages.is_empty()
        });
        let is_missing = is_over && is_missing;
        let is_short = is_over && self.is_room_lost(view);
        wrong
            .or_else(|| is_missing.then_some(Flaw::Count))
            .or_else(|| is_short.then_some(Flaw::Requests))
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.living().all(|(place, part)| {
            let State { next, link, .. } = &part.driver;
            *next == self.programs[place.index()].len() && link.departing.is_empty()
        })
    }
}
