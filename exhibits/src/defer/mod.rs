//! The methods that self-scheduling and deferred balancing are compared with: iterations are
//! exchanged by their number.
//!
//! # Algorithm
//! Lucco 1995, 003:441-449 (spec 2.6). Each rank begins with a block, and communicates each time
//! after K_sync iterations.
//!
//! | rule | what a rank does then |
//! |---|---|
//! | [`Rule::Neighbours`] (LLB) | compares with its neighbours in the hypercube; a rank that is behind by more than 2 K_min iterations gives half of what it has left |
//! | [`Rule::Tree`] (GL1) | reports what is left up the tree; a node orders an exchange of half the greatest disparity below it, if that is above 2 K_min |
//! | [`Rule::Halving`] (GL2) | nothing, until it has no iterations left: then it requests half of those of a random rank, and again if that rank has no work (Rudolph, Slivkin-Allalouf and Upfal 1991) |
//!
//! The end of the loop is not part of the source: ranks without iterations report how many have
//! begun, along the tree.
//!
//! # Proved
//! Over every order of deliveries for up to 3 ranks (`verify/tests/explore/defer.rs`): every
//! iteration begins exactly once, the end is reported once at each rank, after all have begun, and
//! can be reached from every state.
#![forbid(unsafe_code)]

mod loads;
mod phase;
mod tally;

use alloc::vec::Vec;
use core::ops::Range;
use loads::Loads;
use phase::Phase;
use tally::Tally;
use tautline_core::Rank;
use tautline_core::collective::Branch;
use tautline_core::defer::{Count, Effect, Event, Predict, Refusal, Scheduler, Stock};
use tautline_core::machine::{Machine, Pick, Step};
use tautline_core::taper::{blocked, is_admitted};

/// The rule by which ranks exchange iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Local load balancing.
    Neighbours,
    /// Global load balancing 1.
    Tree,
    /// Global load balancing 2.
    Halving,
}

/// The parameters of a [`Baseline`], which are tuned for each application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// K_sync: iterations between two communications, which are executed as a chunk; at least 1.
    pub sync: u64,
    /// K_min: half of the difference that is tolerated.
    pub min: u64,
}

/// The settings of (K_sync, K_min) of which LLB, GL1 and GL2 have the best: the source tunes them
/// for each application.
pub const TUNINGS: [Tuning; 4] = [
    Tuning { sync: 1, min: 1 },
    Tuning { sync: 2, min: 1 },
    Tuning { sync: 4, min: 2 },
    Tuning { sync: 8, min: 4 },
];

/// A message between the [`Baseline`]s of two ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Call {
    /// The number of iterations that a neighbour has begun; of predicted work, all but what is left
    /// there.
    Begun(u64),
    /// The same number, as the answer of a neighbour that is ahead.
    Ahead(u64),
    /// A rank, the number of its report, and the iterations or the work left there; for the parent.
    Left(Rank, u64, u64),
    /// An exchange that a node above orders: the receiver, and how many iterations or how much
    /// work.
    Give(Rank, u64),
    /// A request for half of the iterations.
    Request,
    /// The answer to a request; it may be empty.
    Answer(Vec<Range<u64>>),
    /// Iterations that have not begun.
    Data(Vec<Range<u64>>),
    /// The number of iterations begun in the subtree; for the parent.
    Sum(u64),
    /// All iterations have begun; for the children.
    End,
}

/// One rank's part in a loop that is balanced by one of the [`Rule`]s.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Baseline<W = Count> {
    rule: Rule,
    tuning: Tuning,
    n: u64,
    p: u32,
    predict: W,
    /// The work of all iterations, and of those that have begun here.
    whole: u64,
    spent: u64,
    phase: Phase,
    is_over: bool,
    stock: Stock,
    tally: Tally,
    loads: Loads,
    /// The reports of this rank.
    reports: u64,
    /// The rank that has yet to answer a request.
    asked: Option<Rank>,
}

