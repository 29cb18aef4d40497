//! The description of a loop for policies: its size, its processors, and the least chunk worth its
//! overhead.

use super::super::summary::Estimate;

/// One execution of a loop, as chunk policies see it. Constant while the loop runs, except that a
/// loop which loses a processor continues with another instance.
///
/// ```
/// # use tautline_core::taper::{Estimate, Instance, Overhead, Q16};
/// let estimate = Estimate { mean_ns: Q16::whole(100), cv: Q16::ratio(1, 2) };
/// let overhead = Overhead { chunk_ns: 250, band: 0 };
/// let instance = Instance::new(1000, 4).with_overhead(overhead, &estimate);
/// assert_eq!(instance.min_chunk(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    n: u64,
    p: u32,
    min_chunk: u64,
    elapsed_ns: u64,
    /// ⌊(2^64 − 1)/p⌋: a multiplication is faster than a division.
    pub(super) reciprocal: u64,
    /// ⌈N/p⌉, at least 1.
    pub(super) block: u64,
    /// The first chunk of a trapezoid.
    pub(super) first: u64,
    /// The number of chunks of a trapezoid.
    pub(super) count: u64,
}

impl Instance {
    /// Describes a loop of `n` iterations on `p` processors, without overhead.
    ///
    /// # Panics
    /// If `p` is 0, or `n` exceeds `2^63`.
    pub const fn new(n: u64, p: u32) -> Self {
        assert!(p > 0, "0 processors: a loop needs at least 1");
        assert!(n <= 1 << 63, "more than 2^63 iterations");
        // Of an empty loop both are 1, so that a policy may divide by them.
        let some = if n == 0 { 1 } else { n };
        // TSS (Tzen and Ni 1993; spec 2.3 of Lucco 1995): from ⌈N/(2p)⌉ down to 1.
        let first = some.div_ceil(2 * p as u64);
        let twice = 2 * some as u128;
        Self {
            n,
            p,
            min_chunk: 0,
            elapsed_ns: 0,
            reciprocal: u64::MAX / p as u64,
            block: some.div_ceil(p as u64),
            first,
            count: twice.div_ceil(first as u128 + 1) as u64,
        }
    }

    /// The same loop with the minimum chunk that follows from `overhead` and the measured mean.
    #[must_use]
    pub fn with_overhead(self, overhead: Overhead, estimate: &Estimate) -> Self {
        self.with_min_chunk(overhead.min_chunk(self.n, self.p, estimate))
    }

    /// The same loop with the minimum chunk `min_chunk`, in iterations, but at most N/p, or 1. With
    /// 0, the initial value, chunks have at least one iteration and are not enlarged for the
    /// overhead.
    #[must_use]
    pub const fn with_min_chunk(self, min_chunk: u64) -> Self {
        let most = match self.n / self.p as u64 {
            0 => 1,
            share => share,
        };
        let min_chunk = if min_chunk < most { min_chunk } else { most };
        Self { min_chunk, ..self }
    }

    /// The same loop `elapsed_ns` nanoseconds after the common start of all processors.
    #[must_use]
    pub const fn at(self, elapsed_ns: u64) -> Self {
        Self { elapsed_ns, ..self }
    }

    /// Returns the number of iterations.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Returns the number of processors.
    pub const fn p(&self) -> u32 {
        self.p
    }

    /// Returns the minimum chunk K_min in iterations, 0 if overhead is not accounted for.
    pub const fn min_chunk(&self) -> u64 {
        self.min_chunk
    }

    /// Returns the nanoseconds since the common start.
    pub const fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Returns the number of iterations taken if `left` are left.
    pub(super) const fn taken(&self, left: u64) -> u64 {
        self.n.saturating_sub(left)
    }
}

/// The overhead of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Nanoseconds to schedule a chunk, h.
    pub chunk_ns: u64,
    /// K_band, the least block for which the traffic between neighbouring chunks fits the
    /// bandwidth of the machine, in iterations; 0 in shared memory.
    pub band: u64,
}

impl Overhead {
    /// Returns K_min = min(max(K_band, ⌊h/μ⌋ + 1), N/p), at least 1, for `n` iterations on `p`
    /// processors; ⌊h/μ⌋ + 1 is the smallest chunk that takes longer than its overhead, and is 1
    /// if the mean is not known.
    ///
    /// Lucco 1995 (003:740) prints the minimum of all three, which is 0 in shared memory; spec
    /// 2.4.3 corrects it.
    ///
    /// # Panics
    /// If `p` is 0.
    pub fn min_chunk(&self, n: u64, p: u32, estimate: &Estimate) -> u64 {
        let h = u128::from(self.chunk_ns) << 16;
        let scheduled = h.checked_div(u128::from(estimate.mean_ns.to_bits()));
        let scheduled = scheduled.map_or(1, |k| u64::try_from(k + 1).unwrap_or(u64::MAX));
        self.band.max(scheduled).min(n / u64::from(p)).max(1)
    }
}
