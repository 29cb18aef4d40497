//! The protocol between the places of a balanced computation: lifelines under one finish.
//!
//! A state machine without I/O: threads, the simulator and the explorer drive the same code. The
//! finish counts activities: one at the home before the start, one for each loot given along a
//! lifeline. A place's activity ends when the place becomes quiet; loot that finds one running is
//! merged, and its own activity ends immediately. Random steals and their answers are not counted:
//! the thief's activity waits.

use crate::finish::{self, Home, Ledger, Report};
use crate::id::PlaceId;
use crate::lifeline::{self, Event, Graph, Phase, Place};
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
    /// The key of the best bound that the sender knows. Sent on along the lifelines by a place that did not
    /// know it; not counted by the finish, as it may be lost.
    Bound(u128),
}

/// The actions that a place requires of its driver.
pub trait Actions<L> {
    /// Sends `message` to another place. Messages may overtake each other, none may be lost.
    fn send(&mut self, to: PlaceId, message: Message<L>);
    /// Passes loot to the workers of this place, starting one if none runs.
    fn work(&mut self, loot: L);
    /// Takes loot for a thief that sent a request; `None` if there is nothing to spare.
    fn steal(&mut self) -> Option<L>;
    /// Takes one of the equal shares of `thieves` recorded thieves and the owner.
    fn ration(&mut self, thieves: usize) -> Option<L>;
    /// Returns a number below `n`.
    fn pick(&mut self, n: usize) -> usize;
    /// Applies the bound with this key, which another place knows.
    fn improve(&mut self, bound: u128);
    /// Reports that all work at all places has ended. Called at the home only, once.
    fn done(&mut self);
}

/// What is wrong with a message that no correct place sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A false report.
    Report(finish::Refusal),
    /// An answer of a place that was not asked.
    Unasked,
    /// A request along a lifeline along which one waits here.
    Recorded,
}

impl From<finish::Refusal> for Refusal {
    fn from(refusal: finish::Refusal) -> Self {
        Self::Report(refusal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Report(refusal) => write!(f, "{refusal}"),
            Self::Unasked => write!(f, "an answer that was not requested"),
            Self::Recorded => write!(f, "a second request along one lifeline"),
        }
    }
}

impl core::error::Error for Refusal {}

/// The protocol state of one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Protocol {
    here: PlaceId,
    place: Place,
    ledger: Ledger,
    home: Option<Home>,
    /// The key of the best bound sent to other places.
    announced: u128,
}

impl Protocol {
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
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Reports that all workers of this place are dry and nothing is set aside.
    pub fn dry<L>(&mut self, out: &mut impl Actions<L>) {
        self.on_event(Event::Dry, out);
    }

    /// Reports that there is work to spare for the thieves recorded here.
    pub fn surplus<L>(&mut self, out: &mut impl Actions<L>) {
        self.on_event(Event::Surplus, out);
    }

    /// Sends the key of a bound known at this place along the lifelines, if it is better than the last one
    /// sent (Finnerty 2022, TSP).
    pub fn announce<L>(&mut self, bound: u128, out: &mut impl Actions<L>) {
        if bound < self.announced {
            self.announced = bound;
            for &(to, _) in self.place.lifelines() {
                out.send(to, Message::Bound(bound));
            }
        }
    }

    /// Returns the key of the best bound that this place has sent.
    pub fn announced(&self) -> u128 {
        self.announced
    }

    /// Processes a message.
    ///
    /// # Errors
    /// If no correct place sends the message; nothing has changed then.
    pub fn on<L>(
        &mut self,
        from: PlaceId,
        message: Message<L>,
        out: &mut impl Actions<L>,
    ) -> Result<(), Refusal> {
        match message {
            Message::Request { lifeline: true } if self.place.thieves().any(|q| q == from) => {
                return Err(Refusal::Recorded);
            }
            Message::Answer(_) if self.place.waits_for() != Some(from) => {
                return Err(Refusal::Unasked);
            }
            Message::Request { lifeline } => self.on_event(Event::Request { from, lifeline }, out),
            Message::Answer(loot) => self.on_event(Event::Answer { from, loot }, out),
            Message::Loot(loot) => self.on_event(Event::Loot { from, loot }, out),
            Message::Bound(bound) => {
                out.improve(bound);
                self.announce(bound, out);
            }
            Message::Report(report) => {
                let home = self.home.as_mut().ok_or(finish::Refusal::NotHome)?;
                if home.on(from, report)? {
                    out.done();
                }
            }
        }
        Ok(())
    }

    fn on_event<L>(&mut self, event: Event<L>, out: &mut impl Actions<L>) {
        let was_quiet = self.place.phase() == Phase::Quiet;
        self.place.on(
            event,
            &mut Counted {
                ledger: &mut self.ledger,
                out,
            },
        );
        if was_quiet || self.place.phase() != Phase::Quiet {
            return;
        }
        let report = self.ledger.report();
        match &mut self.home {
            None => out.send(PlaceId::HOME, Message::Report(report)),
            Some(home) => {
                // Fails only where a peer's report was false and near the limit of counts.
                if home.on(self.here, report) == Ok(true) {
                    out.done();
                }
            }
        }
    }
}

/// The lifeline place's actions, counted by the finish.
struct Counted<'a, A> {
    ledger: &'a mut Ledger,
    out: &'a mut A,
}

impl<L, A: Actions<L>> lifeline::Actions<L> for Counted<'_, A> {
    fn request(&mut self, to: PlaceId, lifeline: bool) {
        self.out.send(to, Message::Request { lifeline });
    }

    fn answer(&mut self, to: PlaceId, loot: Option<L>) {
        self.out.send(to, Message::Answer(loot));
    }

    fn give(&mut self, to: PlaceId, loot: L) {
        self.ledger.spawned(to);
        self.out.send(to, Message::Loot(loot));
    }

    fn work(&mut self, loot: L) {
        self.out.work(loot);
    }

    fn ended(&mut self) {
        self.ledger.ended();
    }

    fn steal(&mut self) -> Option<L> {
        self.out.steal()
    }

    fn ration(&mut self, thieves: usize) -> Option<L> {
        self.out.ration(thieves)
    }

    fn pick(&mut self, n: usize) -> usize {
        self.out.pick(n)
    }
}
