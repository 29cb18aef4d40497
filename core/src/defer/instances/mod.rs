//! Deferred load balancing: what one instance of a loop measures decides which iterations move for later ones.
//!
//! # Algorithm
//! Lucco 1995, 003:550-649 (spec 2.12). Each rank begins with a block. After its iterations a rank reports the work of its sections up the tree of
//! ranks. The root decides which iterations move, if the loads differ by more than 3 % of the loop, and if what that gains exceeds
//! the threshold and the cost of moving, which the next instances share.
//!
//! | geometry | which iterations move |
//! |---|---|
//! | [`Geometry::Contiguous`] (c of the spec) | blocks stay contiguous: split points move, so iterations move along the lines of communication only |
//! | [`Geometry::Free`] (b of the spec) | any, from the ranks with most work to those with least |
//!
//! - *Transfers span instances.* The donor sends the data and still executes these iterations. A rank that has all it is
//!   to receive acknowledges that with its next report. The root announces with the end of an instance that all ranks have; then
//!   all switch at the same instance. So each iteration has one executor in each instance.
//! - *A plan an instance.* The next plan is announced with the switch to the one before, from what was measured until then: so no
//!   plan is older than two instances when it takes effect.
//! - *Bandwidth.* At most [`Conditions::capacity`] iterations cross a split point, or leave or reach a rank, in one plan. There is one plan
//!   at a time, so nothing is reserved twice.
//! - *Coherence guard.* No plan begins while the work-weighted coherence of successive instances, Σmin/Σmax of the times of each
//!   iteration, is below [`Conditions::coherence`].

mod pairs;
mod parts;
mod plan;
mod profile;
mod splits;

use super::{Actions, Refusal, Refused};
use crate::collective::Branch;
use crate::id::Rank;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use core::{mem, slice};
use parts::{contains, dealt, insert, len, overlaps, remove};
use plan::decide;
use profile::{Profile, are_sections, sections};

/// The iterations of a rank.
type Owned = Vec<Range<u64>>;

/// The strips of a rank where iterations may be anywhere. Neighbours are often long at the same time, so they begin at
/// different ranks.
const STRIPS: u32 = 64;

/// Which iterations may move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Geometry {
    /// Those at the ends of blocks: neighbours communicate.
    #[default]
    Contiguous,
    /// Any: iterations do not communicate.
    Free,
}

/// When a transfer is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The range of the loads that is tolerated, and the least gain, in thousandths of the most loaded rank's time.
    pub threshold: u32,
    /// The least coherence of successive instances, in thousandths.
    pub coherence: u32,
    /// The iterations that may cross a split point, or leave or reach a rank, in one plan.
    pub capacity: u64,
    /// The time to move an iteration; 0 if communication overlaps with computation.
    pub migrate_ns: u64,
    /// Which iterations may move.
    pub geometry: Geometry,
}

impl Default for Conditions {
    /// 3 %, 0.8, no bound on the bandwidth, overlap, and contiguous blocks.
    fn default() -> Self {
        Self {
            threshold: 30,
            coherence: 800,
            capacity: u64::MAX,
            migrate_ns: 0,
            geometry: Geometry::default(),
        }
    }
}

/// What a rank reports after an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Account {
    /// The sections of its iterations, in order: how many iterations, and their work.
    pub sections: Vec<(u64, u64)>,
    /// The sum over its iterations of the shorter time of this instance and the last.
    pub same: u64,
    /// The sum of the longer times.
    pub all: u64,
    /// Whether all iterations that it is to receive have arrived.
    pub is_ready: bool,
}

/// A message between the [`Deferred`]s of two ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Notice {
    /// The accounts of the ranks of a subtree after this instance, in order; for the parent.
    Accounts(u64, Vec<Account>),
    /// This instance begins; for the children.
    Next {
        /// Its number.
        instance: u64,
        /// Whether the plan takes effect: all data has arrived.
        switch: bool,
        /// A new plan: the moves that concern the subtree.
        plan: Option<Vec<Move>>,
    },
    /// The data of these iterations, for the plan that was announced with this instance.
    Data(u64, Range<u64>),
}

/// Iterations that move.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Move {
    /// The rank that executes them so far.
    pub from: Rank,
    /// The rank that will execute them.
    pub to: Rank,
    /// The iterations.
    pub part: Range<u64>,
}

/// Moves that take effect once all data has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Plan {
    /// The instance with which it was announced.
    number: u64,
    moves: Vec<Move>,
}

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
    /// Data that has arrived: its sender, plan and iterations.
    arrived: Vec<(Rank, u64, Range<u64>)>,
    /// The iterations of the instance before, and their times.
    last: (Owned, Vec<u64>),
    is_busy: bool,
    own: Option<Account>,
    /// By child, the accounts of its subtree.
    below: Vec<Option<Vec<Account>>>,
}

