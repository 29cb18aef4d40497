//! Machines as they are shipped, each with a driver, and the checks of their states.

use super::Flaw;
use super::network::{Actors, Delivery, Network, Out, View};
use super::visited::Mixer;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash};
use std::rc::Rc;
use tautline_core::PlaceId;
use tautline_core::machine::{Action, Machine, Peer, Step, Tolerance};

/// The machine of one peer, which the explorer can keep.
pub trait Explorable:
    Machine<Message: Clone + Eq + Hash + Debug, Effect: Debug> + Clone + Eq + Hash + Debug
{
}

impl<M> Explorable for M where
    M: Machine<Message: Clone + Eq + Hash + Debug, Effect: Debug> + Clone + Eq + Hash + Debug
{
}

type PeerOf<C> = <<C as Checked>::Machine as Machine>::Peer;
type MessageOf<C> = <<C as Checked>::Machine as Machine>::Message;
type EventOf<C> = <<C as Checked>::Machine as Machine>::Event;
type EffectOf<C> = <<C as Checked>::Machine as Machine>::Effect;
type RefusalOf<C> = <<C as Checked>::Machine as Machine>::Refusal;
type CallsOf<C> = <<C as Checked>::Machine as Machine>::Calls;

/// A protocol to be explored: its machines, their drivers, and their invariants.
pub trait Checked: Sized {
    /// The part of one peer.
    type Machine: Explorable;
    /// The state of its driver.
    type Driver: Clone + Eq + Hash + Debug;
    /// An act of a peer on its own.
    type Act: Copy + Debug;
    /// The history, for the checks.
    type Ghost: Clone + Eq + Hash + Debug + Default;

    /// Returns the number of peers.
    fn peers(&self) -> u32;

    /// Returns a peer before anything has happened.
    fn start(&self, here: PeerOf<Self>) -> PartOf<Self>;

    /// Returns the events at a peer before all others.
    fn first(&self, _here: PeerOf<Self>) -> Vec<EventOf<Self>> {
        Vec::new()
    }

    /// Returns the initial history of the checks.
    fn remember(&self) -> Self::Ghost {
        Self::Ghost::default()
    }

    /// Returns the acts that a peer may perform next.
    fn acts(&self, here: PeerOf<Self>, part: &PartOf<Self>, ghost: &Self::Ghost) -> Vec<Self::Act>;

    /// Returns the event that an act is to the machine; `None` if it changes the driver only.
    fn event(&self, at: &mut At<'_, Self>, act: Self::Act) -> Option<EventOf<Self>>;

    /// Returns the callee of the machine's calls within a step.
    fn calls(driver: &mut Self::Driver) -> &mut CallsOf<Self>;

    /// Carries out an effect of `machine`. Returns the event that answers it, if any, which the
    /// machine processes at once, as in [`drive`](tautline_core::machine::drive).
    fn effect(
        &self,
        at: &mut At<'_, Self>,
        machine: &Self::Machine,
        effect: EffectOf<Self>,
    ) -> Option<EventOf<Self>>;

    /// Takes note of a message to `to`. Returns what is sent: something else if a fault is
    /// injected.
    fn send(
        &self,
        _at: &mut At<'_, Self>,
        _to: PeerOf<Self>,
        message: MessageOf<Self>,
    ) -> Option<MessageOf<Self>> {
        Some(message)
    }

    /// Takes note of a message of `from`. Returns what is received: something else if a fault is
    /// injected.
    fn receive(
        &self,
        _at: &mut At<'_, Self>,
        from: PeerOf<Self>,
        message: MessageOf<Self>,
    ) -> Option<(PeerOf<Self>, MessageOf<Self>)> {
        Some((from, message))
    }

    /// Whether a peer may refuse this message, which changes nothing then.
    fn tolerates(&self, _message: &MessageOf<Self>) -> bool {
        false
    }

    /// Whether the network's faults may affect this message.
    fn is_exposed(&self, _message: &MessageOf<Self>) -> bool {
        true
    }

    /// Whether the sender of this message does not matter, so that states do not differ by it.
    fn is_anonymous(&self, _message: &MessageOf<Self>) -> bool {
        false
    }

    /// Records in the ghost that a peer was lost, or `message` with a lost peer.
    fn note_loss(
        &self,
        _part: Option<&PartOf<Self>>,
        _message: Option<&MessageOf<Self>>,
        _ghost: &mut Self::Ghost,
    ) {
    }

    /// Compares a machine with what it was before the step, whose actions were all taken note of.
    fn stepped(&self, _at: &mut At<'_, Self>, _before: &Self::Machine, _after: &Self::Machine) {}

    /// Returns false messages. Each machine gets them from each peer: those that it refuses must
    /// change nothing.
    fn malformed(&self, _machine: &Self::Machine) -> Vec<MessageOf<Self>> {
        Vec::new()
    }

    /// Returns the invariant that a state violates, if any.
    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw>;

    /// Whether a state may be the last.
    fn is_final(&self, view: &View<Parts<Self>>) -> bool;
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part<M, D> {
    /// Its machine.
    pub machine: M,
    /// The state of its driver.
    pub driver: D,
}

/// A peer of a protocol.
pub type PartOf<C> = Part<<C as Checked>::Machine, <C as Checked>::Driver>;

/// The history, for the checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Past<G> {
    /// The first flaw.
    pub flaw: Option<Flaw>,
    /// The history, for the protocol's checks.
    pub ghost: G,
}

impl<G: Default> Default for Past<G> {
    fn default() -> Self {
        Self {
            flaw: None,
            ghost: G::default(),
        }
    }
}

/// The driver's side of a peer in a step.
#[derive(Debug)]
pub struct At<'a, C: Checked> {
    /// The peer.
    pub here: PeerOf<C>,
    /// The state of its driver.
    pub driver: &'a mut C::Driver,
    /// The history, for the checks.
    pub ghost: &'a mut C::Ghost,
    flaw: &'a mut Option<Flaw>,
    sent: &'a mut Vec<(PlaceId, MessageOf<C>)>,
}

impl<'a, C: Checked> At<'a, C> {
    fn new(here: PeerOf<C>, driver: &'a mut C::Driver, out: &'a mut Out<Parts<C>>) -> Self {
        let Past { flaw, ghost } = &mut out.ghost;
        Self {
            here,
            driver,
            ghost,
            flaw,
            sent: &mut out.sent,
        }
    }

