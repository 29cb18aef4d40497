//! Pending events, and the messages under way.

use crate::Machine;
use crate::agenda::Agenda;
use tautline_core::PlaceId;
use tautline_core::glb::{Bag, Message};

/// An event.
#[derive(Debug)]
pub(crate) enum Event<B> {
    /// This thread, counted over all places, takes its next step.
    Step(u32),
    /// A message arrives.
    Mail(Mail<B>),
}

/// A message with its source and destination.
#[derive(Debug)]
pub(crate) struct Mail<B> {
    pub(crate) from: PlaceId,
    pub(crate) to: PlaceId,
    pub(crate) message: Message<B>,
    /// Whether it has passed the adapter of the destination node.
    landed: bool,
}

/// The pending events and the messages under way.
#[derive(Debug)]
pub(crate) struct Network<B> {
    machine: Machine,
    /// The last permitted time: sums over all places do not overflow.
    last: u64,
    /// Threads and positions of messages.
    coming: Agenda<u64>,
    /// Messages under way.
    mails: Vec<Option<Mail<B>>>,
    free: Vec<u32>,
    /// By node: until when its adapter is busy sending, and receiving.
    adapters: Vec<[u64; 2]>,
    random: Random,
    pub(crate) events: u64,
    pub(crate) reports: u64,
    pub(crate) activities: u64,
    /// Loot by the number of hops.
    pub(crate) distances: Vec<u64>,
}

impl<B: Bag> Network<B> {
    pub(crate) fn new(machine: Machine, places: u32, threads: usize, seed: u64) -> Self {
        let nodes = machine.node(PlaceId(places - 1)) as usize + 1;
        Self {
            machine,
            last: u64::MAX / 2 / u64::from(places) / threads as u64,
            coming: Agenda::new(),
            mails: Vec::new(),
            free: Vec::new(),
            adapters: vec![[0; 2]; nodes],
            random: Random::new(seed, u64::MAX),
            events: 0,
            reports: 0,
            activities: 1,
            distances: Vec::new(),
        }
    }

    /// Returns the time of the next event.
    pub(crate) fn next_at(&self) -> u64 {
        self.coming.next_at().unwrap_or(u64::MAX)
    }

    /// Whether only bounds are under way and no other event is pending.
    pub(crate) fn is_idle(&self) -> bool {
        let bound = |mail: &Mail<B>| matches!(mail.message, Message::Bound(_));
        self.mails.iter().flatten().all(bound)
    }

    /// Returns the messages that were under way when the computation was stopped.
    pub(crate) fn into_mails(self) -> impl Iterator<Item = Mail<B>> {
        self.mails.into_iter().flatten()
    }

    /// Schedules the next step of `thread` at `at`.
    pub(crate) fn step(&mut self, at: u64, thread: u32) {
        self.enter(at, STEP | u64::from(thread));
    }

    /// Sends a message from `from` at `now`.
    pub(crate) fn send(&mut self, now: u64, from: PlaceId, to: PlaceId, message: Message<B>) {
        let hops = self.machine.hops(from, to);
        let mut tasks = 0;
        match &message {
            Message::Loot(loot) => {
                self.activities += 1;
                tasks = self.count(loot, hops);
            }
            Message::Answer(Some(loot)) => tasks = self.count(loot, hops),
            Message::Report(_) => self.reports += 1,
            Message::Answer(None) | Message::Request { .. } | Message::Bound(_) => {}
        }
        let mut takes = self.machine.latency_ns(from, to, tasks);
        takes += self
            .random
            .below(takes.saturating_mul(self.machine.jitter_percent) / 100 + 1);
        let leaves = match hops {
            0 => now,
            _ => self.pass(self.machine.node(from), 0, now),
        };
        let mail = Mail {
            from,
            to,
            message,
            landed: hops == 0,
        };
        let position = match self.free.pop() {
            Some(free) => {
                self.mails[free as usize] = Some(mail);
                free
            }
            None => {
                self.mails.push(Some(mail));
                self.mails.len() as u32 - 1
            }
        };
        self.enter(leaves.saturating_add(takes), u64::from(position));
    }

    /// Returns the next event and its time.
    pub(crate) fn next(&mut self) -> Option<(u64, Event<B>)> {
        loop {
            let (at, what) = self.coming.pop()?;
            if what & STEP != 0 {
                self.events += 1;
                return Some((at, Event::Step(what as u32)));
            }
            let mail = self.mails[what as usize].as_mut();
            let mail = mail.expect("a message arrives once");
            if !mail.landed {
                mail.landed = true;
                let node = self.machine.node(mail.to);
                let lands = self.pass(node, 1, at);
                if lands > at {
                    self.enter(lands, what);
                    continue;
                }
            }
            self.events += 1;
            self.free.push(what as u32);
            let mail = self.mails[what as usize].take();
            return Some((at, Event::Mail(mail.expect("it was there, above"))));
        }
    }

    /// Returns when a message that reaches an adapter at `at` is served; later ones wait for it.
    fn pass(&mut self, node: u32, direction: usize, at: u64) -> u64 {
        let busy = &mut self.adapters[node as usize][direction];
        let begins = at.max(*busy);
        *busy = begins + self.machine.gap_ns;
        begins
    }

    fn count(&mut self, loot: &B, hops: u32) -> u64 {
        let hops = hops as usize;
        if self.distances.len() <= hops {
            self.distances.resize(hops + 1, 0);
        }
        self.distances[hops] += 1;
        loot.len() as u64
    }

    fn enter(&mut self, at: u64, what: u64) {
        assert!(at <= self.last, "virtual time overflows");
        self.coming.push(at, what);
    }
}

/// Marks a thread among the entries of the agenda; the others are positions of messages.
const STEP: u64 = 1 << 32;

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64, stream: u64) -> Self {
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

    /// Returns a number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
