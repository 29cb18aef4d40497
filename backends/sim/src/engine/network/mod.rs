//! Pending events, and the messages in flight.

mod servers;
mod shape;

pub use shape::Shape;

use super::Weigh;
use super::agenda::Agenda;
use super::cluster::Cluster;
use super::faults::Faults;
use super::random::Random;
use servers::{Servers, Way};
use std::collections::HashMap;
use tautline_core::PlaceId;

/// An event.
#[derive(Debug)]
pub(super) enum Event<M> {
    /// This thread, counted over all places, takes its next step.
    Step(u32),
    /// A message arrives.
    Mail(Mail<M>),
    /// This place cannot be reached any more: by any place after a crash, by those on the other
    /// side of a cut.
    Lost(PlaceId),
}

/// A message with its source and destination.
#[derive(Debug)]
pub(super) struct Mail<M> {
    pub(super) from: PlaceId,
    pub(super) to: PlaceId,
    pub(super) message: M,
    stage: Stage,
}

/// The next station of a message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The adapter of its node, encoded; it takes this much longer than its way.
    Leaving(u64),
    /// A link, counted from 0.
    Link(u32),
    /// The adapter of the destination node.
    Landing,
    /// The communication worker of the destination.
    Decoding,
    /// The place.
    Arrived,
    /// The place, after it was stalled.
    Waited,
}

/// The messages of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their number, by the number of hops; hop 0 is within a node.
    pub hops: Vec<u64>,
}

impl Traffic {
    fn add(&mut self, bytes: u64, hops: u32) {
        let hops = hops as usize;
        if self.hops.len() <= hops {
            self.hops.resize(hops + 1, 0);
        }
        self.count += 1;
        self.bytes += bytes;
        self.hops[hops] += 1;
    }
}

/// The pending events and the messages in flight.
#[derive(Debug)]
pub(super) struct Network<M> {
    cluster: Cluster,
    /// The last permitted time: sums over all threads do not overflow.
    last: u64,
    /// Threads and positions of messages.
    coming: Agenda<u64>,
    /// Messages in flight.
    mails: Vec<Option<Mail<M>>>,
    free: Vec<u32>,
    servers: Servers,
    /// By sender and receiver: when the last message arrives, if messages are ordered.
    last_arrivals: HashMap<(u32, u32), u64>,
    random: Random,
    events: u64,
    traffic: Vec<Traffic>,
    /// Threads of a place.
    threads: u32,
    faults: Option<(Faults, Random)>,
}

impl<M: Weigh> Network<M> {
    pub(super) fn new(cluster: Cluster, places: u32, threads: usize, seed: u64) -> Self {
        Self {
            cluster,
            last: u64::MAX / 2 / u64::from(places) / threads as u64,
            coming: Agenda::new(),
            mails: Vec::new(),
            free: Vec::new(),
            servers: Servers::new(cluster, places),
            last_arrivals: HashMap::new(),
            random: Random::new(seed, u64::MAX),
            events: 0,
            traffic: vec![Traffic::default(); M::KINDS],
            threads: threads as u32,
            faults: None,
        }
    }

    /// Adds faults, and schedules the reports of a crash and of a long partition.
    pub(super) fn add_faults(&mut self, faults: Faults) {
        if let Some(crash) = faults.crash {
            let at = crash.at_ns.saturating_add(faults.detect_ns);
            self.enter(at.min(self.last), LOST | u64::from(crash.place.0));
        }
        if let Some(cut) = faults.partition.filter(|&cut| faults.is_reported(cut)) {
            let behind = u64::from(cut.nodes) * u64::from(self.cluster.node_places.max(1));
            let at = cut.from_ns.saturating_add(faults.detect_ns);
            if cut.nodes > 0 && cut.nodes < self.servers.nodes() {
                self.enter(at.min(self.last), LOST | behind);
            }
        }
        self.faults = Some((faults, Random::new(faults.seed, 0)));
    }

    /// Returns the time of the next event.
    pub(super) fn next_at(&self) -> u64 {
        self.coming.next_at().unwrap_or(u64::MAX)
    }

    /// Returns the number of events processed.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the traffic, by kind.
    pub(super) fn traffic(&self) -> &[Traffic] {
        &self.traffic
    }

    /// Removes and returns the messages that are in flight.
    pub(super) fn take_messages(&mut self) -> Vec<M> {
        let mails = std::mem::take(&mut self.mails);
        mails
            .into_iter()
            .flatten()
            .map(|mail| mail.message)
            .collect()
    }

