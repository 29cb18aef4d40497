//! Self-scheduled loops: ranks that begin and finish chunks at any time, while tokens, epochs and iterations are under way.

use crate::explore::{Actors, Flaw, Out, View};
use std::ops::Range;
use tautline_core::defer::{Actions, Epochs, Message, Refused};
use tautline_core::taper::{Instance, Policy, Summary};
use tautline_core::{PlaceId, Rank};

/// A loop over ranks.
#[derive(Clone, Copy, Debug)]
pub struct SelfScheduled {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of iterations.
    pub iterations: u64,
    /// The chunk sizes.
    pub policy: Policy,
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
    machine: Epochs,
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

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Iterations begun, as bits.
    begun: u32,
    /// Ranks that have ended, as bits.
    ended: u32,
    flaw: Option<Flaw>,
}

/// The driver of a rank.
struct Driver<'a> {
    here: PlaceId,
    slip: Option<EpochSlip>,
    is_busy: &'a mut bool,
    kept: Vec<Range<u64>>,
    out: &'a mut Out<SelfScheduled>,
}

impl Driver<'_> {
    fn begin(&mut self, chunk: &[Range<u64>]) {
        for iteration in chunk.iter().cloned().flatten() {
            let bit = 1 << iteration;
            if self.out.ghost.begun & bit != 0 {
                self.out.ghost.flaw = Some(Flaw::Count);
            }
            self.out.ghost.begun |= bit;
        }
    }
}

impl Actions<Message> for Driver<'_> {
    fn send(&mut self, to: Rank, message: Message) {
        if let (Message::Data(parts), Some(EpochSlip::KeepWhatIsSent)) = (&message, self.slip) {
            self.kept.extend(parts.iter().cloned());
        }
        let is_hungry = |message: &Message| matches!(message, Message::Tokens(t) if t.iter().any(|(_, p)| p.hungry > 0));
        if self.slip == Some(EpochSlip::StarveInSilence) && is_hungry(&message) {
            return;
        }
        self.out.sent.push((PlaceId(to.0), message));
    }

    fn run(&mut self, chunk: Vec<Range<u64>>) {
        self.begin(&chunk);
        *self.is_busy = true;
    }

    fn end(&mut self) {
        let bit = 1 << self.here.0;
        if self.out.ghost.ended & bit != 0 {
            self.out.ghost.flaw = Some(Flaw::Repeated);
        }
        self.out.ghost.ended |= bit;
    }
}

impl SelfScheduled {
    fn all(&self) -> u32 {
        (1 << self.iterations) - 1
    }

    /// Lets the machine of a rank process something.
    fn step(
        &self,
        here: PlaceId,
        site: &mut Site,
        out: &mut Out<Self>,
        step: impl FnOnce(&mut Epochs, &mut Driver<'_>) -> Result<(), Refused>,
    ) {
        let epoch = site.machine.epoch();
        let mut driver = Driver {
            here,
            slip: self.slip,
            is_busy: &mut site.is_busy,
            kept: Vec::new(),
            out,
        };
        let done = step(&mut site.machine, &mut driver);
        let kept = std::mem::take(&mut driver.kept);
        driver.begin(&kept);
        if done.is_err() {
            out.ghost.flaw = Some(Flaw::Refused);
        }
        if site.machine.epoch() < epoch {
            out.ghost.flaw = Some(Flaw::Activity);
        }
    }
}

impl Actors for SelfScheduled {
    type Site = Site;
    type Message = Message;
    type Act = Act;
    type Ghost = Ghost;

    fn places(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: PlaceId, _: &mut Out<Self>) -> Site {
        let instance = Instance::new(self.iterations, self.ranks);
        Site {
            machine: Epochs::new(Rank(here.0), instance, self.policy),
            has_begun: false,
            is_busy: false,
        }
    }

    fn acts(&self, _: PlaceId, site: &Site, _: &Ghost) -> Vec<Act> {
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
        let is_early = view.ghost.ended != 0 && view.ghost.begun != self.all();
        view.ghost.flaw.or(is_early.then_some(Flaw::Early))
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        view.ghost.ended == (1 << self.ranks) - 1 && view.ghost.begun == self.all()
    }
}
