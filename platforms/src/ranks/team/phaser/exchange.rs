//! The exchange of a phase of threads.

use super::part::Value;
use crate::ranks::collective::{step, unexpected};
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::collective::{ForAll, InForAll};
use tautline_core::machine::{Machine, Step};
use tautline_core::progress::{Pending, Progress};
use tautline_core::service::{Calls, Operation};
use tautline_core::wire::{Error, Receiver};

pub(super) type Message = InForAll<Value>;

/// An exchange that has begun.
pub(super) struct PhaseExchange<F: FnMut(Value, Value) -> Value> {
    machine: ForAll<Value, F>,
    /// `None` at the only rank of a team.
    operation: Option<Operation<Message>>,
    result: Option<Value>,
    /// Whether messages were sent since the last call of `take_sent`.
    has_sent: bool,
    _pending: Pending,
}

impl<F: FnMut(Value, Value) -> Value> PhaseExchange<F> {
    /// Begins the exchange with the value of this rank. `receiver` takes the messages; it is `None`
    /// at the only rank of a team.
    pub(super) fn begin(
        progress: &Arc<Progress>,
        calls: &Calls,
        site: &'static Location<'static>,
        receiver: Option<Arc<dyn Receiver>>,
        (own, combine): (Value, F),
    ) -> Self {
        let group = calls.group();
        let mut exchange = Self {
            machine: ForAll::new(group.here(), group.ranks(), combine),
            operation: receiver.map(|receiver| calls.begin(site, "phase", receiver)),
            result: None,
            has_sent: false,
            _pending: Pending::new(progress),
        };
        exchange.step(|machine, step| machine.event(own, step));
        exchange
    }

    /// Processes a message.
    ///
    /// # Errors
    /// That of a message which no correct rank sends.
    pub(super) fn receive(&mut self, from: Rank, message: Message) -> Result<(), Error> {
        let received = self.step(|machine, step| machine.receive(from, message, step));
        received.map_err(|_| {
            let operation = self.operation.as_ref();
            unexpected(operation.expect("there is another rank"), from)
        })
    }

    /// Returns the result once the exchange has ended.
    pub(super) fn result(&self) -> Option<Value> {
        self.result
    }

    /// Returns whether messages were sent since the last call.
    pub(super) fn take_sent(&mut self) -> bool {
        std::mem::take(&mut self.has_sent)
    }

    fn step<R>(
        &mut self,
        take: impl FnOnce(&mut ForAll<Value, F>, &mut Step<'_, ForAll<Value, F>>) -> R,
    ) -> R {
        let operation = self.operation.as_ref();
        let (taken, has_sent) = step(&mut self.machine, operation, &mut self.result, take);
        self.has_sent |= has_sent;
        taken
    }
}
