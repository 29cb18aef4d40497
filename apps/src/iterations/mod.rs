//! Times of the iterations of a loop: drawn from a distribution, recorded, or measured on a kernel;
//! and how evenly chunk policies divide them.
//!
//! | part | what it is |
//! |---|---|
//! | [`Times`] | one execution of a loop: the nanoseconds of each iteration |
//! | [`Distribution`] | where synthetic times come from |
//! | [`Scheme`] | a static division or a chunk policy, by name |
//! | [`Queue`] | an execution in virtual time on any number of processors |
//! | [`Kernel`] | loops that compute something: rows of the Mandelbrot set, rows of a sparse matrix |
//!
//! ```
//! use tautline_cli::iterations::{Distribution, Queue, Scheme, Times};
//!
//! let times = Times::draw(Distribution::Exponential, 6400, 10_000, 1);
//! let queue = Queue { processors: 64, chunk_ns: 500 };
//! let [fixed, taper] = ["blocked", "taper"].map(|name| name.parse::<Scheme>().unwrap());
//! let efficiency = |scheme| queue.run(scheme, &times).efficiency(&times);
//! assert!(efficiency(taper) > efficiency(fixed));
//! ```
#![forbid(unsafe_code)]

mod distribution;
mod kernel;
mod queue;
mod scheme;
mod trace;

pub use distribution::Distribution;
pub use kernel::{Kernel, Matrix, spin};
pub use queue::{Executed, Queue, Served};
pub use scheme::Scheme;

use crate::random::SplitMix;
use std::ops::Range;
use tautline_core::taper::{Estimate, Q16};

/// The longest iteration: 2^44 ns, 4.9 hours.
const NS_MAX: u64 = 1 << 44;
/// The largest number of iterations, so that no sum of times overflows.
const LEN_MAX: usize = 1 << 19;

/// The times of all iterations of one execution of a loop, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// By iteration, and one more: the sum of the times before it.
    before: Vec<u64>,
}

impl Times {
    /// The largest number of iterations of a loop: 524 288.
    pub const LEN_MAX: usize = LEN_MAX;

    /// Creates the times of a loop from those of its iterations. Times above 2^44 ns count as that.
    ///
    /// # Panics
    /// If there are more than [`Times::LEN_MAX`].
    pub fn new(times: impl IntoIterator<Item = u64>) -> Self {
        let mut before = vec![0];
        let mut sum = 0;
        for ns in times {
            sum += ns.min(NS_MAX);
            before.push(sum);
            assert!(
                before.len() <= LEN_MAX + 1,
                "more than {LEN_MAX} iterations"
            );
        }
        Self { before }
    }

    /// Draws the times of `len` iterations with the mean `mean_ns`. They follow from `seed`.
    ///
    /// # Panics
    /// If `len` exceeds [`Times::LEN_MAX`].
    pub fn draw(distribution: Distribution, len: usize, mean_ns: u64, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut draw = |i| {
            let ratio = distribution.draw(i as f64 / len as f64, &mut random);
            (ratio * mean_ns as f64).round() as u64
        };
        Self::new((0..len).map(&mut draw))
    }

    /// Returns the number of iterations.
    pub fn len(&self) -> usize {
        self.before.len() - 1
    }

    /// Whether there are no iterations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time of iteration `i`.
    ///
    /// # Panics
    /// If there is no such iteration.
    pub fn ns(&self, i: usize) -> u64 {
        self.before[i + 1] - self.before[i]
    }

    /// Returns the times in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> {
        self.before.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Returns the time of consecutive iterations.
    ///
    /// # Panics
    /// If not all of them exist.
    pub fn of(&self, range: Range<usize>) -> u64 {
        self.before[range.end] - self.before[range.start]
    }

    /// Returns the time of all iterations.
    pub fn sum(&self) -> u64 {
        self.of(0..self.len())
    }

    /// Returns the mean in nanoseconds and the coefficient of variation σ/μ, both 0 of an empty
    /// loop.
    pub fn moments(&self) -> (f64, f64) {
        let n = self.len().max(1) as f64;
        let mean = self.sum() as f64 / n;
        let squares: f64 = self.iter().map(|ns| (ns as f64 - mean).powi(2)).sum();
        match mean > 0.0 {
            true => (mean, (squares / n).sqrt() / mean),
            false => (0.0, 0.0),
        }
    }

    /// Returns mean and variation as policies use them.
    pub fn estimate(&self) -> Estimate {
        let (mean, cv) = self.moments();
        let fixed = |x: f64| Q16::from_bits((x * 65_536.0) as u64);
        Estimate {
            mean_ns: fixed(mean),
            cv: fixed(cv),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_times_have_the_requested_mean() {
        for distribution in Distribution::all() {
            let times = Times::draw(distribution, 100_000, 10_000, 7);
            let (mean, _) = times.moments();
            assert!(
                (mean / 10_000.0 - 1.0).abs() < 0.03,
                "{distribution}: {mean}"
            );
            assert_eq!(times, Times::draw(distribution, 100_000, 10_000, 7));
        }
    }

    #[test]
    fn sums_are_those_of_the_parts() {
        let times = Times::new([3, 0, 5]);
        assert_eq!(
            (times.len(), times.sum(), times.of(1..3), times.ns(2)),
            (3, 8, 5, 5)
        );
        assert_eq!(times.iter().collect::<Vec<_>>(), [3, 0, 5]);
        let empty = Times::new([]);
        assert!(empty.is_empty());
        assert_eq!((empty.sum(), empty.moments()), (0, (0.0, 0.0)));
    }
}
