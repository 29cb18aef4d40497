//! The state that the workers of one place share.
//!
//! # Words
//! The words of [`lifeline`](crate::lifeline) and of the part that serves other places (`lender`),
//! and a hint that is read without a lock once per turn: `grain`, written under the tuner's.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | T1 | `start` | `Slot::take_start` | that the reserve was filled, of a worker that starts without work; a bag in the slot, which its lock carries too | `two_workers` in `verify/tests/glb.rs`, where the permit carries it too; `verify/litmus/team.toml` |
//!
//! # Lost work
//! Loot may arrive while the last worker leaves. The thread that serves it adds it to the reserve
//! and then claims an idle worker, under the protocol's lock; the last worker leaves, acquires that
//! lock and checks the reserves again. The lock orders the two, so either the worker observes the
//! loot or the other thread observes the idle worker (model `lost_work`).
//!
//! # Every bound is sent
//! A worker reads the bound after its last grain and before it leaves, and observes the value that
//! it found or a better one. `announced` only decreases, so a stale value makes a worker send
//! redundantly, but never omit a message: the value that it reads was sent by some worker (models
//! `bound_sent`, `bound_arrives`). A bound that is received is sent on in the same event.
//!
//! # Lock order
//! The protocol's, the tuner's, a reserve's (model `tuned_loot`).

mod drive;
mod lender;
#[cfg(feature = "wire")]
mod serve;

use crate::glb::{Bag, Config, Event, Fairness, Grain, Message, Meter, Observer, Protocol, Tally};
use crate::grain::{Gauge, Log, Sample, Tuner};
use crate::id::{PlaceId, WorkerId};
use crate::lifeline::{Crew, Gate, Key, Phase, Reserve};
use crate::machine::{Machine, Pick};
use crate::port::{Port, Spin};
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Lock, Ordering};
use alloc::{boxed::Box, sync::Arc, vec::Vec};
use drive::Turn;
pub(crate) use lender::Lender;

/// A message and its sender.
pub(super) type Envelope<B> = (PlaceId, Message<B>);

/// One place of a computation: its work, the state that its workers share, its protocol.
pub struct Team<B: Bag> {
    pub(super) config: Config,
    pub(super) shared: B::Shared,
    pub(super) crew: Crew,
    pub(super) intra: Reserve<B>,
    pub(super) lender: Arc<Lender<B>>,
    pub(super) gate: Gate,
    pub(super) slots: Box<[CachePadded<Slot<B>>]>,
    grain: AtomicUsize,
    tuned: Option<CachePadded<Lock<Tuned>>>,
}

/// The tuner of a place, with its measurements.
#[derive(Debug)]
struct Tuned {
    tuner: Tuner,
    gauge: Gauge,
    /// Whether the place has been without work since the last verdict.
    rested: bool,
}

/// The start of a worker: other threads store work here while it is idle.
#[derive(Debug)]
pub(super) struct Slot<B> {
    pub(super) bag: Lock<Option<B>>,
    start: AtomicBool,
}

impl<B> Slot<B> {
    /// Takes the start signal, if this worker was claimed. Called by the worker itself only.
    pub(super) fn take_start(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in Team::start (T1). The worker alone clears the
        // flag, so the clearing store may be Relaxed.
        let start = self.start.load(Ordering::Acquire);
        if start {
            // ORDERING: Relaxed: no thread sets the flag again before this worker has left.
            self.start.store(false, Ordering::Relaxed);
        }
        start
    }
}

/// The protocol and its statistics, under a lock.
struct ProtocolState<B> {
    protocol: Protocol<B>,
    tally: Tally,
    victims: Victims,
}

/// The choice of victims, which only has to be uniform, seeded and cheap: xorshift (Marsaglia
/// 2003).
#[derive(Debug)]
struct Victims(u64);

impl Pick for Victims {
    fn pick(&mut self, n: u32) -> u32 {
        let mut x = self.0;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0 = x;
        (mix(x) % u64::from(n)) as u32
    }
}

impl<B: Bag> Team<B> {
    /// Creates place `here` of the computation that `config` describes, without work.
    ///
    /// # Panics
    /// If there is no worker, or more than [`Crew::MAX`]; if there is no place, or `here` is not
    /// one of them.
    pub fn new(here: PlaceId, config: &Config, shared: B::Shared) -> Self {
        let crew = config.crew_of(here);
        let slot = |_| {
            CachePadded::new(Slot {
                bag: Lock::new(None),
                start: AtomicBool::new(false),
            })
        };
        let protocol = Protocol::new(here, config.places, config.lifelines, config.random_steals);
        let victims = Victims(mix(config.seed.wrapping_add(u64::from(here.0))) | 1);
        Self {
            config: *config,
            shared,
            crew: Crew::new(crew),
            intra: Reserve::new(),
            lender: Arc::new(Lender::new(protocol, victims)),
            gate: Gate::new(),
            slots: (0..crew).map(slot).collect(),
            grain: AtomicUsize::new(config.grain.initial()),
            tuned: match config.grain {
                Grain::Fixed(_) => None,
                Grain::Tuned(tuning) => Some(CachePadded::new(Lock::new(Tuned {
                    tuner: Tuner::new(tuning, 0),
                    gauge: Gauge::default(),
                    rested: true,
                }))),
            },
        }
    }