    /// Schedules the next step of `thread` at `at`.
    pub(super) fn step(&mut self, at: u64, thread: u32) {
        self.enter(at, STEP | u64::from(thread));
    }

    /// Sends a message at `now`, which takes `delay_ns` more than its way.
    pub(super) fn send(
        &mut self,
        now: u64,
        (from, to): (PlaceId, PlaceId),
        message: M,
        delay_ns: u64,
    ) {
        let way @ (hops, bytes) = (self.cluster.hops(from, to), message.bytes());
        self.traffic[message.kind()].add(bytes, hops);
        let mut mail = Mail {
            from,
            to,
            message,
            stage: Stage::Leaving(delay_ns),
        };
        if self.cluster.ranks.worker && self.cluster.ranks.are_crossed(from, to) {
            let encoded = self.servers.worker(from, Way::Out, now, bytes);
            let position = self.keep(mail);
            return self.enter(encoded, position);
        }
        if let Some(at) = self.leave(&mut mail, way, now, delay_ns) {
            let position = self.keep(mail);
            self.enter(at, position);
        }
    }

    /// Stores a message that is in flight.
    fn keep(&mut self, mail: Mail<M>) -> u64 {
        match self.free.pop() {
            Some(free) => {
                self.mails[free as usize] = Some(mail);
                free.into()
            }
            None => {
                self.mails.push(Some(mail));
                self.mails.len() as u64 - 1
            }
        }
    }

    /// Sends a message of `bytes` on its way of `hops` at `now`. Returns when it reaches the next
    /// stage; `None`: it never does.
    fn leave(
        &mut self,
        mail: &mut Mail<M>,
        (hops, bytes): (u32, u64),
        now: u64,
        delay_ns: u64,
    ) -> Option<u64> {
        let (from, to) = (mail.from, mail.to);
        let transmission = match hops {
            0 => 0,
            _ => self.cluster.transmission_ns(bytes),
        };
        let way = self.cluster.latency_ns(hops).saturating_add(transmission);
        let mut takes = way.saturating_add(delay_ns);
        let jitter = takes.saturating_mul(self.cluster.jitter_percent) / 100;
        takes = takes.saturating_add(self.random.below(jitter + 1));
        let node = self.cluster.node(from);
        let (leaves, stage) = match hops {
            0 => (now, last_stage(&self.cluster)),
            _ => (
                self.servers.adapter(node, Way::Out, now, transmission),
                Stage::Landing,
            ),
        };
        mail.stage = stage;
        let mut arrives = leaves.saturating_add(takes);
        if hops > 0 && self.cluster.link_mb_per_s > 0 {
            // The way from the first link on is not yet known.
            mail.stage = Stage::Link(0);
            arrives -= self
                .cluster
                .hop_ns
                .saturating_mul(u64::from(hops - 1))
                .min(takes);
        }
        if let Some((faults, random)) = &mut self.faults {
            let nodes = (node, self.cluster.node(to));
            arrives = arrives.saturating_add(faults.delay(random, nodes, leaves)?);
        }
        if self.cluster.ordered {
            arrives = self.in_order(from, to, arrives);
        }
        Some(arrives)
    }

    /// Returns when the message at `position`, whose next stage is due at `at`, reaches the stage
    /// after it; `None`: it is lost, and was removed.
    #[cold]
    fn advance(&mut self, at: u64, position: u64) -> Option<u64> {
        let mut mail = self.mails[position as usize].take();
        let under_way = mail.as_mut().expect("a message arrives once");
        let at = self.pass(under_way, at);
        match at {
            Some(_) => self.mails[position as usize] = mail,
            None => self.free.push(position as u32),
        }
        at
    }

    /// Lets a message pass its next stage at `at`; returns when it reaches the one after it.
    fn pass(&mut self, mail: &mut Mail<M>, at: u64) -> Option<u64> {
        let bytes = mail.message.bytes();
        match mail.stage {
            Stage::Leaving(delay_ns) => {
                let hops = self.cluster.hops(mail.from, mail.to);
                self.leave(mail, (hops, bytes), at, delay_ns)
            }
            Stage::Link(k) => {
                let nodes = [mail.from, mail.to].map(|place| self.cluster.node(place));
                let Some(link) = self.cluster.shape.link(nodes[0], nodes[1], k) else {
                    mail.stage = Stage::Landing;
                    return Some(at);
                };
                mail.stage = Stage::Link(k + 1);
                let begins = self.servers.link(link, at, bytes);
                let is_last = k + 1 >= self.cluster.shape.hops(nodes[0], nodes[1]);
                let hop_ns = if is_last { 0 } else { self.cluster.hop_ns };
                Some(begins.saturating_add(hop_ns))
            }
            Stage::Decoding => {
                mail.stage = Stage::Arrived;
                let decodes = self.cluster.ranks.are_crossed(mail.from, mail.to);
                Some(match decodes {
                    true => self.servers.worker(mail.to, Way::In, at, bytes),
                    false => at,
                })
            }
            Stage::Landing | Stage::Arrived | Stage::Waited => Some(at),
        }
    }

