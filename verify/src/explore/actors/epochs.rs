//! Self-scheduled loops: ranks that begin and finish chunks at any time, while tokens, epochs and iterations are under way.

use super::begun::{Begun, Forecast, len};
use crate::explore::{Actors, Flaw, Out, View};
use std::ops::Range;
use tautline_core::defer::{Actions, Epochs, Message, Refused, Stock};
use tautline_core::taper::{Instance, Policy, Summary};
use tautline_core::{PlaceId, Rank};

/// A loop over ranks.
#[derive(Clone, Debug)]
pub struct SelfScheduled {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of iterations.
    pub iterations: u64,
    /// The chunk sizes.
    pub policy: Policy,
    /// What the iterations are predicted to take, in the cached variant.
    pub forecast: Forecast,
    /// Whether iterations begin anywhere, and move one by one.
    pub is_placed: bool,
    /// An error of the ranks.
    pub slip: Option<EpochSlip>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochSlip {
    /// The donor keeps the iterations that it sends.
    KeepWhatIsSent,
    /// The receiver drops the iterations that arrive.
    DropWhatArrives,
    /// A rank without iterations sends no token.
    StarveInSilence,
    /// A rank takes the first message of its parent for the end.
    EndWithFirst,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    machine: Epochs<Forecast>,
    has_begun: bool,
    is_busy: bool,
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the loop.
    Begin,
    /// Finishes its chunk.
    Free,
}

/// The driver of a rank.
struct Driver<'a> {
    here: PlaceId,
    slip: Option<EpochSlip>,
    is_busy: &'a mut bool,
    out: &'a mut Out<SelfScheduled>,
}

impl Actions<Message> for Driver<'_> {
    fn send(&mut self, to: Rank, message: Message) {
        if let Message::Data(parts) = &message {
            self.out.ghost.send(parts);
            if self.slip == Some(EpochSlip::KeepWhatIsSent) {
                self.out.ghost.begin(parts);
            }
        }
        let is_hungry = |message: &Message| matches!(message, Message::Tokens(t) if t.iter().any(|(_, p)| p.hungry > 0));
        if self.slip == Some(EpochSlip::StarveInSilence) && is_hungry(&message) {
            return;
        }
        self.out.sent.push((PlaceId(to.0), message));
    }

    fn run(&mut self, chunk: Vec<Range<u64>>) {
        self.out.ghost.begin(&chunk);
        *self.is_busy = true;
    }

    fn end(&mut self) {
        self.out.ghost.end(self.here);
    }
}

impl SelfScheduled {
    /// Lets the machine of a rank process something.
    fn step(
        &self,
        here: PlaceId,
        site: &mut Site,
        out: &mut Out<Self>,
        step: impl FnOnce(&mut Epochs<Forecast>, &mut Driver<'_>) -> Result<(), Refused>,
    ) {
        let epoch = site.machine.epoch();
        let mut driver = Driver {
            here,
            slip: self.slip,
            is_busy: &mut site.is_busy,
            out,
        };
        if step(&mut site.machine, &mut driver).is_err() {
            out.ghost.find(Flaw::Refused);
        }
        if site.machine.epoch() < epoch {
            out.ghost.find(Flaw::Activity);
        }
    }
}

impl Actors for SelfScheduled {
    type Site = Site;
    type Message = Message;
    type Act = Act;
    type Ghost = Begun;

    fn places(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: PlaceId, _: &mut Out<Self>) -> Site {
        let instance = Instance::new(self.iterations, self.ranks);
        let (rank, forecast) = (Rank(here.0), self.forecast.clone());
        // Dealt from the last on, so that neighbours are at different ranks and in no order.
        let own = |at: &u64| at % u64::from(self.ranks) == u64::from(here.0);
        let mut stock = Stock::default();
        stock.put((0..self.iterations).rev().filter(own).map(|at| at..at + 1));
        Site {
            machine: match self.is_placed {
                true => Epochs::placed(rank, instance, self.policy, forecast, stock),
                false => Epochs::predicted(rank, instance, self.policy, forecast),
            },
            has_begun: false,
            is_busy: false,
        }
    }

    fn acts(&self, _: PlaceId, site: &Site, _: &Begun) -> Vec<Act> {
        let begin = (!site.has_begun).then_some(Act::Begin);
        let free = site.is_busy.then_some(Act::Free);
        begin.into_iter().chain(free).collect()
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        site.has_begun = true;
        site.is_busy = false;
        self.step(here, site, out, |machine, driver| {
            match act {
                Act::Begin => machine.begin(driver),
                Act::Free => machine.free(&Summary::default(), driver),
            }
            Ok(())
        });
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        message: Message,
        out: &mut Out<Self>,
    ) {
        let message = match (self.slip, message) {
            (Some(EpochSlip::DropWhatArrives), Message::Data(_)) => return,
            (Some(EpochSlip::EndWithFirst), Message::Epoch(_)) => Message::End,
            (_, message) => message,
        };
        self.step(here, site, out, |machine, driver| {
            machine.on(Rank(from.0), message, driver)
        });
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        let moving = view.parcels.iter().map(|parcel| match &parcel.message {
            Some(Message::Data(parts)) => len(parts),
            _ => 0,
        });
        view.ghost.judge(self.iterations, moving.sum())
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        view.ghost.is_final(self.iterations, self.ranks)
    }
}