impl Deferred {
    /// Creates the machine of rank `here` of `p` in a loop of `n` iterations, which begins in blocks.
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
            last: (Vec::new(), Vec::new()),
            is_busy: false,
            own: None,
            below: vec![None; children],
        }
    }

    /// Returns the iterations that this rank executes in this instance, in order.
    pub fn parts(&self) -> &[Range<u64>] {
        &self.owned[0]
    }

    /// Returns the range from the first to the last iteration that this rank executes in this instance: all of them, if blocks are
    /// contiguous.
    pub fn block(&self) -> Range<u64> {
        let ends = |first: &Range<u64>| first.start..self.parts().last().map_or(0, |last| last.end);
        self.parts().first().map_or(0..0, ends)
    }

    /// Returns the number of the instance.
    pub fn instance(&self) -> u64 {
        self.instance
    }

    /// Begins the first instance. The others begin by themselves, with a call of [`Actions::run`], whose chunk may be
    /// empty; a driver that wants no more of them does not execute it. [`Actions::end`] is not called.
    pub fn begin(&mut self, out: &mut impl Actions<Notice>) {
        self.is_busy = true;
        out.run(self.parts().to_vec());
    }

    /// Processes the end of the iterations of this rank, which took `times`.
    ///
    /// # Panics
    /// If no instance is being executed, or `times` are not those of its iterations.
    pub fn free(&mut self, times: &[u64], out: &mut impl Actions<Notice>) {
        let len = len(self.parts());
        assert!(self.is_busy, "an instance must have begun");
        assert_eq!(times.len() as u64, len, "one time for each iteration");
        self.is_busy = false;
        let now = (self.owned[0].clone(), times.to_vec());
        let (parts, last) = mem::replace(&mut self.last, now);
        let mut known = parts.into_iter().flatten().zip(last).peekable();
        let (mut same, mut all) = (0_u64, 0_u64);
        for (iteration, time) in self.parts().iter().cloned().flatten().zip(times) {
            while known.next_if(|(before, _)| *before < iteration).is_some() {}
            let before = known.next_if(|(before, _)| *before == iteration);
            let before = before.map_or(*time, |(_, before)| before);
            same = same.saturating_add(before.min(*time));
            all = all.saturating_add(before.max(*time));
        }
        self.own = Some(Account {
            sections: sections(times),
            same,
            all,
            is_ready: self.is_ready(),
        });
        self.go_up(out);
    }

    /// Processes a message.
    ///
    /// # Errors
    /// If no correct rank sends it; nothing has changed then.
    pub fn on(
        &mut self,
        from: Rank,
        notice: Notice,
        out: &mut impl Actions<Notice>,
    ) -> Result<(), Refused> {
        let checked = self.check(from, &notice);
        checked.map_err(|why| Refused { from, why })?;
        match notice {
            Notice::Accounts(_, accounts) => {
                let child = self.branch.children().position(|child| child == from);
                if let Some(child) = child {
                    self.below[child] = Some(accounts);
                }
                self.go_up(out);
            }
            Notice::Next { switch, plan, .. } => self.next(switch, plan, out),
            Notice::Data(number, part) => self.arrived.push((from, number, part)),
        }
        Ok(())
    }

    /// Passes the accounts of the subtree on, once they are complete; at the root, decides.
    fn go_up(&mut self, out: &mut impl Actions<Notice>) {
        if self.own.is_none() || self.below.iter().any(Option::is_none) {
            return;
        }
        let below = self.below.iter_mut().filter_map(Option::take).flatten();
        let accounts: Vec<Account> = self.own.take().into_iter().chain(below).collect();
        if let Some(parent) = self.branch.parent() {
            return out.send(parent, Notice::Accounts(self.instance, accounts));
        }
        let is_ready = accounts.iter().all(|account| account.is_ready);
        let switch = self.plan.is_some() && is_ready;
        let profile = Profile::new(&self.owned, &accounts);
        let plan = match (&self.plan, switch) {
            (Some(_), false) => None,
            (plan, _) => {
                let mut owned = self.owned.clone();
                plan.iter().for_each(|plan| plan.apply(Rank(0), &mut owned));
                decide(&owned, &accounts, &profile, &self.conditions, self.instance)
            }
        };
        self.next(switch, plan, out);
    }

    /// Begins the next instance.
    fn next(&mut self, switch: bool, plan: Option<Vec<Move>>, out: &mut impl Actions<Notice>) {
        self.instance += 1;
        let here = self.branch.here();
        for (child, size) in self.branch.children().zip(self.branch.sizes()) {
            let below = child.0..child.0 + size as u32;
            let concerns = |step: &&Move| below.contains(&step.from.0) || below.contains(&step.to.0);
            let moves = |plan: &Vec<Move>| plan.iter().filter(concerns).cloned().collect();
            let (instance, plan) = (self.instance, plan.as_ref().map(moves));
            let next = Notice::Next { instance, switch, plan };
            out.send(child, next);
        }
        if let Some(plan) = self.plan.take_if(|_| switch) {
            plan.apply(here, &mut self.owned);
            self.arrived.retain(|(_, number, _)| *number != plan.number);
        }
        if let Some(moves) = plan {
            let number = self.instance;
            for step in moves.iter().filter(|step| step.from == here) {
                out.send(step.to, Notice::Data(number, step.part.clone()));
            }
            self.plan = Some(Plan { number, moves });
        }
        self.begin(out);
    }

    /// Returns whether everything that this rank receives by the plan has arrived.
    fn is_ready(&self) -> bool {
        let Some(plan) = &self.plan else {
            return true;
        };
        let mine = |step: &&Move| step.to == self.branch.here();
        let data = |step: &Move| (step.from, plan.number, step.part.clone());
        let mut expected = plan.moves.iter().filter(mine).map(data);
        expected.all(|data| self.arrived.contains(&data))
    }

    fn check(&self, from: Rank, notice: &Notice) -> Result<(), Refusal> {
        let require = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
        match notice {
            Notice::Accounts(instance, accounts) => {
                let mut children = self.branch.children().zip(self.branch.sizes()).zip(0..);
                let child = children.find(|((child, _), _)| *child == from);
                let ((_, size), at) = child.ok_or(Refusal::Path)?;
                require(self.below[at].is_none(), Refusal::Unasked)?;
                require(*instance == self.instance, Refusal::Range)?;
                require(accounts.len() == size, Refusal::Count)?;
                for (rank, account) in (from.0..).map(Rank).zip(accounts) {
                    let owned = &self.owned[(rank.0 - self.branch.here().0) as usize];
                    let is_whole = are_sections(&account.sections, len(owned));
                    let is_sound = is_whole && account.same <= account.all;
                    require(is_sound, Refusal::Progress(rank))?;
                }
                Ok(())
            }
            Notice::Next {
                instance,
                switch,
                plan,
            } => {
                require(self.branch.parent() == Some(from), Refusal::Path)?;
                let is_due = !self.is_busy && self.own.is_none();
                require(is_due && *instance == self.instance + 1, Refusal::Range)?;
                let may_switch = self.plan.is_some() && self.is_ready();
                require(!*switch || may_switch, Refusal::Unasked)?;
                let is_free = self.plan.is_none() || *switch;
                require(plan.is_none() || is_free, Refusal::Unasked)?;
                plan.as_ref().map_or(Ok(()), |plan| self.check_plan(plan))
            }
            Notice::Data(number, part) => {
                let here = self.branch.here();
                require(from.0 < self.p && from != here, Refusal::Path)?;
                let known = self.plan.as_ref().filter(|plan| plan.number == *number);
                // The data may overtake the plan, which then is that of the next instance.
                let is_early = *number == self.instance + 1;
                require(known.is_some() || is_early, Refusal::Range)?;
                let of_plan = |step: &Move| (step.from, step.to, &step.part) == (from, here, part);
                let fits = match known {
                    Some(plan) => plan.moves.iter().any(of_plan),
                    // What leaves by this plan may come back by the next.
                    None => {
                        let mut stays = self.owned[0].clone();
                        let leaving = self.plan.iter().flat_map(|plan| &plan.moves);
                        let leaving = leaving.filter(|step| step.from == here);
                        leaving.for_each(|step| remove(&mut stays, &step.part));
                        part.start < part.end && part.end <= self.n && !overlaps(&stays, part)
                    }
                };
                let is_old = |(_, of, other): &(Rank, u64, Range<u64>)| {
                    of == number && overlaps(slice::from_ref(other), part)
                };
                require(fits && !self.arrived.iter().any(is_old), Refusal::Iterations)
            }
        }
    }

    /// Checks a plan that takes effect after the present one.
    fn check_plan(&self, moves: &[Move]) -> Result<(), Refusal> {
        let require = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
        let first = self.branch.here().0;
        let mut owned = self.owned.clone();
        let present = self.plan.iter();
        present.for_each(|plan| plan.apply(Rank(first), &mut owned));
        for Move { from, to, part } in moves {
            require(from.0 < self.p && from != to, Refusal::Names(*from))?;
            require(to.0 < self.p, Refusal::Names(*to))?;
            require(part.start < part.end && part.end <= self.n, Refusal::Range)?;
            let at = |rank: &Rank| rank.0.checked_sub(first).map(|at| at as usize);
            let donor = at(from).and_then(|at| owned.get_mut(at));
            let is_theirs = donor.as_ref().is_none_or(|own| contains(own, part));
            require(is_theirs, Refusal::Iterations)?;
            let is_below = donor.is_some();
            donor.into_iter().for_each(|own| remove(own, part));
            let receiver = at(to).and_then(|at| self.owned.get(at));
            require(is_below || receiver.is_some(), Refusal::Names(*from))?;
        }
        Ok(())
    }
}

impl Plan {
    /// Moves iterations between the ranks from `first` on.
    fn apply(&self, first: Rank, owned: &mut [Owned]) {
        let at = |rank: Rank| rank.0.checked_sub(first.0).map(|at| at as usize);
        for Move { from, part, .. } in &self.moves {
            if let Some(own) = at(*from).and_then(|at| owned.get_mut(at)) {
                remove(own, part);
            }
        }
        for Move { to, part, .. } in &self.moves {
            if let Some(own) = at(*to).and_then(|at| owned.get_mut(at)) {
                insert(own, part.clone());
            }
        }
    }
}
