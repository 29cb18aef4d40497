//! Random programs: ranks open channels sooner or later, send, and take turns in any order.

use crate::net::{Net, Wire, settle};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use tautline_core::PlaceId;
use tautline_core::wire::{Channel, Exchange, Limits, unpack};

/// A message: its channel, its sender, and its number between two places.
type Message = (usize, u32, u64, Vec<u8>);
/// The number of messages by channel, sending place and receiving place.
type Counts = BTreeMap<(usize, u32, u32), u64>;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

struct Program {
    net: Net,
    all: Vec<Exchange<Wire>>,
    places: u32,
    /// By rank: the channels that it has opened.
    open: Vec<Vec<Channel<Message>>>,
    sent: Counts,
    received: Arc<Mutex<Counts>>,
}

impl Program {
    fn new(numbers: &mut Numbers) -> Self {
        let ranks = 1 + numbers.below(5);
        let limits = Limits {
            body: 300,
            window: 1 + numbers.below(400),
            early: 1 + numbers.below(200),
            waiting: 1 + numbers.below(10),
        };
        let (net, all) = Net::exchanges(ranks, limits);
        Self {
            net,
            open: all.iter().map(|_| Vec::new()).collect(),
            all,
            places: 1 + numbers.below(3) as u32,
            sent: Counts::new(),
            received: Arc::default(),
        }
    }

    fn open(&mut self, rank: usize) {
        let (ordinal, received) = (self.open[rank].len(), self.received.clone());
        let take = move |from: PlaceId, to: PlaceId, body: &[u8]| {
            let (channel, sender, number, _) = unpack::<Message>(body)?;
            assert_eq!(
                (channel, sender),
                (ordinal, from.0),
                "another channel's message"
            );
            let mut received = received.lock().unwrap();
            let expected = received.entry((ordinal, from.0, to.0)).or_insert(0);
            assert_eq!(
                number, *expected,
                "the order of messages from {from} to {to}"
            );
            *expected += 1;
            Ok(())
        };
        let site = Location::caller();
        let kind = ["even", "odd"][ordinal % 2];
        self.open[rank].push(self.all[rank].open_at(site, kind, self.places, take));
    }

    fn send(&mut self, rank: usize, numbers: &mut Numbers) {
        if self.open[rank].is_empty() {
            return;
        }
        let channel = numbers.below(self.open[rank].len());
        let from = rank as u32 * self.places + numbers.below(self.places as usize) as u32;
        let to = numbers.below(self.all.len() * self.places as usize) as u32;
        let number = self.sent.entry((channel, from, to)).or_insert(0);
        let message = (channel, from, *number, vec![7; numbers.below(100)]);
        let end = &self.open[rank][channel];
        if numbers.below(3) == 0 {
            end.send(PlaceId(from), PlaceId(to), message);
        } else if end.try_send(PlaceId(from), PlaceId(to), message).is_err() {
            return;
        }
        *number += 1;
    }
}

fn run(seed: u64) {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut program = Program::new(&mut numbers);
    let ranks = program.all.len();
    for _ in 0..400 {
        let rank = numbers.below(ranks);
        match numbers.below(12) {
            0 if program.open[rank].len() < 6 => program.open(rank),
            0..7 => program.send(rank, &mut numbers),
            _ => {
                program.all[rank].turn().unwrap();
            }
        }
    }
    for rank in 0..ranks {
        while program.open[rank].len() < 6 {
            program.open(rank);
        }
    }
    settle(&program.all).unwrap();
    program.sent.retain(|_, count| *count > 0);
    assert_eq!(
        *program.received.lock().unwrap(),
        program.sent,
        "seed {seed}"
    );
    for (rank, channels) in program.open.iter().enumerate() {
        assert!(
            channels.iter().all(|c| c.waiting() == 0),
            "seed {seed}, rank {rank}"
        );
        for to in 0..ranks {
            assert!(program.net.with(rank, to, |mail| mail.is_empty()));
        }
    }
}

#[test]
fn random_programs_lose_nothing() {
    (0..1000).for_each(run);
}
