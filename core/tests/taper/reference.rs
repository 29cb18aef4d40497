//! The formulas in floating point, and random numbers.

use tautline_core::taper::{Estimate, Instance, Policy, Q16};

/// Random numbers from a seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number below `2^bits` whose length is random too.
    pub(crate) fn of_any_length(&mut self, bits: u32) -> u64 {
        let length = 1 + self.below(u64::from(bits)) as u32;
        self.next() >> (64 - length)
    }
}

pub(crate) fn real(x: Q16) -> f64 {
    x.to_bits() as f64 / 65_536.0
}

/// Returns the estimate with this σ/μ and a mean of 100 ns.
pub(crate) fn varying(cv: Q16) -> Estimate {
    Estimate {
        mean_ns: Q16::whole(100),
        cv,
    }
}

/// T = R/p + K_min/2.
pub(crate) fn target(left: u64, cx: &Instance) -> f64 {
    left as f64 / f64::from(cx.p()) + cx.min_chunk() as f64 / 2.0
}

/// The published form (4.4) before it is rounded.
pub(crate) fn published(v: f64, left: u64, cx: &Instance) -> f64 {
    let t = target(left, cx);
    t + v * v / 2.0 - v * (2.0 * t + v * v / 4.0).sqrt()
}

/// The solution of (4.2), with T for R/p, before it is rounded.
pub(crate) fn exact(v: f64, left: u64, cx: &Instance) -> f64 {
    let (t, p) = (target(left, cx), f64::from(cx.p()));
    let a = (p - 2.0) / p;
    let b = left as f64 / (p * p);
    t + v * v * a / 2.0 - v * (v * v * a * a / 4.0 + t * a + b).sqrt()
}

/// Rounds up and clips a chunk, as every policy does.
pub(crate) fn clipped(k: f64, left: u64, cx: &Instance) -> u64 {
    let k = (k.max(0.0).ceil() as u64).max(cx.min_chunk());
    k.clamp(1, left)
}

/// Returns the chunks of a whole loop.
pub(crate) fn chunks(policy: Policy, n: u64, p: u32) -> Vec<u64> {
    let cx = Instance::new(n, p);
    policy.dry_run(varying(Q16::ratio(1, 2)), &cx).collect()
}
