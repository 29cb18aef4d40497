//! The history, for the checks: the specification (2.12 of Lucco 1995), which rank executes which
//! iterations in the present instance, and when a plan must take effect. It sees messages only.

use super::{Deferring, bits};
use crate::explore::Flaw;
use tautline_core::Rank;
use tautline_core::defer::{Deferred, Move};

/// The progress of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Ordered,
    Sending,
    Arrived,
}

/// A plan that has yet to take effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// The instance in which it was announced.
    since: u64,
    moves: Vec<(Move, Stage)>,
    /// Ranks that have received it, as bits.
    pub(super) known: u32,
}

impl Plan {
    /// Returns whether all ranks have received it and its data.
    pub(super) fn has_arrived(&self, ranks: u32) -> bool {
        let mut stages = self.moves.iter().map(|(_, stage)| *stage);
        self.known == (1 << ranks) - 1 && stages.all(|stage| stage == Stage::Arrived)
    }
}

/// The history, for the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    instance: u64,
    /// By rank, its iterations in this instance, as bits.
    owned: Vec<u32>,
    pub(super) plan: Option<Plan>,
    /// The number of plans.
    pub(super) plans: u64,
    /// Iterations executed in this instance, as bits.
    executed: u32,
    /// Ranks that have executed all theirs in this instance, and those that had received all data
    /// by then, as bits.
    reported: u32,
    ready: u32,
    pub(super) flaw: Option<Flaw>,
}

/// The act of a rank in a step, as far as it concerns the checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum News {
    /// Rank 0 announces the next instance.
    Next(bool, Option<Vec<Move>>),
    /// Rank 0 announces a plan in the course of an instance.
    Plan(Vec<Move>),
    Data(u64, Move),
    Run(u32),
    End,
}

impl Ghost {
    pub(super) fn new(system: &Deferring) -> Self {
        let start = |rank| {
            Deferred::new(
                Rank(rank),
                system.iterations,
                system.ranks,
                system.conditions,
            )
        };
        Self {
            owned: (0..system.ranks)
                .map(|rank| bits(start(rank).parts()))
                .collect(),
            ..Self::default()
        }
    }

    /// Records an act of a rank.
    pub(super) fn record(&mut self, system: &Deferring, here: Rank, news: News) {
        match news {
            News::Next(switch, plan) => self.advance(system, switch, plan),
            News::Plan(moves) => {
                system.note(|effects| effects.early += 1);
                self.announce(system, moves);
            }
            News::Data(number, step) => self.pass(number, &step, Stage::Ordered, Stage::Sending),
            News::Run(chunk) => {
                // A rank that is alone announces nothing.
                if system.ranks == 1 && self.reported != 0 {
                    self.advance(system, false, None);
                }
                let foreign = !self.owned[here.index()] | self.executed;
                if chunk & foreign != 0 {
                    self.flaw = Some(Flaw::Count);
                }
            }
            News::End => self.flaw = Some(Flaw::Repeated),
        }
    }

    /// Begins the next instance.
    fn advance(&mut self, system: &Deferring, switch: bool, plan: Option<Vec<Move>>) {
        let all = (1 << system.ranks) - 1;
        if (self.executed, self.reported) != ((1 << system.iterations) - 1, all) {
            self.flaw = Some(Flaw::Count);
        }
        let has_arrived = |plan: &Plan| plan.has_arrived(system.ranks);
        if switch && !self.plan.as_ref().is_some_and(has_arrived) {
            self.flaw = Some(Flaw::Early);
        }
        // What arrives after a rank's last report may be acknowledged or not.
        if !switch && self.plan.is_some() && self.ready == all {
            self.flaw = Some(Flaw::Late);
        }
        self.instance += 1;
        if let Some(Plan { since, moves, .. }) = self.plan.take_if(|_| switch) {
            system.note(|effects| {
                effects.instances |= 1 << self.instance;
                effects.late += u64::from(self.instance > since + 1);
                effects.chained += u64::from(plan.is_some());
            });
            for (Move { from, to, part }, _) in moves {
                let part = bits(&[part]);
                if self.owned[from.index()] & part != part {
                    self.flaw = Some(Flaw::Count);
                }
                self.owned[from.index()] &= !part;
                self.owned[to.index()] |= part;
            }
        }
        if !system.are_blocks(&self.owned) {
            self.flaw = Some(Flaw::Misrouted);
        }
        if let Some(moves) = plan {
            let is_again = !switch && self.plans > 0;
            system.note(|effects| effects.again += u64::from(is_again));
            self.announce(system, moves);
        }
        (self.executed, self.reported, self.ready) = (0, 0, 0);
    }

    /// Begins a plan: what it reserves is free, as there is no other.
    fn announce(&mut self, system: &Deferring, moves: Vec<Move>) {
        if self.plan.is_some() || moves.is_empty() || system.exceeds(&moves) {
            self.flaw = Some(Flaw::Activity);
        }
        self.plans += 1;
        // What ranks have reported so far concerns plans before this one.
        self.ready = 0;
        self.plan = Some(Plan {
            since: self.instance,
            moves: moves
                .into_iter()
                .map(|step| (step, Stage::Ordered))
                .collect(),
            known: 1,
        });
    }

    /// Changes the stage of a transfer.
    pub(super) fn pass(&mut self, number: u64, step: &Move, before: Stage, after: Stage) {
        let plan = self.plan.as_mut().filter(|_| self.plans == number);
        let mut moves = plan.into_iter().flat_map(|plan| &mut plan.moves);
        match moves.find(|(known, stage)| known == step && *stage == before) {
            Some((_, stage)) => *stage = after,
            None => self.flaw = Some(Flaw::Count),
        }
    }

    pub(super) fn execute(&mut self, chunk: u32) {
        if self.executed & chunk != 0 {
            self.flaw = Some(Flaw::Count);
        }
        self.executed |= chunk;
    }

    /// Executes a chunk of a rank, and records what the rank can report.
    pub(super) fn report(&mut self, here: Rank, chunk: u32) {
        self.execute(chunk);
        if self.owned[here.index()] & !self.executed != 0 {
            return;
        }
        self.reported |= 1 << here.0;
        let has_all = |plan: &Plan| {
            let mut mine = plan.moves.iter().filter(|(step, _)| step.to == here);
            plan.known >> here.0 & 1 != 0 && mine.all(|(_, stage)| *stage == Stage::Arrived)
        };
        self.ready |= u32::from(self.plan.as_ref().is_none_or(has_all)) << here.0;
    }
}