impl Baseline {
    /// Creates the machine of rank `here` of `p` in a loop of `n` iterations.
    ///
    /// # Panics
    /// If `here` is not one of the ranks, or `n` exceeds `2^63`.
    pub fn new(here: Rank, n: u64, p: u32, rule: Rule, tuning: Tuning) -> Self {
        Self::predicted(here, (n, p), rule, tuning, Count)
    }
}

impl<W: Predict> Baseline<W> {
    /// Creates the machine of the cached variant, which exchanges and compares predicted work: rank
    /// `here` in a loop of `n` iterations on `p` ranks. The parameters of the tuning are in
    /// iterations of the mean work. All ranks give the same prediction.
    ///
    /// # Panics
    /// If `here` is not one of the ranks, or `n` exceeds `2^63`.
    pub fn predicted(
        here: Rank,
        (n, p): (u64, u32),
        rule: Rule,
        tuning: Tuning,
        predict: W,
    ) -> Self {
        let whole = predict.work(0..n);
        let tuning = Tuning {
            sync: scaled(tuning.sync, whole, n),
            min: scaled(tuning.min, whole, n),
        };
        let branch = Branch::new(here, p, 2);
        Self {
            rule,
            tuning,
            n,
            p,
            whole,
            predict,
            spent: 0,
            phase: Phase::New,
            is_over: false,
            stock: Stock::new(blocked(here.0, n, p)),
            loads: Loads::new(subtree(&branch)),
            tally: Tally::new(branch),
            reports: 0,
            asked: None,
        }
    }

    /// Returns whether this rank is done.
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Returns what neighbours compare: the iterations begun; of predicted work, what is not left
    /// at this rank.
    fn done(&self) -> u64 {
        match self.predict.estimate() {
            None => self.tally.own(),
            Some(_) => self.whole.saturating_sub(self.stock.work(&self.predict)),
        }
    }

    /// Returns the number from which on a rank is ahead of one that has done `done`.
    fn limit(&self, done: u64) -> u64 {
        done.saturating_add(self.tuning.min.saturating_mul(2))
    }

    /// Gives a half to a neighbour that is ahead: of the iterations, or of the difference in
    /// predicted work.
    fn compare_with(&mut self, neighbour: Rank, theirs: u64, step: &mut Step<'_, Self>) {
        let mine = self.done();
        if theirs <= self.limit(mine) {
            return;
        }
        let half = match self.predict.estimate() {
            None => self.stock.len() / 2,
            Some(_) => (theirs - mine) / 2,
        };
        if self.admits(half) {
            self.give(neighbour, half, step);
        }
    }

    /// Returns whether a transfer is worthwhile, where work is predicted. This rank has executed
    /// without a pause since the loop began, so the others have done about as much: that is the
    /// estimate of what remains.
    fn admits(&self, work: u64) -> bool {
        let done = self.spent.saturating_mul(u64::from(self.p));
        let remaining = self.whole.saturating_sub(done);
        self.predict.estimate().is_none() || is_admitted(work, remaining, self.p)
    }

    /// Takes iterations with about this work from the back.
    fn take(&mut self, work: u64) -> Vec<Range<u64>> {
        let count = self.stock.fit_back(work, &self.predict);
        self.stock.take_back(count)
    }

    fn take_in(&mut self, parts: Vec<Range<u64>>, step: &mut Step<'_, Self>) {
        self.stock.put(parts);
        if self.phase == Phase::Waiting {
            self.go_on(step);
        }
    }

    fn give(&mut self, receiver: Rank, amount: u64, step: &mut Step<'_, Self>) {
        let parts = self.take(amount);
        if !parts.is_empty() {
            step.send(receiver, Call::Data(parts));
        }
    }

