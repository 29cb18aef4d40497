//! The state of a cluster in virtual time, without the actors: the clock, parked threads, the
//! network.

use super::Weigh;
use super::cluster::Cluster;
use super::faults::Faults;
use super::network::{Event, Network, Traffic};
use std::cell::{Cell, RefCell};
use tautline_core::PlaceId;

/// A cluster in virtual time, as seen by the actor that is running.
#[derive(Debug)]
pub struct World<M> {
    cluster: Cluster,
    network: RefCell<Network<M>>,
    /// The time of the step being taken.
    clock: Cell<u64>,
    closed: Cell<Option<u64>>,
    /// Threads of a place.
    threads: u32,
    seats: Vec<Cell<Seat>>,
    /// By place: the time that its threads have yet to spend on decoding messages. Empty if they do
    /// not.
    owed: Vec<Cell<u64>>,
    faults: Option<Faults>,
    /// Whether there are neither ranks nor faults, so that the durations of steps are those that
    /// actors report.
    is_plain: bool,
}

/// The sleep state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    Awake,
    /// Awake; its next park returns at once.
    Notified,
    /// Parked since this time: spinning at first, later asleep.
    Parked(u64),
}

impl<M: Weigh> World<M> {
    /// Creates a world of `places` places of `threads` threads, all parked, at time 0.
    ///
    /// # Panics
    /// If there are no places or no threads.
    pub fn new(cluster: Cluster, places: u32, threads: usize, seed: u64) -> Self {
        assert!(places > 0 && threads > 0, "a world has a thread");
        let owing = match cluster.ranks.places > 0 && !cluster.ranks.worker {
            true => places as usize,
            false => 0,
        };
        Self {
            cluster,
            network: RefCell::new(Network::new(cluster, places, threads, seed)),
            clock: Cell::new(0),
            closed: Cell::new(None),
            threads: threads as u32,
            seats: vec![Cell::new(Seat::Parked(0)); places as usize * threads],
            owed: vec![Cell::new(0); owing],
            faults: None,
            is_plain: owing == 0,
        }
    }

