//! The protocol between the places of a balanced computation: lifelines under one finish.
//!
//! Threads, the simulator and the explorer drive the same [`Machine`]. The finish counts
//! activities: one at the home before the start, one for each loot given along a lifeline. A
//! place's activity ends when the place becomes quiet; loot that finds one running is merged, and
//! its own activity ends immediately. Random steals and their answers are not counted: the thief's
//! activity waits.

use crate::finish::{self, Home, Ledger, Report};
use crate::id::PlaceId;
use crate::lifeline::{self, Demand, Graph, Phase, Place};
use crate::machine::{Action, Machine, Pick, Step};
use core::fmt;

/// A message between places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<L> {
    /// A place requests work; a request along a lifeline is recorded.
    Request {
        /// Whether to record the sender if there is nothing to spare.
        lifeline: bool,
    },
    /// The answer to a request.
    Answer(Option<L>),
    /// Loot along a lifeline: an activity of the finish.
    Loot(L),
    /// A quiet place's counts, for the home.
    Report(Report),
    /// The key of the best bound that the sender knows. Sent on along the lifelines by a place that
    /// did not know it; not counted by the finish, as it may be lost.
    Bound(u128),
}

impl<L> Message<L> {
    /// Returns the loot that the message carries.
    pub fn loot(&self) -> Option<&L> {
        match self {
            Self::Loot(loot) | Self::Answer(Some(loot)) => Some(loot),
            Self::Answer(None) | Self::Request { .. } | Self::Report(_) | Self::Bound(_) => None,
        }
    }

    /// Returns the loot of a message that no place processes any more.
    pub fn into_loot(self) -> Option<L> {
        match self {
            Self::Loot(loot) | Self::Answer(Some(loot)) => Some(loot),
            Self::Answer(None) | Self::Request { .. } | Self::Report(_) | Self::Bound(_) => None,
        }
    }
}

impl<L> From<lifeline::Message<L>> for Message<L> {
    fn from(message: lifeline::Message<L>) -> Self {
        match message {
            lifeline::Message::Request { lifeline } => Self::Request { lifeline },
            lifeline::Message::Answer(loot) => Self::Answer(loot),
            lifeline::Message::Loot(loot) => Self::Loot(loot),
        }
    }
}

/// An event at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<L> {
    /// All workers of this place are dry and nothing is set aside. Ignored unless the place is
    /// active.
    Dry,
    /// Work to spare for the thieves recorded here.
    Surplus,
    /// The key of a bound known at this place: sent along the lifelines if it is better than the
    /// last one sent (Finnerty 2022, TSP).
    Bound(u128),
    /// The outcome of [`Effect::Take`]: loot, if there was something to spare.
    Taken(Demand, Option<L>),
}

/// An effect of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<L> {
    /// Pass loot to the workers of this place, starting one if none runs.
    Work(L),
    /// Take loot, if there is something to spare. [`Event::Taken`] reports the outcome before any
    /// other event or message.
    Take(Demand),
    /// Apply the bound with this key, which another place knows.
    Improve(u128),
    /// All work at all places has ended. At the home only, once.
    Done,
}

/// A reason to refuse a message: no correct place sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A request or an answer out of turn.
    Lifeline(lifeline::Refusal),
    /// A false report.
    Report(finish::Refusal),
}

impl From<lifeline::Refusal> for Refusal {
    fn from(refusal: lifeline::Refusal) -> Self {
        Self::Lifeline(refusal)
    }
}

impl From<finish::Refusal> for Refusal {
    fn from(refusal: finish::Refusal) -> Self {
        Self::Report(refusal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lifeline(refusal) => write!(f, "{refusal}"),
            Self::Report(refusal) => write!(f, "{refusal}"),
        }
    }
}

impl core::error::Error for Refusal {}

/// The protocol state of one place, whose loot is of type `L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Protocol<L> {
    here: PlaceId,
    place: Place<L>,
    ledger: Ledger,
    home: Option<Home>,
    /// The key of the best bound sent to other places.
    announced: u128,
}