    /// Starts this place, whose activity is then running, with the first work. Called before any of
    /// its threads runs.
    pub fn begin(&self, bag: B, port: &impl Port<Message<B>>) {
        let worker = self
            .crew
            .claim(WorkerId(0))
            .expect("all workers idle before the start");
        self.start(worker, Some(bag), port);
        self.crew_changed(port);
    }

    /// Returns the part that serves other places.
    #[cfg(feature = "wire")]
    pub(crate) fn lender(&self) -> &Arc<Lender<B>> {
        &self.lender
    }

    /// Delivers a message to this place. Called by the transport, on any thread.
    pub fn deliver(&self, from: PlaceId, message: Message<B>, port: &impl Port<Message<B>>) {
        self.lender.inbox.push((from, message), port);
        self.wake_server(port);
    }

    /// Wakes a thread that may serve messages, if there is one.
    pub(super) fn wake_server(&self, port: &impl Port<Message<B>>) {
        if self.config.fairness == Fairness::OneCoreFree {
            port.unpark(self.server());
        } else if let Some(worker) = self.crew.any_idle() {
            port.unpark(worker);
        }
    }

    /// Returns the thread that only serves messages, if this place has one.
    pub(super) fn server(&self) -> WorkerId {
        WorkerId(self.crew.size() as u32)
    }

    /// Starts the claimed `worker`, with additional work if there is some.
    pub(super) fn start(&self, worker: WorkerId, work: Option<B>, port: &impl Port<Message<B>>) {
        let slot = &self.slots[worker.index()];
        if let Some(work) = work {
            put(&mut slot.bag.lock(port), work);
        }
        // ORDERING: Release, pairs with Acquire in Slot::take_start (T1).
        slot.start.store(true, Ordering::Release);
        port.unpark(worker);
    }

    /// Returns the number of tasks between two polls.
    #[inline]
    pub fn grain(&self) -> usize {
        // ORDERING: Relaxed: the number publishes nothing else.
        self.grain.load(Ordering::Relaxed)
    }

    /// Reports to the tuner, if there is one, that a worker has started or left.
    pub(super) fn crew_changed(&self, port: &impl Port<Message<B>>) {
        if let Some(tuned) = &self.tuned {
            let mut tuned = tuned.lock(port);
            // Read under the lock, so that the last report is the latest state.
            tuned
                .gauge
                .crew(self.crew.running(), self.crew.size(), port.now());
        }
    }

    /// Adds a worker's measurements; returns the new grain if it changes.
    #[cold]
    pub(super) fn tune(&self, sample: Sample, port: &impl Port<Message<B>>) -> Option<usize> {
        let mut tuned = self.tuned.as_ref()?.lock(port);
        let now = port.now();
        tuned.gauge.sampled(sample);
        if !tuned.tuner.is_due(now) {
            return None;
        }
        let (sample, utilization) = tuned.gauge.read(now);
        let traffic = self.intra.traffic(port);
        let log = Log {
            fed: traffic.fed,
            split: traffic.split,
            emptied: traffic.emptied,
            requests: self.lender.requests(),
            utilization,
            sample,
        };
        if core::mem::take(&mut tuned.rested) && tuned.tuner.rested(log, now) {
            return None;
        }
        let grain = tuned.tuner.tick(log, now)?;
        // ORDERING: Relaxed: the number publishes nothing else.
        self.grain.store(grain, Ordering::Relaxed);
        Some(grain)
    }

    /// Whether `bound` is better than the last one sent; a hint.
    #[inline]
    pub(super) fn is_news(&self, bound: Key, port: &impl Port<Message<B>>) -> bool {
        match bound {
            // ORDERING: Relaxed, a hint: callers that act on it acquire the protocol's lock.
            Key::Word(bound) => bound < self.lender.announced.load(Ordering::Relaxed),
            Key::Wide(bound) => bound < self.lender.protocol.lock(port).protocol.announced(),
        }
    }

    /// Sends the bound to the other places.
    #[cold]
    pub(super) fn announce(
        &self,
        bound: Key,
        me: WorkerId,
        meter: &mut Meter<impl Observer>,
        port: &impl Port<Message<B>>,
    ) {
        self.with_protocol(None, me, meter, port, |turn| {
            turn.event(Event::Bound(bound.into()));
        });
    }

    /// Whether thieves were recorded here recently; a hint.
    #[inline]
    pub(super) fn has_thieves(&self) -> bool {
        // ORDERING: Relaxed, a hint: callers that act on it acquire the protocol's lock.
        self.lender.thieves.load(Ordering::Relaxed)
    }

