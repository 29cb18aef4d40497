//! A space at several ranks, with the messages in flight.

use std::collections::{BTreeMap, VecDeque};
use tautline_core::Rank;
use tautline_core::collective::Branch;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::space::{
    Event, Memory, Message, Names, Refusal, Space, SpaceEffect, SpaceEvent, SpaceMessage, Supply,
};

pub(super) const FETCHED: Supply = Supply::Fetched { ahead: None };
pub(super) const DECLARED: Supply = Supply::Declared;

/// Values by key. The last digit of a key is the rank of its home; keys from 20 on have two reads
/// at rank 1, from 30 on one at rank 2, others one at each of three ranks.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: BTreeMap<u32, u64>,
    pub(super) given_back: Vec<u64>,
}

impl Memory for Values {
    type Key = u32;
    type Value = u64;

    fn home(&mut self, key: &u32) -> Rank {
        Rank(key % 10)
    }

    fn readers(&mut self, key: &u32, task: &mut dyn FnMut(Rank)) {
        let readers: &[u32] = match key / 10 {
            2 => &[1, 1],
            3 => &[2],
            _ => &[2, 0, 1],
        };
        readers.iter().for_each(|rank| task(Rank(*rank)));
    }

    fn keep(&mut self, key: &u32, value: u64) {
        assert_eq!(self.values.insert(*key, value), None);
    }

    fn value(&mut self, key: &u32) -> u64 {
        self.values[key]
    }

    fn free(&mut self, key: &u32) {
        assert!(self.values.remove(key).is_some());
    }

    fn give_back(&mut self, _: &u32, value: u64) {
        self.given_back.push(value);
    }
}

pub(super) type Sent = Message<u32, u64>;
type InFlight = SpaceMessage<u32, u64>;

/// A space at several ranks, with channels that keep the order.
pub(super) struct Ranks {
    pub(super) parts: Vec<(Space<Values>, Values)>,
    effects: Vec<Vec<SpaceEffect<u32>>>,
    pub(super) sent: VecDeque<(Rank, Rank, InFlight)>,
}

impl Ranks {
    pub(super) fn new(ranks: u32, supply: Supply) -> Self {
        Self::remembering(ranks, supply, 100)
    }

    pub(super) fn remembering(ranks: u32, supply: Supply, keys: usize) -> Self {
        let part = |rank| {
            let names = Names::new(rank, ranks, supply).remembering(keys);
            (
                Space::new(names, Branch::new(rank, ranks, 2)),
                Values::default(),
            )
        };
        Self {
            parts: (0..ranks).map(Rank).map(part).collect(),
            effects: vec![Vec::new(); ranks as usize],
            sent: VecDeque::new(),
        }
    }

    pub(super) fn step<R>(
        &mut self,
        here: Rank,
        take: impl FnOnce(&mut Space<Values>, &mut Step<'_, Space<Values>>) -> R,
    ) -> R {
        let (space, values) = &mut self.parts[here.index()];
        let (sent, effects) = (&mut self.sent, &mut self.effects[here.index()]);
        let mut act = |action| match action {
            Action::Send(to, message) => sent.push_back((here, to, message)),
            Action::Effect(effect) => effects.push(effect),
        };
        take(space, &mut Step::new(values, &mut act))
    }

    pub(super) fn begin(&mut self, here: Rank, event: SpaceEvent<u32, u64>) {
        self.step(here, |space, step| space.event(event, step));
    }

    pub(super) fn call(&mut self, here: Rank, event: Event<u32, u64>) {
        self.begin(here, SpaceEvent::Of(event));
    }

    pub(super) fn calls<const N: usize>(&mut self, here: Rank, events: [Event<u32, u64>; N]) {
        for event in events {
            self.call(here, event);
        }
    }

    pub(super) fn deliver(
        &mut self,
        here: Rank,
        from: Rank,
        message: InFlight,
    ) -> Result<(), Refusal> {
        self.step(here, |space, step| space.receive(from, message, step))
    }

    /// Delivers a message, which changes nothing if it is refused.
    pub(super) fn receive(&mut self, here: Rank, from: Rank, message: Sent) -> Result<(), Refusal> {
        let before = self.parts[here.index()].0.names().counts();
        let received = self.deliver(here, from, SpaceMessage::Of(message));
        if received.is_err() {
            assert_eq!(self.parts[here.index()].0.names().counts(), before);
            assert!(self.sent.is_empty());
        }
        received
    }

    /// Delivers all messages; the number of those about keys.
    pub(super) fn settle(&mut self) -> usize {
        let mut count = 0;
        while let Some((from, to, message)) = self.sent.pop_front() {
            count += usize::from(matches!(message, SpaceMessage::Of(_)));
            self.deliver(to, from, message)
                .expect("the ranks follow the protocol");
        }
        count
    }

    /// Loses a rank, with the messages to it and from it.
    pub(super) fn lose(&mut self, lost: Rank) {
        self.sent
            .retain(|(from, to, _)| ![from, to].contains(&&lost));
        for here in (0..self.parts.len() as u32)
            .map(Rank)
            .filter(|here| *here != lost)
        {
            self.step(here, |space, step| space.lost(lost, step));
        }
    }

    /// Takes the effects at a rank.
    pub(super) fn effects(&mut self, here: Rank) -> Vec<SpaceEffect<u32>> {
        std::mem::take(&mut self.effects[here.index()])
    }

    pub(super) fn values(&self, here: Rank) -> &BTreeMap<u32, u64> {
        &self.parts[here.index()].1.values
    }

    pub(super) fn names(&self, here: Rank) -> &Names<Values> {
        self.parts[here.index()].0.names()
    }
}
