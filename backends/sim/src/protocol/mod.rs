//! Any protocol in virtual time: a [`Machine`] at each peer, with the cost of its events and
//! messages.
//!
//! A peer is a place or a rank, with one thread, which does one thing after another: it serves a
//! message, or it works until an event. The machine processes the message or the event when that
//! time has passed; its own steps take none. A [`Driver`] states the costs and carries out effects.
//!
//! # Example
//! ```
//! use tautline_core::PlaceId;
//! use tautline_core::machine::{Machine, Step};
//! use tautline_sim::Cluster;
//! use tautline_sim::protocol::{Driver, Part, Setup, Weight};
//!
//! /// Passes a number around a ring of places until it is zero.
//! struct Countdown {
//!     next: PlaceId,
//! }
//!
//! impl Machine for Countdown {
//!     type Peer = PlaceId;
//!     type Message = u32;
//!     type Event = u32;
//!     type Effect = &'static str;
//!     type Calls = ();
//!     type Refusal = &'static str;
//!
//!     fn event(&mut self, start: u32, step: &mut Step<'_, Self>) {
//!         step.send(self.next, start);
//!     }
//!
//!     fn receive(&mut self, _: PlaceId, left: u32, step: &mut Step<'_, Self>) -> Result<(), &'static str> {
//!         match left {
//!             0 => step.effect("lift-off"),
//!             _ => step.send(self.next, left - 1),
//!         }
//!         Ok(())
//!     }
//! }
//!
//! /// One place: with what it starts, and when it has lifted off.
//! #[derive(Default)]
//! struct Pad {
//!     start: Option<u32>,
//!     lift_off_ns: Option<u64>,
//! }
//!
//! impl Driver for Pad {
//!     type Machine = Countdown;
//!     type Calls = ();
//!
//!     fn calls(calls: &mut ()) -> &mut () {
//!         calls
//!     }
//!
//!     fn work(&mut self, _: &Countdown, _: u64) -> Option<(u64, u32)> {
//!         // To load the number takes 70 ns.
//!         Some((70, self.start.take()?))
//!     }
//!
//!     fn effect(&mut self, _: &'static str, now: u64) -> Option<u32> {
//!         self.lift_off_ns = Some(now);
//!         None
//!     }
//!
//!     fn weigh(&self, _: &u32) -> Weight {
//!         Weight { bytes: 4, ..Weight::default() }
//!     }
//! }
//!
//! let part = |place| {
//!     let machine = Countdown { next: PlaceId((place + 1) % 8) };
//!     let start = (place == 0).then_some(20);
//!     Part::new(machine, Pad { start, ..Pad::default() })
//! };
//! let cluster = Cluster { node_places: 1, far_ns: 2_500, jitter_percent: 0, ..Cluster::default() };
//! let outcome = Setup { cluster, ..Setup::default() }.run((0..8_u32).map(part).collect());
//! // 21 messages: the last one, with 0, arrives at place 21 % 8.
//! assert_eq!(outcome.ns, 70 + 21 * 2_500);
//! assert_eq!(outcome.parts[5].driver.lift_off_ns, Some(outcome.ns));
//! assert_eq!((outcome.traffic[0].count, outcome.traffic[0].bytes), (21, 84));
//! ```

mod member;

use crate::Cluster;
use crate::engine::{End, Engine, Faults, Traffic, World};
use member::Member;
use tautline_core::PlaceId;
use tautline_core::machine::{Machine, Peer};

/// The peers of a driver's machine.
pub type PeerOf<D> = <<D as Driver>::Machine as Machine>::Peer;
/// The messages of a driver's machine.
pub type MessageOf<D> = <<D as Driver>::Machine as Machine>::Message;
/// The events of a driver's machine.
pub type EventOf<D> = <<D as Driver>::Machine as Machine>::Event;
/// The effects of a driver's machine.
pub type EffectOf<D> = <<D as Driver>::Machine as Machine>::Effect;
/// The calls of a driver's machine.
pub type CallsOf<D> = <<D as Driver>::Machine as Machine>::Calls;

/// The driver of one peer's machine.
pub trait Driver {
    /// The protocol.
    type Machine: Machine;
    /// The state by which calls are answered, such as a random source; `()` if the machine has
    /// none.
    type Calls;

    /// The number of kinds of messages, which are counted separately.
    const KINDS: usize = 1;

    /// Returns the calls of the machine.
    fn calls(calls: &mut Self::Calls) -> &mut CallsOf<Self>;

