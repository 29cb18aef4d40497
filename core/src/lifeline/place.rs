//! One place of the lifeline protocol.
//!
//! # Algorithm
//! A place whose workers are all dry sends requests to up to w random places, one at a time; then
//! along its own lifelines, one at a time; then it is quiet until a lifeline delivers loot. A place
//! that receives a request along a lifeline and has nothing records the thief and gives to it as
//! soon as there is surplus. Source: Saraswat 2011. Before the start every lifeline but those of
//! the home place counts as requested, so that the first work spreads over the graph (Finnerty).
//!
//! What differs: loot that arrives while an answer is outstanding starts the workers immediately;
//! the answer is taken when it arrives. Messages may overtake each other.
//!
//! Loot for a random request leaves the lifeline to the same place requested, since the request
//! recorded there is still outstanding (mutant `place-random-loot-frees-lifeline`).
//!
//! # Proved
//! Over every delivery order for P = 1 to 4 and small trees (`verify/tests/explore.rs`): at most
//! one request outstanding on a lifeline, a path from work to every quiet place, and, with
//! [`finish`](crate::finish), exact termination.

use crate::id::PlaceId;
use crate::lifeline::Graph;
use crate::machine::{Machine, Pick, Step};
use alloc::{collections::VecDeque, vec::Vec};
use core::fmt;
use core::marker::PhantomData;

/// A message between places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<L> {
    /// The sender requests work.
    Request {
        /// Whether to record the sender if there is nothing to spare.
        lifeline: bool,
    },
    /// The answer to a request.
    Answer(Option<L>),
    /// Loot for a thief recorded earlier: an activity spawned at the receiver.
    Loot(L),
}

/// An event at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<L> {
    /// All workers are dry and nothing is set aside. Ignored unless the place is active.
    Dry,
    /// Work to spare for the recorded thieves.
    Surplus,
    /// The outcome of [`Effect::Take`]: loot, if there was something to spare.
    Taken(Demand, Option<L>),
}

/// The purpose of loot that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Demand {
    /// A thief that sent a request.
    Request {
        /// The thief.
        from: PlaceId,
        /// Whether to record the thief if there is nothing to spare.
        lifeline: bool,
    },
    /// The first of the recorded thieves: one of the equal shares of them and the owner.
    Ration {
        /// The number of recorded thieves.
        thieves: usize,
    },
}

/// An effect of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<L> {
    /// Pass loot to the workers of this place, starting one if none runs.
    Work(L),
    /// An activity ended here: the place becomes quiet, or loot arrived while another activity
    /// runs.
    Ended,
    /// Take loot, if there is something to spare. [`Event::Taken`] reports the outcome before any
    /// other event or message.
    Take(Demand),
}

/// A reason to refuse a message: no correct place sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// An answer without a request.
    Unasked,
    /// A request along a lifeline along which one waits here.
    Recorded,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unasked => "an answer that was not requested",
            Self::Recorded => "a second request along one lifeline",
        })
    }
}

impl core::error::Error for Refusal {}

/// The phase of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Workers run, or loot for them is set aside.
    Active,
    /// Dry and searching. The fields count the requests of this search.
    Stealing {
        /// The random places to which requests were sent.
        tries: usize,
        /// The lifelines passed.
        lifelines: usize,
    },
    /// Waiting for a lifeline to deliver loot. Sends nothing, runs nothing.
    Quiet,
}

/// The state of one place, whose loot is of type `L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place<L> {
    here: PlaceId,
    places: u32,
    random_steals: usize,
    phase: Phase,
    /// The place of the last request, while its answer is outstanding, and whether it was sent
    /// along a lifeline.
    asked: Option<(PlaceId, bool)>,
    /// The lifelines of this place; true while a request along it is outstanding.
    lifelines: Vec<(PlaceId, bool)>,
    /// The outstanding requests along lifelines to this place.
    thieves: VecDeque<PlaceId>,
    loot: PhantomData<fn() -> L>,
}

impl<L> Place<L> {
    /// Creates place `here` of `places`, before the start: the home is active, all others are quiet
    /// with requests along all their lifelines. `random_steals` is w.
    pub fn new(here: PlaceId, places: u32, graph: Graph, random_steals: usize) -> Self {
        let home = here == PlaceId::HOME;
        Self {
            here,
            places,
            random_steals,
            phase: if home { Phase::Active } else { Phase::Quiet },
            asked: None,
            lifelines: graph.outgoing(here, places).map(|q| (q, !home)).collect(),
            thieves: graph
                .incoming(here, places)
                .filter(|thief| *thief != PlaceId::HOME)
                .collect(),
            loot: PhantomData,
        }
    }

