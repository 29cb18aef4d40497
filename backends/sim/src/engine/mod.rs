//! Discrete events for any protocol: actors whose steps take virtual time, and the messages between
//! them.
//!
//! An actor is a thread of a place; a message is addressed to a place. The [`World`] holds the
//! clock, the sleeping threads and the network of a [`Cluster`]; the [`Engine`] holds the actors
//! and processes the events.
//!
//! # Algorithm
//! The event with the lowest time is next: a thread takes a step, or a message arrives. After a
//! step its duration passes for the thread that took it. Events of one time are processed in the
//! order in which they were caused, so a run depends on the actors, the cluster and the seed alone.
//!
//! The engine knows no protocol. A place with many workers needs no scheduler of its own, as
//! threads have the clocks; a message to a place is processed by its first thread. A step also
//! reports whether the next one is private: such a step is taken at once, without a turn of the
//! agenda. Faults are below the actors. Options that are off cost a comparison (decision 28 in
//! `docs/decisions`).

mod agenda;
mod cluster;
mod faults;
mod network;
pub(crate) mod random;
mod world;

pub use cluster::{Cluster, Ranks};
pub use faults::{Crash, Fault, Faults, Loss, Noise, Partition, Slow, Spike, Stall};
pub use network::{Shape, Traffic};
pub use world::{Here, World};

use network::Event;
use tautline_core::PlaceId;

/// The weight of a message.
pub trait Weigh {
    /// The number of kinds, which are counted separately.
    const KINDS: usize;

    /// Returns its kind, below [`KINDS`](Self::KINDS).
    fn kind(&self) -> usize;

    /// Returns its size in bytes.
    fn bytes(&self) -> u64;
}

/// A thread of a place, as a state machine.
pub trait Actor {
    /// Messages between places.
    type Message: Weigh;

    /// Takes a step. Called at the time of the step.
    fn step(&mut self, here: &Here<'_, Self::Message>) -> Turn;

    /// Processes a message to this place. Called for the place's first thread.
    fn on(&mut self, from: PlaceId, message: Self::Message, here: &Here<'_, Self::Message>);

    /// Learns that `place` cannot be reached any more. Called for each place's first thread.
    fn lost(&mut self, _place: PlaceId, _here: &Here<'_, Self::Message>) {}
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The step took `ns`.
    Took {
        /// Its duration.
        ns: u64,
        /// Whether the next step neither depends on other actors nor changes what they observe.
        /// Such a step is taken at once, whatever events come before its end.
        private: bool,
    },
    /// Nothing was done; the step is repeated at this time.
    Again(u64),
    /// Nothing is left to do until the thread is woken.
    Parked,
    /// The thread takes no further step.
    Ended,
}

/// The end of a run, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An actor closed the world.
    Closed(u64),
    /// The deadline passed.
    Expired(u64),
    /// No event was pending: every thread is parked or has ended, and no message is in flight.
    Idle(u64),
}

/// Actors in a world.
#[derive(Debug)]
pub struct Engine<'w, A: Actor> {
    world: &'w World<A::Message>,
    /// Place by place.
    actors: Vec<A>,
}

impl<'w, A: Actor> Engine<'w, A> {
    /// Creates an engine of these actors, place by place. All are parked.
    ///
    /// # Panics
    /// If the number of actors is not that of the threads of `world`.
    pub fn new(world: &'w World<A::Message>, actors: Vec<A>) -> Self {
        assert_eq!(actors.len(), world.seats(), "one actor for each thread");
        Self { world, actors }
    }

    /// Returns the actors, place by place.
    pub fn actors(&self) -> &[A] {
        &self.actors
    }

    /// Returns the actors, place by place.
    pub fn into_actors(self) -> Vec<A> {
        self.actors
    }

    /// Processes events until the world is closed or no event is pending. When the next event comes
    /// after `deadline_ns`, calls `expire`, processes that event as the last, and ends at the
    /// deadline.
    ///
    /// # Panics
    /// If an actor panics, and if the clock approaches its end: the bound is 292 years, divided by
    /// the number of threads.
    pub fn run(&mut self, deadline_ns: u64, expire: impl FnOnce()) -> End {
        loop {
            let Some((now, event)) = self.world.next() else {
                return End::Idle(self.world.now());
            };
            if now > deadline_ns {
                expire();
                self.world.set(deadline_ns);
                self.world.close();
                self.process(now, event);
                return End::Expired(deadline_ns);
            }
            self.process(now, event);
            if let Some(end) = self.world.closed() {
                return End::Closed(end);
            }
        }
    }

    /// Processes the next event. Returns its time, or `None` if no event is pending. For drivers
    /// that inspect the actors between events; a world that was closed is processed nevertheless.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn advance(&mut self) -> Option<u64> {
        let (now, event) = self.world.next()?;
        self.process(now, event);
        Some(now)
    }

    fn process(&mut self, now: u64, event: Event<A::Message>) {
        self.world.set(now);
        match event {
            Event::Step(thread) => self.go_on(thread),
            Event::Mail(mail) => {
                self.world.receive(mail.from, mail.to, &mail.message);
                let here = self.world.at(mail.to);
                self.first(mail.to).on(mail.from, mail.message, &here);
            }
            Event::Lost(place) => self.report(place),
        }
    }

    /// Returns the first actor of `place`.
    fn first(&mut self, place: PlaceId) -> &mut A {
        &mut self.actors[place.index() * self.world.threads()]
    }

    /// Reports to every place that is separated from `lost` that it is.
    #[cold]
    fn report(&mut self, lost: PlaceId) {
        for place in (0..self.world.places()).map(PlaceId) {
            if let Some(lost) = self.world.lost_by(place, lost) {
                let here = self.world.at(place);
                self.first(place).lost(lost, &here);
            }
        }
    }

    /// Takes steps of `thread` until another event comes first, or the thread is parked.
    fn go_on(&mut self, thread: u32) {
        let here = self.world.at(PlaceId(thread / self.world.threads() as u32));
        loop {
            let mut is_private = false;
            match self.actors[thread as usize].step(&here) {
                Turn::Took { ns, private } => {
                    self.world
                        .pass(self.world.duration(here.place(), thread, ns));
                    is_private = private;
                }
                Turn::Again(at) => return self.world.resume(at, thread),
                Turn::Parked if self.world.park(thread) => return,
                Turn::Parked => {}
                Turn::Ended => return,
            }
            if self.world.has_ended(here.place()) {
                return;
            }
            if !is_private && self.world.yields(thread) {
                return;
            }
        }
    }
}