    /// Sends a message that the machine does not send, if a fault is injected.
    pub fn send(&mut self, to: PeerOf<C>, message: MessageOf<C>) {
        self.sent.push((PlaceId(to.number()), message));
    }

    /// Records a flaw; the first one counts.
    pub fn find(&mut self, flaw: Flaw) {
        self.flaw.get_or_insert(flaw);
    }
}

/// The parts of a protocol, as actors.
#[derive(Debug)]
pub struct Parts<C: Checked> {
    protocol: C,
    /// Machines that have refused every malformed message.
    probed: RefCell<HashSet<C::Machine, BuildHasherDefault<Mixer>>>,
    /// The log of the machines' actions, if one is written.
    record: Option<Record>,
}

/// The actions of machines, one a line.
pub(super) type Record = Rc<RefCell<Vec<String>>>;

/// Returns how a value prints, a peer as its number.
pub(super) fn brief(value: &impl Debug) -> String {
    let mut text = format!("{value:?}");
    for wrapper in ["PlaceId(", "Rank("] {
        while let Some(at) = text.find(wrapper) {
            let number = at + wrapper.len();
            let digits = text[number..].find(')').expect("a number in parentheses");
            text.remove(number + digits);
            text.drain(at..number);
        }
    }
    text
}

impl<C: Checked> Network<Parts<C>> {
    /// Connects the machines of `protocol` by a network without faults.
    pub fn of(protocol: C, delivery: Delivery) -> Self {
        Self::recorded(protocol, delivery, None)
    }

    /// As [`of`](Self::of), and writes down the actions of the machines.
    pub(super) fn recorded(protocol: C, delivery: Delivery, record: Option<Record>) -> Self {
        let parts = Parts {
            protocol,
            probed: RefCell::default(),
            record,
        };
        Self::new(parts, delivery)
    }

    /// Returns the protocol, with what it has recorded.
    pub fn protocol(&self) -> &C {
        &self.actors().protocol
    }
}

impl<C: Checked> Parts<C> {
    /// Lets a machine process an event.
    fn event(&self, here: PeerOf<C>, part: &mut PartOf<C>, out: &mut Out<Self>, event: EventOf<C>) {
        let processed = self.step(here, part, out, |machine, step| {
            machine.event(event, step);
            Ok(())
        });
        debug_assert!(processed.is_ok(), "events are not refused");
    }

