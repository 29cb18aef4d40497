//! The policies that a shared counter can drive: from what is left of a loop to the next chunk.

mod dry_run;
mod factoring;
mod instance;
mod kruskal_weiss;
mod tapering;
mod trapezoid;

pub use dry_run::DryRun;
pub use instance::{Instance, Overhead};
pub use tapering::Taper;

use super::summary::Estimate;

/// The policy of chunk sizes. The next chunk goes to the first processor that
/// is free.
///
/// ```
/// # use tautline_core::taper::{Estimate, Instance, Policy};
/// let instance = Instance::new(100, 4);
/// let chunks: Vec<u64> = Policy::Guided.dry_run(Estimate::START, &instance).collect();
/// assert_eq!(chunks[..4], [25, 19, 14, 11]);
/// assert_eq!(chunks.iter().sum::<u64>(), 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Self-scheduling (SS): one iteration.
    SelfScheduling,
    /// A constant number of iterations; 0 counts as 1. [`Policy::kruskal_weiss`] computes one.
    Fixed(u64),
    /// Guided self-scheduling (GSS; Polychronopoulos and Kuck 1987): ⌈R/p⌉.
    Guided,
    /// Factoring (FAC; Hummel, Schonberg and Flynn 1992): batches of p chunks of ⌈R/(2p)⌉.
    Factoring,
    /// Trapezoid self-scheduling (TSS; Tzen and Ni 1993): linearly from ⌈N/(2p)⌉ down to 1.
    Trapezoid,
    /// TAPER (Lucco 1995): as large as the remaining work can even out.
    Taper(Taper),
    /// DISTANCE (Lucco 1995): from the expected end of the loop, for known times of all starts. The
    /// parameters are those of TAPER, but its form is not used.
    Distance(Taper),
    /// EVENSTART (Lucco 1995): DISTANCE for the first p chunks, then TAPER. For processors that
    /// start together, and v of at most 1/2: it is worse than TAPER if times vary much.
    EvenStart(Taper),
}

impl Policy {
    /// Returns the single "optimal" chunk (SSO; Kruskal and Weiss 1985) for a loop whose chunks
    /// cost `overhead`, as a fixed one.
    ///
    /// ```
    /// # use tautline_core::taper::{Estimate, Instance, Overhead, Policy, Q16};
    /// let estimate = Estimate { mean_ns: Q16::whole(100), cv: Q16::whole(1) };
    /// let overhead = Overhead { chunk_ns: 50, band: 0 };
    /// let policy = Policy::kruskal_weiss(&Instance::new(6400, 64), overhead, estimate);
    /// assert_eq!(policy, Policy::Fixed(10));
    /// ```
    pub fn kruskal_weiss(cx: &Instance, overhead: Overhead, estimate: Estimate) -> Self {
        let chunk = kruskal_weiss::chunk(cx.n(), cx.p(), overhead.chunk_ns, estimate);
        Self::Fixed(chunk)
    }

    /// Returns the next chunk if `left` iterations are left: at least 1 and at most `left`, or 0 if
    /// that is 0. A pure function, so an attempt to take the chunk may fail and be repeated.
    #[inline]
    pub fn chunk(&self, left: u64, estimate: Estimate, cx: &Instance) -> u64 {
        if left == 0 {
            return 0;
        }
        let chunk = match self {
            Self::SelfScheduling => 1,
            Self::Fixed(chunk) => *chunk,
            Self::Guided => left.div_ceil(u64::from(cx.p())),
            Self::Factoring => factoring::chunk(left, cx),
            Self::Trapezoid => trapezoid::chunk(left, cx),
            // One processor has nothing to even out.
            Self::Taper(_) | Self::Distance(_) | Self::EvenStart(_) if cx.p() == 1 => left,
            Self::Taper(taper) => taper.chunk(left, estimate, cx),
            Self::Distance(taper) => taper.distance(estimate, cx),
            Self::EvenStart(taper) => {
                let first = taper.distance(estimate, &cx.at(0)).max(1);
                match cx.taken(left) / u64::from(cx.p()) < first {
                    true => first,
                    false => taper.chunk(left, estimate, cx),
                }
            }
        };
        chunk.clamp(1, left)
    }

    /// Returns the chunk size of an epoch that begins with `left` iterations, in which each
    /// processor takes one chunk of this size (Lucco 1995, 003:368): 2R/3p for GSS, whose p chunks
    /// take 1 − 1/e of R, and the next chunk for the others, at most ⌈R/p⌉.
    pub fn epoch_chunk(&self, left: u64, estimate: Estimate, cx: &Instance) -> u64 {
        let p = u64::from(cx.p());
        match self {
            Self::Guided => (2 * u128::from(left)).div_ceil(3 * u128::from(p)) as u64,
            Self::Factoring => left.div_ceil(2 * p),
            _ => self.chunk(left, estimate, cx).min(left.div_ceil(p)),
        }
    }

    /// Returns the chunks of a whole loop, for predictions: at [`Instance::elapsed_ns`], and with
    /// the same estimate, throughout.
    pub fn dry_run<'a>(&'a self, estimate: Estimate, cx: &'a Instance) -> DryRun<'a> {
        DryRun::new(self, estimate, cx)
    }
}
