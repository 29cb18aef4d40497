//! TAPER: the largest chunk that the remaining work can still even out.
//!
//! # Algorithm
//! Lucco 1995, section 4: a chunk of K of R remaining tasks on p processors leaves an unevenness of
//! at most (p − 1) t(K), against which t(R − K) of work is left. K is chosen so that the difference
//! exceeds K_min p μ/2 with a small probability only: with T = R/p + K_min/2,
//!
//! - *published* (4.4): K = T + v²/2 − v √(2T + v²/4);
//! - *exact*: K = T + v²A/2 − v √(v²A²/4 + TA + R/p²), A = (p − 2)/p, the solution of (4.2).
//!
//! In both, v = α σ/μ. The thesis derives the published form as a limit of the exact one, which it
//! is not; but it is more cautious, and better where times vary much (spec 2.4.2). With Chebyshev's
//! inequality (4.1) in place of a normal distribution, the exact form has α = 1/√ε.

use super::super::fixed::{Q16, ceiling, quotient, times_root};
use super::super::summary::Estimate;
use super::instance::Instance;

/// α of TAPER, for tasks of any distribution (Lucco 1995, 003:732: 1.3).
const ALPHA: Q16 = Q16::ratio(13, 10);

/// v of the variant that measures nothing (Lucco 1995, 003:736: 3).
const V_FIXED: Q16 = Q16::whole(3);

/// The largest v, in bits of Q16: 2^31, at which each chunk is minimal. Products stay within 128
/// bits.
const V_MAX: u64 = 1 << (31 + 16);

/// The parameters of TAPER.
///
/// ```
/// # use tautline_core::taper::{Estimate, Instance, Policy, Q16, Taper};
/// let estimate = Estimate { mean_ns: Q16::whole(100), cv: Q16::whole(1) };
/// let instance = Instance::new(400, 4);
/// let chunk = |taper| Policy::Taper(taper).chunk(400, estimate, &instance);
/// let [v, alpha, epsilon] = [Q16::whole(3), Q16::ratio(13, 10), Q16::ratio(1, 10)];
/// assert_eq!(chunk(Taper::published(alpha)), 83);
/// assert_eq!(chunk(Taper::fixed(v)), 62);
/// assert!(chunk(Taper::exact(alpha)) > 83);
/// assert!(chunk(Taper::chebyshev(epsilon)) < 83);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taper {
    spread: Spread,
    form: Form,
}

/// The rule by which v follows from σ/μ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spread {
    /// Times this α.
    Scaled(Q16),
    /// Not at all.
    Fixed(Q16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Published,
    Exact,
}

impl Default for Taper {
    /// Returns the published form with α = 1.3.
    fn default() -> Self {
        Self::published(ALPHA)
    }
}

impl Taper {
    /// Returns the published form (4.4) with v = `alpha` σ/μ.
    pub const fn published(alpha: Q16) -> Self {
        Self {
            spread: Spread::Scaled(alpha),
            form: Form::Published,
        }
    }

    /// Returns the exact solution of (4.2), for normally distributed sums, with v = `alpha` σ/μ.
    pub const fn exact(alpha: Q16) -> Self {
        Self {
            spread: Spread::Scaled(alpha),
            form: Form::Exact,
        }
    }

    /// Returns the exact solution of (4.1): for tasks of any distribution, the probability that a
    /// chunk exceeds what can be evened out is below `epsilon`.
    ///
    /// # Panics
    /// If `epsilon` is 0.
    pub const fn chebyshev(epsilon: Q16) -> Self {
        assert!(epsilon.to_bits() > 0, "a probability of 0");
        // 1/√ε: the root of 2^48/ε has 16 fraction bits.
        let square = (1 << 48) / epsilon.to_bits();
        Self::exact(Q16::from_bits(square.isqrt()))
    }

    /// Returns the published form with the constant `v`, which needs no measurement.
    pub const fn fixed(v: Q16) -> Self {
        Self {
            spread: Spread::Fixed(v),
            form: Form::Published,
        }
    }

    /// Returns the variant with v = 3 (Lucco 1995, 003:736).
    pub const fn unmeasured() -> Self {
        Self::fixed(V_FIXED)
    }

    /// Returns v for tasks with the coefficient of variation `cv`.
    pub fn v(&self, cv: Q16) -> Q16 {
        let v = match self.spread {
            Spread::Fixed(v) => v.to_bits(),
            Spread::Scaled(alpha) => {
                let product = u128::from(alpha.to_bits()) * u128::from(cv.to_bits());
                u64::try_from(product >> 16).unwrap_or(V_MAX)
            }
        };
        Q16::from_bits(v.min(V_MAX))
    }

    /// Returns the chunk of TAPER for two processors or more, not yet clipped to what is left. The
    /// error of the fixed point is at most one iteration.
    #[inline]
    pub(super) fn chunk(&self, left: u64, estimate: Estimate, cx: &Instance) -> u64 {
        let p = u128::from(cx.p());
        let share = quotient(left, u64::from(cx.p()), cx.reciprocal);
        // K_min/2 in Q32.
        let t = share + (u128::from(cx.min_chunk()) << 31);
        let v = self.v(estimate.cv).to_bits();
        let square = u128::from(v) * u128::from(v);
        let (excess, radicand) = match self.form {
            Form::Published => (square, 2 * t + square / 4),
            Form::Exact => {
                let excess = square * (p - 2) / p;
                (excess, ((excess / 4 + t) * (p - 2) + share) / p)
            }
        };
        // The difference is not positive once T is below v² (published) or R below v² (exact).
        let k = (t + excess / 2).saturating_sub(times_root(v, radicand));
        ceiling(k).max(cx.min_chunk())
    }

    /// Returns the chunk of DISTANCE: D − v √D tasks, where D is the distance to the expected end
    /// in tasks (Lucco 1995, 003:750-754). It requires that all processors started together, at
    /// [`Instance::elapsed_ns`] before. If μ is unknown, the distance is that at the start.
    #[inline]
    pub(super) fn distance(&self, estimate: Estimate, cx: &Instance) -> u64 {
        let done =
            (u128::from(cx.elapsed_ns()) << 48).checked_div(u128::from(estimate.mean_ns.to_bits()));
        let share = quotient(cx.n(), u64::from(cx.p()), cx.reciprocal);
        let distance = share.saturating_sub(done.unwrap_or(0));
        let v = self.v(estimate.cv).to_bits();
        ceiling(distance.saturating_sub(times_root(v, distance))).max(cx.min_chunk())
    }
}