    /// Returns the current action of the thread, while it has no message to serve: a duration in
    /// nanoseconds, and the event that is reported after it. `None`: nothing, until the machine has
    /// taken another step.
    ///
    /// The first call is at the beginning: an event that starts the protocol is the first work. An
    /// effect that takes time, such as a chunk to be executed, is kept by [`effect`](Self::effect)
    /// and returned here.
    fn work(&mut self, machine: &Self::Machine, now: u64) -> Option<(u64, EventOf<Self>)>;

    /// Carries out an effect at `now`. Returns an event that answers it at once, as
    /// [`drive`](tautline_core::machine::drive) permits.
    fn effect(&mut self, effect: EffectOf<Self>, now: u64) -> Option<EventOf<Self>>;

    /// Returns the weight of a message that is being sent.
    fn weigh(&self, _message: &MessageOf<Self>) -> Weight {
        Weight::default()
    }

    /// Returns the time for which the thread serves a message, after its current action. `None`: it
    /// is processed when it arrives, at no cost, as if by a thread for that alone. Either way it
    /// wakes the thread, as the driver may have work then.
    fn serve_ns(&self, _message: &MessageOf<Self>) -> Option<u64> {
        None
    }

    /// Whether this peer has ended, and the loss of another one does not concern it any more.
    fn has_ended(&self, _machine: &Self::Machine) -> bool {
        false
    }
}

/// The costs of a message in addition to the latency of its way. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Its kind, below [`Driver::KINDS`].
    pub kind: usize,
    /// Its size.
    pub bytes: u64,
    /// The time that it takes in addition to that of its way.
    pub delay_ns: u64,
}

/// One peer.
#[derive(Clone, Debug)]
pub struct Part<D: Driver> {
    /// Its machine.
    pub machine: D::Machine,
    /// The state by which the machine's calls are answered.
    pub calls: D::Calls,
    /// Its driver.
    pub driver: D,
}

impl<D: Driver> Part<D> {
    /// Creates a peer whose calls are answered by the default.
    pub fn new(machine: D::Machine, driver: D) -> Self
    where
        D::Calls: Default,
    {
        Self {
            machine,
            calls: D::Calls::default(),
            driver,
        }
    }
}

/// The conditions of a run. By default: the default cluster, no faults and no deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The cluster. A peer has one thread, on the place of its number.
    pub cluster: Cluster,
    /// Faults, if any.
    pub faults: Option<Faults>,
    /// Selects the delays of messages, where the cluster has a jitter.
    pub seed: u64,
    /// The time at which the run ends at the latest.
    pub deadline_ns: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            cluster: Cluster::default(),
            faults: None,
            seed: 1,
            deadline_ns: u64::MAX,
        }
    }
}

/// The outcome of a run.
pub struct Outcome<D: Driver> {
    /// The peers, in order of their numbers.
    pub parts: Vec<Part<D>>,
    /// The time at which it ended: when the last event or message was processed, a loss was fatal,
    /// or the deadline passed.
    pub ns: u64,
    /// The messages sent, by kind.
    pub traffic: Vec<Traffic>,
    /// The first peer to which a loss was fatal, and the peer that it lost.
    pub lost: Option<(PeerOf<D>, PeerOf<D>)>,
    /// Whether the deadline passed.
    pub has_expired: bool,
}

impl Setup {
    /// Runs a protocol among these peers, whose numbers count from 0, until no event and no message
    /// is pending.
    ///
    /// # Panics
    /// If there is no peer, if a machine refuses a message or panics, if a message is sent to a
    /// peer that does not exist, or if its kind is not below [`Driver::KINDS`].
    pub fn run<D: Driver>(&self, parts: Vec<Part<D>>) -> Outcome<D> {
        let peers = parts.len() as u32;
        let mut world = World::new(self.cluster, peers, 1, self.seed);
        if let Some(faults) = self.faults {
            world = world.with_faults(faults);
        }
        let member = |(here, part)| Member::new(PeerOf::<D>::numbered(here), peers, part);
        let members = (0..).zip(parts).map(member).collect();
        let mut engine = Engine::new(&world, members);
        for place in (0..peers).map(PlaceId) {
            world.at(place).wake(0, 0);
        }
        let end = engine.run(self.deadline_ns, || ());
        let members = engine.into_actors();
        let last = members.iter().map(Member::last_ns).max();
        Outcome {
            ns: match end {
                End::Closed(at) | End::Expired(at) => at,
                End::Idle(_) => last.unwrap_or(0),
            },
            traffic: world.traffic(),
            lost: members.iter().find_map(Member::fatal),
            has_expired: matches!(end, End::Expired(_)),
            parts: members.into_iter().map(Member::into_part).collect(),
        }
    }
}
