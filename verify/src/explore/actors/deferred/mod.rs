//! Loops that are executed again and again: ranks that are slow or fast in each instance, while reports, plans and data are under way.

mod ghost;

use crate::explore::{Actors, Flaw, Out, View};
use ghost::{Event, Ghost, Plan, Stage};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use tautline_core::defer::{
    Account, Actions, Conditions, Deferred, Geometry, Move, Notice, Refused,
};
use tautline_core::{PlaceId, Rank};

/// A loop over ranks.
#[derive(Debug)]
pub struct Deferring {
    ranks: u32,
    iterations: u64,
    instances: u64,
    conditions: Conditions,
    /// Ranks that may be slow; the others are fast.
    varying: u32,
    slip: Option<DeferSlip>,
    effects: Cell<Effects>,
    /// Sites that have refused every garbled message.
    probed: RefCell<HashSet<Site>>,
}

/// What has occurred in an exploration.
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
pub enum DeferSlip {
    /// The receiver drops the data that arrives.
    DropWhatArrives,
    /// The receiver executes the iterations as soon as their data arrives.
    ExecuteWhatArrives,
    /// A rank acknowledges data that has not arrived.
    AcknowledgeEarly,
    /// A rank does not report.
    ReportNothing,
}

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    machine: Deferred,
    has_begun: bool,
    /// Its chunk, as bits, while it executes it.
    chunk: Option<u32>,
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the first instance.
    Begin,
    /// Finishes its chunk, each iteration of which took this long.
    Free(u64),
}

/// The driver of a rank.
struct Driver<'a> {
    here: Rank,
    slip: Option<DeferSlip>,
    /// The number of plans so far.
    plans: u64,
    events: Vec<Event>,
    sent: &'a mut Vec<(PlaceId, Notice)>,
}