    /// Whether the place was searching for work recently; a hint.
    pub(super) fn is_stealing(&self) -> bool {
        // ORDERING: Relaxed: for the times only.
        self.lender.stealing.load(Ordering::Relaxed)
    }

    /// Whether the workers set work aside for other places. A single worker that serves messages
    /// itself divides its own bag on request, which is later and therefore better.
    #[inline]
    pub(super) fn lends(&self) -> bool {
        self.config.places > 1
            && (self.crew.has_several() || self.config.fairness != Fairness::Inline)
    }

    /// Serves one message. `own` is the bag of the worker that serves, if it has one.
    ///
    /// # Panics
    /// If no correct place sends this message, and the port does not take that.
    pub(super) fn on(
        &self,
        envelope: Envelope<B>,
        own: Option<&mut B>,
        me: WorkerId,
        meter: &mut Meter<impl Observer>,
        port: &impl Port<Message<B>>,
    ) {
        let (from, message) = envelope;
        if let Message::Request { .. } = message {
            self.lender.count_request();
        }
        let served = self.with_protocol(own, me, meter, port, |turn| {
            turn.driver.tally.on_receive(&message);
            turn.driver.observe(&message, from, false);
            turn.step(|protocol, step| protocol.receive(from, message, step))
        });
        if let Err(error) = served {
            port.refuse(from, &error);
        }
    }

    /// Gives the available shares to the recorded thieves.
    pub(super) fn surplus(
        &self,
        own: &mut B,
        me: WorkerId,
        meter: &mut Meter<impl Observer>,
        port: &impl Port<Message<B>>,
    ) {
        self.with_protocol(Some(own), me, meter, port, |turn| {
            turn.event(Event::Surplus);
        });
    }

    /// Reports that the last worker has left. Returns true if there is work after all and `me` is
    /// running again.
    pub(super) fn dry(
        &self,
        me: WorkerId,
        meter: &mut Meter<impl Observer>,
        port: &impl Port<Message<B>>,
    ) -> bool {
        self.with_protocol(None, me, meter, port, |turn| {
            if !self.crew.is_dry() {
                return false;
            }
            if !self.intra.is_empty() || !self.lender.inter.is_empty() {
                let claimed = self.crew.claim(me);
                debug_assert_eq!(
                    claimed,
                    Some(me),
                    "a worker was started without the protocol's lock"
                );
                self.crew_changed(port);
                return true;
            }
            if let Some(tuned) = &self.tuned {
                tuned.lock(port).rested = true;
            }
            turn.event(Event::Dry);
            false
        })
    }

    fn with_protocol<P: Port<Message<B>>, O: Observer, R>(
        &self,
        own: Option<&mut B>,
        me: WorkerId,
        meter: &mut Meter<O>,
        port: &P,
        act: impl FnOnce(&mut Turn<'_, B, P, O>) -> R,
    ) -> R {
        let mut state = self.lender.protocol.lock(port);
        let ProtocolState {
            protocol,
            tally,
            victims,
        } = &mut *state;
        let begun = tally.begun();
        let (here, was_quiet) = (protocol.here(), protocol.place().phase() == Phase::Quiet);
        let driver = Driver {
            team: self,
            here,
            port,
            me,
            meter,
            own,
            tally,
        };
        let mut turn = Turn {
            protocol,
            victims,
            driver,
        };
        let result = act(&mut turn);
        if was_quiet && protocol.place().phase() == Phase::Quiet {
            tally.unasked += tally.begun() - begun;
        }
        self.lender.publish(protocol);
        result
    }

    /// Returns the statistics of the place, and all remaining bags, empty or not.
    pub fn into_parts(self) -> (Tally, Vec<B>) {
        let grain = self.grain();
        let Lender {
            inter,
            inbox,
            protocol,
            ..
        } = &*self.lender;
        let arrived = core::iter::from_fn(|| inbox.pop(&Spin));
        let in_flight = arrived.filter_map(|(_, message)| message.into_loot());
        let slots = self
            .slots
            .into_vec()
            .into_iter()
            .filter_map(|slot| slot.into_inner().bag.into_inner());
        let (intra, reserve) = self.intra.into_inner();
        let inter = inter.take(|_| None, &Spin);
        let bags = slots.chain(intra).chain(inter).chain(in_flight).collect();
        let mut tally = protocol.lock(&Spin).tally;
        tally.grain = grain;
        tally.reserve = reserve;
        (tally, bags)
    }
}

/// Adds `work` to a pile that may not exist yet.
pub(super) fn put<B: Bag>(pile: &mut Option<B>, work: B) {
    match pile {
        Some(there) => there.merge(work),
        None => *pile = Some(work),
    }
}

/// A worker as the driver of the protocol.
struct Driver<'a, B: Bag, P, O> {
    team: &'a Team<B>,
    here: PlaceId,
    port: &'a P,
    me: WorkerId,
    meter: &'a mut Meter<O>,
    own: Option<&'a mut B>,
    tally: &'a mut Tally,
}

/// Spreads the bits of `x` (the finaliser of SplitMix64, Steele, Lea, Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
