//! One place of the lifeline protocol, as a state machine without I/O.
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
//! # Proved
//! Over every delivery order for P = 1 to 4 and small trees (`verify/tests/explore.rs`): at most
//! one request outstanding on a lifeline, a path from work to every quiet place, and, with
//! [`finish`](crate::finish), exact termination.

use crate::id::PlaceId;
use crate::lifeline::Graph;
use alloc::{collections::VecDeque, vec::Vec};

/// The actions that a place requires of its driver.
pub trait Actions<L> {
    /// Sends a request to `to`, whose answer arrives as [`Event::Answer`].
    fn request(&mut self, to: PlaceId, lifeline: bool);
    /// Answers the request of `to`.
    fn answer(&mut self, to: PlaceId, loot: Option<L>);
    /// Sends loot to a thief recorded earlier: an activity spawned at `to`.
    fn give(&mut self, to: PlaceId, loot: L);
    /// Passes loot to the workers of this place, starting one if none runs.
    fn work(&mut self, loot: L);
    /// Records that an activity ended here: the place becomes quiet, or loot arrived while another
    /// activity runs.
    fn ended(&mut self);
    /// Takes loot for a thief that sent a request; `None` if there is nothing to spare.
    fn steal(&mut self) -> Option<L>;
    /// Takes one of the equal shares of `thieves` recorded thieves and the owner; `None` if there
    /// is nothing to spare.
    fn ration(&mut self, thieves: usize) -> Option<L>;
    /// Returns a number below `n`: uniform in a run, arbitrary in an exploration.
    fn pick(&mut self, n: usize) -> usize;
}

/// An event at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<L> {
    /// All workers are dry and nothing is set aside. Ignored unless the place is active.
    Dry,
    /// Work to spare for the recorded thieves.
    Surplus,
    /// `from` requests work.
    Request {
        /// The thief.
        from: PlaceId,
        /// Whether to record the thief if there is nothing to spare.
        lifeline: bool,
    },
    /// `from` answers the request made to it.
    Answer {
        /// The place that received the request.
        from: PlaceId,
        /// The loot, if there was any.
        loot: Option<L>,
    },
    /// Loot along the lifeline to `from`, requested earlier.
    Loot {
        /// The place that received the request.
        from: PlaceId,
        /// The loot.
        loot: L,
    },
}

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

/// The state of one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
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
}

impl Place {
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

    /// Processes one event; the resulting actions go to `out`.
    pub fn on<L>(&mut self, event: Event<L>, out: &mut impl Actions<L>) {
        match event {
            Event::Dry => {
                if self.phase == Phase::Active {
                    self.phase = Phase::Stealing {
                        tries: 0,
                        lifelines: 0,
                    };
                    self.search(out);
                }
            }
            Event::Surplus => self.distribute(out),
            Event::Request { from, lifeline } => self.serve(from, lifeline, out),
            Event::Answer { from, loot } => {
                debug_assert_eq!(self.waits_for(), Some(from), "an answer without a request");
                let asked = self.asked.take();
                match loot {
                    Some(loot) => {
                        // Loot for a random request does not satisfy an earlier one along a
                        // lifeline to the same place: that one stays recorded there.
                        if asked == Some((from, true)) {
                            self.relax_lifeline(from);
                        }
                        self.phase = Phase::Active;
                        out.work(loot);
                    }
                    None => self.search(out),
                }
            }
            Event::Loot { from, loot } => {
                self.relax_lifeline(from);
                if self.phase != Phase::Quiet {
                    out.ended();
                }
                self.phase = Phase::Active;
                out.work(loot);
            }
        }
    }

    /// Sends the next request of this search, or ends it.
    fn search<L>(&mut self, out: &mut impl Actions<L>) {
        let Phase::Stealing { tries, lifelines } = &mut self.phase else {
            return;
        };
        if self.asked.is_some() {
            return;
        }
        if self.places > 1 && *tries < self.random_steals {
            *tries += 1;
            let others = out.pick(self.places as usize - 1) as u32;
            let victim = PlaceId((self.here.0 + 1 + others) % self.places);
            self.asked = Some((victim, false));
            return out.request(victim, false);
        }
        while let Some((buddy, requested)) = self.lifelines.get_mut(*lifelines) {
            *lifelines += 1;
            if !*requested {
                *requested = true;
                self.asked = Some((*buddy, true));
                return out.request(*buddy, true);
            }
        }
        self.phase = Phase::Quiet;
        out.ended();
    }

    fn serve<L>(&mut self, thief: PlaceId, lifeline: bool, out: &mut impl Actions<L>) {
        let loot = if self.phase == Phase::Active {
            out.steal()
        } else {
            None
        };
        if loot.is_none() && lifeline {
            debug_assert!(
                !self.thieves.contains(&thief),
                "{thief} asked twice along one lifeline"
            );
            self.thieves.push_back(thief);
        }
        out.answer(thief, loot);
    }

    fn distribute<L>(&mut self, out: &mut impl Actions<L>) {
        // Only an activity may spawn one: a place that is not active gives nothing.
        while self.phase == Phase::Active && !self.thieves.is_empty() {
            let Some(loot) = out.ration(self.thieves.len()) else {
                return;
            };
            let thief = self.thieves.pop_front().expect("not empty, above");
            out.give(thief, loot);
        }
    }

    fn relax_lifeline(&mut self, buddy: PlaceId) {
        if let Some((_, requested)) = self.lifelines.iter_mut().find(|(q, _)| *q == buddy) {
            *requested = false;
        }
    }
}
