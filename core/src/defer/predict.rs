//! Predicted cost of iterations, for loops over ranks.

use crate::taper::{CostFunction, Estimate, Summary};
use alloc::vec::Vec;
use core::ops::Range;

/// A prediction of the work of iterations, in any unit. All ranks of a loop have the same.
pub trait Predict {
    /// Returns the work of a range of the loop's iterations. A range does not have less than a part
    /// of it.
    fn work(&self, range: Range<u64>) -> u64;

    /// Returns the mean and variation of the iterations' times, if the prediction is based on
    /// measured ones. A loop that is scheduled by such a prediction compares predicted work where
    /// it otherwise compares numbers of iterations.
    fn estimate(&self) -> Option<Estimate>;

    /// Returns the number of iterations from the start of `range` whose work is closest to `most`,
    /// after work `before` them: an iteration is included if not more than half of it is above
    /// (spec 2.11 of Lucco 1995).
    fn fit(&self, range: Range<u64>, before: u64, most: u64) -> u64 {
        search(range.end - range.start, before, most, |count| {
            self.work(range.start..range.start + count)
        })
    }

    /// Returns the same from the end of `range`.
    fn fit_back(&self, range: Range<u64>, before: u64, most: u64) -> u64 {
        search(range.end - range.start, before, most, |count| {
            self.work(range.end - count..range.end)
        })
    }
}

/// Returns the largest count up to `len` whose last iteration is not more than half above `most`.
fn search(len: u64, before: u64, most: u64, work: impl Fn(u64) -> u64) -> u64 {
    let (mut fits, mut above) = (0, len + 1);
    while fits + 1 < above {
        let count = fits + (above - fits) / 2;
        let ends = u128::from(work(count - 1)) + u128::from(work(count));
        match ends + 2 * u128::from(before) <= 2 * u128::from(most) {
            true => fits = count,
            false => above = count,
        }
    }
    fits
}

/// No prediction: each iteration counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Count;

impl Predict for Count {
    fn work(&self, range: Range<u64>) -> u64 {
        range.end - range.start
    }

    fn estimate(&self) -> Option<Estimate> {
        None
    }

    fn fit(&self, range: Range<u64>, before: u64, most: u64) -> u64 {
        most.saturating_sub(before).min(range.end - range.start)
    }

    fn fit_back(&self, range: Range<u64>, before: u64, most: u64) -> u64 {
        self.fit(range, before, most)
    }
}

/// The times of all iterations in an earlier instance.
///
/// ```
/// # use tautline_core::defer::{Predict, Table};
/// let table = Table::new([10, 30, 10, 10]);
/// assert_eq!(table.work(1..3), 40);
/// assert_eq!((table.fit(0..4, 0, 25), table.fit(0..4, 0, 24)), (2, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// By iteration, and one more: the sum of the times before it. It saturates.
    before: Vec<u64>,
    estimate: Estimate,
}

impl Table {
    /// Creates the prediction that the iterations take these times in nanoseconds.
    pub fn new(times: impl IntoIterator<Item = u64>) -> Self {
        let (mut sum, mut summary) = (0_u64, Summary::NONE);
        let mut before = Vec::from([0]);
        before.extend(times.into_iter().map(|ns| {
            summary.record(ns);
            sum = sum.saturating_add(ns);
            sum
        }));
        Self {
            before,
            estimate: summary.estimate(),
        }
    }
}

impl Predict for Table {
    /// # Panics
    /// If the range exceeds the iterations.
    fn work(&self, range: Range<u64>) -> u64 {
        self.before[range.end as usize] - self.before[range.start as usize]
    }

    fn estimate(&self) -> Option<Estimate> {
        Some(self.estimate)
    }
}

impl Predict for CostFunction {
    /// Nothing is predicted before there was an instance: each iteration counts as one.
    fn work(&self, range: Range<u64>) -> u64 {
        CostFunction::work(self, range.clone()).unwrap_or(range.end - range.start)
    }

    fn estimate(&self) -> Option<Estimate> {
        self.is_known().then(|| CostFunction::estimate(self))
    }
}

/// Returns `a b / c`, 0 if `c` is.
pub(super) fn scale(a: u64, b: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let scaled = product.checked_div(u128::from(c)).unwrap_or(0);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

impl<W: Predict + ?Sized> Predict for &W {
    fn work(&self, range: Range<u64>) -> u64 {
        (**self).work(range)
    }

    fn estimate(&self) -> Option<Estimate> {
        (**self).estimate()
    }

    fn fit(&self, range: Range<u64>, before: u64, most: u64) -> u64 {
        (**self).fit(range, before, most)
    }

    fn fit_back(&self, range: Range<u64>, before: u64, most: u64) -> u64 {
        (**self).fit_back(range, before, most)
    }
}