    /// Communicates after K_sync iterations.
    fn compare(&mut self, step: &mut Step<'_, Self>) {
        if self.is_over {
            return;
        }
        let here = self.tally.branch().here();
        match self.rule {
            Rule::Neighbours => {
                let p = self.p;
                let done = self.done();
                for to in (0..32).map(|bit| here.0 ^ 1 << bit).filter(|to| *to < p) {
                    step.send(Rank(to), Call::Begun(done));
                }
            }
            Rule::Tree => {
                self.reports += 1;
                let left = self.stock.work(&self.predict);
                self.report(here, self.reports, left, step);
            }
            Rule::Halving => {}
        }
    }

    /// Processes the report of a rank of the subtree: passes it on, and orders an exchange.
    fn report(&mut self, rank: Rank, number: u64, left: u64, step: &mut Step<'_, Self>) {
        self.loads.record(rank, number, left);
        if let Some(parent) = self.tally.branch().parent() {
            step.send(parent, Call::Left(rank, number, left));
        }
        let is_predicted = self.predict.estimate().is_some();
        let Some(exchange) = self.loads.exchange(self.tuning.min, is_predicted) else {
            return;
        };
        if exchange.donor == self.tally.branch().here() {
            self.give(exchange.receiver, exchange.amount, step);
        } else {
            let call = Call::Give(exchange.receiver, exchange.amount);
            step.send(exchange.donor, call);
        }
    }

    /// Begins the next chunk, or requests iterations.
    fn go_on(&mut self, step: &mut Step<'_, Self>) {
        if self.is_over {
            self.phase = Phase::Ended;
            return step.effect(Effect::End);
        }
        if !self.stock.is_empty() {
            self.phase = Phase::Busy;
            let fitting = self.stock.fit_front(self.tuning.sync, &self.predict);
            let before = self.stock.work(&self.predict);
            let chunk = self.stock.take_front(fitting.max(1));
            self.spent = self
                .spent
                .saturating_add(before - self.stock.work(&self.predict));
            self.tally.begin(fitting.max(1));
            return step.effect(Effect::Execute(chunk));
        }
        self.add_up(step);
        let is_alone = self.p == 1 || self.rule != Rule::Halving;
        if !self.is_over && !is_alone && self.asked.is_none() {
            let other = step.calls().pick(self.p - 1);
            let victim = Rank(other + u32::from(other >= self.tally.branch().here().0));
            self.asked = Some(victim);
            step.send(victim, Call::Request);
        }
    }

    /// Reports the iterations that have begun if this rank has nothing left; at rank 0, ends the
    /// loop.
    fn add_up(&mut self, step: &mut Step<'_, Self>) {
        if self.tally.branch().parent().is_none() {
            if self.tally.sum() == self.n && !self.is_over {
                self.finish(step);
            }
        } else if self.phase == Phase::Waiting
            && let Some((parent, sum)) = self.tally.report()
        {
            step.send(parent, Call::Sum(sum));
        }
    }

    /// Ends the loop in the subtree: all iterations have begun.
    fn finish(&mut self, step: &mut Step<'_, Self>) {
        self.is_over = true;
        for child in self.tally.branch().children() {
            step.send(child, Call::End);
        }
        if self.phase == Phase::Waiting {
            self.phase = Phase::Ended;
            step.effect(Effect::End);
        }
    }

