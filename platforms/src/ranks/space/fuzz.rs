//! Messages of a space that no rank sends, at random, among calls of the program: refused, or taken
//! without harm. None is a panic, and none is the value of another key.

use super::codec::Encoded;
use super::inlet::Inlet;
use super::message::Envelope;
use super::name::Name;
use super::over::Over;
use super::roles::{Readers, Roles};
use std::panic::Location;
use std::sync::Arc;
use tautline_core::flow::Inputs;
use tautline_core::space::{Failure, Get, Message, SpaceMessage, Take};
use tautline_core::wire::{Receiver, pack, unpack, unpack_first};
use tautline_core::{PlaceId, Rank};

const RANKS: u32 = 4;
const KEYS: u32 = 6;

/// Inputs by a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(n)) as u32
    }

    fn key(&mut self) -> u32 {
        self.below(KEYS)
    }

    /// A rank, rarely one that the program does not have.
    fn rank(&mut self) -> Rank {
        match self.below(20) {
            0 => Rank(u32::MAX - self.below(2) * (u32::MAX - RANKS)),
            _ => Rank(self.below(RANKS)),
        }
    }

    /// A value that knows its key.
    fn value(&mut self, key: u32) -> u64 {
        u64::from(key * 1000 + self.below(1000))
    }

    fn message(&mut self) -> Vec<u8> {
        let (key, by) = (self.key(), self.rank());
        let (message, has_value): (Envelope<u32>, bool) = match self.below(20) {
            0..7 => (SpaceMessage::Of(Message::Put { key, value: () }), true),
            7..12 => (SpaceMessage::Of(Message::Fetch { key }), false),
            12..19 => (SpaceMessage::Of(Message::Data { key, by, value: () }), true),
            _ => (self.end(key), false),
        };
        let mut bytes = Vec::new();
        pack(&message, &mut bytes).expect("it has an encoding");
        if has_value || self.below(30) == 0 {
            pack(&self.value(key), &mut bytes).expect("a number");
        }
        match self.below(12) {
            0 => bytes.truncate(self.below(bytes.len() as u32 + 1) as usize),
            1 => bytes.push(self.below(256) as u8),
            2 => {
                let at = self.below(bytes.len() as u32) as usize;
                bytes[at] ^= 1 << self.below(8);
            }
            // Perhaps of a round of counting.
            3 => {
                bytes = (0..self.below(12))
                    .map(|at| self.below(1 + at * 40) as u8)
                    .collect()
            }
            _ => {}
        }
        bytes
    }

    /// An end, rarely.
    fn end(&mut self, key: u32) -> Envelope<u32> {
        let (first, second) = (self.rank(), self.rank());
        let reason = "a text".into();
        SpaceMessage::Of(match self.below(30) {
            0 => Message::End(Failure::PutTwice { key, first, second }),
            1 => Message::End(Failure::Abandoned { by: first, reason }),
            _ => Message::Fetch { key },
        })
    }
}

/// Whether a damaged message has a value that knows another key.
fn is_confused(message: &[u8]) -> bool {
    let Ok((SpaceMessage::Of(envelope), payload)) = unpack_first::<Envelope<u32>>(message) else {
        return false;
    };
    match envelope {
        Message::Put { key, .. } | Message::Data { key, .. } => {
            unpack::<u64>(payload).is_ok_and(|value| value / 1000 != u64::from(key))
        }
        Message::Fetch { .. } | Message::End(_) => false,
    }
}

/// Reads that have begun.
#[derive(Default)]
struct Reads {
    gets: Vec<(u32, Get<u64>)>,
    takes: Vec<(u32, Take<u64>)>,
}

impl Reads {
    /// Ends all, and checks the values of those that have one.
    fn end(self) {
        let is_there = |is_full, is_missing: &dyn Fn() -> bool| is_full && !is_missing();
        for (key, get) in self.gets {
            if is_there(get.is_full(), &|| Inputs::is_missing(&get)) {
                assert_eq!(*get.into_values() / 1000, u64::from(key));
            }
        }
        for (key, take) in self.takes {
            if is_there(take.is_full(), &|| Inputs::is_missing(&take)) {
                assert_eq!(take.into_values() / 1000, u64::from(key));
            }
        }
    }
}

fn space(numbers: &mut Numbers) -> Arc<Over<u32, u64>> {
    let many = numbers.below(3);
    let readers = move |key: &u32, by: &mut Readers<'_>| {
        (0..(key + many) % 4).for_each(|at| by.task_at(Rank(at % 2)));
    };
    let roles = Roles {
        here: Rank(0),
        home: Box::new(|key| Rank(key % 3)),
        readers: (numbers.below(2) == 0).then(|| Box::new(readers) as _),
    };
    let name = Name {
        site: Location::caller(),
        types: ["u32", "u64"],
    };
    let over = Over::new(name, RANKS, roles, Box::new(Encoded), 1 << 10, 1 << 12);
    over.close_outgoing();
    over
}

/// One space, with calls and messages by a seed. Returns the number of messages that it took.
fn one(seed: u64) -> usize {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let over = space(&mut numbers);
    let inlet = Inlet(Arc::clone(&over));
    let (mut reads, mut taken) = (Reads::default(), 0);
    for _ in 0..40 {
        let key = numbers.key();
        match numbers.below(12) {
            0 => reads.gets.extend(over.get(&key).map(|get| (key, get))),
            1 => reads.takes.extend(over.take(&key).map(|take| (key, take))),
            2 => _ = over.put(&key, numbers.value(key)),
            3 => drop(reads.gets.pop()),
            4 if numbers.below(20) == 0 => over.lost(numbers.rank()),
            _ => {
                let from = PlaceId(numbers.below(RANKS));
                let message = numbers.message();
                if !is_confused(&message) {
                    taken += usize::from(inlet.take(from, PlaceId(0), &message).is_ok());
                }
            }
        }
    }
    reads.end();
    taken
}

#[test]
fn messages_at_random() {
    let taken: usize = (0..2_000).map(one).sum();
    assert!(taken > 20_000, "{taken} are well-formed");
}

#[test]
#[ignore = "cargo ci deep: ten million messages"]
fn ten_million_messages_at_random() {
    let taken: usize = (0..400_000).map(one).sum();
    assert!(taken > 4_000_000, "{taken} are well-formed");
}
