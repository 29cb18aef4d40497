//! The decision at the end of an epoch: the next chunk size, and which ranks exchange iterations.
//!
//! # Algorithm
//! Spec 2.5 of Lucco 1995 (003:370-397). A rank that has begun two chunks in an epoch in which
//! another has begun none takes over the other's chunk. What the source leaves open is decided
//! thus: ranks without iterations come first; if ranks remain that nothing was taken over for, each
//! of them receives a chunk of the rank that has most left, provided that more than one chunk is
//! left there. Else such ranks would starve as soon as each of the others begins one chunk an
//! epoch.

use super::message::{Epoch, Order, Progress};
use crate::defer::predict::scale;
use crate::id::Rank;
use crate::taper::{Estimate, Instance, Policy, Summary, is_admitted};
use alloc::collections::{BTreeSet, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Root {
    policy: Policy,
    instance: Instance,
    /// By rank: what it was ordered to give, and the last epoch that ordered it to.
    ordered: Vec<(u64, u64)>,
    /// The work of all iterations.
    whole: u64,
    /// Measured before, if work is predicted.
    prior: Option<Estimate>,
    /// By rank, if work is predicted: what it was ordered to receive, and the last epoch that
    /// ordered it to.
    expected: Vec<(u64, u64)>,
}

impl Root {
    pub(super) fn new(
        policy: Policy,
        instance: Instance,
        whole: u64,
        prior: Option<Estimate>,
    ) -> Self {
        Self {
            policy,
            instance,
            whole,
            prior,
            expected: vec![(0, 0); instance.p() as usize],
            ordered: vec![(0, 0); instance.p() as usize],
        }
    }

    /// Returns the chunk size of the first epoch.
    pub(super) fn first(&self) -> u64 {
        self.chunk(self.whole, Estimate::START)
    }

    /// Returns the work of a chunk while the work `left` has not begun: that of as many iterations
    /// of the mean work as the policy takes.
    fn chunk(&self, left: u64, estimate: Estimate) -> u64 {
        let n = self.instance.n();
        let count = scale(left, n, self.whole).max(1);
        let estimate = self.prior.unwrap_or(estimate);
        let chunk = self.policy.epoch_chunk(count, estimate, &self.instance);
        scale(chunk, self.whole, n).max(1)
    }

    /// Ends the epoch `number`, whose chunks had `chunk` iterations; `started` iterations have
    /// begun.
    pub(super) fn close<'a>(
        &mut self,
        number: u64,
        chunk: u64,
        started: u64,
        reports: impl Iterator<Item = (&'a Progress, &'a Progress)>,
    ) -> Epoch {
        if self.prior.is_some() {
            return self.level(number, reports);
        }
        let mut times = Summary::default();
        let mut needy = Needy::default();
        let mut rich = BinaryHeap::new();
        let mut late = Vec::new();
        let ranks = (0..).map(Rank).zip(&mut self.ordered);
        for ((rank, ordered), (known, before)) in ranks.zip(reports) {
            times.merge(&known.times);
            let credit = known.chunks - before.chunks;
            let left = left(known, ordered);
            match (known.hungry == number + 1, credit) {
                (true, _) => needy.hungry.push(rank),
                (false, 0) if left > 0 => late.push((left, Reverse(rank))),
                (false, 0 | 1) if left > chunk => rich.push((left, Reverse(rank))),
                (false, _) => needy.ahead.extend((1..credit).map(|_| rank)),
            }
        }
        late.sort_unstable_by(|a, b| b.cmp(a));
        let mut orders = needy.pair(late, &mut rich, chunk);
        orders.sort_unstable_by_key(|order| (order.donor, order.receiver));
        for order in &orders {
            let (epoch, amount) = &mut self.ordered[order.donor.index()];
            (*epoch, *amount) = (number + 1, *amount + order.amount);
        }
        Epoch {
            number: number + 1,
            chunk: self.chunk(self.instance.n() - started, times.estimate()),
            orders,
        }
    }

    /// Ends the epoch `number` of a loop whose work is predicted.
    fn level<'a>(
        &mut self,
        number: u64,
        reports: impl Iterator<Item = (&'a Progress, &'a Progress)>,
    ) -> Epoch {
        let (mut rich, mut poor) = (BTreeSet::new(), BTreeSet::new());
        let mut whole = 0_u64;
        let ranks = (0..)
            .map(Rank)
            .zip(&mut self.ordered)
            .zip(&mut self.expected);
        for (((rank, ordered), expected), (known, _)) in ranks.zip(reports) {
            whole = whole.saturating_add(known.left);
            let left = left(known, ordered);
            if known.epoch >= expected.0 {
                *expected = (0, 0);
            }
            let left = left.saturating_add(expected.1);
            rich.insert((left, Reverse(rank)));
            poor.insert((left, rank));
        }
        let p = self.instance.p();
        let mut orders = Vec::new();
        while let (Some(&(most, Reverse(donor))), Some(&(least, receiver))) =
            (rich.last(), poor.first())
        {
            let amount = most.saturating_sub(least) / 2;
            if !is_admitted(amount, whole, p) {
                break;
            }
            rich.pop_last();
            poor.pop_first();
            poor.remove(&(most, donor));
            rich.remove(&(least, Reverse(receiver)));
            rich.insert((most - amount, Reverse(donor)));
            poor.insert((least + amount, receiver));
            orders.push(Order {
                donor,
                receiver,
                amount,
            });
        }
        orders.sort_unstable_by_key(|order| (order.donor, order.receiver));
        for order in &orders {
            let (epoch, amount) = &mut self.ordered[order.donor.index()];
            (*epoch, *amount) = (number + 1, *amount + order.amount);
            let (epoch, amount) = &mut self.expected[order.receiver.index()];
            (*epoch, *amount) = (number + 1, *amount + order.amount);
        }
        Epoch {
            number: number + 1,
            chunk: self.chunk(whole, Estimate::START),
            orders,
        }
    }
}

/// Returns the iterations left at a rank by its newest report, less those that it was ordered to
/// give since.
fn left(known: &Progress, ordered: &mut (u64, u64)) -> u64 {
    if known.epoch >= ordered.0 {
        *ordered = (0, 0);
    }
    known.left.saturating_sub(ordered.1)
}

/// The ranks that chunks of others go to.
#[derive(Default)]
struct Needy {
    hungry: Vec<Rank>,
    /// Once for each chunk begun after the first.
    ahead: Vec<Rank>,
}

impl Needy {
    /// Pairs them with the ranks that have begun no chunk, and those without iterations also with
    /// those that have most left.
    fn pair(
        self,
        late: Vec<(u64, Reverse<Rank>)>,
        rich: &mut BinaryHeap<(u64, Reverse<Rank>)>,
        chunk: u64,
    ) -> Vec<Order> {
        let mut orders = Vec::new();
        let mut order = |donor, receiver| {
            orders.push(Order {
                donor,
                receiver,
                amount: chunk,
            });
        };
        let mut late = late.into_iter();
        let mut hungry = self.hungry.into_iter();
        for (receiver, (left, donor)) in hungry.by_ref().zip(late.by_ref()) {
            order(donor.0, receiver);
            rich.push((left.saturating_sub(chunk), donor));
        }
        for (receiver, (_, donor)) in self.ahead.into_iter().zip(late) {
            order(donor.0, receiver);
        }
        for receiver in hungry {
            let Some((left, donor)) = rich.pop().filter(|(left, _)| *left > chunk) else {
                break;
            };
            order(donor.0, receiver);
            rich.push((left - chunk, donor));
        }
        orders
    }
}
