//! Deferred load balancing: what one instance of a loop measures decides which iterations move for
//! later ones.
//!
//! # Algorithm
//! Lucco 1995, 003:550-649 (spec 2.12). Each rank begins with a block. After its iterations a rank
//! reports the work of its sections up the tree of ranks. The root decides which iterations move,
//! if the loads differ by more than 3 % of the loop, and if what that gains exceeds the threshold
//! and the cost of moving, which the next instances share.
//!
//! | geometry | which iterations move |
//! |---|---|
//! | [`Geometry::Contiguous`] (c of the spec) | blocks stay contiguous: split points move, so iterations move along the lines of communication only |
//! | [`Geometry::Free`] (b of the spec) | any, from the ranks with most work to those with least |
//!
//! - *Transfers span instances.* The donor sends the data and still executes these iterations. A
//!   rank that has all it is to receive acknowledges that with its next report. The root announces
//!   with the end of an instance that all ranks have; then all switch at the same instance. So each
//!   iteration has one executor in each instance.
//! - *A plan an instance.* The next plan is announced with the switch to the one before, from what
//!   was measured until then: so no plan is older than two instances when it takes effect.
//! - *Bandwidth.* At most [`Conditions::capacity`] iterations cross a split point, or leave or
//!   reach a rank, in one plan. There is one plan at a time, so nothing is reserved twice.
//! - *Coherence guard.* No plan begins while the work-weighted coherence of successive instances,
//!   Σmin/Σmax of the times of each iteration, is below [`Conditions::coherence`], or not known: a
//!   plan made from the first instance of a loop without coherence would stay.
//!
//! # Not for iterations with a state
//! [`Notice::Data`] is sent when a plan is announced, and the donor executes these iterations at
//! least once more. A driver that sends their states with it makes the receiver continue from older
//! ones: each iteration is executed once in each instance, on a state that may lack an execution.
//! Only data that executions do not change can be sent so.
//!
//! # Proved
//! Over every order of deliveries for up to 4 ranks and instances
//! (`verify/tests/explore/defer.rs`): each iteration is executed once in each instance, and a
//! transfer takes effect at one instance, once its data has arrived and was acknowledged.

mod check;
mod message;
mod pairs;
mod parts;
mod plan;
mod profile;
mod splits;

pub use message::{Account, Move, Notice};

use super::{Conditions, Effect, Event, Geometry, Refusal};
use crate::collective::Branch;
use crate::id::Rank;
use crate::machine::{Machine, Step};
use crate::taper::{Instance, Policy, Summary};
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;
use message::Plan;
use parts::{dealt, len, slice};
use plan::decide;
use profile::{Profile, sections};

/// The iterations of a rank.
type Owned = Vec<Range<u64>>;

/// The strips of a rank where iterations may be anywhere. Neighbours are often long at the same
/// time, so they begin at different ranks.
const STRIPS: u32 = 64;

/// A plan is made in an instance once all but this part of the iterations were executed: late
/// enough to know them, early enough for the data to arrive before the next one.
const MEASURED: u64 = 4;

/// One rank's part in a loop that is executed again and again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deferred {
    branch: Branch,
    conditions: Conditions,
    n: u64,
    p: u32,
    instance: u64,
    /// By rank of the subtree, its iterations.
    owned: Vec<Owned>,
    plan: Option<Plan>,
    /// The number of plans so far.
    plans: u64,
    /// Data that has arrived: its sender, plan and iterations.
    arrived: Vec<(Rank, u64, Range<u64>)>,
    /// The iterations of the instance before, and their times.
    last: (Owned, Vec<u64>),
    /// The times of the iterations executed in this instance.
    times: Vec<u64>,
    /// The iterations of the chunk being executed.
    running: Option<u64>,
    own: Option<Account>,
    /// By child, the newest accounts of its subtree.
    below: Vec<Option<Vec<Account>>>,
    /// For this rank and each child, whether its accounts were not passed on yet.
    is_new: Vec<bool>,
    /// Whether the instance has ended in the subtree, and the next one has yet to begin.
    waits: bool,
    /// At rank 0: what was measured so far.
    profile: Option<Profile>,
    /// At rank 0: whether a plan could be made in the course of this instance.
    has_decided: bool,
}

