//! The end of a computation over ranks: workers end at any time, while loot is in flight.

use crate::explore::{At, Checked, Flaw, PartOf, Parts, View};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::mem::take;
use tautline_core::Rank;
use tautline_core::balance::{Closing, Next, Part};
use tautline_core::collective::{Branch, Counts, Stray};
use tautline_core::glb::{Bag, Share};
use tautline_core::machine::{Action, Machine, Step, Tolerance, no_calls};
use tautline_core::wire::{pack, unpack};

/// Ranks that end together. Each begins with one item, and items are passed on as loot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// The injected fault, if any.
    pub fault: Option<ClosingFault>,
}

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClosingFault {
    /// Loot that arrives after the end of the workers is dropped.
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
struct Items(Vec<u8>);

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
struct Shown(Closing<Items>, String);

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

/// Messages between ranks.
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
    rules: Closings,
    here: Rank,
    counts: Counts,
    stage: Stage,
}

/// The state of a rank.
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

/// An act of a rank on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Its workers send an item to another rank.
    Pass(Rank),
    /// Its workers end.
    Close,
    /// Begins a round.
    Count,
}

/// The ends of a rank.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Ends with these items.
    End(Vec<u8>),
    /// Ends without a result.
    Fail,
    /// Refuses a message that it has kept.
    Refuse,
}

impl Closer {
    fn has(&self, fault: ClosingFault) -> bool {
        self.rules.fault == Some(fault)
    }

    /// Lets the machine of the end take a step.
    fn step(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Closing<Items>, &mut Step<'_, Closing<Items>>) -> Result<(), Stray>,
    ) -> Result<(), Stray> {
        let Stage::Closes { machine, is_due } = &mut self.stage else {
            return Err(Stray);
        };
        let (mut closing, mut next) = (machine.0.clone(), None);
        let taken = step.within(
            |action, act| match action {
                Action::Send(to, message) => {
                    let mut bytes = Vec::new();
                    pack(&message, &mut bytes).expect("numbers and vectors");
                    act(Action::Send(to, InEnd::Closing(bytes)));
                }
                Action::Effect(effect) => next = Some(effect),
            },
            |step| take(&mut closing, step),
        );
        taken?;
        **machine = Shown::new(closing);
        match next {
            None => {}
            Some(Next::Count) => *is_due = true,
            Some(Next::Late) => {
                self.fail(step);
                if !self.has(ClosingFault::LeaveSilently) {
                    let all = (0..self.rules.ranks).map(Rank);
                    let others = all.filter(|to| *to != self.here);
                    others.for_each(|to| step.send(to, InEnd::Abandoned));
                }
            }
            Some(Next::End(result)) => {
                let whole: Part<Items> = unpack(&result.0).expect("encoded by rank 0");
                let mut items = Vec::new();
                whole.bag.unwrap_or_default().submit(&mut items);
                step.effect(Effect::End(items.clone()));
                let is_complete = whole.complete;
                self.stage = Stage::Ended { items, is_complete };
            }
        }
        Ok(())
    }

    fn fail(&mut self, step: &mut Step<'_, Self>) {
        self.stage = Stage::Failed;
        step.effect(Effect::Fail);
    }

    /// Processes a message of the end at a rank whose workers have ended.
    fn on(&mut self, from: Rank, bytes: &[u8], step: &mut Step<'_, Self>) -> Result<(), Stray> {
        let message = unpack(bytes).expect("encoded by a rank");
        self.step(step, |closing, step| closing.receive(from, message, step))
    }

    /// Ends the workers.
    fn close(&mut self, step: &mut Step<'_, Self>) {
        let Stage::Runs { items, later } = &mut self.stage else {
            return;
        };
        let (items, later) = (take(items), take(later));
        let branch = Branch::new(self.here, self.rules.ranks, self.rules.radix);
        let closing = Closing::new(&branch, Part::of(vec![items], Vec::new()));
        self.stage = Stage::Closes {
            machine: Box::new(Shown::new(closing)),
            is_due: true,
        };
        for (from, bytes) in later {
            let closes = matches!(self.stage, Stage::Closes { .. });
            if closes && self.on(from, &bytes, step).is_err() {
                step.effect(Effect::Refuse);
            }
        }
    }

    fn on_loot(&mut self, item: u8) {
        self.counts.processed += u64::from(!self.has(ClosingFault::CountNothing));
        let drops = self.has(ClosingFault::DropLoot);
        match &mut self.stage {
            Stage::Runs { items, .. } => items.merge(Items(vec![item])),
            Stage::Closes { machine, .. } if !drops => {
                let mut closing = machine.0.clone();
                closing.add(Items(vec![item]));
                **machine = Shown::new(closing);
            }
            _ => {}
        }
    }
}

