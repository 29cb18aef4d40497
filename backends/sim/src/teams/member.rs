//! A rank in a call: the machine of its operation, behind that of the sequence of calls.

use super::costs::TeamCosts;
use crate::protocol::{Driver, EffectOf, EventOf, MessageOf, Weight};
use std::cell::Cell;
use tautline_core::Rank;
use tautline_core::collective::sequence::{self, Effect, Event, Sequence, Sequenced};
use tautline_core::machine::{Action, Machine, Step};

/// The machine of an operation.
pub(super) trait Op: Machine<Peer = Rank, Calls = ()> {}

impl<M: Machine<Peer = Rank, Calls = ()>> Op for M {}

/// The only call.
#[derive(Clone, Debug)]
pub(super) struct Only;

impl sequence::Call for Only {
    type Terms = ();

    fn check(&self) -> u32 {
        0
    }

    fn terms(&self) {}
}

/// A message of an operation, with its size.
#[derive(Clone, Debug)]
pub(super) struct Parcel<B> {
    message: B,
    bytes: u64,
}

impl<B> sequence::Weight for Parcel<B> {
    fn weight(&self) -> usize {
        self.bytes as usize
    }
}

type Calls<M> = Sequence<Only, Parcel<<M as Machine>::Message>>;

/// Bytes that a rank keeps of each other one for a call to come.
const KEPT: usize = 1 << 16;

/// A rank that makes one call.
pub(super) struct Called<M: Op> {
    sequence: Calls<M>,
    operation: M,
    /// The event with which the operation begins, if it begins here.
    own: Option<M::Event>,
    bytes: fn(&M::Message) -> u64,
    value_bytes: u64,
}

impl<M: Op> Called<M> {
    /// Creates the rank `here`; `bytes` counts the values of a message, of `value_bytes` each.
    pub(super) fn new(
        here: Rank,
        ranks: u32,
        operation: M,
        own: Option<M::Event>,
        (bytes, value_bytes): (fn(&M::Message) -> u64, u64),
    ) -> Self {
        Self {
            sequence: Sequence::new(here, ranks, KEPT),
            operation,
            own,
            bytes,
            value_bytes,
        }
    }

    fn sequence(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Calls<M>, &mut Step<'_, Calls<M>>) -> Result<(), sequence::Refusal>,
    ) -> Result<(), String> {
        let mut delivered = Vec::new();
        let act = |action: Action<Calls<M>>, act: &mut dyn FnMut(Action<Self>)| match action {
            Action::Send(to, message) => act(Action::Send(to, message)),
            Action::Effect(Effect::Deliver { from, body, .. }) => {
                delivered.push((from, body.message));
            }
            Action::Effect(_) => unreachable!("all ranks make the same call"),
        };
        let taken = step.within(act, |step| take(&mut self.sequence, step));
        taken.map_err(|why| why.to_string())?;
        for (from, message) in delivered {
            self.operate(step, |operation, step| {
                let received = operation.receive(from, message, step);
                received.map_err(|why| why.to_string())
            })?;
        }
        Ok(())
    }

    fn operate(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut M, &mut Step<'_, M>) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut sent, mut ended) = (Vec::new(), None);
        let act = |action, _: &mut dyn FnMut(Action<Self>)| match action {
            Action::Send(to, message) => sent.push((to, message)),
            Action::Effect(result) => ended = Some(result),
        };
        step.within(act, |step| take(&mut self.operation, step))?;
        for (to, message) in sent {
            let bytes = (self.bytes)(&message) * self.value_bytes;
            let body = Parcel { message, bytes };
            let number = 0;
            self.report(step, Event::Send { number, to, body })?;
        }
        if let Some(result) = ended {
            self.report(step, Event::End(0))?;
            step.effect(result);
        }
        Ok(())
    }

    fn report(
        &mut self,
        step: &mut Step<'_, Self>,
        event: Event<Only, Parcel<M::Message>>,
    ) -> Result<(), String> {
        self.sequence(step, |sequence, step| {
            sequence.event(event, step);
            Ok(())
        })
    }
}

/// The event: the rank makes the call. The effect: the call returns.
impl<M: Op> Machine for Called<M> {
    type Peer = Rank;
    type Message = Sequenced<(), Parcel<M::Message>>;
    type Event = ();
    type Effect = M::Effect;
    type Calls = ();
    type Refusal = String;

    fn event(&mut self, (): (), step: &mut Step<'_, Self>) {
        // As the library does: the call is begun, then its operation.
        let mut begun = self.report(step, Event::Begin(Only));
        if let (Ok(()), Some(own)) = (&begun, self.own.take()) {
            begun = self.operate(step, |operation, step| {
                operation.event(own, step);
                Ok(())
            });
        }
        begun.expect("messages that came before are those of the operation");
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Self::Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), String> {
        self.sequence(step, |sequence, step| sequence.receive(from, message, step))
    }
}

/// The driver of a rank: when it makes the call, when that returns with what.
pub(super) struct Caller<M: Op> {
    pub(super) enters_ns: u64,
    has_entered: bool,
    service: Option<u64>,
    pub(super) returned: Option<(u64, M::Effect)>,
    pub(super) sent: Cell<u64>,
    pub(super) received: Cell<u64>,
}

impl<M: Op> Caller<M> {
    pub(super) fn new(enters_ns: u64, costs: &TeamCosts) -> Self {
        Self {
            enters_ns,
            has_entered: false,
            service: costs.service(),
            returned: None,
            sent: Cell::new(0),
            received: Cell::new(0),
        }
    }
}

impl<M: Op> Driver for Caller<M> {
    type Machine = Called<M>;
    type Calls = ();

    fn calls(calls: &mut ()) -> &mut () {
        calls
    }

    fn work(&mut self, _: &Called<M>, _: u64) -> Option<(u64, EventOf<Self>)> {
        let has_entered = std::mem::replace(&mut self.has_entered, true);
        (!has_entered).then_some((self.enters_ns, ()))
    }

    fn effect(&mut self, result: EffectOf<Self>, now: u64) -> Option<EventOf<Self>> {
        let before = self.returned.replace((now, result));
        assert!(before.is_none(), "a call returns once");
        None
    }

    fn weigh(&self, message: &MessageOf<Self>) -> Weight {
        self.sent.set(self.sent.get() + 1);
        Weight {
            bytes: match message {
                Sequenced::Body { body, .. } => body.bytes,
                _ => 0,
            },
            ..Weight::default()
        }
    }

    fn serve_ns(&self, _: &MessageOf<Self>) -> Option<u64> {
        self.received.set(self.received.get() + 1);
        self.service
    }
}