impl Actions<Notice> for Driver<'_> {
    fn send(&mut self, to: Rank, mut notice: Notice) {
        match &mut notice {
            Notice::Accounts(_, accounts) => match self.slip {
                Some(DeferSlip::AcknowledgeEarly) => {
                    let plans = self.plans;
                    accounts
                        .iter_mut()
                        .for_each(|account| account.ready = plans);
                }
                Some(DeferSlip::ReportNothing) => return,
                _ => {}
            },
            Notice::Next { switch, plan, .. } if self.here == Rank(0) => {
                // Each child is sent what concerns its subtree.
                match self.events.last_mut() {
                    Some(Event::Next(_, Some(known))) => {
                        join(known, plan.as_deref().unwrap_or_default())
                    }
                    Some(Event::Next(..)) => {}
                    _ => self.events.push(Event::Next(*switch, plan.clone())),
                }
            }
            Notice::Plan(plan) if self.here == Rank(0) => match self.events.last_mut() {
                Some(Event::Plan(known)) => join(known, plan),
                _ => self.events.push(Event::Plan(plan.clone())),
            },
            Notice::Next { .. } | Notice::Plan(_) => {}
            Notice::Data(number, part) => {
                let (from, part) = (self.here, part.clone());
                self.events
                    .push(Event::Data(*number, Move { from, to, part }));
            }
        }
        self.sent.push((PlaceId(to.0), notice));
    }

    fn run(&mut self, chunk: Vec<Range<u64>>) {
        self.events.push(Event::Run(bits(&chunk)));
    }

    fn end(&mut self) {
        self.events.push(Event::End);
    }
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
            slip: None,
            effects: Cell::default(),
            probed: RefCell::default(),
        }
    }

    /// Lets the iterations of the first ranks only take one time or another; those of the others are always fast.
    pub fn varying(mut self, ranks: u32) -> Self {
        self.varying = ranks;
        self
    }

    /// Makes an error on purpose.
    pub fn with_slip(mut self, slip: DeferSlip) -> Self {
        self.slip = Some(slip);
        self
    }

    /// Returns what has occurred so far.
    pub fn effects(&self) -> Effects {
        self.effects.get()
    }

    fn note(&self, change: impl FnOnce(&mut Effects)) {
        let mut effects = self.effects.get();
        change(&mut effects);
        self.effects.set(effects);
    }

    /// Returns whether moves reserve more than there is: over a split point, or out of or into a rank.
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

    /// Lets the machine of a rank process something.
    fn step(
        &self,
        here: PlaceId,
        site: &mut Site,
        out: &mut Out<Self>,
        step: impl FnOnce(&mut Deferred, &mut Driver<'_>) -> Result<(), Refused>,
    ) {
        let mut driver = Driver {
            here: Rank(here.0),
            slip: self.slip,
            plans: out.ghost.plans,
            events: Vec::new(),
            sent: &mut out.sent,
        };
        let taken = step(&mut site.machine, &mut driver);
        for event in driver.events {
            if let Event::Run(chunk) = event {
                let is_counted = site.machine.instance() < self.instances;
                site.chunk = is_counted.then_some(chunk);
            }
            out.ghost.record(self, Rank(here.0), event);
        }
        if taken.is_err() {
            out.ghost.flaw = Some(Flaw::Refused);
        }
        if self.slip.is_none() && !self.probed.borrow().contains(site) {
            self.probe(&site.machine);
            self.probed.borrow_mut().insert(site.clone());
        }
    }

    /// Gives garbled messages to a machine: none panics, and those that are refused change nothing.
    fn probe(&self, machine: &Deferred) {
        let notices = self.garbled(machine.instance());
        let ranks = (0..=self.ranks).chain([u32::MAX]).map(Rank);
        for (from, notice) in ranks.flat_map(|from| notices.iter().map(move |n| (from, n))) {
            let (mut after, mut witness) = (machine.clone(), Witness::default());
            if after.on(from, notice.clone(), &mut witness).is_err() {
                let is_same = after == *machine && !witness.0;
                assert!(
                    is_same,
                    "{notice:?} from {from} was refused, and changed {machine:?}"
                );
            }
        }
    }

    /// Returns messages that a sound rank does not send in instance `now`.
    fn garbled(&self, now: u64) -> Vec<Notice> {
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

/// Records whether a machine requires anything.
#[derive(Default)]
struct Witness(bool);

impl Actions<Notice> for Witness {
    fn send(&mut self, _: Rank, _: Notice) {
        self.0 = true;
    }

    fn run(&mut self, _: Vec<Range<u64>>) {
        self.0 = true;
    }

    fn end(&mut self) {
        self.0 = true;
    }
}

impl Actors for Deferring {
    type Site = Site;
    type Message = Notice;
    type Act = Act;
    type Ghost = Ghost;

    fn places(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: PlaceId, out: &mut Out<Self>) -> Site {
        out.ghost = Ghost::new(self);
        Site {
            machine: Deferred::new(Rank(here.0), self.iterations, self.ranks, self.conditions),
            has_begun: false,
            chunk: None,
        }
    }

    fn acts(&self, here: PlaceId, site: &Site, _: &Ghost) -> Vec<Act> {
        let begin = (!site.has_begun).then_some(Act::Begin);
        let times = if here.0 < self.varying {
            &[1, 4][..]
        } else {
            &[1]
        };
        let times = times.iter().filter(|_| site.chunk.is_some());
        let free = times.map(|time| Act::Free(*time));
        begin.into_iter().chain(free).collect()
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        match act {
            Act::Begin => {
                self.step(here, site, out, |machine, driver| {
                    machine.begin(driver);
                    Ok(())
                });
                site.has_begun = true;
            }
            Act::Free(time) => {
                let chunk = site.chunk.take().expect("it executes");
                out.ghost.report(Rank(here.0), chunk);
                let times = vec![time; chunk.count_ones() as usize];
                self.step(here, site, out, |machine, driver| {
                    machine.free(&times, driver);
                    Ok(())
                });
            }
        }
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        notice: Notice,
        out: &mut Out<Self>,
    ) {
        let from = Rank(from.0);
        if let (Notice::Plan(_) | Notice::Next { plan: Some(_), .. }, Some(plan)) =
            (&notice, &mut out.ghost.plan)
        {
            plan.known |= 1 << here.0;
        }
        if let Notice::Data(number, part) = &notice {
            let (to, part) = (Rank(here.0), part.clone());
            if self.slip == Some(DeferSlip::ExecuteWhatArrives) {
                out.ghost.execute(bits(std::slice::from_ref(&part)));
            }
            let step = Move { from, to, part };
            out.ghost
                .pass(*number, &step, Stage::Sending, Stage::Arrived);
            if self.slip == Some(DeferSlip::DropWhatArrives) {
                return;
            }
        }
        self.step(here, site, out, |machine, driver| {
            machine.on(from, notice, driver)
        });
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
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
        view.ghost.flaw.or(exceeds)
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        let mut machines = view.sites.iter().map(|site| &site.machine);
        let has_arrived = |plan: &Plan| plan.has_arrived(self.ranks);
        machines.all(|machine| machine.instance() == self.instances)
            && view.ghost.plan.as_ref().is_none_or(has_arrived)
    }
}
