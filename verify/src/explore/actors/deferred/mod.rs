//! Loops that are executed again and again: ranks that are slow or fast in each instance, while
//! reports, plans and data are in flight.

mod ghost;

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use ghost::{Ghost, News, Plan, Stage};
use std::cell::Cell;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Account, Conditions, Deferred, Effect, Event, Geometry, Move, Notice};
use tautline_core::machine::no_calls;

/// A loop over ranks.
#[derive(Debug)]
pub struct Deferring {
    ranks: u32,
    iterations: u64,
    instances: u64,
    conditions: Conditions,
    /// Ranks that may be slow; the others are fast.
    varying: u32,
    fault: Option<DeferFault>,
    effects: Cell<Effects>,
}

/// The situations that have occurred in an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The instances at which transfers took effect, as bits.
    pub instances: u32,
    /// Transfers that took more than one instance.
    pub late: u64,
    /// Plans announced together with the effect of the one before.
    pub chained: u64,
    /// Plans announced later than the effect of the one before.
    pub again: u64,
    /// Plans announced in the course of an instance.
    pub early: u64,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferFault {
    /// The receiver drops the data that arrives.
    DropWhatArrives,
    /// The receiver executes the iterations as soon as their data arrives.
    ExecuteWhatArrives,
    /// A rank acknowledges data that has not arrived.
    AcknowledgeEarly,
    /// A rank does not report.
    ReportNothing,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chunk {
    has_begun: bool,
    /// Its chunk, as bits, while it executes it.
    chunk: Option<u32>,
    /// The acts of this step.
    news: Vec<News>,
}

/// An act of a rank.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the first instance.
    Begin,
    /// Finishes its chunk, each iteration of which took this long.
    Finish(u64),
}

/// Adds the moves that are not known.
fn join(known: &mut Vec<Move>, moves: &[Move]) {
    for step in moves {
        if !known.contains(step) {
            known.push(step.clone());
        }
    }
}

fn bits(parts: &[Range<u64>]) -> u32 {
    let iterations = parts.iter().cloned().flatten();
    iterations.fold(0, |bits, at| bits | 1 << at)
}

impl Deferring {
    /// Creates a loop that is executed `instances` times.
    ///
    /// # Panics
    /// If there are more than 31 iterations.
    pub fn new(ranks: u32, iterations: u64, instances: u64, conditions: Conditions) -> Self {
        assert!(iterations < 32, "iterations are bits of a word");
        Self {
            ranks,
            iterations,
            instances,
            conditions,
            varying: ranks,
            fault: None,
            effects: Cell::default(),
        }
    }

    /// Lets the iterations of the first ranks only take one time or another; those of the others
    /// are always fast.
    pub fn varying(mut self, ranks: u32) -> Self {
        self.varying = ranks;
        self
    }

    /// Makes an error on purpose.
    pub fn with_fault(mut self, fault: DeferFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Returns the situations that have occurred so far.
    pub fn effects(&self) -> Effects {
        self.effects.get()
    }

    fn note(&self, change: impl FnOnce(&mut Effects)) {
        let mut effects = self.effects.get();
        change(&mut effects);
        self.effects.set(effects);
    }

    /// Returns whether moves reserve more than there is: over a split point, or out of or into a
    /// rank.
    fn exceeds<'a>(&self, moves: impl IntoIterator<Item = &'a Move>) -> bool {
        let links = match self.conditions.geometry {
            Geometry::Contiguous => self.ranks as usize,
            Geometry::Free => 2 * self.ranks as usize,
        };
        let mut reserved = vec![0; links];
        for Move { from, to, part } in moves {
            let len = part.end - part.start;
            match self.conditions.geometry {
                Geometry::Contiguous => {
                    let crossed = from.index().min(to.index())..from.index().max(to.index());
                    reserved[crossed].iter_mut().for_each(|link| *link += len);
                }
                Geometry::Free => {
                    reserved[2 * from.index()] += len;
                    reserved[2 * to.index() + 1] += len;
                }
            }
        }
        reserved.iter().any(|link| *link > self.conditions.capacity)
    }

    /// Returns whether the iterations of ranks are where the geometry permits them.
    fn are_blocks(&self, owned: &[u32]) -> bool {
        let mut end = 0;
        self.conditions.geometry == Geometry::Free
            || owned.iter().filter(|own| **own != 0).all(|own| {
                let start = own.trailing_zeros();
                let len = own.count_ones();
                let is_block = start == end && own >> start == (1 << len) - 1;
                end = start + len;
                is_block
            })
    }

    /// Returns messages that a sound rank does not send in instance `now`.
    fn false_notices(&self, now: u64) -> Vec<Notice> {
        let (p, n) = (self.ranks, self.iterations);
        let reversed = Range {
            start: u64::MAX,
            end: 0,
        };
        let parts = [0..n, n - 1..n, n..n + 1, reversed];
        let pairs = [(0, 1), (1, 0), (1, 1), (p, 0), (0, p)];
        let mut notices = Vec::new();
        for instance in [now, now + 1] {
            let account = |sections: &[(u64, u64)]| Account {
                sections: sections.to_vec(),
                same: 1,
                all: u64::MAX,
                left: instance % 2,
                ready: now,
            };
            for accounts in [
                vec![],
                vec![account(&[])],
                vec![account(&[(1, u64::MAX)])],
                vec![account(&[(1, u64::MAX), (u64::MAX, 1)]); p as usize - 1],
                vec![account(&[(0, 0), (1, u64::MAX)])],
            ] {
                notices.push(Notice::Accounts(instance, accounts));
            }
            for part in &parts {
                notices.push(Notice::Data(instance, part.clone()));
                for (from, to) in pairs.map(|(from, to)| (Rank(from), Rank(to))) {
                    let step = Move {
                        from,
                        to,
                        part: part.clone(),
                    };
                    let next = |switch| Notice::Next {
                        instance,
                        switch,
                        plan: Some(vec![step.clone(); 2]),
                    };
                    notices.extend([false, true].map(next));
                    notices.push(Notice::Plan(vec![step.clone(); 2]));
                }
            }
            notices.push(Notice::Next {
                instance,
                switch: true,
                plan: None,
            });
        }
        notices
    }
}

