//! Ranks whose programs end while messages between them are on their way.

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use std::collections::BTreeMap;
use tautline_core::Rank;
use tautline_core::comm::{
    Bodies, Body, CommId, Effect, Event, Limits, Messenger, Operation, Packet, Pattern, Tag,
    Unreceived,
};
use tautline_core::machine::no_calls;

const WORLD: CommId = CommId(0);

/// Ranks that send each other messages, receive some of them, close and leave, each at any time.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The programs of the ranks.
    pub programs: &'static [Program],
    /// Bytes of room for each sender: a message takes 68.
    pub room: usize,
    /// The injected fault, if any.
    pub fault: Option<LeavingFault>,
}

/// The program of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The messages that it sends, in turn to each other rank; one alone to itself.
    pub sends: u32,
    /// Its receives.
    pub receives: u32,
    /// Whether it ends after all others have left.
    pub is_last: bool,
}

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavingFault {
    /// A rank leaves although messages are on their way.
    Hurry,
    /// No arrival is acknowledged.
    Silent,
    /// A rank that closes states that nothing has arrived.
    Deny,
    /// A rank does not count what it drops.
    Forget,
}

/// A step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Sends its next message.
    Send,
    /// Posts a receive from any rank.
    Receive,
    /// Its program ends.
    Close,
    /// Sends nothing any more.
    Leave,
}

/// The state of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    sends: u32,
    receives: u32,
    is_closed: bool,
    has_left: bool,
    /// Operations that have not ended, and the receivers of sends.
    pending: BTreeMap<u32, Option<Rank>>,
    /// By receiver, the number of sends that have ended without an error.
    sent: BTreeMap<Rank, u64>,
    /// The messages received: their senders and their numbers there.
    received: Vec<(Rank, u32)>,
}

impl Leaving {
    /// Whether all other ranks have left or are lost, as a rank has learned.
    fn is_alone(&self, here: Rank, messenger: &Messenger<u32>) -> bool {
        let mut others = (0..self.peers()).map(Rank).filter(|rank| *rank != here);
        others.all(|rank| messenger.is_lost(rank))
    }

    /// Returns the messages that a rank counts: their sender, their receiver and their number.
    fn counted(&self, here: Rank, messenger: &Messenger<u32>) -> Vec<(Rank, Rank, u64)> {
        let counted = messenger.unreceived();
        let counted =
            counted.filter(|of| self.fault != Some(LeavingFault::Forget) || of.from == here);
        let of = |Unreceived {
                      from, to, messages, ..
                  }| (from, to, messages);
        counted.map(of).collect()
    }
}

impl Checked for Leaving {
    type Machine = Messenger<u32>;
    type Driver = State;
    type Act = Act;
    type Ghost = ();

    fn peers(&self) -> u32 {
        self.programs.len() as u32
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let limits = Limits { eager: self.room };
        Part {
            machine: Messenger::new(here, self.peers(), limits),
            driver: State::default(),
        }
    }

    /// Sends also after its program has ended, as its worker may start an operation late; leaves
    /// once it waits for nothing.
    fn acts(&self, here: Rank, part: &PartOf<Self>, (): &()) -> Vec<Act> {
        let Part {
            machine,
            driver: state,
        } = part;
        let program = self.programs[here.index()];
        let is_settled = machine.is_settled() || self.fault == Some(LeavingFault::Hurry);
        let may = |act| match act {
            Act::Send => state.sends < program.sends,
            Act::Receive => !state.is_closed && state.receives < program.receives,
            Act::Close => !state.is_closed && (!program.is_last || self.is_alone(here, machine)),
            Act::Leave => state.is_closed && state.pending.is_empty() && is_settled,
        };
        let all = [Act::Send, Act::Receive, Act::Close, Act::Leave].into_iter();
        all.filter(|act| !state.has_left && may(*act)).collect()
    }

    /// Sends the number of the message among those of this rank.
    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<u32>> {
        let (here, ranks) = (at.here, self.peers());
        let state = &mut *at.driver;
        let key = state.sends + state.receives;
        match act {
            Act::Send => {
                let number = state.sends;
                state.sends += 1;
                let to = Rank((here.0 + 1 + number % (ranks - 1).max(1)) % ranks);
                state.pending.insert(key, Some(to));
                let operation = Operation::Send {
                    comm: WORLD,
                    to,
                    tag: Tag(number),
                    body: number.to_le_bytes().to_vec().into(),
                };
                Some(Event::Start(key, operation))
            }
            Act::Receive => {
                state.receives += 1;
                state.pending.insert(key, None);
                let operation = Operation::Receive {
                    pattern: Pattern::any(WORLD),
                    limit: 4,
                    into: Body::default(),
                };
                Some(Event::Start(key, operation))
            }
            Act::Close => {
                state.is_closed = true;
                Some(Event::Close)
            }
            Act::Leave => {
                state.has_left = true;
                let others = (0..ranks).map(Rank).filter(|rank| *rank != here);
                others.for_each(|rank| at.send(rank, Packet::Left));
                None
            }
        }
    }

