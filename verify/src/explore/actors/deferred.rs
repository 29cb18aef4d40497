//! Loops that are executed again and again: ranks that are slow or fast in each instance, while reports, plans and data are under way.
//!
//! The ghost is the specification (2.12 of Lucco 1995): which rank executes which iterations in the present instance, and when
//! a plan must take effect. It sees messages only.

use crate::explore::{Actors, Flaw, Out, View};
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
    /// Plans with transfers whose receiver had reported before the data arrived.
    pub missed: u64,
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
    /// Its iterations, while it executes them.
    chunk: Option<u32>,
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins the first instance.
    Begin,
    /// Finishes its iterations, each of which took this long.
    Free(u64),
}

/// How far a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Ordered,
    Sending,
    Arrived,
}

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    instance: u64,
    /// By rank, its iterations in this instance, as bits.
    owned: Vec<u32>,
    /// The plan that has yet to take effect: the instance with which it was announced, and its transfers.
    plan: Option<(u64, Vec<(Move, Stage)>)>,
    /// Iterations executed in this instance, as bits.
    executed: u32,
    /// Ranks that have reported in this instance, and those that had received all by then, as bits.
    reported: u32,
    ready: u32,
    flaw: Option<Flaw>,
}

/// The driver of a rank.
struct Driver<'a> {
    here: Rank,
    system: &'a Deferring,
    has_begun: bool,
    chunk: &'a mut Option<u32>,
    /// What rank 0 announces.
    next: (bool, Option<Vec<Move>>),
    data: Vec<(Rank, u64, Range<u64>)>,
    out: &'a mut Out<Deferring>,
}

impl Actions<Notice> for Driver<'_> {
    fn send(&mut self, to: Rank, mut notice: Notice) {
        match &mut notice {
            Notice::Accounts(_, accounts) => match self.system.slip {
                Some(DeferSlip::AcknowledgeEarly) => {
                    accounts.iter_mut().for_each(|account| account.is_ready = true);
                }
                Some(DeferSlip::ReportNothing) => return,
                _ => {}
            },
            Notice::Next { switch, plan, .. } if self.here == Rank(0) => {
                self.next.0 |= *switch;
                if let Some(plan) = plan {
                    let moves = self.next.1.get_or_insert_default();
                    let new = plan.iter().filter(|step| !moves.contains(step));
                    let new: Vec<Move> = new.cloned().collect();
                    moves.extend(new);
                }
            }
            Notice::Next { .. } => {}
            Notice::Data(number, part) => self.data.push((to, *number, part.clone())),
        }
        self.out.sent.push((PlaceId(to.0), notice));
    }

    fn run(&mut self, chunk: Vec<Range<u64>>) {
        let ghost = &mut self.out.ghost;
        if self.here == Rank(0) && self.has_begun {
            let (switch, plan) = std::mem::take(&mut self.next);
            ghost.advance(self.system, switch, plan);
        }
        for (to, number, part) in self.data.drain(..) {
            ghost.send(number, Move { from: self.here, to, part });
        }
        let chunk = bits(&chunk);
        if ghost.owned[self.here.index()] != chunk {
            ghost.flaw = Some(Flaw::Count);
        }
        *self.chunk = (ghost.instance < self.system.instances).then_some(chunk);
    }

    fn end(&mut self) {
        self.out.ghost.flaw = Some(Flaw::Repeated);
    }
}

impl Ghost {
    fn new(system: &Deferring) -> Self {
        let start = |rank| Deferred::new(Rank(rank), system.iterations, system.ranks, system.conditions);
        Self {
            owned: (0..system.ranks).map(|rank| bits(start(rank).parts())).collect(),
            ..Self::default()
        }
    }

    /// Begins the next instance.
    fn advance(&mut self, system: &Deferring, switch: bool, plan: Option<Vec<Move>>) {
        let everyone = (1 << system.ranks) - 1;
        if (self.executed, self.reported) != ((1 << system.iterations) - 1, everyone) {
            self.flaw = Some(Flaw::Count);
        }
        let due = self.plan.is_some() && self.ready == everyone;
        if switch != due {
            self.flaw = Some(if switch { Flaw::Early } else { Flaw::Late });
        }
        let mut effects = system.effects.get();
        effects.missed += u64::from(self.plan.is_some() && !due);
        self.instance += 1;
        if let Some((number, moves)) = self.plan.take_if(|_| switch) {
            effects.instances |= u32::from(!moves.is_empty()) << self.instance;
            effects.late += u64::from(self.instance > number + 1);
            effects.chained += u64::from(plan.is_some());
            for (Move { from, to, part }, _) in moves {
                let part = bits(&[part]);
                if self.owned[from.index()] & part != part {
                    self.flaw = Some(Flaw::Count);
                }
                self.owned[from.index()] &= !part;
                self.owned[to.index()] |= part;
            }
        }
        system.effects.set(effects);
        if let Some(moves) = plan {
            // A range is in at most one transfer that is pending.
            if self.plan.is_some() || system.exceeds(&moves) {
                self.flaw = Some(Flaw::Activity);
            }
            let ordered = moves.into_iter().map(|step| (step, Stage::Ordered));
            self.plan = Some((self.instance, ordered.collect()));
        }
        if !system.are_blocks(&self.owned) {
            self.flaw = Some(Flaw::Misrouted);
        }
        (self.executed, self.reported, self.ready) = (0, 0, 0);
    }

