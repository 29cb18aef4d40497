//! An actor that sends at given times and records what it receives.

use tautline_core::PlaceId;
use tautline_sim::engine::{Actor, End, Engine, Faults, Here, Turn, Weigh, World};
use tautline_sim::{Cluster, Ranks};

/// A numbered message of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
}

impl Weigh for Letter {
    const KINDS: usize = 1;

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Sends its letters in its first step, then parks. Woken, it takes a step of no time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relay {
    pub(crate) sends: Vec<(PlaceId, Letter)>,
    /// The number and time of every letter received.
    pub(crate) received: Vec<(u64, u64)>,
    /// The times at which the steps after the first began and ended.
    pub(crate) steps: Vec<(u64, u64)>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    New,
    Parked,
    Working(u64),
}

impl Actor for Relay {
    type Message = Letter;

    fn step(&mut self, here: &Here<'_, Letter>) -> Turn {
        let now = here.world().now();
        self.stage = match self.stage {
            Stage::New => {
                for (to, letter) in self.sends.drain(..) {
                    here.send(to, letter, 0);
                }
                Stage::Parked
            }
            Stage::Parked => Stage::Working(now),
            Stage::Working(began) => {
                self.steps.push((began, now));
                Stage::Parked
            }
        };
        match self.stage {
            Stage::Working(_) => Turn::Took {
                ns: 0,
                private: false,
            },
            _ => Turn::Parked,
        }
    }

    fn on(&mut self, _: PlaceId, letter: Letter, here: &Here<'_, Letter>) {
        self.received.push((letter.number, here.world().now()));
        here.wake(0, 0);
    }
}

/// A cluster of one place a node on which nothing but the given costs takes time.
pub(crate) const FREE: Cluster = Cluster {
    wake_ns: 0,
    spin_ns: 0,
    node_places: 1,
    shape: tautline_sim::Shape::Flat,
    near_ns: 0,
    far_ns: 0,
    hop_ns: 0,
    gap_ns: 0,
    mb_per_s: 0,
    link_mb_per_s: 0,
    jitter_percent: 0,
    ordered: false,
    ranks: Ranks {
        places: 0,
        message_ns: 0,
        encode_mb_per_s: 0,
        decode_mb_per_s: 0,
        worker: false,
    },
};

/// Sends `letters` (from, to, bytes) at time 0, numbered in order; returns when each place received
/// which.
pub(crate) fn deliver(
    cluster: Cluster,
    places: u32,
    letters: &[(u32, u32, u64)],
) -> Vec<Vec<(u64, u64)>> {
    deliver_with(cluster, places, letters, None)
}

/// As [`deliver`], with faults.
pub(crate) fn deliver_with(
    cluster: Cluster,
    places: u32,
    letters: &[(u32, u32, u64)],
    faults: Option<Faults>,
) -> Vec<Vec<(u64, u64)>> {
    let mut world = World::new(cluster, places, 1, 1);
    if let Some(faults) = faults {
        world = world.with_faults(faults);
    }
    let relays = relay(&world, places, letters).into_iter();
    relays.map(|relay| relay.received).collect()
}

/// Sends `letters` (from, to, bytes) at time 0, numbered in order; returns the actors in the end.
pub(crate) fn run(cluster: Cluster, places: u32, letters: &[(u32, u32, u64)]) -> Vec<Relay> {
    relay(&World::new(cluster, places, 1, 1), places, letters)
}

fn relay(world: &World<Letter>, places: u32, letters: &[(u32, u32, u64)]) -> Vec<Relay> {
    let mut relays = vec![Relay::default(); places as usize];
    for (number, &(from, to, bytes)) in (0..).zip(letters) {
        let letter = Letter { number, bytes };
        relays[from as usize].sends.push((PlaceId(to), letter));
    }
    let mut engine = Engine::new(world, relays);
    for place in 0..places {
        world.at(PlaceId(place)).wake(0, 0);
    }
    assert!(matches!(engine.run(u64::MAX, || ()), End::Idle(_)));
    engine.into_actors()
}
