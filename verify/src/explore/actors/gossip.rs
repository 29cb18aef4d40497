//! A better bound on its way to every place, by the protocol that ships.
//!
//! Improvements are found at any place and any time, and sent as the workers do it: a bound better
//! than the last one sent is sent along the lifelines. The home, which has no other work,
//! sends requests along its lifelines and detects the end.

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use tautline_core::PlaceId;
use tautline_core::glb::{Effect, Event, Message, Protocol};
use tautline_core::lifeline::{Graph, Phase};
use tautline_core::machine::Pick;

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GossipFault {
    /// No error.
    None,
    /// A place applies the bounds that it receives, but sends them to no other place.
    SendNothing,
    /// A place sends on the bounds that it receives, but does not apply them.
    ApplyNothing,
    /// A place sends on every bound that it receives, better or not.
    SendEverything,
    /// A bound is lost on its way.
    Lose,
    /// The home waits for the bounds.
    WaitAtTheEnd,
}

/// Places that send each other bounds.
#[derive(Clone, Debug)]
pub struct Gossip {
    graph: Graph,
    places: u32,
    /// The remaining improvements, in any order.
    finds: Vec<u128>,
    fault: GossipFault,
}

/// The bounds that the workers of a place know, and those that it has sent: bit v is value v.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Workers {
    known: u128,
    has_sent: u32,
    /// The worker that found the bound has not checked yet whether to send it. Other working
    /// workers may check, but at a place without work no worker does.
    must_look: bool,
    /// The bound sent in this step.
    sends: Option<u128>,
    /// The bound received in this step.
    receives: Option<u128>,
}

impl Pick for Workers {
    fn pick(&mut self, _: u32) -> u32 {
        unreachable!("no place steals at random")
    }
}

/// An act of a place's workers.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// A task finds the value with this index.
    Find(usize),
    /// A worker checks whether there is a bound to send.
    Look,
    /// All run dry: the home, at the start.
    Dry,
}

/// The history, as far as checks need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    done: u32,
    /// Bounds sent.
    sent: u32,
    /// Bounds in flight.
    moving: u32,
    /// A place has sent a bound that it had sent before, or a worse one.
    again: bool,
    /// Bit i: improvement i has been found.
    found: u32,
}

fn is_bound(message: &Message<()>) -> bool {
    matches!(message, Message::Bound(_))
}

impl Gossip {
    /// Creates `places` places that find `finds`, small numbers above 0.
    pub fn new(places: u32, graph: Graph, finds: &[u128]) -> Self {
        Self {
            graph,
            places,
            finds: finds.to_vec(),
            fault: GossipFault::None,
        }
    }

    /// Injects a fault.
    pub fn with_fault(mut self, fault: GossipFault) -> Self {
        self.fault = fault;
        self
    }

    fn best(&self) -> u128 {
        self.finds.iter().copied().min().unwrap_or(u128::MAX)
    }

    /// Returns the maximum number of messages for this number of different bounds.
    fn allowance(&self) -> u32 {
        let mut values = self.finds.clone();
        values.sort_unstable();
        values.dedup();
        let edges: usize = (0..self.places)
            .map(|place| self.graph.outgoing(PlaceId(place), self.places).count())
            .sum();
        (values.len() * edges) as u32
    }
}

impl Checked for Gossip {
    type Machine = Protocol<()>;
    type Driver = Workers;
    type Act = Act;
    type Ghost = Ghost;

    fn peers(&self) -> u32 {
        self.places
    }

    fn start(&self, here: PlaceId) -> PartOf<Self> {
        Part {
            machine: Protocol::new(here, self.places, self.graph, 0),
            driver: Workers {
                known: u128::MAX,
                has_sent: 0,
                must_look: false,
                sends: None,
                receives: None,
            },
        }
    }