impl Checked for Deferring {
    type Machine = Deferred;
    type Driver = Chunk;
    type Act = Act;
    type Ghost = Ghost;

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        Part {
            machine: Deferred::new(here, self.iterations, self.ranks, self.conditions),
            driver: Chunk::default(),
        }
    }

    fn remember(&self) -> Ghost {
        Ghost::new(self)
    }

    fn acts(&self, here: Rank, Part { driver, .. }: &PartOf<Self>, _: &Ghost) -> Vec<Act> {
        let begin = (!driver.has_begun).then_some(Act::Begin);
        let times = if here.0 < self.varying {
            &[1, 4][..]
        } else {
            &[1]
        };
        let times = times.iter().filter(|_| driver.chunk.is_some());
        let finish = times.map(|time| Act::Finish(*time));
        begin.into_iter().chain(finish).collect()
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<Vec<u64>>> {
        Some(match act {
            Act::Begin => {
                at.driver.has_begun = true;
                Event::Begin
            }
            Act::Finish(time) => {
                let chunk = at.driver.chunk.take().expect("it executes");
                at.ghost.report(at.here, chunk);
                Event::Executed(vec![time; chunk.count_ones() as usize])
            }
        })
    }

    fn calls(_: &mut Chunk) -> &mut () {
        no_calls()
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        machine: &Deferred,
        effect: Effect,
    ) -> Option<Event<Vec<u64>>> {
        at.driver.news.push(match effect {
            Effect::Execute(chunk) => {
                let chunk = bits(&chunk);
                let is_counted = machine.instance() < self.instances;
                at.driver.chunk = is_counted.then_some(chunk);
                News::Run(chunk)
            }
            Effect::End => News::End,
        });
        None
    }

    fn send(&self, at: &mut At<'_, Self>, to: Rank, mut notice: Notice) -> Option<Notice> {
        let (here, news) = (at.here, &mut at.driver.news);
        match &mut notice {
            Notice::Accounts(_, accounts) => match self.fault {
                Some(DeferFault::AcknowledgeEarly) => {
                    let plans = at.ghost.plans;
                    accounts
                        .iter_mut()
                        .for_each(|account| account.ready = plans);
                }
                Some(DeferFault::ReportNothing) => return None,
                _ => {}
            },
            Notice::Next { switch, plan, .. } if here == Rank(0) => match news.last_mut() {
                // Each child is sent what concerns its subtree.
                Some(News::Next(_, Some(known))) => {
                    join(known, plan.as_deref().unwrap_or_default())
                }
                Some(News::Next(..)) => {}
                _ => news.push(News::Next(*switch, plan.clone())),
            },
            Notice::Plan(plan) if here == Rank(0) => match news.last_mut() {
                Some(News::Plan(known)) => join(known, plan),
                _ => news.push(News::Plan(plan.clone())),
            },
            Notice::Next { .. } | Notice::Plan(_) => {}
            Notice::Data(number, part) => {
                let (from, part) = (here, part.clone());
                news.push(News::Data(*number, Move { from, to, part }));
            }
        }
        Some(notice)
    }

    fn receive(&self, at: &mut At<'_, Self>, from: Rank, notice: Notice) -> Option<(Rank, Notice)> {
        let is_plan = matches!(notice, Notice::Plan(_) | Notice::Next { plan: Some(_), .. });
        if let Some(plan) = at.ghost.plan.as_mut().filter(|_| is_plan) {
            plan.known |= 1 << at.here.0;
        }
        if let Notice::Data(number, part) = &notice {
            let (to, part) = (at.here, part.clone());
            if self.fault == Some(DeferFault::ExecuteWhatArrives) {
                at.ghost.execute(bits(std::slice::from_ref(&part)));
            }
            let step = Move { from, to, part };
            at.ghost
                .pass(*number, &step, Stage::Sending, Stage::Arrived);
            if self.fault == Some(DeferFault::DropWhatArrives) {
                return None;
            }
        }
        Some((from, notice))
    }

    fn stepped(&self, at: &mut At<'_, Self>, _: &Deferred, _: &Deferred) {
        for news in std::mem::take(&mut at.driver.news) {
            at.ghost.record(self, at.here, news);
        }
    }

    fn malformed(&self, machine: &Deferred) -> Vec<Notice> {
        match self.fault {
            None => self.false_notices(machine.instance()),
            Some(_) => Vec::new(),
        }
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let moving = view
            .parcels
            .iter()
            .filter_map(|parcel| match &parcel.message {
                Some(Notice::Data(_, part)) => Some(Move {
                    from: Rank(parcel.from.0),
                    to: Rank(parcel.to.0),
                    part: part.clone(),
                }),
                _ => None,
            });
        let moving: Vec<Move> = moving.collect();
        let exceeds = self.exceeds(&moving).then_some(Flaw::Activity);
        view.ghost.ghost.flaw.or(exceeds)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let mut machines = view.sites.iter().map(|part| &part.machine);
        let has_arrived = |plan: &Plan| plan.has_arrived(self.ranks);
        machines.all(|machine| machine.instance() == self.instances)
            && view.ghost.ghost.plan.as_ref().is_none_or(has_arrived)
    }
}
