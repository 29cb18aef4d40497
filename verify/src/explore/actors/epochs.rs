//! Self-scheduled loops: ranks that begin and finish chunks at any time, while tokens, epochs and
//! iterations are in flight.

use super::begun::{Begun, Forecast, len};
use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use tautline_core::Rank;
use tautline_core::defer::{Effect, Epochs, Event, Message, Stock};
use tautline_core::machine::no_calls;
use tautline_core::taper::{Instance, Policy, Summary};

/// A loop over ranks.
#[derive(Clone, Debug)]
pub struct SelfScheduled {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of iterations.
    pub iterations: u64,
    /// The chunk sizes.
    pub policy: Policy,
    /// The predicted cost of the iterations, in the cached variant.
    pub forecast: Forecast,
    /// Whether iterations begin anywhere, and move one by one.
    pub is_placed: bool,
    /// An error of the ranks.
    pub fault: Option<EpochFault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochFault {
    /// The donor keeps the iterations that it sends.
    KeepWhatIsSent,
    /// The receiver drops the iterations that arrive.
    DropWhatArrives,
    /// A rank without iterations sends no token.
    StarveInSilence,
    /// A rank takes the first message of its parent for the end.
    EndWithFirst,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chunk {
    has_begun: bool,
    is_busy: bool,
}

/// An act of a rank.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the loop.
    Begin,
    /// Finishes its chunk.
    Finish,
}

impl Checked for SelfScheduled {
    type Machine = Epochs<Forecast>;
    type Driver = Chunk;
    type Act = Act;
    type Ghost = Begun;

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let instance = Instance::new(self.iterations, self.ranks);
        let forecast = self.forecast.clone();
        // Dealt from the last on, so that neighbours are at different ranks and in no order.
        let own = |at: &u64| at % u64::from(self.ranks) == u64::from(here.0);
        let mut stock = Stock::default();
        stock.put((0..self.iterations).rev().filter(own).map(|at| at..at + 1));
        Part {
            machine: match self.is_placed {
                true => Epochs::placed(here, instance, self.policy, forecast, stock),
                false => Epochs::predicted(here, instance, self.policy, forecast),
            },
            driver: Chunk::default(),
        }
    }

    fn acts(&self, _: Rank, Part { driver, .. }: &PartOf<Self>, _: &Begun) -> Vec<Act> {
        let begin = (!driver.has_begun).then_some(Act::Begin);
        let finish = driver.is_busy.then_some(Act::Finish);
        begin.into_iter().chain(finish).collect()
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<Summary>> {
        at.driver.has_begun = true;
        at.driver.is_busy = false;
        Some(match act {
            Act::Begin => Event::Begin,
            Act::Finish => Event::Executed(Summary::default()),
        })
    }

    fn calls(_: &mut Chunk) -> &mut () {
        no_calls()
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Epochs<Forecast>,
        effect: Effect,
    ) -> Option<Event<Summary>> {
        let found = match effect {
            Effect::Execute(chunk) => {
                at.driver.is_busy = true;
                at.ghost.begin(&chunk)
            }
            Effect::End => at.ghost.end(at.here),
        };
        found.into_iter().for_each(|flaw| at.find(flaw));
        None
    }

    fn send(&self, at: &mut At<'_, Self>, _: Rank, message: Message) -> Option<Message> {
        if let Message::Data(parts) = &message {
            let mut found = at.ghost.send(parts);
            if self.fault == Some(EpochFault::KeepWhatIsSent) {
                found = found.or(at.ghost.begin(parts));
            }
            found.into_iter().for_each(|flaw| at.find(flaw));
        }
        let is_hungry =
            matches!(&message, Message::Tokens(t) if t.iter().any(|(_, p)| p.hungry > 0));
        let is_lost = self.fault == Some(EpochFault::StarveInSilence) && is_hungry;
        (!is_lost).then_some(message)
    }

    fn receive(
        &self,
        _: &mut At<'_, Self>,
        from: Rank,
        message: Message,
    ) -> Option<(Rank, Message)> {
        match (self.fault, message) {
            (Some(EpochFault::DropWhatArrives), Message::Data(_)) => None,
            (Some(EpochFault::EndWithFirst), Message::Epoch(_)) => Some((from, Message::End)),
            (_, message) => Some((from, message)),
        }
    }

    fn stepped(&self, at: &mut At<'_, Self>, before: &Epochs<Forecast>, after: &Epochs<Forecast>) {
        if after.epoch() < before.epoch() {
            at.find(Flaw::Activity);
        }
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let moving = view.parcels.iter().map(|parcel| match &parcel.message {
            Some(Message::Data(parts)) => len(parts),
            _ => 0,
        });
        view.ghost.ghost.judge(self.iterations, moving.sum())
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.ghost.ghost.is_final(self.iterations, self.ranks)
    }
}
