//! Deferred load balancing: what one instance of a loop measures decides which iterations move for later ones.
//!
//! # Algorithm
//! Lucco 1995, 003:550-649 (spec 2.12), for loops whose iterations form a line. Each rank owns a block; blocks stay contiguous, so iterations move
//! along the lines of communication only. After its block a rank reports the work of its sections up the tree of ranks. The root
//! moves the split points so that each rank has equal work (geometry c of the spec), if the loads differ by more than 3 % of the
//! loop, and if what that gains exceeds the threshold and the cost of moving, which the next instances share.
//!
//! - *Transfers span instances.* The donor sends the data and still executes these iterations. A rank that has all it is
//!   to receive acknowledges that with its next report. The root announces with the end of an instance that all ranks have; then
//!   all switch at the same instance. So each iteration has one executor in each instance.
//! - *Bandwidth.* What crosses a split point is how far it moves: at most [`Conditions::capacity`] in one plan. There is one plan
//!   at a time, so nothing is reserved twice.
//! - *Coherence guard.* No plan begins while the work-weighted coherence of successive instances, Σmin/Σmax of the times of each
//!   iteration, is below [`Conditions::coherence`].

mod plan;

use super::{Actions, Refusal, Refused};
use crate::collective::Branch;
use crate::id::Rank;
use crate::taper::blocked;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;
use plan::{SECTIONS, decide, section};

/// When a transfer is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The range of the loads that is tolerated, and the least gain, in thousandths of the most loaded rank's time.
    pub threshold: u32,
    /// The least coherence of successive instances, in thousandths.
    pub coherence: u32,
    /// The iterations that may cross a split point in one plan.
    pub capacity: u64,
    /// The time to move an iteration; 0 if communication overlaps with computation.
    pub migrate_ns: u64,
}

impl Default for Conditions {
    /// 3 %, 0.8, no bound on the bandwidth, and overlap.
    fn default() -> Self {
        Self {
            threshold: 30,
            coherence: 800,
            capacity: u64::MAX,
            migrate_ns: 0,
        }
    }
}

/// What a rank reports after an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Account {
    /// The work of the sections of its block, which have equally many iterations, give or take one.
    pub sections: Vec<u64>,
    /// The sum over its iterations of the shorter time of this instance and the last.
    pub same: u64,
    /// The sum of the longer times.
    pub all: u64,
    /// Whether all iterations that it is to receive have arrived.
    pub is_ready: bool,
}

impl Account {
    fn work(&self) -> u128 {
        self.sections.iter().map(|work| u128::from(*work)).sum()
    }
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
        /// A new plan: the bounds of all blocks.
        plan: Option<Vec<u64>>,
    },
    /// The data of these iterations, for the plan that was announced with this instance.
    Data(u64, Range<u64>),
}

/// Bounds of blocks that take effect once all data has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Plan {
    /// The instance with which it was announced.
    number: u64,
    bounds: Vec<u64>,
}

