//! The end of a computation over ranks: workers end at any time, while loot is under way.

use crate::explore::{Actors, Flaw, Out, View};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use tautline_core::collective::{self, Branch, Counts};
use tautline_core::glb::{Bag, Share};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::task::{Closing, Next, Part};
use tautline_core::wire::{pack, unpack};
use tautline_core::{PlaceId, Rank};

/// Ranks that end together. Each begins with one item, and items are passed on as loot.
#[derive(Clone, Copy, Debug)]
pub struct Closings {
    /// The number of ranks.
    pub ranks: u32,
    /// Children of a rank, at most.
    pub radix: u32,
    /// Items passed on, in all.
    pub passes: u32,
    /// Rounds of a rank, at most.
    pub rounds: u32,
    /// Whether the ranks that are left after a loss end with what they have.
    pub salvages: bool,
    /// What is wrong.
    pub slip: Option<ClosingSlip>,
}

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosingSlip {
    /// What arrives after the end of the workers is dropped.
    DropLoot,
    /// Loot is not counted.
    CountNothing,
    /// A lost rank is not reported.
    HideLoss,
    /// A rank that cannot end with a result after a loss does not inform the others.
    LeaveSilently,
}

/// Items, all processed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Items(Vec<u8>);

impl Bag for Items {
    type Shared = ();
    type Output = Vec<u8>;

    fn process(&mut self, _: usize, (): &()) -> usize {
        0
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_unstable();
    }

    fn len(&self) -> usize {
        0
    }

    fn submit(self, output: &mut Vec<u8>) {
        *output = self.0;
    }
}

/// The machine of one rank, compared by all of its fields.
#[derive(Clone, Debug)]
pub(super) struct Shown(Closing<Items>, String);

impl Shown {
    fn new(closing: Closing<Items>) -> Self {
        let text = format!("{closing:?}");
        Self(closing, text)
    }
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Shown {}

impl Hash for Shown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.hash(state);
    }
}

/// What ranks send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InEnd {
    /// An item that is passed on.
    Loot(u8),
    /// The encoding of a message of the end.
    Closing(Vec<u8>),
    /// The sender has ended without a result.
    Abandoned,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closer {
    counts: Counts,
    rounds: u32,
    stage: Stage,
}

/// What a rank does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Its workers run.
    Runs {
        items: Items,
        /// Messages of the end, for when its workers have ended.
        later: Vec<(Rank, Vec<u8>)>,
    },
    Closes {
        machine: Box<Shown>,
        /// Whether it is to begin a round.
        is_due: bool,
    },
    Ended {
        items: Vec<u8>,
        is_complete: bool,
    },
    Failed,
}

/// What a rank does on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Its workers send an item to another rank.
    Pass(PlaceId),
    /// Its workers end.
    Close,
    /// It begins a round.
    Count,
}

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    passes: u32,
    is_refused: bool,
}

impl Closings {
    /// Lets the machine of a rank take a step.
    fn take_step(
        &self,
        here: PlaceId,
        site: &mut Closer,
        out: &mut Out<Self>,
        take: impl FnOnce(
            &mut Closing<Items>,
            &mut Step<'_, Closing<Items>>,
        ) -> Result<(), collective::Stray>,
    ) {
        let Stage::Closes { machine, is_due } = &mut site.stage else {
            out.ghost.is_refused = true;
            return;
        };
        let (mut closing, mut next) = (machine.0.clone(), None);
        let mut act = |action: Action<Closing<Items>>| match action {
            Action::Send(to, message) => {
                let mut bytes = Vec::new();
                pack(&message, &mut bytes).expect("numbers and vectors");
                out.sent.push((PlaceId(to.0), InEnd::Closing(bytes)));
            }
            Action::Effect(effect) => next = Some(effect),
        };
        let taken = take(&mut closing, &mut Step::new(&mut (), &mut act));
        **machine = Shown::new(closing);
        out.ghost.is_refused |= taken.is_err();
        match next {
            None => {}
            Some(Next::Count) => *is_due = true,
            Some(Next::Late) => {
                site.stage = Stage::Failed;
                if self.slip != Some(ClosingSlip::LeaveSilently) {
                    let all = (0..self.ranks).map(PlaceId);
                    let others = all.filter(|to| *to != here);
                    out.sent.extend(others.map(|to| (to, InEnd::Abandoned)));
                }
            }
            Some(Next::End(result)) => {
                let whole: Part<Items> = unpack(&result.0).expect("encoded by rank 0");
                let mut items = Vec::new();
                whole.bag.unwrap_or_default().submit(&mut items);
                let is_complete = whole.complete;
                site.stage = Stage::Ended { items, is_complete };
            }
        }
    }

    /// Processes a message of the end at a rank whose workers have ended.
    fn on(&self, here: PlaceId, site: &mut Closer, from: Rank, bytes: &[u8], out: &mut Out<Self>) {
        let message = unpack(bytes).expect("encoded by a rank");
        self.take_step(here, site, out, |closing, step| {
            closing.receive(from, message, step)
        });
    }

    /// Ends the workers of a rank.
    fn close(&self, here: PlaceId, site: &mut Closer, out: &mut Out<Self>) {
        let Stage::Runs { items, later } = &mut site.stage else {
            return;
        };
        let (items, later) = (core::mem::take(items), core::mem::take(later));
        let branch = Branch::new(Rank(here.0), self.ranks, self.radix);
        let closing = Closing::new(&branch, Part::of(vec![items], Vec::new()));
        site.stage = Stage::Closes {
            machine: Box::new(Shown::new(closing)),
            is_due: true,
        };
        for (from, bytes) in later {
            if matches!(site.stage, Stage::Closes { .. }) {
                self.on(here, site, from, &bytes, out);
            }
        }
    }
}

