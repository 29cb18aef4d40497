//! What the simulated machine lends the workers: a virtual clock, virtual sleep, the network.

use crate::Machine;
use crate::network::Network;
use std::cell::{Cell, RefCell};
use tautline_core::glb::{Bag, Message};
use tautline_core::port::{Clock, Relax, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// The machine as seen by the worker whose step is being taken.
#[derive(Debug)]
pub(crate) struct World<B> {
    pub(crate) machine: Machine,
    pub(crate) network: RefCell<Network<B>>,
    /// The time of the step being taken.
    clock: Cell<u64>,
    closed: Cell<Option<u64>>,
    /// Threads of a place.
    threads: u32,
    seats: Vec<Cell<Seat>>,
}

/// The sleep state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    Awake,
    /// Awake; its next sleep returns at once.
    Called,
    /// Waiting since this time: spinning at first, later asleep.
    Waiting(u64),
}

impl<B: Bag> World<B> {
    pub(crate) fn new(machine: Machine, places: u32, threads: usize, seed: u64) -> Self {
        Self {
            machine,
            network: RefCell::new(Network::new(machine, places, threads, seed)),
            clock: Cell::new(0),
            closed: Cell::new(None),
            threads: threads as u32,
            seats: vec![Cell::new(Seat::Waiting(0)); places as usize * threads],
        }
    }

    /// When the computation was closed, if it was.
    pub(crate) fn closed(&self) -> Option<u64> {
        self.closed.get()
    }

    /// Sets the current time.
    pub(crate) fn set(&self, now: u64) {
        self.clock.set(now);
    }

    /// Lets `ns` pass for the worker whose step is being taken.
    pub(crate) fn pass(&self, ns: u64) {
        self.clock.set(self.clock.get().saturating_add(ns));
    }

    /// Puts `thread` to sleep. Returns false if it was woken meanwhile.
    pub(crate) fn sleep(&self, thread: u32) -> bool {
        let seat = &self.seats[thread as usize];
        let sleeps = seat.get() != Seat::Called;
        seat.set(match sleeps {
            true => Seat::Waiting(self.now()),
            false => Seat::Awake,
        });
        sleeps
    }
}

impl<B: Bag> World<B> {
    /// The time of the step being taken.
    pub(crate) fn now(&self) -> u64 {
        self.clock.get()
    }

    /// Ends the computation now, unless it has ended before.
    pub(crate) fn close(&self) {
        if self.closed.get().is_none() {
            self.closed.set(Some(self.now()));
        }
    }

    /// Returns the view of `place`.
    pub(crate) fn at(&self, place: PlaceId) -> Here<'_, B> {
        Here { world: self, place }
    }

    fn wake(&self, thread: u32) {
        let seat = &self.seats[thread as usize];
        let Seat::Waiting(since) = seat.get() else {
            return seat.set(Seat::Called);
        };
        seat.set(Seat::Awake);
        let now = self.now();
        let takes = match now.saturating_sub(since) < self.machine.spin_ns {
            // Reads a line that another thread has written, as a worker that takes from a reserve does.
            true => self.machine.merge_ns,
            false => self.machine.wake_ns,
        };
        let wakes = now.max(since).saturating_add(takes);
        self.network.borrow_mut().step(wakes, thread);
    }
}

/// One place's view of the machine.
#[derive(Debug)]
pub(crate) struct Here<'w, B> {
    world: &'w World<B>,
    place: PlaceId,
}

impl<B: Bag> Clock for Here<'_, B> {
    fn now(&self) -> u64 {
        self.world.now()
    }
}

impl<B: Bag> Relax for Here<'_, B> {
    fn relax(&self, _: u32) {
        unreachable!("steps are taken one at a time: no lock is held by another thread");
    }
}

impl<B: Bag> Unpark for Here<'_, B> {
    fn unpark(&self, worker: WorkerId) {
        self.world
            .wake(self.place.0 * self.world.threads + worker.0);
    }
}

impl<B: Bag> Transport<Message<B>> for Here<'_, B> {
    fn send(&self, to: PlaceId, message: Message<B>) {
        let world = self.world;
        if matches!(message, Message::Loot(_) | Message::Answer(Some(_))) {
            world.pass(world.machine.split_ns);
        }
        world.pass(world.machine.send_ns);
        let mut network = world.network.borrow_mut();
        network.send(world.now(), self.place, to, message);
    }

    fn close(&self) {
        self.world.close();
    }

    fn is_closed(&self) -> bool {
        self.world.closed().is_some()
    }
}
