//! Faults, as a layer between the actors and the cluster.
//!
//! | fault | effect |
//! |---|---|
//! | [`Spike`] | some messages take longer |
//! | [`Loss`] | some transmissions are lost; the layer below the actors sends again after a timeout that doubles |
//! | [`Stall`] | a place does nothing for a while, as after SIGSTOP; messages wait |
//! | [`Slow`] | all steps on a node take longer |
//! | [`Noise`] | every thread is interrupted at intervals |
//! | [`Crash`] | a process takes no further step and loses every message |
//! | [`Partition`] | messages between two parts of the cluster are lost for a while, and sent again |
//!
//! Actors see lost messages as late ones, and learn of a process that they cannot reach by
//! [`Actor::lost`](super::Actor::lost): after a crash, or when a partition lasts longer than
//! [`Faults::detect_ns`].

use super::cluster::Cluster;
use super::random::Random;
use tautline_core::PlaceId;

/// The faults of a run, at most one of each kind. The default has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The seed that selects the messages which are late or lost, and the phases of the noise.
    pub seed: u64,
    /// Late messages.
    pub spike: Option<Spike>,
    /// Lost transmissions.
    pub loss: Option<Loss>,
    /// A place that does nothing for a while.
    pub stall: Option<Stall>,
    /// A slow node.
    pub slow: Option<Slow>,
    /// Interruptions.
    pub noise: Option<Noise>,
    /// A process that ends.
    pub crash: Option<Crash>,
    /// A cut through the network.
    pub partition: Option<Partition>,
    /// The time until a transmission that is not acknowledged is repeated; it doubles each time.
    pub timeout_ns: u64,
    /// The time from a crash, or from the beginning of a partition, until it is reported.
    pub detect_ns: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            seed: 0,
            spike: None,
            loss: None,
            stall: None,
            slow: None,
            noise: None,
            crash: None,
            partition: None,
            timeout_ns: 20_000,
            detect_ns: 1_000_000,
        }
    }
}

/// Of a million messages, `per_million` take `ns` longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spike {
    /// At most a million.
    pub per_million: u32,
    /// The delay.
    pub ns: u64,
}

/// Of a million transmissions, `per_million` are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Below a million.
    pub per_million: u32,
}

/// From `from_ns` until `until_ns`, `place` does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The place.
    pub place: PlaceId,
    /// The time at which it stops.
    pub from_ns: u64,
    /// The time at which it resumes.
    pub until_ns: u64,
}

/// Every step on `node` takes `percent` of its usual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// The number of the node.
    pub node: u32,
    /// At least 100.
    pub percent: u64,
}

/// Every thread is interrupted for `ns` every `every_ns`, each at other times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// The interval; at least 1.
    pub every_ns: u64,
    /// The length of an interruption.
    pub ns: u64,
}

/// At `at_ns` the process of `place` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// A place of that process; the only one, if there are no ranks.
    pub place: PlaceId,
    /// The time at which it ends.
    pub at_ns: u64,
}

/// From `from_ns` until `until_ns`, no message passes between the first `nodes` nodes and the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The number of nodes on one side.
    pub nodes: u32,
    /// The time at which the cut begins.
    pub from_ns: u64,
    /// The time at which it ends.
    pub until_ns: u64,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// [`Spike`]
    Spike,
    /// [`Loss`]
    Loss,
    /// [`Stall`]
    Stall,
    /// [`Slow`]
    Slow,
    /// [`Noise`]
    Noise,
    /// [`Crash`]
    Crash,
    /// [`Partition`]
    Partition,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Spike,
        Self::Loss,
        Self::Stall,
        Self::Slow,
        Self::Noise,
        Self::Crash,
        Self::Partition,
    ];
}

impl Faults {
    /// Draws faults of some of `kinds`, each with probability 1/2, for `places` places and a run of
    /// about `span_ns`.
    pub fn draw(seed: u64, kinds: &[Fault], cluster: &Cluster, places: u32, span_ns: u64) -> Self {
        let mut random = Random::new(seed, 1);
        let mut faults = Self {
            seed,
            detect_ns: span_ns / 4,
            ..Self::default()
        };
        let nodes = cluster.node(PlaceId(places - 1)) + 1;
        for &kind in kinds {
            if random.below(2) == 1 {
                faults.add(kind, &mut random, (places, nodes), span_ns);
            }
        }
        faults
    }