impl Actors for Closings {
    type Site = Closer;
    type Message = InEnd;
    type Act = Move;
    type Ghost = Past;

    fn places(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: PlaceId, _: &mut Out<Self>) -> Closer {
        Closer {
            counts: Counts::default(),
            rounds: 0,
            stage: Stage::Runs {
                items: Items(vec![here.0 as u8]),
                later: Vec::new(),
            },
        }
    }

    fn acts(&self, here: PlaceId, site: &Closer, ghost: &Past) -> Vec<Move> {
        match &site.stage {
            Stage::Runs { items, .. } => {
                let passes = !items.0.is_empty() && ghost.passes < self.passes;
                let others = (0..self.ranks).filter(|to| passes && *to != here.0);
                let others = others.map(|to| Move::Pass(PlaceId(to)));
                others.chain([Move::Close]).collect()
            }
            Stage::Closes { is_due: true, .. } if site.rounds < self.rounds => vec![Move::Count],
            _ => Vec::new(),
        }
    }

    fn act(&self, here: PlaceId, site: &mut Closer, act: Move, out: &mut Out<Self>) {
        match (act, &mut site.stage) {
            (Move::Pass(to), Stage::Runs { items, .. }) => {
                let item = items.0.pop().expect("a rank that has one");
                out.ghost.passes += 1;
                out.sent.push((to, InEnd::Loot(item)));
                site.counts.sent += u64::from(self.slip != Some(ClosingSlip::CountNothing));
            }
            (Move::Close, Stage::Runs { .. }) => self.close(here, site, out),
            (Move::Count, Stage::Closes { is_due, .. }) => {
                *is_due = false;
                site.rounds += 1;
                let counts = site.counts;
                self.take_step(here, site, out, |closing, step| {
                    closing.event(counts, step);
                    Ok(())
                });
            }
            _ => unreachable!("{act:?} is not offered then"),
        }
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Closer,
        from: PlaceId,
        message: InEnd,
        out: &mut Out<Self>,
    ) {
        let from = Rank(from.0);
        match (message, &mut site.stage) {
            (_, Stage::Failed) | (InEnd::Abandoned, Stage::Ended { .. }) => {}
            // Of the wave that was given up: the channel is closed.
            (
                InEnd::Closing(_),
                Stage::Ended {
                    is_complete: false, ..
                },
            ) => {}
            (InEnd::Abandoned, stage) => *stage = Stage::Failed,
            (InEnd::Closing(bytes), Stage::Runs { later, .. }) => later.push((from, bytes)),
            (InEnd::Closing(bytes), _) => self.on(here, site, from, &bytes, out),
            (InEnd::Loot(item), stage) => {
                site.counts.processed += u64::from(self.slip != Some(ClosingSlip::CountNothing));
                match stage {
                    Stage::Runs { items, .. } => items.merge(Items(vec![item])),
                    Stage::Closes { machine, .. } if self.slip != Some(ClosingSlip::DropLoot) => {
                        let mut closing = machine.0.clone();
                        closing.add(Items(vec![item]));
                        **machine = Shown::new(closing);
                    }
                    _ => {}
                }
            }
        }
    }

    fn lost(&self, here: PlaceId, site: &mut Closer, lost: PlaceId, out: &mut Out<Self>) {
        let is_over = matches!(site.stage, Stage::Ended { .. } | Stage::Failed);
        if self.slip == Some(ClosingSlip::HideLoss) || is_over {
            return;
        }
        if !self.salvages {
            site.stage = Stage::Failed;
            return;
        }
        self.close(here, site, out);
        if let Stage::Closes { is_due, .. } = &mut site.stage {
            *is_due = false;
            self.take_step(here, site, out, |closing, step| {
                closing.lost(Rank(lost.0), step);
                Ok(())
            });
        }
    }

    /// A complete result has every item once, also if a rank was lost: it consists of the parts of all. A partial one has no
    /// item twice. All that end do so with the same result.
    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        if view.ghost.is_refused {
            return Some(Flaw::Refused);
        }
        let all: Vec<u8> = (0..self.ranks as u8).collect();
        let results = view.living().filter_map(|(_, site)| match &site.stage {
            Stage::Ended { items, is_complete } => Some((items, *is_complete)),
            _ => None,
        });
        let results: Vec<_> = results.collect();
        let is_right = |&(items, is_complete): &(&Vec<u8>, bool)| match is_complete {
            true => *items == all,
            false => self.salvages && items.is_sorted_by(|a, b| a < b),
        };
        let are_right = results.iter().all(is_right) && results.windows(2).all(|w| w[0] == w[1]);
        (!are_right).then_some(Flaw::Count)
    }

    /// A rank that has begun its last round need not find out.
    fn is_final(&self, view: &View<Self>) -> bool {
        let ends = |site: &Closer| matches!(site.stage, Stage::Ended { .. } | Stage::Failed);
        let is_spent = |site: &Closer| {
            let is_due = matches!(site.stage, Stage::Closes { is_due: true, .. });
            is_due && site.rounds == self.rounds
        };
        view.living().all(|(_, site)| ends(site)) || view.living().any(|(_, site)| is_spent(site))
    }
}