    fn calls(_: &mut State) -> &mut (dyn Bodies + 'static) {
        no_calls()
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Messenger<u32>,
        effect: Effect<u32>,
    ) -> Option<Event<u32>> {
        let Effect::Ended(key, outcome) = effect else {
            unreachable!("all operations are tasks");
        };
        let of = at.driver.pending.remove(&key);
        match (of.expect("it ends once"), outcome) {
            (_, Err(_)) => {}
            (Some(to), Ok(_)) => *at.driver.sent.entry(to).or_default() += 1,
            (None, Ok(done)) => {
                let from = done.status.source.expect("a message");
                let body = <[u8; 4]>::try_from(&*done.body).expect("as it was sent");
                at.driver.received.push((from, u32::from_le_bytes(body)));
            }
        }
        None
    }

    fn send(&self, _: &mut At<'_, Self>, _: Rank, packet: Packet) -> Option<Packet> {
        match (packet, self.fault) {
            (Packet::Arrived { .. }, Some(LeavingFault::Silent)) => None,
            (Packet::Closed { .. }, Some(LeavingFault::Deny)) => {
                Some(Packet::Closed { messages: 0 })
            }
            (packet, _) => Some(packet),
        }
    }

    fn receive(&self, at: &mut At<'_, Self>, from: Rank, packet: Packet) -> Option<(Rank, Packet)> {
        (!at.driver.has_left).then_some((from, packet))
    }

    /// Offers that a rank may have made or claimed, and one that none has; those that are expected
    /// are taken.
    fn malformed(&self, _: &Messenger<u32>) -> Vec<Packet> {
        let of_offer = |offer| {
            let claim = Packet::Claim {
                offer,
                is_wanted: true,
            };
            let body = Packet::Body {
                offer,
                body: Body::default(),
            };
            let again = Packet::Offer {
                comm: WORLD,
                tag: Tag(0),
                bytes: 4,
                offer,
            };
            [claim, body, again]
        };
        let mut all: Vec<_> = [0, 1, 99].into_iter().flat_map(of_offer).collect();
        all.extend([
            Packet::Room { bytes: u64::MAX },
            Packet::Closed { messages: 99 },
            Packet::Arrived { messages: 99 },
        ]);
        all
    }

    /// Messages of one rank are received in their order, each once; and in the end each that its
    /// sender takes for sent was received or is counted at one of the two ranks.
    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let parts: Vec<_> = view
            .living()
            .map(|(place, part)| (Rank(place.0), part))
            .collect();
        let is_ordered = |part: &PartOf<Self>| {
            let received = &part.driver.received;
            let of = |rank| received.iter().filter(move |(from, _)| *from == rank);
            let mut ranks = (0..self.peers()).map(Rank);
            ranks.all(|rank| of(rank).is_sorted_by(|a, b| a.1 < b.1))
        };
        if !parts.iter().all(|(_, part)| is_ordered(part)) {
            return Some(Flaw::Repeated);
        }
        if !self.is_final(view) {
            return None;
        }
        let counted: Vec<_> = parts
            .iter()
            .flat_map(|(here, part)| self.counted(*here, &part.machine))
            .collect();
        let is_exact = |(from, sender): &(Rank, &PartOf<Self>),
                        (to, receiver): &(Rank, &PartOf<Self>)| {
            let sent = sender.driver.sent.get(to).copied().unwrap_or(0);
            let received = receiver.driver.received.iter();
            let received = received.filter(|(of, _)| of == from).count() as u64;
            let counted = counted.iter().filter(|(a, b, _)| (a, b) == (from, to));
            sent == received + counted.map(|(_, _, messages)| messages).sum::<u64>()
        };
        let mut pairs = parts.iter().flat_map(|a| parts.iter().map(move |b| (a, b)));
        (!pairs.all(|(a, b)| is_exact(a, b))).then_some(Flaw::Count)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.living().all(|(_, part)| part.driver.has_left)
    }
}
