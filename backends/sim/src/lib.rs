//! Tautline in virtual time: thousands of places on one thread, the same protocol as everywhere.
//!
//! A [`Simulation`] runs a [`Bag`] for real (every task is done, so counts
//! are exact) and counts the time it would have taken on a [`Machine`].
//!
//! # Algorithm
//! Discrete events: a place's turn ends, a message arrives. Events of one moment happen in the order
//! in which they were caused, so a run depends on its configuration and seed alone.
#![forbid(unsafe_code)]

mod machine;
mod network;
mod site;

pub use machine::{Machine, Shape};

use network::{Event, Network};
use site::Site;
use tautline_core::PlaceId;
use tautline_core::glb::{Bag, Config, Fairness, Observer, Tally, Times};

/// A configured computation on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    config: Config,
    machine: Machine,
}

/// What a simulated computation left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T, O = ()> {
    /// What the bags submitted.
    pub output: T,
    /// From the start to the moment when the home knows that all work is done.
    pub virtual_ns: u64,
    /// Tasks done by all places.
    pub tasks: u64,
    /// Sequential virtual time over places times parallel virtual time, where the sequential time is
    /// that of the tasks alone: no looks outside, no messages (Saraswat 2011, footnote 3).
    pub efficiency: f64,
    /// Messages sent, of all kinds.
    pub messages: u64,
    /// Of these, the messages of the finish.
    pub reports: u64,
    /// Activities of the finish: the first, and one for each loot sent along a lifeline.
    pub activities: u64,
    /// Events simulated.
    pub events: u64,
    /// What each place counted, in order.
    pub places: Vec<PlaceRun>,
    /// The observers, in order of places; their ticks are nanoseconds.
    pub observers: Vec<O>,
}

/// What one place counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceRun {
    /// Messages and loot.
    pub tally: Tally,
    /// Where its time went, in nanoseconds.
    pub times: Times,
    /// Messages sent while quiet that do not answer a request. The protocol has none.
    pub unasked: u64,
}

impl Simulation {
    /// The balancer with this configuration on this machine.
    ///
    /// # Panics
    /// No place, a grain of 0, more than one worker a place, or a fairness other than
    /// [`Fairness::Inline`] and [`Fairness::Never`]: the others need a second thread in the place.
    pub fn new(config: Config, machine: Machine) -> Self {
        assert!(config.places > 0, "no place");
        assert!(config.grain > 0, "a grain of 0 does nothing");
        assert_eq!(config.workers, 1, "one worker a place is simulated");
        assert!(
            matches!(config.fairness, Fairness::Inline | Fairness::Never),
            "{:?} is not simulated",
            config.fairness
        );
        Self { config, machine }
    }

    /// Runs `bag`, which starts at the home, to the end. `shared` is called once a place.
    ///
    /// # Panics
    /// A task that panics, a bag that does not keep its contract (does nothing although not empty), and
    /// a run whose places together take more than 292 years of virtual time.
    pub fn run<B: Bag, O: Observer>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
        mut observe: impl FnMut(PlaceId) -> O,
    ) -> Outcome<B::Output, O> {
        let mut network = Network::new(self.machine, self.config.places, self.config.seed);
        let mut sites: Vec<Site<B, O>> = (0..self.config.places)
            .map(PlaceId)
            .map(|here| Site::new(here, &self.config, shared(here), observe(here)))
            .collect();
        sites[0].start(bag);
        network.wake(0, PlaceId::HOME);
        let virtual_ns = loop {
            let (now, event) = network
                .next()
                .expect("a computation that has not ended goes on");
            let place = match event {
                Event::Turn(place) => {
                    sites[place.index()].end_turn();
                    place
                }
                Event::Mail(place, from, message) => {
                    sites[place.index()].accept(from, message);
                    place
                }
            };
            if let Some(end) = sites[place.index()].look(now, &self.config, &mut network) {
                break end;
            }
        };
        assert!(
            network.is_idle(),
            "the end came while something was on its way"
        );
        self.outcome(sites, &network, virtual_ns, output)
    }

    fn outcome<B: Bag, O: Observer>(
        &self,
        sites: Vec<Site<B, O>>,
        network: &Network<B>,
        virtual_ns: u64,
        mut output: B::Output,
    ) -> Outcome<B::Output, O> {
        let mut places = Vec::with_capacity(sites.len());
        let mut observers = Vec::with_capacity(sites.len());
        for site in sites {
            let (place, observer) = site.close(virtual_ns, &mut output);
            places.push(place);
            observers.push(observer);
        }
        let tasks = places.iter().map(|place| place.tally.tasks).sum();
        let alone = tasks as f64 * self.machine.task_ns as f64;
        let together = f64::from(self.config.places) * virtual_ns as f64;
        Outcome {
            output,
            virtual_ns,
            tasks,
            efficiency: if together > 0.0 {
                alone / together
            } else {
                1.0
            },
            messages: places.iter().map(|place| place.tally.messages).sum(),
            reports: network.reports,
            activities: network.activities,
            events: network.events,
            places,
            observers,
        }
    }
}