    /// Lets a machine take a step, then carries out its actions and lets it process the answers.
    fn step<T>(
        &self,
        here: PeerOf<C>,
        part: &mut PartOf<C>,
        out: &mut Out<Self>,
        take: impl FnOnce(&mut C::Machine, &mut Step<'_, C::Machine>) -> Result<T, RefusalOf<C>>,
    ) -> Result<T, RefusalOf<C>> {
        let before = out.before.take().unwrap_or_else(|| Rc::new(part.clone()));
        let (before, mut actions) = (&before.machine, Vec::new());
        let Part { machine, driver } = part;
        let mut act = |action| actions.push(action);
        let taken = take(machine, &mut Step::new(C::calls(driver), &mut act));
        if taken.is_err() {
            let is_same = machine == before && actions.is_empty();
            assert!(
                is_same,
                "a refused message changed {before:?} to {machine:?}"
            );
            return taken;
        }
        let mut at = At::new(here, driver, out);
        while let Some(event) = self.carry_out(&mut at, machine, &mut actions) {
            let mut act = |action| actions.push(action);
            machine.event(event, &mut Step::new(C::calls(at.driver), &mut act));
        }
        self.protocol.stepped(&mut at, before, machine);
        self.probe(machine, at.driver);
        taken
    }

    /// Carries out the actions of a step. Returns the answer to one of them, if any.
    fn carry_out(
        &self,
        at: &mut At<'_, C>,
        machine: &C::Machine,
        actions: &mut Vec<Action<C::Machine>>,
    ) -> Option<EventOf<C>> {
        let mut answer = None;
        for action in actions.drain(..) {
            self.write(|| match &action {
                Action::Send(to, message) => format!("send {}: {}", to.number(), brief(message)),
                Action::Effect(effect) => format!("effect {}", brief(effect)),
            });
            match action {
                Action::Effect(effect) => {
                    if let Some(event) = self.protocol.effect(at, machine, effect) {
                        assert!(answer.replace(event).is_none(), "two answers in a step");
                    }
                }
                Action::Send(to, message) => {
                    if let Some(message) = self.protocol.send(at, to, message) {
                        at.send(to, message);
                    }
                }
            }
        }
        answer
    }

    fn write(&self, line: impl FnOnce() -> String) {
        if let Some(record) = &self.record {
            record.borrow_mut().push(line());
        }
    }

    /// Gives malformed messages to a machine: none panics, and those that are refused change
    /// nothing.
    fn probe(&self, machine: &C::Machine, driver: &C::Driver) {
        if self.probed.borrow().contains(machine) {
            return;
        }
        let malformed = self.protocol.malformed(machine);
        if malformed.is_empty() {
            return;
        }
        let peers = || (0..=self.protocol.peers()).chain([u32::MAX]);
        for message in malformed {
            for from in peers().map(PeerOf::<C>::numbered) {
                let (mut after, mut driver, mut acts) = (machine.clone(), driver.clone(), false);
                let mut act = |_| acts = true;
                let step = &mut Step::new(C::calls(&mut driver), &mut act);
                if after.receive(from, message.clone(), step).is_err() {
                    let is_same = after == *machine && !acts;
                    assert!(
                        is_same,
                        "{message:?} of {from} was refused, and changed {machine:?}"
                    );
                }
            }
        }
        self.probed.borrow_mut().insert(machine.clone());
    }
}

impl<C: Checked> Actors for Parts<C> {
    type Site = PartOf<C>;
    type Message = MessageOf<C>;
    type Act = C::Act;
    type Ghost = Past<C::Ghost>;

    fn places(&self) -> u32 {
        self.protocol.peers()
    }

    fn start(&self, here: PlaceId, out: &mut Out<Self>) -> PartOf<C> {
        if here == PlaceId(0) {
            out.ghost.ghost = self.protocol.remember();
        }
        let here = PeerOf::<C>::numbered(here.0);
        let mut part = self.protocol.start(here);
        for event in self.protocol.first(here) {
            self.event(here, &mut part, out, event);
        }
        part
    }

    fn acts(&self, here: PlaceId, part: &PartOf<C>, past: &Past<C::Ghost>) -> Vec<C::Act> {
        let here = PeerOf::<C>::numbered(here.0);
        self.protocol.acts(here, part, &past.ghost)
    }

    fn act(&self, here: PlaceId, part: &mut PartOf<C>, act: C::Act, out: &mut Out<Self>) {
        let here = PeerOf::<C>::numbered(here.0);
        let mut at = At::new(here, &mut part.driver, out);
        if let Some(event) = self.protocol.event(&mut at, act) {
            self.event(here, part, out, event);
        }
    }

    fn deliver(
        &self,
        here: PlaceId,
        part: &mut PartOf<C>,
        from: PlaceId,
        message: MessageOf<C>,
        out: &mut Out<Self>,
    ) {
        let [here, from] = [here, from].map(|at| PeerOf::<C>::numbered(at.0));
        let mut at = At::new(here, &mut part.driver, out);
        let Some((from, message)) = self.protocol.receive(&mut at, from, message) else {
            return;
        };
        let is_tolerated = self.protocol.tolerates(&message);
        let received = self.step(here, part, out, |machine, step| {
            machine.receive(from, message, step)
        });
        if let Err(refusal) = received {
            self.write(|| format!("refused: {refusal}"));
            if !is_tolerated {
                out.ghost.flaw.get_or_insert(Flaw::Refused);
            }
        }
    }

    fn lost(&self, here: PlaceId, part: &mut PartOf<C>, lost: PlaceId, out: &mut Out<Self>) {
        let [here, lost] = [here, lost].map(|at| PeerOf::<C>::numbered(at.0));
        let tolerance = self.step(
            here,
            part,
            out,
            |machine, step| Ok(machine.lost(lost, step)),
        );
        let is_tolerated = matches!(tolerance, Ok(Tolerance::Tolerated));
        assert!(is_tolerated, "the loss of {lost} is fatal at {here}");
    }

    fn note_loss(
        &self,
        part: Option<&PartOf<C>>,
        message: Option<&MessageOf<C>>,
        past: &mut Past<C::Ghost>,
    ) {
        self.protocol.note_loss(part, message, &mut past.ghost);
    }

    fn is_exposed(&self, message: &MessageOf<C>) -> bool {
        self.protocol.is_exposed(message)
    }

    fn is_anonymous(&self, message: &MessageOf<C>) -> bool {
        self.protocol.is_anonymous(message)
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        view.ghost.flaw.or_else(|| self.protocol.judge(view))
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        self.protocol.is_final(view)
    }
}