impl Deferred {
    /// Creates the machine of rank `here` of `p` in a loop of `n` iterations, which begins in
    /// blocks.
    ///
    /// # Panics
    /// If `here` is not one of the ranks, or `n` exceeds `2^63`.
    pub fn new(here: Rank, n: u64, p: u32, conditions: Conditions) -> Self {
        let branch = Branch::new(here, p, 2);
        let children = branch.children().len();
        let size = 1 + branch.sizes().sum::<usize>() as u32;
        let begins = |rank| match conditions.geometry {
            Geometry::Contiguous => dealt(rank, n, p, 1),
            Geometry::Free => dealt(rank, n, p, STRIPS),
        };
        Self {
            owned: (here.0..here.0 + size).map(begins).collect(),
            branch,
            conditions,
            n,
            p,
            instance: 0,
            plan: None,
            arrived: Vec::new(),
            plans: 0,
            last: (Vec::new(), Vec::new()),
            times: Vec::new(),
            running: None,
            own: None,
            below: vec![None; children],
            is_new: vec![false; children + 1],
            waits: false,
            profile: None,
            has_decided: false,
        }
    }

    /// Returns the iterations that this rank executes in this instance, in order.
    pub fn parts(&self) -> &[Range<u64>] {
        &self.owned[0]
    }

    /// Returns the range from the first to the last iteration that this rank executes in this
    /// instance: all of them, if blocks are contiguous.
    pub fn block(&self) -> Range<u64> {
        let ends = |first: &Range<u64>| first.start..self.parts().last().map_or(0, |last| last.end);
        self.parts().first().map_or(0..0, ends)
    }

    /// Returns the number of the instance.
    pub fn instance(&self) -> u64 {
        self.instance
    }

    /// Begins an instance.
    fn begin(&mut self, step: &mut Step<'_, Self>) {
        self.times.clear();
        self.run(step);
    }

    /// Executes the next chunk of the instance.
    fn run(&mut self, step: &mut Step<'_, Self>) {
        let done = self.times.len() as u64;
        let left = len(self.parts()) - done;
        let chunk = match self.conditions.pace {
            None => left,
            Some(taper) => {
                let mut times = Summary::NONE;
                self.last.1.iter().for_each(|time| times.record(*time));
                // As if all ranks had as much left.
                let left = left.saturating_mul(u64::from(self.p)).min(self.n);
                let instance = Instance::new(self.n, self.p);
                let chunk = Policy::Taper(taper).chunk(left, times.estimate(), &instance);
                chunk.min(len(self.parts()) - done)
            }
        };
        self.running = Some(chunk);
        let chunk = slice(self.parts(), done..done + chunk).collect();
        step.effect(Effect::Execute(chunk));
    }

    /// Processes the end of a chunk, whose iterations took `times`.
    fn executed(&mut self, times: &[u64], step: &mut Step<'_, Self>) {
        let chunk = self.running.take().expect("a chunk must have begun");
        assert_eq!(times.len() as u64, chunk, "one time for each iteration");
        self.times.extend(times);
        let left = len(self.parts()) - self.times.len() as u64;
        self.own = Some(self.account(left));
        self.is_new[0] = true;
        if left == 0 {
            self.last = (self.owned[0].clone(), mem::take(&mut self.times));
        }
        self.go_up(step);
        if left > 0 {
            self.run(step);
        }
    }

    /// Returns the account of what was executed so far.
    fn account(&self, left: u64) -> Account {
        let (parts, last) = &self.last;
        let known = parts.iter().cloned().flatten().zip(last);
        let (mut known, mut same, mut all) = (known.peekable(), 0_u64, 0_u64);
        for (iteration, time) in self.parts().iter().cloned().flatten().zip(&self.times) {
            while known.next_if(|(before, _)| *before < iteration).is_some() {}
            let Some((_, before)) = known.next_if(|(before, _)| *before == iteration) else {
                continue;
            };
            same = same.saturating_add(*before.min(time));
            all = all.saturating_add(*before.max(time));
        }
        Account {
            sections: sections(&self.times),
            same,
            all,
            left,
            ready: self.ready(),
        }
    }