    fn add(&mut self, kind: Fault, random: &mut Random, (places, nodes): (u32, u32), span: u64) {
        let from_ns = random.below(span + 1);
        let until_ns = from_ns.saturating_add(random.below(span / 2 + 1));
        let place = PlaceId(random.below(places.into()) as u32);
        let per_million = random.below(300_000) as u32;
        let short = random.below(span / 16 + 1);
        match kind {
            Fault::Spike => {
                self.spike = Some(Spike {
                    per_million,
                    ns: short,
                });
            }
            Fault::Loss => self.loss = Some(Loss { per_million }),
            Fault::Stall => {
                self.stall = Some(Stall {
                    place,
                    from_ns,
                    until_ns,
                });
            }
            Fault::Slow => {
                self.slow = Some(Slow {
                    node: random.below(nodes.into()) as u32,
                    percent: 100 + random.below(900),
                });
            }
            Fault::Noise => {
                self.noise = Some(Noise {
                    every_ns: short + 1_000,
                    ns: random.below(short + 1),
                });
            }
            Fault::Crash => {
                let at_ns = from_ns;
                self.crash = Some(Crash { place, at_ns });
            }
            Fault::Partition => {
                self.partition = Some(Partition {
                    nodes: random.below(nodes.into()) as u32,
                    from_ns,
                    until_ns,
                });
            }
        }
    }

    /// Whether the process of `place` has crashed by `now`.
    pub(super) fn has_crashed(&self, cluster: &Cluster, place: PlaceId, now: u64) -> bool {
        self.crash.is_some_and(|crash| {
            let same = match cluster.ranks.places {
                0 => crash.place == place,
                _ => cluster.ranks.rank(crash.place) == cluster.ranks.rank(place),
            };
            same && now >= crash.at_ns
        })
    }

    /// Returns when `place` may act that would act at `now`.
    pub(super) fn resumes(&self, place: PlaceId, now: u64) -> u64 {
        match self.stall {
            Some(stall) if stall.place == place && now >= stall.from_ns => now.max(stall.until_ns),
            _ => now,
        }
    }

    /// Whether the stall of `place` ends at `now`.
    pub(super) fn ends_stall(&self, place: PlaceId, now: u64) -> bool {
        self.stall
            .is_some_and(|stall| stall.place == place && stall.until_ns == now)
    }

    /// Returns the duration of a step of `thread` at `place` that begins at `now` and takes `ns`
    /// without faults.
    pub(super) fn stretch(
        &self,
        cluster: &Cluster,
        (place, thread): (PlaceId, u32),
        now: u64,
        mut ns: u64,
    ) -> u64 {
        if let Some(slow) = self.slow.filter(|slow| slow.node == cluster.node(place)) {
            ns = ns.saturating_mul(slow.percent) / 100;
        }
        if let Some(noise) = self.noise {
            let every = noise.every_ns.max(1);
            let phase = Random::new(self.seed, 2 + u64::from(thread)).below(every);
            let begins = now.saturating_add(phase);
            let pauses = begins.saturating_add(ns) / every - begins / every;
            ns = ns.saturating_add(pauses.saturating_mul(noise.ns));
        }
        if let Some(stall) = self.stall.filter(|stall| stall.place == place) {
            if (now..now.saturating_add(ns)).contains(&stall.from_ns) {
                ns = ns.saturating_add(stall.until_ns.saturating_sub(stall.from_ns));
            }
        }
        ns
    }

    /// Returns the delay of a message between these nodes that leaves at `now`; `None`: it
    /// is never delivered.
    pub(super) fn delay(
        &self,
        random: &mut Random,
        (from, to): (u32, u32),
        now: u64,
    ) -> Option<u64> {
        let mut late = 0u64;
        let mut timeout = self.timeout_ns.max(1);
        let chance = |random: &mut Random, per_million: u32| {
            random.below(1_000_000) < u64::from(per_million)
        };
        loop {
            let lost = self
                .loss
                .is_some_and(|loss| chance(random, loss.per_million.min(999_999)));
            if !lost && !self.is_cut(from, to, now.saturating_add(late)) {
                break;
            }
            late = late.saturating_add(timeout);
            timeout = timeout.saturating_mul(2);
        }
        if self.partition.is_some_and(|cut| self.is_reported(cut)) && self.is_cut(from, to, now) {
            return None;
        }
        if let Some(spike) = self.spike {
            if chance(random, spike.per_million) {
                late = late.saturating_add(spike.ns);
            }
        }
        Some(late)
    }

    /// Whether a partition lasts until it is reported.
    pub(super) fn is_reported(&self, cut: Partition) -> bool {
        cut.until_ns.saturating_sub(cut.from_ns) > self.detect_ns
    }

    fn is_cut(&self, from: u32, to: u32, now: u64) -> bool {
        self.partition.is_some_and(|cut| {
            (from < cut.nodes) != (to < cut.nodes) && (cut.from_ns..cut.until_ns).contains(&now)
        })
    }
}