    fn acts(&self, _: PlaceId, Part { machine, driver }: &PartOf<Self>, ghost: &Ghost) -> Vec<Act> {
        let finds = (0..self.finds.len()).filter(|find| ghost.found & 1 << find == 0);
        let mut acts: Vec<_> = finds.map(Act::Find).collect();
        acts.extend((driver.known < machine.announced()).then_some(Act::Look));
        let is_active = machine.place().phase() == Phase::Active;
        acts.extend(is_active.then_some(Act::Dry));
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<()>> {
        let workers = &mut *at.driver;
        match act {
            Act::Find(find) => {
                let value = self.finds[find];
                at.ghost.found |= 1 << find;
                // No bound that is announced is better than what is known.
                workers.must_look |= value < workers.known;
                workers.known = workers.known.min(value);
                None
            }
            Act::Look => Some(Event::Bound(workers.known)),
            Act::Dry => Some(Event::Dry),
        }
    }

    fn calls(workers: &mut Workers) -> &mut (dyn Pick + 'static) {
        workers
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Protocol<()>,
        effect: Effect<()>,
    ) -> Option<Event<()>> {
        match effect {
            Effect::Improve(_) if self.fault == GossipFault::ApplyNothing => {}
            Effect::Improve(bound) => at.driver.known = at.driver.known.min(bound),
            Effect::Done if self.fault == GossipFault::WaitAtTheEnd && at.ghost.moving > 0 => {}
            Effect::Done => at.ghost.done += 1,
            Effect::Take(demand) => return Some(Event::Taken(demand, None)),
            Effect::Work(()) => unreachable!("there is no loot"),
        }
        None
    }

    fn send(&self, at: &mut At<'_, Self>, _: PlaceId, message: Message<()>) -> Option<Message<()>> {
        if let Message::Bound(bound) = message {
            if self.fault == GossipFault::SendNothing && at.driver.receives.is_some() {
                return None;
            }
            at.driver.sends = Some(bound);
            at.ghost.sent += 1;
            at.ghost.moving += 1;
        }
        Some(message)
    }

    fn receive(
        &self,
        at: &mut At<'_, Self>,
        from: PlaceId,
        message: Message<()>,
    ) -> Option<(PlaceId, Message<()>)> {
        if let Message::Bound(bound) = message {
            at.ghost.moving -= 1;
            if self.fault == GossipFault::Lose {
                return None;
            }
            at.driver.receives = Some(bound);
        }
        Some((from, message))
    }

    fn stepped(&self, at: &mut At<'_, Self>, _: &Protocol<()>, after: &Protocol<()>) {
        let received = at.driver.receives.take();
        let again = received.filter(|_| self.fault == GossipFault::SendEverything);
        if let (Some(bound), None) = (again, at.driver.sends) {
            for to in self.graph.outgoing(at.here, self.places) {
                let message = self.send(at, to, Message::Bound(bound));
                message.into_iter().for_each(|message| at.send(to, message));
            }
        }
        let workers = &mut *at.driver;
        if let Some(bound) = workers.sends.take() {
            let best = workers.has_sent.trailing_zeros().into();
            at.ghost.again |= bound >= best;
            workers.has_sent |= 1 << bound;
        }
        workers.must_look &= workers.known < after.announced();
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let ghost = &view.ghost.ghost;
        if ghost.again || ghost.sent > self.allowance() {
            return Some(Flaw::Chatter);
        }
        if ghost.done > 1 {
            return Some(Flaw::Repeated);
        }
        let mut messages = view
            .parcels
            .iter()
            .filter_map(|parcel| parcel.message.as_ref());
        let parts = || view.sites.iter();
        let is_quiet = messages.all(is_bound)
            && parts().all(|part| part.machine.place().phase() == Phase::Quiet);
        if is_quiet != (ghost.done == 1) {
            // A bound on its way is no reason to wait.
            return Some(if is_quiet { Flaw::Late } else { Flaw::Early });
        }
        let is_told = view.parcels.is_empty()
            && ghost.found == (1 << self.finds.len()) - 1
            && parts().all(|part| !part.driver.must_look);
        let all_know = || parts().all(|part| part.driver.known == self.best());
        (is_told && !all_know()).then_some(Flaw::Untold)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.ghost.ghost.done == 1
    }
}