    /// Returns the phase of the place.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the place whose answer is outstanding.
    pub fn waits_for(&self) -> Option<PlaceId> {
        self.asked.map(|(place, _)| place)
    }

    /// Returns the lifelines, each with whether a request along it is outstanding.
    pub fn lifelines(&self) -> &[(PlaceId, bool)] {
        &self.lifelines
    }

    /// Returns the places whose request along a lifeline waits here for loot, oldest first.
    pub fn thieves(&self) -> impl ExactSizeIterator<Item = PlaceId> + '_ {
        self.thieves.iter().copied()
    }
}

impl<L> Machine for Place<L> {
    type Peer = PlaceId;
    type Message = Message<L>;
    type Event = Event<L>;
    type Effect = Effect<L>;
    type Calls = dyn Pick;
    type Refusal = Refusal;

    fn event(&mut self, event: Event<L>, step: &mut Step<'_, Self>) {
        match event {
            Event::Dry => {
                if self.phase == Phase::Active {
                    self.phase = Phase::Stealing {
                        tries: 0,
                        lifelines: 0,
                    };
                    self.search(step);
                }
            }
            Event::Surplus => self.ration(step),
            Event::Taken(Demand::Request { from, lifeline }, loot) => {
                self.answer(from, lifeline, loot, step);
            }
            Event::Taken(Demand::Ration { .. }, loot) => {
                if let Some(loot) = loot {
                    let thief = self.thieves.pop_front();
                    step.send(thief.expect("a ration is for a thief"), Message::Loot(loot));
                    self.ration(step);
                }
            }
        }
    }

    fn receive(
        &mut self,
        from: PlaceId,
        message: Message<L>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            Message::Request { lifeline: true } if self.thieves.contains(&from) => {
                return Err(Refusal::Recorded);
            }
            Message::Answer(_) if self.waits_for() != Some(from) => return Err(Refusal::Unasked),
            // Only an activity may spawn one: a place that is not active gives nothing.
            Message::Request { lifeline } if self.phase == Phase::Active => {
                step.effect(Effect::Take(Demand::Request { from, lifeline }));
            }
            Message::Request { lifeline } => self.answer(from, lifeline, None, step),
            Message::Answer(loot) => {
                let asked = self.asked.take();
                match loot {
                    Some(loot) => {
                        // Loot for a random request does not satisfy an earlier one along a
                        // lifeline to the same place: that one stays recorded there.
                        if asked == Some((from, true)) {
                            self.relax_lifeline(from);
                        }
                        self.phase = Phase::Active;
                        step.effect(Effect::Work(loot));
                    }
                    None => self.search(step),
                }
            }
            Message::Loot(loot) => {
                self.relax_lifeline(from);
                if self.phase != Phase::Quiet {
                    step.effect(Effect::Ended);
                }
                self.phase = Phase::Active;
                step.effect(Effect::Work(loot));
            }
        }
        Ok(())
    }
}

/// Parts of several events.
impl<L> Place<L> {
    /// Sends the next request of this search, or ends it.
    fn search(&mut self, step: &mut Step<'_, Self>) {
        let Phase::Stealing { tries, lifelines } = &mut self.phase else {
            return;
        };
        if self.asked.is_some() {
            return;
        }
        if self.places > 1 && *tries < self.random_steals {
            *tries += 1;
            let others = step.calls().pick(self.places - 1);
            let victim = PlaceId((self.here.0 + 1 + others) % self.places);
            self.asked = Some((victim, false));
            return step.send(victim, Message::Request { lifeline: false });
        }
        while let Some((buddy, requested)) = self.lifelines.get_mut(*lifelines) {
            *lifelines += 1;
            if !*requested {
                *requested = true;
                self.asked = Some((*buddy, true));
                return step.send(*buddy, Message::Request { lifeline: true });
            }
        }
        self.phase = Phase::Quiet;
        step.effect(Effect::Ended);
    }

    fn answer(
        &mut self,
        thief: PlaceId,
        lifeline: bool,
        loot: Option<L>,
        step: &mut Step<'_, Self>,
    ) {
        if loot.is_none() && lifeline {
            self.thieves.push_back(thief);
        }
        step.send(thief, Message::Answer(loot));
    }

    /// Requires loot for the first of the recorded thieves.
    fn ration(&mut self, step: &mut Step<'_, Self>) {
        // Only an activity may spawn one: a place that is not active gives nothing.
        if self.phase == Phase::Active && !self.thieves.is_empty() {
            let thieves = self.thieves.len();
            step.effect(Effect::Take(Demand::Ration { thieves }));
        }
    }

    fn relax_lifeline(&mut self, buddy: PlaceId) {
        if let Some((_, requested)) = self.lifelines.iter_mut().find(|(q, _)| *q == buddy) {
            *requested = false;
        }
    }
}
