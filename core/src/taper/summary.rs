//! Times of tasks, summarised: their number, mean and coefficient of variation.
//!
//! # Algorithm
//! The summary keeps the sums of the times and of their squares, as integers. Both are exact, so
//! that none of the cancellation occurs for which sums in floating point are replaced by Welford's
//! recurrence, and Chan's rule for merging is an addition: the result does not depend on the order
//! of samples and merges. A sample costs a multiplication; Welford's recurrence costs a division,
//! and in fixed point it no longer follows samples once their number exceeds their scale.

use super::fixed::Q16;

/// Nanoseconds of the longest sample that is recorded as it is: 4.9 hours.
const SAMPLE_MAX_NS: u64 = (1 << 44) - 1;

/// The largest number of samples: their squares fit into 128 bits.
const SAMPLES_MAX: u64 = 1 << 40;

/// The multiple of the mean from which on a sample is an outlier.
const OUTLIER: u128 = 16;

/// The number of samples from which on a measured mean and deviation are used (Lucco 1995, spec
/// 2.4.5: 8).
pub const SAMPLES_MIN: u64 = 8;

/// The coefficient of variation that is assumed before there are samples (Lucco 1995, 003:758: 3).
pub const CV_START: Q16 = Q16::whole(3);

/// The mean and variation of the time of a task, as a policy uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Estimate {
    /// The mean time μ in nanoseconds; 0 if it is not known.
    pub mean_ns: Q16,
    /// The coefficient of variation σ/μ.
    pub cv: Q16,
}

impl Estimate {
    /// The assumption before there are samples: an unknown mean, and σ/μ = 3.
    pub const START: Self = Self {
        mean_ns: Q16::ZERO,
        cv: CV_START,
    };
}

impl Default for Estimate {
    fn default() -> Self {
        Self::START
    }
}

/// The times of the tasks that were sampled so far.
///
/// Samples above 4.9 hours count as 4.9 hours, and those after the first `2^40` are ignored.
///
/// ```
/// # use tautline_core::taper::{Estimate, Q16, Summary};
/// let mut mine = Summary::default();
/// (0..4).for_each(|_| mine.record(100));
/// assert_eq!(mine.estimate(), Estimate::START);
///
/// let mut theirs = Summary::default();
/// (0..4).for_each(|_| theirs.record(300));
/// mine.merge(&theirs);
/// let measured = Estimate { mean_ns: Q16::whole(200), cv: Q16::ratio(1, 2) };
/// assert_eq!(mine.estimate(), measured);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Summary {
    count: u64,
    sum: u128,
    squares: u128,
}

impl Summary {
    /// No samples.
    pub const NONE: Self = Self {
        count: 0,
        sum: 0,
        squares: 0,
    };

    /// Adds the time of one task.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let ns = u128::from(ns.min(SAMPLE_MAX_NS));
        self.merge(&Self {
            count: 1,
            sum: ns,
            squares: ns * ns,
        });
    }

    /// Adds the samples of `other`, all of them or, if that exceeds `2^40` samples, none.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        if self.count + other.count <= SAMPLES_MAX {
            self.count += other.count;
            self.sum += other.sum;
            self.squares += other.squares;
        }
    }

    /// Returns `ns`, at most 16 times the mean if there are [`SAMPLES_MIN`] samples or more.
    pub(super) fn clip(&self, ns: u64) -> u64 {
        let (count, limit) = (u128::from(self.count), self.sum * OUTLIER);
        match self.count >= SAMPLES_MIN && u128::from(ns) * count > limit {
            true => (limit / count) as u64,
            false => ns,
        }
    }

    /// Lowers the weight of the samples to that of `count`, if it is larger. Their mean and
    /// variance remain.
    pub(super) fn thin(&mut self, count: u64) {
        if count < self.count {
            let (from, to) = (u128::from(self.count), u128::from(count));
            let part = |sum: u128| sum / from * to + sum % from * to / from;
            (self.sum, self.squares, self.count) = (part(self.sum), part(self.squares), count);
        }
    }

    /// Returns the number of samples.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether samples with these sums exist, so that they can be merged: a summary that
    /// another rank sent may be malformed.
    #[cfg(feature = "distributed")]
    pub(crate) fn is_sound(&self) -> bool {
        let n = u128::from(self.count);
        let Some(mean) = self.sum.checked_div(n) else {
            return self.sum == 0 && self.squares == 0;
        };
        let max = u128::from(SAMPLE_MAX_NS);
        let bounded =
            self.count <= SAMPLES_MAX && self.sum <= n * max && self.squares <= n * max * max;
        bounded && mean * (self.sum + self.sum % n) <= self.squares
    }

    /// Returns the mean in nanoseconds, if there is a sample.
    pub fn mean_ns(&self) -> Option<Q16> {
        let n = u128::from(self.count);
        let mean = (self.sum << 16).checked_div(n)?;
        Some(Q16::from_bits(mean as u64))
    }

    /// Returns the standard deviation of the samples in nanoseconds, if there is a sample.
    pub fn deviation_ns(&self) -> Option<Q16> {
        let n = u128::from(self.count);
        let (mean, rest) = (self.sum.checked_div(n)?, self.sum % n);
        // The squares of the distances from the whole part of the mean; not above `squares`.
        let around = self.squares - mean * (self.sum + rest);
        let fraction = (rest << 32) / n;
        let variance = ((around / n) << 32) + ((around % n) << 32) / n;
        let variance = variance.saturating_sub((fraction * fraction) >> 32);
        Some(Q16::from_bits(variance.isqrt() as u64))
    }

    /// Returns the measured mean and variation if there are [`SAMPLES_MIN`] samples or more, and
    /// they are not all 0; [`Estimate::START`] otherwise.
    pub fn estimate(&self) -> Estimate {
        let (Some(mean), Some(deviation)) = (self.mean_ns(), self.deviation_ns()) else {
            return Estimate::START;
        };
        if self.count < SAMPLES_MIN || mean == Q16::ZERO {
            return Estimate::START;
        }
        Estimate {
            mean_ns: mean,
            cv: Q16::ratio(deviation.to_bits(), mean.to_bits()),
        }
    }
}