    /// Adds faults.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.network.get_mut().add_faults(faults);
        self.faults = Some(faults);
        self.is_plain = false;
        self
    }

    /// Returns the place whose process has crashed by now, if one has.
    pub fn crashed(&self) -> Option<PlaceId> {
        let crash = self.faults?.crash?;
        (crash.at_ns <= self.now()).then_some(crash.place)
    }

    /// Returns the view of `place`.
    pub fn at(&self, place: PlaceId) -> Here<'_, M> {
        Here { world: self, place }
    }

    /// Returns the time of the event being processed, plus the durations of the steps taken since.
    pub fn now(&self) -> u64 {
        self.clock.get()
    }

    /// Sets the current time.
    pub(crate) fn set(&self, now: u64) {
        self.clock.set(now);
    }

    /// Lets `ns` pass for the thread whose step is being taken.
    pub(crate) fn pass(&self, ns: u64) {
        self.clock.set(self.clock.get().saturating_add(ns));
    }

    /// Returns the time at which the world was closed.
    pub fn closed(&self) -> Option<u64> {
        self.closed.get()
    }

    /// Ends the run now, unless it has ended before.
    pub fn close(&self) {
        if self.closed.get().is_none() {
            self.closed.set(Some(self.now()));
        }
    }

    /// Returns the number of events processed.
    pub fn events(&self) -> u64 {
        self.network.borrow().events()
    }

    /// Returns the traffic, by kind.
    pub fn traffic(&self) -> Vec<Traffic> {
        self.network.borrow().traffic().to_vec()
    }

    /// Removes and returns the messages that are in flight.
    pub fn take_messages(&self) -> Vec<M> {
        self.network.borrow_mut().take_messages()
    }

    /// Adds the decoding of a message to the next step of the threads of `to`.
    pub(super) fn receive(&self, from: PlaceId, to: PlaceId, message: &M) {
        let ranks = &self.cluster.ranks;
        if ranks.cost_threads(from, to) {
            let owed = &self.owed[to.index()];
            owed.set(
                owed.get()
                    .saturating_add(ranks.decoding_ns(message.bytes())),
            );
        }
    }

    /// Returns the duration of a step of `thread` that takes `ns` without faults and without
    /// messages to be decoded.
    pub(super) fn duration(&self, place: PlaceId, thread: u32, ns: u64) -> u64 {
        match self.is_plain {
            true => ns,
            false => self.full_duration(place, thread, ns),
        }
    }

    #[cold]
    fn full_duration(&self, place: PlaceId, thread: u32, ns: u64) -> u64 {
        let owed = self.owed.get(place.index()).map_or(0, Cell::take);
        let ns = ns.saturating_add(owed);
        match &self.faults {
            None => ns,
            Some(faults) => faults.stretch(&self.cluster, (place, thread), self.now(), ns),
        }
    }

    /// Whether the threads of `place` take no further step: the world is closed, or the place has
    /// crashed.
    pub(super) fn has_ended(&self, place: PlaceId) -> bool {
        self.closed.get().is_some() || (!self.is_plain && self.has_crashed(place))
    }

    /// Whether the process of `place` has crashed.
    fn has_crashed(&self, place: PlaceId) -> bool {
        let faults = self.faults.as_ref();
        faults.is_some_and(|faults| faults.has_crashed(&self.cluster, place, self.now()))
    }

    /// Returns a place that `place` cannot reach any more, where that is reported of `lost`: a
    /// crashed place, or the first one behind a cut.
    pub(super) fn lost_by(&self, place: PlaceId, lost: PlaceId) -> Option<PlaceId> {
        if self.has_crashed(place) {
            return None;
        }
        if self.has_crashed(lost) {
            return Some(lost);
        }
        let behind = self.cluster.node(place) < self.cluster.node(lost);
        Some(if behind { lost } else { PlaceId(0) })
    }

    /// Returns the number of places.
    pub(super) fn places(&self) -> u32 {
        (self.seats.len() / self.threads()) as u32
    }

    /// Returns the number of threads of a place.
    pub(super) fn threads(&self) -> usize {
        self.threads as usize
    }

    /// Returns the number of threads of all places.
    pub(super) fn seats(&self) -> usize {
        self.seats.len()
    }

    /// Returns the next event and its time.
    pub(super) fn next(&self) -> Option<(u64, Event<M>)> {
        self.network.borrow_mut().next()
    }

    /// Schedules the next step of `thread` at `at`.
    pub(super) fn resume(&self, at: u64, thread: u32) {
        self.network.borrow_mut().step(at, thread);
    }

    /// Schedules the next step of `thread` if another event comes first. Returns whether it has.
    pub(super) fn yields(&self, thread: u32) -> bool {
        let mut network = self.network.borrow_mut();
        let yields = network.next_at() <= self.now();
        if yields {
            network.step(self.now(), thread);
        }
        yields
    }

    /// Parks `thread`. Returns false if it has been woken.
    pub(super) fn park(&self, thread: u32) -> bool {
        let seat = &self.seats[thread as usize];
        let parks = seat.get() != Seat::Notified;
        seat.set(match parks {
            true => Seat::Parked(self.now()),
            false => Seat::Awake,
        });
        parks
    }

    fn wake(&self, thread: u32, notice_ns: u64) {
        let seat = &self.seats[thread as usize];
        let Seat::Parked(since) = seat.get() else {
            return seat.set(Seat::Notified);
        };
        seat.set(Seat::Awake);
        let now = self.now();
        let takes = match now.saturating_sub(since) < self.cluster.spin_ns {
            true => notice_ns,
            false => self.cluster.wake_ns,
        };
        self.resume(now.max(since).saturating_add(takes), thread);
    }
}

/// One place's view of the world.
#[derive(Debug)]
pub struct Here<'w, M> {
    world: &'w World<M>,
    place: PlaceId,
}

impl<M> Clone for Here<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Here<'_, M> {}

impl<'w, M: Weigh> Here<'w, M> {
    /// Returns the place.
    pub fn place(&self) -> PlaceId {
        self.place
    }

    /// Returns the world.
    pub fn world(&self) -> &'w World<M> {
        self.world
    }

    /// Lets `ns` pass for the thread whose step is being taken, before what it does next in the
    /// same step.
    pub fn pass(&self, ns: u64) {
        self.world.pass(ns);
    }

    /// Sends a message, which takes `delay_ns` more than its way. To another rank, it is encoded
    /// first, by the thread that runs or by the communication worker.
    pub fn send(&self, to: PlaceId, message: M, delay_ns: u64) {
        let ranks = &self.world.cluster.ranks;
        if ranks.cost_threads(self.place, to) {
            self.pass(ranks.encoding_ns(message.bytes()));
        }
        let now = self.world.now();
        let mut network = self.world.network.borrow_mut();
        network.send(now, (self.place, to), message, delay_ns);
    }

    /// Wakes a thread of this place. One that was parked a short time ago spins, and continues
    /// after `notice_ns`.
    pub fn wake(&self, thread: u32, notice_ns: u64) {
        let first = self.place.0 * self.world.threads;
        self.world.wake(first + thread, notice_ns);
    }
}
