//! Tautline in virtual time: thousands of places on one thread, with the workers that ship.
//!
//! A [`Simulation`] runs a [`Bag`] for real (every task is done, so counts
//! are exact) and counts the time that it would have taken on a [`Machine`].
//!
//! # Algorithm
//! Discrete events: a worker takes its next step, a message arrives. The places are the shipped
//! [`Team`](tautline_core::glb::Team)s and [`Worker`](tautline_core::glb::Worker)s; the machine is their port. After each step its cost passes for the
//! worker that took it, while others proceed; a reserve is locked for as long as work is put in or taken
//! out, and others wait. Events of one time happen in the order in which they were caused, so a run
//! depends on its configuration and seed alone.
#![forbid(unsafe_code)]

mod agenda;
mod machine;
pub mod memory;
mod network;
mod run;
mod world;

pub use machine::{Machine, Shape};

use tautline_core::glb::{Bag, Config, Observer, PlaceRun, Reason};
use tautline_core::{PlaceId, WorkerId};

/// A configured computation on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    config: Config,
    machine: Machine,
    deadline_ns: u64,
    raceless: bool,
}

/// The outcome of a simulated computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T, O = ()> {
    /// What the bags submitted.
    pub output: T,
    /// Whether all work was done. If not, the computation was stopped and the output is partial.
    pub complete: bool,
    /// Why it was stopped, if it was.
    pub stopped: Option<Reason>,
    /// From the start to the time at which the home knows that all work is done.
    pub virtual_ns: u64,
    /// Tasks done by all places.
    pub tasks: u64,
    /// Sequential virtual time over workers times parallel virtual time, where the sequential time is
    /// that of the tasks alone: no polls, no messages (Saraswat 2011, footnote 3).
    pub efficiency: f64,
    /// Messages sent, of all kinds.
    pub messages: u64,
    /// Of these, the messages of the finish.
    pub reports: u64,
    /// Activities of the finish: the first, and one for each loot sent along a lifeline.
    pub activities: u64,
    /// Loot by the number of hops; hop 0 is within a node.
    pub distances: Vec<u64>,
    /// Events simulated.
    pub events: u64,
    /// What each place counted, in order.
    pub places: Vec<PlaceRun>,
    /// The observers, place by place and worker by worker; their ticks are nanoseconds.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

impl Simulation {
    /// Creates a simulation of this configuration on this machine.
    ///
    /// # Panics
    /// No place, no worker, or a fixed grain of 0.
    pub fn new(config: Config, machine: Machine) -> Self {
        assert!(config.places > 0, "no place");
        assert!(config.workers > 0, "no worker");
        assert!(config.grain.initial() > 0, "a grain of 0 does nothing");
        Self {
            config,
            machine,
            deadline_ns: u64::MAX,
            raceless: false,
        }
    }

    /// Stops the computation once this much virtual time has passed.
    #[must_use]
    pub fn deadline_ns(mut self, ns: u64) -> Self {
        self.deadline_ns = ns;
        self
    }

    /// Lets no worker act between another's load of the flag of a reserve and its feeding, as if the flag
    /// were a counter: the control experiment for the merge/empty sensor.
    #[must_use]
    pub fn raceless(mut self) -> Self {
        self.raceless = true;
        self
    }

    /// Runs `bag`, which starts at the home, to the end. `shared` is called once a place, `observe` once
    /// a thread.
    ///
    /// # Panics
    /// A task that panics, a bag that does not keep its contract (does nothing although not empty), and
    /// a run whose places together take more than 292 years of virtual time.
    pub fn run<B: Bag, O: Observer>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
        observe: impl FnMut(PlaceId, WorkerId) -> O,
    ) -> Outcome<B::Output, O> {
        run::run(self, bag, shared, output, observe)
    }
}