    /// Returns whether accounts are not newer than those that are known.
    fn is_stale(&self, child: usize, instance: u64, accounts: &[Account]) -> bool {
        let left = |accounts: &[Account]| accounts.iter().map(|a| u128::from(a.left)).sum::<u128>();
        let ready =
            |accounts: &[Account]| accounts.iter().map(|a| u128::from(a.ready)).sum::<u128>();
        let is_newer =
            |known: &Vec<Account>| (left(accounts), ready(known)) < (left(known), ready(accounts));
        instance < self.instance || !self.below[child].as_ref().is_none_or(is_newer)
    }

    /// Reports that all data is here, if it arrives after the end of the instance at this rank.
    fn acknowledge(&mut self, step: &mut Step<'_, Self>) {
        let (ready, is_paced) = (self.ready(), self.conditions.pace.is_some());
        let own = self
            .own
            .as_mut()
            .filter(|own| own.left == 0 && own.ready < ready);
        if let Some(own) = own.filter(|_| is_paced) {
            own.ready = ready;
            self.is_new[0] = true;
            self.go_up(step);
        }
    }

    /// Passes the accounts of the subtree on, once each rank has reported something new or has
    /// ended the instance; at the root, decides.
    fn go_up(&mut self, step: &mut Step<'_, Self>) {
        let own = self.own.as_ref().map(core::slice::from_ref);
        let below = self.below.iter().map(|accounts| accounts.as_deref());
        let known: Option<Vec<&[Account]>> = core::iter::once(own).chain(below).collect();
        let Some(known) = known else {
            return;
        };
        let has_ended = |accounts: &&[Account]| accounts.iter().all(|account| account.left == 0);
        let mut units = known.iter().zip(&self.is_new);
        let is_due = units.all(|(accounts, is_new)| *is_new || has_ended(accounts));
        if !is_due || !self.is_new.contains(&true) {
            return;
        }
        let accounts = known.concat();
        self.is_new.fill(false);
        self.waits = accounts.iter().all(|account| account.left == 0);
        match self.branch.parent() {
            Some(parent) => step.send(parent, Notice::Accounts(self.instance, accounts)),
            None if self.waits => self.conclude(&accounts, step),
            None => self.reconsider(&accounts, step),
        }
    }

    /// At the root, ends an instance.
    fn conclude(&mut self, accounts: &[Account], step: &mut Step<'_, Self>) {
        let is_ready = |plan: &Plan| accounts.iter().all(|a| a.ready == plan.number);
        let switch = self.plan.as_ref().is_some_and(is_ready);
        let profile = Profile::new(&self.owned, accounts, self.profile.as_ref());
        let plan = match (&self.plan, switch) {
            (Some(_), false) => None,
            _ if self.has_decided => None,
            (plan, _) => {
                let mut owned = self.owned.clone();
                plan.iter().for_each(|plan| plan.apply(Rank(0), &mut owned));
                decide(&owned, accounts, &profile, &self.conditions, self.instance)
            }
        };
        self.profile = Some(profile);
        self.has_decided = false;
        self.next(switch, plan, step);
    }

    /// At the root, makes a plan in the course of an instance, so that it can take effect with the
    /// next one.
    fn reconsider(&mut self, accounts: &[Account], step: &mut Step<'_, Self>) {
        let left: u64 = accounts.iter().map(|account| account.left).sum();
        let Some(before) = self.profile.as_ref().filter(|_| left <= self.n / MEASURED) else {
            return;
        };
        let is_first = !mem::replace(&mut self.has_decided, true);
        if !is_first || self.plan.is_some() {
            return;
        }
        let profile = Profile::new(&self.owned, accounts, Some(before));
        let (conditions, instance) = (&self.conditions, self.instance);
        if let Some(moves) = decide(&self.owned, accounts, &profile, conditions, instance) {
            self.announce(moves, step);
        }
    }