    /// Changes the stage of a transfer.
    fn pass(&mut self, number: u64, step: &Move, before: Stage, after: Stage) {
        let plan = self.plan.as_mut().filter(|plan| plan.0 == number);
        let moves = plan.into_iter().flat_map(|plan| &mut plan.1);
        match moves.into_iter().find(|(known, stage)| known == step && *stage == before) {
            Some((_, stage)) => *stage = after,
            None => self.flaw = Some(Flaw::Count),
        }
    }

    fn send(&mut self, number: u64, step: Move) {
        self.pass(number, &step, Stage::Ordered, Stage::Sending);
    }

    fn execute(&mut self, chunk: u32) {
        if self.executed & chunk != 0 {
            self.flaw = Some(Flaw::Count);
        }
        self.executed |= chunk;
    }

    /// Executes the iterations of a rank, and records what it can report.
    fn report(&mut self, here: Rank, chunk: u32) {
        self.execute(chunk);
        self.reported |= 1 << here.0;
        let mut moves = self.plan.iter().flat_map(|plan| &plan.1);
        let is_here = moves.all(|(step, stage)| step.to != here || *stage == Stage::Arrived);
        self.ready |= u32::from(is_here) << here.0;
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
            slip: None,
            effects: Cell::default(),
            probed: RefCell::default(),
        }
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
            system: self,
            has_begun: site.has_begun,
            chunk: &mut site.chunk,
            next: (false, None),
            data: Vec::new(),
            out,
        };
        if step(&mut site.machine, &mut driver).is_err() {
            out.ghost.flaw = Some(Flaw::Refused);
        }
        if self.slip.is_none() && !self.probed.borrow().contains(site) {
            self.probe(&site.machine);
            self.probed.borrow_mut().insert(site.clone());
        }
    }

    /// Gives garbled messages to a machine: none panics, and those that are refused change nothing.
    fn probe(&self, machine: &Deferred) {
        let (p, n, now) = (self.ranks, self.iterations, machine.instance());
        let ranks = || (0..=p).chain([u32::MAX]).map(Rank);
        let parts = [0..n, n - 1..n, n..n + 1, u64::MAX..0];
        let pairs = [(0, 1), (1, 0), (1, 1), (p, 0), (0, p)];
        let mut notices = Vec::new();
        for instance in [now, now + 1] {
            let account = |sections: &[(u64, u64)]| Account {
                sections: sections.to_vec(),
                same: 1,
                all: u64::MAX,
                is_ready: true,
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
                    let step = Move { from, to, part: part.clone() };
                    let next = |switch| Notice::Next {
                        instance,
                        switch,
                        plan: Some(vec![step.clone(); 2]),
                    };
                    notices.extend([false, true].map(next));
                }
            }
            notices.push(Notice::Next { instance, switch: true, plan: None });
        }
        for (from, notice) in ranks().flat_map(|from| notices.iter().map(move |n| (from, n))) {
            let (mut after, mut witness) = (machine.clone(), Witness::default());
            if after.on(from, notice.clone(), &mut witness).is_err() {
                let is_same = after == *machine && !witness.0;
                assert!(is_same, "{notice:?} from {from} was refused, and changed {machine:?}");
            }
        }
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

    fn acts(&self, _: PlaceId, site: &Site, _: &Ghost) -> Vec<Act> {
        let begin = (!site.has_begun).then_some(Act::Begin);
        let free = [Act::Free(1), Act::Free(4)];
        let free = free.into_iter().filter(|_| site.chunk.is_some());
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
        if let Notice::Data(number, part) = &notice {
            let (to, part) = (Rank(here.0), part.clone());
            if self.slip == Some(DeferSlip::ExecuteWhatArrives) {
                out.ghost.execute(bits(std::slice::from_ref(&part)));
            }
            let step = Move { from, to, part };
            out.ghost.pass(*number, &step, Stage::Sending, Stage::Arrived);
            if self.slip == Some(DeferSlip::DropWhatArrives) {
                return;
            }
        }
        self.step(here, site, out, |machine, driver| {
            machine.on(from, notice, driver)
        });
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        let moving = view.parcels.iter().filter_map(|parcel| match &parcel.message {
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
        machines.all(|machine| machine.instance() == self.instances)
    }
}