impl<L> Protocol<L> {
    /// Creates place `here` of `places` before the start; all work is at [`PlaceId::HOME`].
    pub fn new(here: PlaceId, places: u32, graph: Graph, random_steals: usize) -> Self {
        Self {
            here,
            place: Place::new(here, places, graph, random_steals),
            ledger: Ledger::new(here),
            home: (here == PlaceId::HOME).then(|| Home::new(PlaceId::HOME, places)),
            announced: u128::MAX,
        }
    }

    /// Returns the place.
    pub fn here(&self) -> PlaceId {
        self.here
    }

    /// Returns the lifeline state.
    pub fn place(&self) -> &Place<L> {
        &self.place
    }

    /// Returns the key of the best bound that this place has sent.
    pub fn announced(&self) -> u128 {
        self.announced
    }

    fn announce(&mut self, bound: u128, step: &mut Step<'_, Self>) {
        if bound < self.announced {
            self.announced = bound;
            for &(to, _) in self.place.lifelines() {
                step.send(to, Message::Bound(bound));
            }
        }
    }

    /// Lets the place take a step, counted by the finish.
    fn counted<R>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Place<L>, &mut Step<'_, Place<L>>) -> R,
    ) -> R {
        let was_quiet = self.place.phase() == Phase::Quiet;
        let Self { place, ledger, .. } = self;
        let taken = step.within(
            |action, act| match action {
                Action::Send(to, message) => {
                    if let lifeline::Message::Loot(_) = message {
                        ledger.spawned(to);
                    }
                    act(Action::Send(to, message.into()));
                }
                Action::Effect(lifeline::Effect::Ended) => ledger.ended(),
                Action::Effect(lifeline::Effect::Work(loot)) => {
                    act(Action::Effect(Effect::Work(loot)))
                }
                Action::Effect(lifeline::Effect::Take(demand)) => {
                    act(Action::Effect(Effect::Take(demand)))
                }
            },
            |step| take(place, step),
        );
        if !was_quiet && self.place.phase() == Phase::Quiet {
            self.report(step);
        }
        taken
    }

    /// Reports the counts of this place, at which no activity runs.
    fn report(&mut self, step: &mut Step<'_, Self>) {
        let report = self.ledger.report();
        match &mut self.home {
            None => step.send(PlaceId::HOME, Message::Report(report)),
            Some(home) => {
                // Fails only where a peer's report was false and near the limit of counts.
                if home.on(self.here, report) == Ok(true) {
                    step.effect(Effect::Done);
                }
            }
        }
    }
}

impl<L> Machine for Protocol<L> {
    type Peer = PlaceId;
    type Message = Message<L>;
    type Event = Event<L>;
    type Effect = Effect<L>;
    type Calls = dyn Pick;
    type Refusal = Refusal;

    fn event(&mut self, event: Event<L>, step: &mut Step<'_, Self>) {
        let event = match event {
            Event::Dry => lifeline::Event::Dry,
            Event::Surplus => lifeline::Event::Surplus,
            Event::Taken(demand, loot) => lifeline::Event::Taken(demand, loot),
            Event::Bound(bound) => return self.announce(bound, step),
        };
        self.counted(step, |place, step| place.event(event, step));
    }

    fn receive(
        &mut self,
        from: PlaceId,
        message: Message<L>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        let message = match message {
            Message::Request { lifeline } => lifeline::Message::Request { lifeline },
            Message::Answer(loot) => lifeline::Message::Answer(loot),
            Message::Loot(loot) => lifeline::Message::Loot(loot),
            Message::Bound(bound) => {
                step.effect(Effect::Improve(bound));
                self.announce(bound, step);
                return Ok(());
            }
            Message::Report(report) => {
                let home = self.home.as_mut().ok_or(finish::Refusal::NotHome)?;
                if home.on(from, report)? {
                    step.effect(Effect::Done);
                }
                return Ok(());
            }
        };
        self.counted(step, |place, step| place.receive(from, message, step))?;
        Ok(())
    }
}