    /// Announces a plan in the subtree, and sends what it demands.
    fn announce(&mut self, moves: Vec<Move>, step: &mut Step<'_, Self>) {
        for (child, moves) in self.below(&moves) {
            step.send(child, Notice::Plan(moves));
        }
        self.adopt(moves, step);
    }

    /// Returns the children, each with the moves that concern its subtree.
    fn below(&self, moves: &[Move]) -> Vec<(Rank, Vec<Move>)> {
        let children = self.branch.children().zip(self.branch.sizes());
        let concerning = |(child, size): (Rank, usize)| {
            let below = child.0..child.0 + size as u32;
            let concerns =
                |step: &&Move| below.contains(&step.from.0) || below.contains(&step.to.0);
            (child, moves.iter().filter(concerns).cloned().collect())
        };
        children.map(concerning).collect()
    }

    /// Begins to carry out a plan.
    fn adopt(&mut self, moves: Vec<Move>, step: &mut Step<'_, Self>) {
        self.plans += 1;
        let number = self.plans;
        for transfer in moves
            .iter()
            .filter(|transfer| transfer.from == self.branch.here())
        {
            step.send(transfer.to, Notice::Data(number, transfer.part.clone()));
        }
        self.plan = Some(Plan { number, moves });
        self.acknowledge(step);
    }

    /// Begins the next instance.
    fn next(&mut self, switch: bool, plan: Option<Vec<Move>>, step: &mut Step<'_, Self>) {
        self.instance += 1;
        let instance = self.instance;
        let moves = self.below(plan.as_deref().unwrap_or_default());
        for (child, moves) in moves {
            let plan = plan.is_some().then_some(moves);
            let next = Notice::Next {
                instance,
                switch,
                plan,
            };
            step.send(child, next);
        }
        if let Some(plan) = self.plan.take_if(|_| switch) {
            plan.apply(self.branch.here(), &mut self.owned);
            self.arrived.retain(|(_, number, _)| *number != plan.number);
        }
        self.own = None;
        self.below.fill(None);
        self.waits = false;
        if let Some(moves) = plan {
            self.adopt(moves, step);
        }
        self.begin(step);
    }

    /// Returns the number of the newest plan of which everything that this rank receives has
    /// arrived.
    fn ready(&self) -> u64 {
        let Some(plan) = &self.plan else {
            return self.plans;
        };
        let mine = |step: &&Move| step.to == self.branch.here();
        let data = |step: &Move| (step.from, plan.number, step.part.clone());
        let mut expected = plan.moves.iter().filter(mine).map(data);
        match expected.all(|data| self.arrived.contains(&data)) {
            true => plan.number,
            false => plan.number - 1,
        }
    }
}

impl Machine for Deferred {
    type Peer = Rank;
    type Message = Notice;
    /// Of a chunk it takes the time of each iteration.
    type Event = Event<Vec<u64>>;
    /// The first instance begins with an event; the others begin by themselves, with a chunk, which
    /// may be empty. A driver that wants no more of them does not execute it. There is no
    /// [`Effect::End`].
    type Effect = Effect;
    type Calls = ();
    type Refusal = Refusal;

    /// # Panics
    /// If a chunk was executed that had not begun, or its times are not those of its iterations.
    fn event(&mut self, event: Event<Vec<u64>>, step: &mut Step<'_, Self>) {
        match event {
            Event::Begin => self.begin(step),
            Event::Executed(times) => self.executed(&times, step),
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        notice: Notice,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        self.check(from, &notice)?;
        match notice {
            Notice::Accounts(instance, accounts) => {
                let child = self.branch.children().position(|child| child == from);
                let fresh = child.filter(|child| !self.is_stale(*child, instance, &accounts));
                if let Some(child) = fresh {
                    self.below[child] = Some(accounts);
                    self.is_new[child + 1] = true;
                    self.go_up(step);
                }
            }
            Notice::Next { switch, plan, .. } => self.next(switch, plan, step),
            Notice::Plan(moves) => self.announce(moves, step),
            Notice::Data(number, part) => {
                self.arrived.push((from, number, part));
                self.acknowledge(step);
            }
        }
        Ok(())
    }
}
