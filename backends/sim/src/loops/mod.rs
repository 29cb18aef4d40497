//! Loops over ranks in virtual time: the machines of `defer`, by name, and any others.
//!
//! # Example
//! ```
//! use tautline_sim::Program;
//! use tautline_sim::loops::{Costs, Method, Repeated};
//!
//! let times: Vec<_> = (0..8).map(|at| Program::Psirrfan.times(1024, at)).collect();
//! let repeated = Repeated { ranks: 16, costs: Costs::of(5000), times: &times };
//! let efficiency = |name: &str| repeated.efficiency(name.parse().unwrap(), 5..8);
//! assert!(efficiency("dlb-free") > efficiency("fac-cached"));
//! assert!(efficiency("fac-cached") > efficiency("fac"));
//! ```

mod driver;
mod method;

pub use driver::{Costs, run};
pub use method::Method;

use std::cmp::Reverse;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{
    Choice, Conditions, Deferred, Epochs, Geometry, Scheduler, Stock, Table,
};
use tautline_core::taper::{Coherence, Instance, Policy, Taper, blocked};

/// A loop that is executed again and again by ranks.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    /// The number of ranks, at least 1.
    pub ranks: u32,
    /// The costs of a loop's actions.
    pub costs: Costs,
    /// By instance, the times of its iterations, equally many.
    pub times: &'a [Vec<u64>],
}

impl Repeated<'_> {
    /// Returns the efficiency of the instances `steady`: the time of their iterations by that of
    /// all ranks until the last has ended, without the time in which ranks learn that the instance
    /// has ended. 1 if no time passes.
    ///
    /// # Panics
    /// If there is no rank, or no such instance.
    pub fn efficiency(&self, method: Method, steady: Range<usize>) -> f64 {
        let ns = self.run(method, steady.clone());
        self.share(steady, &ns)
    }

    /// Returns the same of another method, which begins again in each instance: `machine` makes the
    /// ranks of an instance, given its number.
    ///
    /// # Panics
    /// If there is no rank, or no such instance.
    pub fn efficiency_of<M: Scheduler>(
        &self,
        steady: Range<usize>,
        machine: impl Fn(usize, Rank) -> M,
    ) -> f64 {
        let once = |at| self.once(at, |rank| machine(at, rank));
        self.share(steady.clone(), &self.each(steady, once))
    }

    /// Returns the efficiency of instances that took these nanoseconds.
    fn share(&self, steady: Range<usize>, ns: &[u64]) -> f64 {
        let work: u64 = self.times[steady].iter().flatten().sum();
        match ns.iter().sum::<u64>() {
            0 => 1.0,
            ns => work as f64 / (f64::from(self.ranks) * ns as f64),
        }
    }

    /// Returns the nanoseconds of the instances `steady`.
    fn run(&self, method: Method, steady: Range<usize>) -> Vec<u64> {
        let instance = Instance::new(self.n(), self.ranks);
        match method {
            Method::Blocked => self.each(steady, |at| self.longest(&self.times[at])),
            Method::Counted(policy) => self.each(steady, |at| {
                self.once(at, |rank| Epochs::new(rank, instance, policy))
            }),
            Method::Cached(policy) => self.each(steady, |at| {
                let table = self.before(at);
                self.once(at, |rank| Epochs::predicted(rank, instance, policy, &table))
            }),
            Method::Placed(policy) => self.placed(policy, steady),
            Method::Deferred(geometry, pace) => self.deferred(geometry, pace, steady),
            Method::Auto { communicates } => {
                let method = match self.choice(communicates, steady.start) {
                    Choice::Counted => Method::Counted(Policy::Factoring),
                    Choice::Placed => Method::Placed(Policy::Factoring),
                    Choice::Deferred(geometry) => Method::Deferred(geometry, None),
                };
                self.run(method, steady)
            }
        }
    }

    fn n(&self) -> u64 {
        self.times.first().map_or(0, |times| times.len() as u64)
    }

    fn each(&self, steady: Range<usize>, ns: impl Fn(usize) -> u64) -> Vec<u64> {
        steady.map(ns).collect()
    }

    /// Returns the prediction for an instance: the times of the one before.
    ///
    /// # Panics
    /// If there is no such instance.
    pub fn before(&self, at: usize) -> Table {
        Table::new(self.times[at.saturating_sub(1)].iter().copied())
    }

    /// Returns the time of the longest block.
    fn longest(&self, times: &[u64]) -> u64 {
        let block = |rank| blocked(rank, self.n(), self.ranks);
        let time = |part: Range<u64>| times[part.start as usize..part.end as usize].iter().sum();
        (0..self.ranks).map(block).map(time).max().unwrap_or(0)
    }

    /// Runs one instance.
    fn once<M: Scheduler>(&self, at: usize, machine: impl Fn(Rank) -> M) -> u64 {
        let parts = (0..self.ranks).map(Rank).map(machine).collect();
        run(parts, &self.times[at..=at], self.costs).0[0]
    }

    fn placed(&self, policy: Policy, steady: Range<usize>) -> Vec<u64> {
        let instance = Instance::new(self.n(), self.ranks);
        let block = |rank| blocked(rank, self.n(), self.ranks).collect();
        let mut places: Vec<Vec<u64>> = (0..self.ranks).map(block).collect();
        let mut ns = Vec::new();
        for at in 0..steady.end {
            let (table, before) = (self.before(at), &self.times[at.saturating_sub(1)]);
            let machine = |(rank, mut own): (u32, Vec<u64>)| {
                own.sort_by_key(|iteration| Reverse(before[*iteration as usize]));
                let mut stock = Stock::default();
                stock.put(own.into_iter().map(|iteration| iteration..iteration + 1));
                Epochs::placed(Rank(rank), instance, policy, &table, stock)
            };
            let ranks = (0..).zip(places).map(machine).collect();
            let (spans, executed) = run(ranks, &self.times[at..=at], self.costs);
            places = executed;
            ns.extend(spans);
        }
        ns.split_off(steady.start)
    }

    fn deferred(&self, geometry: Geometry, pace: Option<Taper>, steady: Range<usize>) -> Vec<u64> {
        let conditions = Conditions {
            geometry,
            pace,
            ..Conditions::default()
        };
        let machine = |rank| Deferred::new(Rank(rank), self.n(), self.ranks, conditions);
        let parts = (0..self.ranks).map(machine).collect();
        let (mut spans, _) = run(parts, &self.times[..steady.end], self.costs);
        spans.split_off(steady.start)
    }

    /// Returns the choice by the instances before `end`; the first instance alone predicts the
    /// second.
    fn choice(&self, communicates: bool, end: usize) -> Choice {
        Choice::of(&self.coherence(end), communicates)
    }

    /// Returns the coherence of the instances before `end`.
    pub fn coherence(&self, end: usize) -> Coherence {
        let mut coherence = Coherence::default();
        for pair in self.times[..end.min(self.times.len())].windows(2) {
            let times = pair[0].iter().zip(&pair[1]);
            times.for_each(|(a, b)| coherence.record(*a, *b));
        }
        coherence
    }
}