impl Machine for Closer {
    type Peer = Rank;
    type Message = InEnd;
    type Event = Move;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Stray;

    fn event(&mut self, act: Move, step: &mut Step<'_, Self>) {
        let counts = self.counts;
        match (act, &mut self.stage) {
            (Move::Pass(to), Stage::Runs { items, .. }) => {
                let item = items.0.pop().expect("a rank that has one");
                step.send(to, InEnd::Loot(item));
                self.counts.sent += u64::from(!self.has(ClosingFault::CountNothing));
            }
            (Move::Close, Stage::Runs { .. }) => self.close(step),
            (Move::Count, Stage::Closes { is_due, .. }) => {
                *is_due = false;
                let begun = self.step(step, |closing, step| {
                    closing.event(counts, step);
                    Ok(())
                });
                begun.expect("a rank that closes");
            }
            _ => unreachable!("{act:?} is not offered then"),
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: InEnd,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match (message, &mut self.stage) {
            (_, Stage::Failed) | (InEnd::Abandoned, Stage::Ended { .. }) => {}
            // Of the wave that was given up: the channel is closed.
            (
                InEnd::Closing(_),
                Stage::Ended {
                    is_complete: false, ..
                },
            ) => {}
            (InEnd::Abandoned, _) => self.fail(step),
            (InEnd::Closing(bytes), Stage::Runs { later, .. }) => later.push((from, bytes)),
            (InEnd::Closing(bytes), _) => return self.on(from, &bytes, step),
            (InEnd::Loot(item), _) => self.on_loot(item),
        }
        Ok(())
    }

    fn lost(&mut self, lost: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        let is_over = matches!(self.stage, Stage::Ended { .. } | Stage::Failed);
        if self.has(ClosingFault::HideLoss) || is_over {
            return Tolerance::Tolerated;
        }
        if !self.rules.salvages {
            self.fail(step);
            return Tolerance::Tolerated;
        }
        self.close(step);
        if let Stage::Closes { is_due, .. } = &mut self.stage {
            *is_due = false;
            let noticed = self.step(step, |closing, step| {
                closing.lost(lost, step);
                Ok(())
            });
            noticed.expect("a rank that closes");
        }
        Tolerance::Tolerated
    }
}

impl Checked for Closings {
    type Machine = Closer;
    /// Rounds begun.
    type Driver = u32;
    type Act = Move;
    /// Items passed on.
    type Ghost = u32;

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        PartOf::<Self> {
            machine: Closer {
                rules: *self,
                here,
                counts: Counts::default(),
                stage: Stage::Runs {
                    items: Items(vec![here.0 as u8]),
                    later: Vec::new(),
                },
            },
            driver: 0,
        }
    }

    fn acts(&self, here: Rank, part: &PartOf<Self>, passed: &u32) -> Vec<Move> {
        match &part.machine.stage {
            Stage::Runs { items, .. } => {
                let passes = !items.0.is_empty() && *passed < self.passes;
                let others = (0..self.ranks).map(Rank).filter(|to| passes && *to != here);
                others.map(Move::Pass).chain([Move::Close]).collect()
            }
            Stage::Closes { is_due: true, .. } if part.driver < self.rounds => vec![Move::Count],
            _ => Vec::new(),
        }
    }

    fn event(&self, at: &mut At<'_, Self>, act: Move) -> Option<Move> {
        *at.ghost += u32::from(matches!(act, Move::Pass(_)));
        *at.driver += u32::from(act == Move::Count);
        Some(act)
    }

    fn calls(_: &mut u32) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Closer, effect: Effect) -> Option<Move> {
        if matches!(effect, Effect::Refuse) {
            at.find(Flaw::Refused);
        }
        None
    }

    /// A complete result has every item once, also if a rank was lost: it consists of the parts of
    /// all. A partial one has no item twice. All that end do so with the same result.
    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let all: Vec<u8> = (0..self.ranks as u8).collect();
        let results = view
            .living()
            .filter_map(|(_, part)| match &part.machine.stage {
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
    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let ends = |part: &PartOf<Self>| {
            let stage = &part.machine.stage;
            matches!(stage, Stage::Ended { .. } | Stage::Failed)
        };
        let is_spent = |part: &PartOf<Self>| {
            let is_due = matches!(part.machine.stage, Stage::Closes { is_due: true, .. });
            is_due && part.driver == self.rounds
        };
        view.living().all(|(_, part)| ends(part)) || view.living().any(|(_, part)| is_spent(part))
    }
}