    /// Returns the next event and its time.
    pub(super) fn next(&mut self) -> Option<(u64, Event<M>)> {
        loop {
            let (at, what) = self.coming.pop()?;
            if what & LOST != 0 {
                self.events += 1;
                return Some((at, Event::Lost(PlaceId(what as u32))));
            }
            let is_step = what & STEP != 0;
            if !is_step && !self.has_arrived(at, what) {
                continue;
            }
            if self.faults.is_some() && !self.has_passed(at, what) {
                continue;
            }
            self.events += 1;
            if is_step {
                return Some((at, Event::Step(what as u32)));
            }
            self.free.push(what as u32);
            let mail = self.mails[what as usize].take();
            return Some((at, Event::Mail(mail.expect("a message arrives once"))));
        }
    }

    /// Lets a message whose next stage is due at `at` pass all the stages that take no time.
    /// Returns whether it has arrived; if not, it is entered again, or it is lost.
    fn has_arrived(&mut self, at: u64, position: u64) -> bool {
        loop {
            let mail = self.mails[position as usize].as_mut();
            let mail = mail.expect("a message arrives once");
            let later = match mail.stage {
                Stage::Arrived | Stage::Waited => return true,
                Stage::Landing => {
                    mail.stage = last_stage(&self.cluster);
                    let transmission = self.cluster.transmission_ns(mail.message.bytes());
                    let node = self.cluster.node(mail.to);
                    self.servers.adapter(node, Way::In, at, transmission)
                }
                _ => match self.advance(at, position) {
                    Some(later) => later,
                    None => return false,
                },
            };
            if later > at {
                self.enter(later, position);
                return false;
            }
        }
    }

    /// Whether the place of a step or of a message that has arrived acts at `at`. If not, the entry
    /// is made again for a later time, or removed.
    #[cold]
    fn has_passed(&mut self, at: u64, what: u64) -> bool {
        let Some((faults, _)) = &self.faults else {
            return true;
        };
        let is_step = what & STEP != 0;
        let mail = self.mails.get_mut(what as usize).and_then(Option::as_mut);
        let place = match &mail {
            Some(mail) if !is_step => mail.to,
            _ => PlaceId(what as u32 / self.threads),
        };
        if faults.has_crashed(&self.cluster, place, at) {
            if !is_step {
                self.mails[what as usize] = None;
                self.free.push(what as u32);
            }
            return false;
        }
        let later = faults.resumes(place, at);
        let waits = match mail {
            // One that arrives when the stall ends queues after those that have waited.
            Some(mail) if !is_step => {
                let stage = std::mem::replace(&mut mail.stage, Stage::Waited);
                stage == Stage::Arrived && (later > at || faults.ends_stall(place, at))
            }
            _ => later > at,
        };
        if waits {
            self.enter(later, what);
        }
        !waits
    }

    /// Returns when a message arrives that would arrive at `at`, but not before the one that its
    /// sender sent last.
    fn in_order(&mut self, from: PlaceId, to: PlaceId, at: u64) -> u64 {
        let ranks = &self.cluster.ranks;
        let pair = match ranks.places {
            0 => (from.0, to.0),
            _ => (ranks.rank(from), ranks.rank(to)),
        };
        let last = self.last_arrivals.entry(pair).or_default();
        *last = at.max(*last);
        *last
    }

    fn enter(&mut self, at: u64, what: u64) {
        assert!(at <= self.last, "virtual time overflows");
        self.coming.push(at, what);
    }
}

/// Returns the stage of a message that has reached the node of its destination.
fn last_stage(cluster: &Cluster) -> Stage {
    match cluster.ranks.worker {
        true => Stage::Decoding,
        false => Stage::Arrived,
    }
}

/// Marks a report of a lost place among the entries of the agenda.
const LOST: u64 = 1 << 33;

/// Marks a thread among the entries of the agenda; the others are positions of messages.
const STEP: u64 = 1 << 32;
