//! The decision after an instance: where the block of each rank should begin.

use crate::defer::instances::{Account, Conditions};
use alloc::vec::Vec;

/// The most sections into which a rank divides its block.
pub(super) const SECTIONS: usize = 16;

/// Returns the bounds of section `at` of `count` in a block of `len` iterations.
pub(super) fn section(at: usize, count: usize, len: u64) -> u64 {
    (at as u128 * u128::from(len) / count.max(1) as u128) as u64
}

/// The work of all iterations before each bound of a section.
struct Profile {
    /// Position and work before it, ascending; the last is the whole. Sums of garbled accounts saturate.
    points: Vec<(u64, u64)>,
}

impl Profile {
    fn new(bounds: &[u64], accounts: &[Account]) -> Self {
        let mut points = Vec::from([(0, 0)]);
        let mut work = 0_u64;
        for (block, account) in bounds.windows(2).zip(accounts) {
            let (start, len) = (block[0], block[1] - block[0]);
            let count = account.sections.len();
            for (at, section_work) in account.sections.iter().enumerate() {
                work = work.saturating_add(*section_work);
                points.push((start + section(at + 1, count, len), work));
            }
        }
        Self { points }
    }

    fn whole(&self) -> u64 {
        self.points.last().map_or(0, |last| last.1)
    }

    /// Returns the position before which there is `work`.
    fn position(&self, work: u64) -> u64 {
        let at = self.points.partition_point(|point| point.1 < work);
        let Some(&(end, until)) = self.points.get(at) else {
            return self.points.last().map_or(0, |last| last.0);
        };
        let Some(&(start, before)) = at.checked_sub(1).map(|at| &self.points[at]) else {
            return end;
        };
        let (len, span) = (u128::from(end - start), u128::from(until - before));
        start + ((len * u128::from(work - before) + span / 2) / span) as u64
    }

    /// Returns the work before a position.
    fn before(&self, position: u64) -> u64 {
        let at = self.points.partition_point(|point| point.0 < position);
        let (Some(&(end, until)), Some(at)) = (self.points.get(at), at.checked_sub(1)) else {
            return 0;
        };
        let (start, before) = self.points[at];
        let (len, done) = (u128::from(end - start), u128::from(position - start));
        before + (u128::from(until - before) * done / len) as u64
    }

    /// Returns the most work of a block.
    fn most(&self, bounds: &[u64]) -> u64 {
        let work = |block: &[u64]| self.before(block[1]) - self.before(block[0]);
        bounds.windows(2).map(work).max().unwrap_or(0)
    }
}

/// Returns the bounds that are worth a transfer, if there are any. `bounds` are those of the instance that the accounts are of,
/// `instances` the number of instances so far.
pub(super) fn decide(
    bounds: &[u64],
    accounts: &[Account],
    conditions: &Conditions,
    instances: u64,
) -> Option<Vec<u64>> {
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(|a| u128::from(of(a))).sum::<u128>();
    let (same, all) = (sum(|a| a.same), sum(|a| a.all));
    if same * 1000 < all * u128::from(conditions.coherence) {
        return None;
    }
    let works = accounts.iter().map(Account::work);
    let (most, least) = (works.clone().max()?, works.min()?);
    let threshold = u128::from(conditions.threshold);
    if (most - least) * 1000 <= most * threshold {
        return None;
    }
    let profile = Profile::new(bounds, accounts);
    let p = accounts.len() as u128;
    let whole = u128::from(profile.whole());
    let last = bounds.len() - 1;
    let target = |at: usize| match at {
        0 => 0,
        _ if at == last => bounds[last],
        _ => profile.position((whole * at as u128 / p) as u64),
    };
    let targets: Vec<u64> = (0..bounds.len()).map(target).collect();
    let gain = most.saturating_sub(u128::from(profile.most(&targets)));
    let shifts = bounds.iter().zip(&targets).map(|(a, b)| a.abs_diff(*b));
    let migration = u128::from(shifts.max()?) * u128::from(conditions.migrate_ns);
    let horizon = u128::from(instances + 1).min(64);
    let pays = gain * horizon > migration && gain * 1000 >= most * threshold;
    // Judged by where the split points are to go, although it takes several plans if the bandwidth is small: a single step may
    // gain nothing.
    let step = |(bound, target): (&u64, &u64)| {
        let capacity = conditions.capacity;
        (*target).clamp(
            bound.saturating_sub(capacity),
            bound.saturating_add(capacity),
        )
    };
    pays.then(|| bounds.iter().zip(&targets).map(step).collect())
}
