//! Predicted ends of loops.
//!
//! # Algorithm
//! (4.5) of Lucco 1995: finish = setup + compute + lag + communication + scheduling. The source
//! leaves the lag and the scheduling to another report; spec 2.13 has K_min μ/2 + σ √(2 K_min ln p)
//! for the first, and h for each of the chunks of a processor for the second. The number of chunks
//! follows from a dry run of TAPER, in which an eighth of the processors takes chunks of one size:
//! that costs some ten steps for each chunk of a processor, instead of p. Chunks of the least size
//! are not run but counted.

use super::super::fixed::{Q16, ln, times_root};
use super::super::policy::{Instance, Overhead, Policy, Taper};
use super::super::summary::Estimate;

/// The largest deviation in bits of Q16 for which products stay within 128 bits.
const DEVIATION_MAX: u128 = 1 << 47;

/// The remainder of a loop.
///
/// ```
/// # use tautline_core::taper::{Demand, Estimate, Overhead, Q16};
/// let estimate = Estimate { mean_ns: Q16::whole(100), cv: Q16::ZERO };
/// let left = Demand { tasks: 6400, estimate, overhead: Overhead::default() };
/// // N μ/p, and half of a task for the lag.
/// assert_eq!(left.finish(64).total(), Q16::whole(10_050));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The tasks that are left, N.
    pub tasks: u64,
    /// Their times. If the work that is left was predicted, the mean is that work over the tasks.
    pub estimate: Estimate,
    /// The overhead of a chunk.
    pub overhead: Overhead,
}

impl Demand {
    /// Returns when the loop ends on `p` processors that start now. The terms of communication are
    /// 0, as in shared memory; where they are not, the caller adds them: `FinishTime { comm,
    /// ..demand.finish(p) }`. All terms are 0 if the mean is not known.
    ///
    /// # Panics
    /// If `p` is 0.
    pub fn finish(&self, p: u32) -> FinishTime {
        let n = self.tasks.min(1 << 63);
        let cx = Instance::new(n, p).with_overhead(self.overhead, &self.estimate);
        let mean = self.estimate.mean_ns;
        if n == 0 || mean == Q16::ZERO {
            return FinishTime::default();
        }
        let compute = u128::from(n) * u128::from(mean.to_bits()) / u128::from(p);
        let sched = (u128::from(self.overhead.chunk_ns) << 16) * chunks(&self.estimate, &cx);
        FinishTime {
            compute: saturated(compute),
            lag: self.estimate.lag(cx.min_chunk(), p),
            sched: saturated(sched / u128::from(p)),
            ..FinishTime::default()
        }
    }

    /// Returns the tasks of both, as one loop: their work and variation are those of all tasks
    /// together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (a, b) = (u128::from(self.tasks), u128::from(other.tasks));
        let all = a + b;
        if all == 0 {
            return *self;
        }
        // Weights of 32 bits, so that squares stay within 128.
        let weight = (a << 32) / all;
        let mix = |x: u128, y: u128| (x * weight + y * ((1 << 32) - weight)) >> 32;
        let bits = |at: &Self| u128::from(at.estimate.mean_ns.to_bits()).min(DEVIATION_MAX);
        let mean = mix(bits(self), bits(other));
        let square = |at: &Self| {
            let deviation = u128::from(deviation(&at.estimate));
            (bits(at).pow(2) + deviation.pow(2)) >> 16
        };
        let variance = mix(square(self), square(other)).saturating_sub(mean.pow(2) >> 16);
        let deviation = (variance << 16).isqrt();
        let (own, others) = (self.overhead, other.overhead);
        Self {
            tasks: u64::try_from(all).unwrap_or(u64::MAX),
            estimate: Estimate {
                mean_ns: saturated(mean),
                cv: saturated((deviation << 16).checked_div(mean).unwrap_or(0)),
            },
            overhead: Overhead {
                chunk_ns: own.chunk_ns.max(others.chunk_ns),
                band: own.band.max(others.band),
            },
        }
    }
}

impl Estimate {
    /// Returns the expected delay of the last of `p` processors after the mean, if chunks
    /// have `min_chunk` tasks in the end: K_min μ/2 + σ √(2 K_min ln p) (spec 2.13 of Lucco 1995).
    ///
    /// ```
    /// # use tautline_core::taper::{Estimate, Q16};
    /// let regular = Estimate { mean_ns: Q16::whole(100), cv: Q16::ZERO };
    /// assert_eq!(regular.lag(3, 64), Q16::whole(150));
    /// let irregular = Estimate { cv: Q16::whole(1), ..regular };
    /// assert!(irregular.lag(3, 64) > Q16::whole(600));
    /// assert_eq!(irregular.lag(3, 1), Q16::whole(150));
    /// ```
    ///
    /// # Panics
    /// If `p` is 0.
    pub fn lag(&self, min_chunk: u64, p: u32) -> Q16 {
        assert!(p > 0, "0 processors: a loop needs at least 1");
        let half = u128::from(min_chunk) * u128::from(self.mean_ns.to_bits()) / 2;
        let argument = (u128::from(min_chunk) * 2 * u128::from(ln(p))) << 16;
        saturated(half + (times_root(deviation(self), argument) >> 16))
    }
}

/// The end of a loop, by its parts in nanoseconds.
///
/// ```
/// # use tautline_core::taper::{FinishTime, Q16};
/// // What a machine without shared memory adds: data that changes its owner, and messages along the edges of the data flow.
/// let computed = FinishTime { compute: Q16::whole(1000), ..FinishTime::default() };
/// let total = FinishTime { setup: Q16::whole(30), comm: Q16::whole(20), ..computed }.total();
/// assert_eq!(total, Q16::whole(1050));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FinishTime {
    /// Until its data is where its processors are.
    pub setup: Q16,
    /// Its tasks, N μ/p.
    pub compute: Q16,
    /// Until the last processor ends after the mean.
    pub lag: Q16,
    /// Messages between its processors.
    pub comm: Q16,
    /// The overhead of a processor's chunks.
    pub sched: Q16,
}

impl FinishTime {
    /// Returns the sum of the parts.
    pub fn total(&self) -> Q16 {
        let parts = [self.setup, self.compute, self.lag, self.comm, self.sched];
        let sum = parts
            .iter()
            .fold(0, |sum: u64, part| sum.saturating_add(part.to_bits()));
        Q16::from_bits(sum)
    }
}

/// Returns σ in bits of Q16.
fn deviation(estimate: &Estimate) -> u64 {
    let product = u128::from(estimate.mean_ns.to_bits()) * u128::from(estimate.cv.to_bits());
    (product >> 16).min(DEVIATION_MAX) as u64
}

/// Returns the number of chunks into which TAPER divides a loop.
fn chunks(estimate: &Estimate, cx: &Instance) -> u128 {
    let policy = Policy::Taper(Taper::default());
    let stride = u64::from(cx.p() / 8).max(1);
    let (mut left, mut count) = (cx.n(), 0);
    loop {
        let chunk = policy.chunk(left, *estimate, cx);
        // Chunks never grow, so the rest has the least size.
        if chunk <= cx.min_chunk() || chunk.saturating_mul(stride) >= left {
            return count + u128::from(left.div_ceil(chunk.max(1)));
        }
        left -= chunk * stride;
        count += u128::from(stride);
    }
}

fn saturated(bits: u128) -> Q16 {
    Q16::from_bits(u64::try_from(bits).unwrap_or(u64::MAX))
}