/// One rank's part in a loop that is executed again and again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deferred {
    branch: Branch,
    conditions: Conditions,
    instance: u64,
    /// The block of rank q is between bounds q and q + 1.
    bounds: Vec<u64>,
    plan: Option<Plan>,
    /// Data that has arrived: its sender, plan and iterations.
    arrived: Vec<(Rank, u64, Range<u64>)>,
    /// The times of the instance before, and its first iteration.
    last: (u64, Vec<u64>),
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
        Self {
            branch,
            conditions,
            instance: 0,
            bounds: (0..p)
                .map(|rank| blocked(rank, n, p).start)
                .chain([n])
                .collect(),
            plan: None,
            arrived: Vec::new(),
            last: (0, Vec::new()),
            is_busy: false,
            own: None,
            below: vec![None; children],
        }
    }

    /// Returns the iterations that this rank executes in this instance.
    pub fn block(&self) -> Range<u64> {
        block(&self.bounds, self.branch.here())
    }

    /// Returns the number of the instance.
    pub fn instance(&self) -> u64 {
        self.instance
    }

    /// Begins the first instance. The others begin by themselves, with a call of [`Actions::run`], whose chunk may be
    /// empty; a driver that wants no more of them does not execute it. [`Actions::end`] is not called.
    pub fn begin(&mut self, out: &mut impl Actions<Notice>) {
        self.is_busy = true;
        out.run(core::iter::once(self.block()).collect());
    }

    /// Processes the end of the block, whose iterations took `times`.
    ///
    /// # Panics
    /// If no instance is being executed, or `times` are not those of the block.
    pub fn free(&mut self, times: &[u64], out: &mut impl Actions<Notice>) {
        let block = self.block();
        assert!(self.is_busy, "an instance must have begun");
        let len = block.end - block.start;
        assert_eq!(times.len() as u64, len, "one time for each iteration");
        self.is_busy = false;
        let (start, last) = mem::replace(&mut self.last, (block.start, times.to_vec()));
        let (mut same, mut all) = (0_u64, 0_u64);
        for (iteration, time) in block.zip(times) {
            let before = iteration.checked_sub(start);
            let before = before.and_then(|at| last.get(usize::try_from(at).ok()?));
            let before = before.unwrap_or(time);
            same = same.saturating_add(*before.min(time));
            all = all.saturating_add(*before.max(time));
        }
        let count = SECTIONS.min(times.len());
        let bound = |at| section(at, count, len) as usize;
        let work = |at| {
            let times = times[bound(at)..bound(at + 1)].iter();
            times.fold(0, |sum: u64, time| sum.saturating_add(*time))
        };
        self.own = Some(Account {
            sections: (0..count).map(work).collect(),
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
        // What was measured is the work of the present blocks: the next plan comes with the instance after the switch.
        let plan = match self.plan {
            Some(_) => None,
            None => decide(&self.bounds, &accounts, &self.conditions, self.instance),
        };
        self.next(switch, plan, out);
    }

    /// Begins the next instance.
    fn next(&mut self, switch: bool, plan: Option<Vec<u64>>, out: &mut impl Actions<Notice>) {
        self.instance += 1;
        for child in self.branch.children() {
            let (instance, plan) = (self.instance, plan.clone());
            out.send(
                child,
                Notice::Next {
                    instance,
                    switch,
                    plan,
                },
            );
        }
        if let Some(plan) = self.plan.take_if(|_| switch) {
            self.bounds = plan.bounds;
            self.arrived.clear();
        }
        if let Some(bounds) = plan {
            let number = self.instance;
            for (receiver, part) in parts(&self.block(), &bounds) {
                if receiver != self.branch.here() {
                    out.send(receiver, Notice::Data(number, part));
                }
            }
            self.plan = Some(Plan { number, bounds });
        }
        self.begin(out);
    }

    /// Returns whether everything that this rank receives by the plan has arrived.
    fn is_ready(&self) -> bool {
        let Some(plan) = &self.plan else {
            return true;
        };
        let mine = block(&plan.bounds, self.branch.here());
        let mut expected = parts(&mine, &self.bounds);
        expected.all(|(donor, part)| {
            donor == self.branch.here() || self.arrived.contains(&(donor, plan.number, part))
        })
    }

    fn check(&self, from: Rank, notice: &Notice) -> Result<(), Refusal> {
        let require = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
        let p = self.bounds.len() - 1;
        match notice {
            Notice::Accounts(instance, accounts) => {
                let mut children = self.branch.children().zip(self.branch.sizes()).zip(0..);
                let child = children.find(|((child, _), _)| *child == from);
                let ((_, size), at) = child.ok_or(Refusal::Path)?;
                require(self.below[at].is_none(), Refusal::Unasked)?;
                require(*instance == self.instance, Refusal::Range)?;
                require(accounts.len() == size, Refusal::Count)?;
                for (rank, account) in (from.0..).map(Rank).zip(accounts) {
                    let block = block(&self.bounds, rank);
                    let count = (SECTIONS as u64).min(block.end - block.start);
                    let is_whole = account.sections.len() as u64 == count;
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
                let may_switch = self.plan.is_some() && plan.is_none() && self.is_ready();
                require(!*switch || may_switch, Refusal::Unasked)?;
                require(plan.is_none() || self.plan.is_none(), Refusal::Unasked)?;
                let fits = |plan: &Vec<u64>| {
                    let ends = (plan.first(), plan.last()) == (Some(&0), self.bounds.last());
                    plan.len() == p + 1 && ends && plan.is_sorted()
                };
                require(plan.as_ref().is_none_or(fits), Refusal::Range)
            }
            Notice::Data(number, part) => {
                require(
                    from.index() < p && from != self.branch.here(),
                    Refusal::Path,
                )?;
                // The data may overtake the plan, which then is that of the next instance.
                let is_known = self.plan.as_ref().map(|plan| plan.number) == Some(*number);
                let is_early = self.plan.is_none() && *number == self.instance + 1;
                require(is_known || is_early, Refusal::Range)?;
                let theirs = block(&self.bounds, from);
                let is_theirs = theirs.start <= part.start && part.end <= theirs.end;
                let is_new = self.arrived.iter().all(|(donor, ..)| *donor != from);
                let fits = is_theirs && part.start < part.end && is_new;
                require(fits, Refusal::Iterations)
            }
        }
    }
}

/// Returns the block of a rank.
fn block(bounds: &[u64], rank: Rank) -> Range<u64> {
    bounds[rank.index()]..bounds[rank.index() + 1]
}

/// Divides a range by the blocks: the parts that are not empty, with the ranks of their blocks.
fn parts(range: &Range<u64>, bounds: &[u64]) -> impl Iterator<Item = (Rank, Range<u64>)> {
    let (start, end) = (range.start, range.end);
    let parts = (0..).map(Rank).zip(bounds.windows(2));
    parts
        .map(move |(rank, block)| (rank, start.max(block[0])..end.min(block[1])))
        .filter(|(_, part)| part.start < part.end)
}
