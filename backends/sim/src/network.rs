//! What is still to happen, and the messages under way.

use crate::Machine;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use tautline_core::PlaceId;
use tautline_core::glb::{Bag, Message};

/// Something that happens now.
#[derive(Debug)]
pub(crate) enum Event<B> {
    /// The turn of this place has ended.
    Turn(PlaceId),
    /// A message comes to the first place from the second.
    Mail(PlaceId, PlaceId, Message<B>),
}

/// The clock, the events to come and the messages under way.
#[derive(Debug)]
pub(crate) struct Network<B> {
    machine: Machine,
    /// The last moment at which anything may happen: sums over all places still fit.
    last: u64,
    coming: BinaryHeap<Reverse<Entry>>,
    /// Messages under way; the heap moves only their positions.
    mails: Vec<Option<(PlaceId, Message<B>)>>,
    free: Vec<u32>,
    caused: u64,
    /// From when on each node's adapter is free.
    adapters: Vec<u64>,
    random: Random,
    pub(crate) events: u64,
    pub(crate) reports: u64,
    pub(crate) activities: u64,
}

impl<B: Bag> Network<B> {
    pub(crate) fn new(machine: Machine, places: u32, seed: u64) -> Self {
        Self {
            machine,
            last: u64::MAX / 2 / u64::from(places),
            coming: BinaryHeap::new(),
            mails: Vec::new(),
            free: Vec::new(),
            caused: 0,
            adapters: vec![0; machine.node(PlaceId(places - 1)) as usize + 1],
            random: Random::new(seed, u64::MAX),
            events: 0,
            reports: 0,
            activities: 1,
        }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Nothing is to happen and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.coming.is_empty()
    }

    /// The turn of `place` ends at `at`.
    pub(crate) fn wake(&mut self, at: u64, place: PlaceId) {
        self.enter(at, place, Entry::TURN);
    }

    /// A message leaves `from` at `now`.
    pub(crate) fn send(&mut self, now: u64, from: PlaceId, to: PlaceId, message: Message<B>) {
        let tasks = match &message {
            Message::Loot(loot) => {
                self.activities += 1;
                loot.len()
            }
            Message::Answer(Some(loot)) => loot.len(),
            Message::Report(_) => {
                self.reports += 1;
                0
            }
            Message::Answer(None) | Message::Request { .. } => 0,
        };
        let machine = self.machine;
        let mut now = now;
        if machine.hops(from, to) > 0 {
            let free = &mut self.adapters[machine.node(from) as usize];
            now = now.max(*free);
            *free = now.saturating_add(machine.gap_ns);
        }
        let mut takes = machine.latency_ns(from, to, tasks as u64);
        takes += self.random.below(takes * machine.jitter_percent / 100 + 1);
        let mail = match self.free.pop() {
            Some(mail) => {
                self.mails[mail as usize] = Some((from, message));
                mail
            }
            None => {
                self.mails.push(Some((from, message)));
                self.mails.len() as u32 - 1
            }
        };
        self.enter(now.saturating_add(takes), to, mail);
    }

    /// The next event and when it happens.
    pub(crate) fn next(&mut self) -> Option<(u64, Event<B>)> {
        let Reverse(entry) = self.coming.pop()?;
        self.events += 1;
        if entry.mail == Entry::TURN {
            return Some((entry.at, Event::Turn(entry.place)));
        }
        let mail = self.mails[entry.mail as usize].take();
        let (from, message) = mail.expect("a message arrives once");
        self.free.push(entry.mail);
        Some((entry.at, Event::Mail(entry.place, from, message)))
    }

    fn enter(&mut self, at: u64, place: PlaceId, mail: u32) {
        assert!(at <= self.last, "too much virtual time to be added up");
        self.caused += 1;
        self.coming.push(Reverse(Entry {
            at,
            number: self.caused,
            place,
            mail,
        }));
    }
}

/// One event to come: events of one moment happen in the order in which they were caused.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    number: u64,
    place: PlaceId,
    /// The position of the message, or [`Entry::TURN`].
    mail: u32,
}

impl Entry {
    const TURN: u32 = u32::MAX;
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// SplitMix64: one stream a place and one for the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