    fn check(&self, from: Rank, call: &Call) -> Result<(), Refusal> {
        let branch = self.tally.branch();
        let here = branch.here();
        if from.0 >= self.p || from == here {
            return Err(Refusal::Path);
        }
        let require = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
        match call {
            Call::Begun(begun) | Call::Ahead(begun) => {
                let is_neighbour = (from.0 ^ here.0).is_power_of_two();
                let fits = self.rule == Rule::Neighbours && is_neighbour;
                require(fits, Refusal::Path)?;
                require(*begun <= self.whole, Refusal::Count)
            }
            Call::Left(rank, _, left) => {
                let is_child = branch.children().any(|child| child == from);
                require(self.rule == Rule::Tree && is_child, Refusal::Path)?;
                let below = subtree(&Branch::new(from, self.p, 2));
                require(below.contains(&rank.0), Refusal::Names(*rank))?;
                require(*left <= self.whole, Refusal::Range)
            }
            Call::Give(receiver, amount) => {
                let above = subtree(&Branch::new(from, self.p, 2));
                let is_above = self.rule == Rule::Tree && above.contains(&here.0);
                require(is_above, Refusal::Path)?;
                let fits = above.contains(&receiver.0) && *receiver != here;
                require(fits, Refusal::Names(*receiver))?;
                require((1..=self.whole).contains(amount), Refusal::Range)
            }
            Call::Request => require(self.rule == Rule::Halving, Refusal::Path),
            Call::Answer(parts) => {
                require(self.asked == Some(from), Refusal::Unasked)?;
                require(parts.is_empty() || !self.is_over, Refusal::End)?;
                let fits = parts.is_empty() || self.stock.admits(parts, self.n);
                require(fits, Refusal::Iterations)
            }
            Call::Data(parts) => {
                require(!self.is_over, Refusal::End)?;
                require(self.stock.admits(parts, self.n), Refusal::Iterations)
            }
            Call::Sum(_) => Ok(()),
            Call::End => {
                require(branch.parent() == Some(from), Refusal::Path)?;
                require(!self.is_over && self.stock.is_empty(), Refusal::End)
            }
        }
    }
}

impl<W: Predict> Machine for Baseline<W> {
    type Peer = Rank;
    type Message = Call;
    type Event = Event<()>;
    type Effect = Effect;
    /// The rank from which [`Rule::Halving`] requests.
    type Calls = dyn Pick;
    type Refusal = Refusal;

    /// # Panics
    /// If the loop begins twice, or a chunk was executed that had not begun.
    fn event(&mut self, event: Event<()>, step: &mut Step<'_, Self>) {
        match event {
            Event::Begin => self.phase.begin(),
            Event::Executed(()) => {
                self.phase.free();
                self.compare(step);
            }
        }
        self.go_on(step);
    }

    fn receive(
        &mut self,
        from: Rank,
        call: Call,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        self.check(from, &call)?;
        match call {
            Call::Begun(theirs) => {
                let mine = self.done();
                if mine > self.limit(theirs) {
                    step.send(from, Call::Ahead(mine));
                } else {
                    self.compare_with(from, theirs, step);
                }
            }
            Call::Ahead(theirs) => self.compare_with(from, theirs, step),
            Call::Left(rank, number, left) => self.report(rank, number, left, step),
            Call::Give(receiver, amount) => self.give(receiver, amount, step),
            Call::Request => {
                let half = self.stock.work(&self.predict).div_ceil(2);
                let parts = match self.admits(half) {
                    true => self.take(half),
                    false => Vec::new(),
                };
                step.send(from, Call::Answer(parts));
            }
            Call::Answer(parts) => {
                self.asked = None;
                self.take_in(parts, step);
            }
            Call::Data(parts) => self.take_in(parts, step),
            Call::Sum(sum) => {
                self.tally.record(from, sum, self.n)?;
                self.add_up(step);
            }
            Call::End => self.finish(step),
        }
        Ok(())
    }
}

impl<W: Predict> Scheduler for Baseline<W> {
    type Times = ();

    fn times(_: &[u64]) {}

    fn calls<'a>(pick: &'a mut (dyn Pick + 'static)) -> &'a mut (dyn Pick + 'static) {
        pick
    }

    fn moved(call: &Call) -> &[Range<u64>] {
        match call {
            Call::Data(parts) | Call::Answer(parts) => parts,
            _ => &[],
        }
    }
}

/// Returns `count` iterations of the mean work of `n`, which have `whole` together.
fn scaled(count: u64, whole: u64, n: u64) -> u64 {
    let work = u128::from(count) * u128::from(whole);
    let work = work.checked_div(u128::from(n)).unwrap_or(0);
    u64::try_from(work).unwrap_or(u64::MAX)
}

/// Returns the ranks of a subtree.
fn subtree(branch: &Branch) -> Range<u32> {
    let here = branch.here().0;
    here..here + 1 + branch.sizes().sum::<usize>() as u32
}
