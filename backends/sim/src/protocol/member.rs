//! A peer as an actor.

use super::{CallsOf, Driver, EventOf, MessageOf, Part, PeerOf, Weight};
use crate::engine::{Actor, Here, Turn, Weigh};
use std::collections::VecDeque;
use tautline_core::PlaceId;
use tautline_core::machine::{Action, Machine, Peer, Step, Tolerance, drive};

/// A message with its weight.
pub(super) struct Parcel<D: Driver>(MessageOf<D>, Weight);

impl<D: Driver> Weigh for Parcel<D> {
    const KINDS: usize = D::KINDS;

    fn kind(&self) -> usize {
        self.1.kind
    }

    fn bytes(&self) -> u64 {
        self.1.bytes
    }
}

/// An input of the machine, processed when the thread has spent its time.
enum Input<D: Driver> {
    Event(EventOf<D>),
    Message(PeerOf<D>, MessageOf<D>),
}

/// A peer in virtual time.
pub(super) struct Member<D: Driver> {
    here: PeerOf<D>,
    /// The number of peers.
    peers: u32,
    part: Part<D>,
    /// The messages that the thread has yet to serve, each with the time that this takes.
    inbox: VecDeque<(u64, Input<D>)>,
    /// The input that the thread works on.
    begun: Option<Input<D>>,
    /// The peers whose loss was reported.
    lost: Vec<PeerOf<D>>,
    /// The peer whose loss was fatal.
    fatal: Option<PeerOf<D>>,
    /// The time of the machine's last step.
    last_ns: u64,
}

impl<D: Driver> Member<D> {
    pub(super) fn new(here: PeerOf<D>, peers: u32, part: Part<D>) -> Self {
        Self {
            here,
            peers,
            part,
            inbox: VecDeque::new(),
            begun: None,
            lost: Vec::new(),
            fatal: None,
            last_ns: 0,
        }
    }

    pub(super) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Returns this peer and the one whose loss was fatal to it.
    pub(super) fn fatal(&self) -> Option<(PeerOf<D>, PeerOf<D>)> {
        self.fatal.map(|lost| (self.here, lost))
    }

    pub(super) fn into_part(self) -> Part<D> {
        self.part
    }

    /// Lets the machine take a step.
    fn take<R>(
        &mut self,
        here: &Here<'_, Parcel<D>>,
        take: impl FnOnce(&mut D::Machine, &mut Step<'_, D::Machine>) -> R,
    ) -> R {
        let (me, peers, world) = (self.here, self.peers, here.world());
        let Part {
            machine,
            calls,
            driver,
        } = &mut self.part;
        let act = |action: Action<D::Machine>| match action {
            Action::Effect(effect) => driver.effect(effect, world.now()),
            Action::Send(to, message) => {
                assert!(to.number() < peers, "{me} sends to {to}, of {peers} peers");
                let weight = driver.weigh(&message);
                let parcel = Parcel(message, weight);
                here.send(PlaceId(to.number()), parcel, weight.delay_ns);
                None
            }
        };
        let calls: &mut CallsOf<D> = D::calls(calls);
        let taken = drive(machine, calls, act, take);
        self.last_ns = world.now();
        taken
    }

    fn process(&mut self, input: Input<D>, here: &Here<'_, Parcel<D>>) {
        let me = self.here;
        self.take(here, |machine, step| match input {
            Input::Event(event) => machine.event(event, step),
            Input::Message(from, message) => {
                let received = machine.receive(from, message, step);
                received.unwrap_or_else(|why| panic!("{me} refuses a message of {from}: {why}"));
            }
        });
    }

    /// Returns the next action of the thread, with its duration.
    fn next(&mut self, now: u64) -> Option<(u64, Input<D>)> {
        let Part {
            machine, driver, ..
        } = &mut self.part;
        let work = || {
            let (ns, event) = driver.work(machine, now)?;
            Some((ns, Input::Event(event)))
        };
        self.inbox.pop_front().or_else(work)
    }
}

impl<D: Driver> Actor for Member<D> {
    type Message = Parcel<D>;

    fn step(&mut self, here: &Here<'_, Parcel<D>>) -> Turn {
        if let Some(input) = self.begun.take() {
            self.process(input, here);
        }
        let Some((ns, input)) = self.next(here.world().now()) else {
            return Turn::Parked;
        };
        self.begun = Some(input);
        Turn::Took { ns, private: false }
    }

    fn on(&mut self, from: PlaceId, parcel: Parcel<D>, here: &Here<'_, Parcel<D>>) {
        let (message, from) = (parcel.0, PeerOf::<D>::numbered(from.0));
        let serve_ns = self.part.driver.serve_ns(&message);
        let input = Input::Message(from, message);
        match serve_ns {
            Some(ns) => self.inbox.push_back((ns, input)),
            None => self.process(input, here),
        }
        // The driver may have work now.
        here.wake(0, 0);
    }

    fn lost(&mut self, place: PlaceId, here: &Here<'_, Parcel<D>>) {
        let Part {
            machine, driver, ..
        } = &self.part;
        let lost = PeerOf::<D>::numbered(place.0);
        if driver.has_ended(machine) || self.lost.contains(&lost) {
            return;
        }
        self.lost.push(lost);
        match self.take(here, |machine, step| machine.lost(lost, step)) {
            Tolerance::Tolerated => here.wake(0, 0),
            Tolerance::Fatal => {
                self.fatal = Some(lost);
                here.world().close();
            }
        }
    }
}
