//! Numbers with 16 fraction bits, and the square root that the rules of this module need.
//!
//! A core without `std` has no floating-point square root. Inputs are in Q16, what stands under a
//! root is in Q32, and the root is an integer one (Lucco 1995, spec 2.4.3).

use core::fmt;

/// Fraction bits of [`Q16`].
const FRACTION: u32 = 16;

/// A number of at least 0 with 16 fraction bits.
///
/// ```
/// # use tautline_core::taper::Q16;
/// let alpha = Q16::ratio(13, 10);
/// assert_eq!(alpha.to_string(), "1.3000");
/// assert!(alpha < Q16::whole(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Q16(u64);

impl Q16 {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Returns the number that is `bits / 2^16`.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the number times `2^16`.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Returns `number`, saturated at `2^48`.
    pub const fn whole(number: u64) -> Self {
        Self::ratio(number, 1)
    }

    /// Returns the number next to `numerator / denominator`, saturated at `2^48`.
    ///
    /// # Panics
    /// If `denominator` is 0.
    pub const fn ratio(numerator: u64, denominator: u64) -> Self {
        let scaled = (numerator as u128) << FRACTION;
        let nearest = (scaled + denominator as u128 / 2) / denominator as u128;
        if nearest > u64::MAX as u128 {
            return Self(u64::MAX);
        }
        Self(nearest as u64)
    }
}

impl fmt::Display for Q16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 >> FRACTION, self.0 & 0xffff);
        write!(f, "{whole}.{:04}", (fraction * 10_000) >> FRACTION)
    }
}

/// Returns `left / p` in Q32, for the `reciprocal` `⌊(2^64 - 1) / p⌋` of p.
#[inline]
pub(super) fn quotient(left: u64, p: u64, reciprocal: u64) -> u128 {
    if left >> 31 == 0 {
        // The product is too small by less than half a unit of Q32, so an exact quotient is found.
        return (u128::from(left) * u128::from(reciprocal) + (1 << 31)) >> 32;
    }
    let (whole, rest) = (left / p, left % p);
    // The remainder is below p, which fits into 32 bits.
    (u128::from(whole) << 32) | u128::from((rest << 32) / p)
}

/// Returns the least integer not below `x`, which is in Q32.
#[inline]
pub(super) fn ceiling(x: u128) -> u64 {
    u64::try_from((x + u128::from(u32::MAX)) >> 32).unwrap_or(u64::MAX)
}

/// Returns `v √x` in Q32, for `v` in Q16 below `2^48` and `x` in Q32, with a relative error of at
/// most `2^-31`, from below.
#[inline]
pub(super) fn times_root(v: u64, x: u128) -> u128 {
    // The argument is scaled up by an even number of bits, so that the integer root has 32 bits
    // at least.
    let (root, up) = match u64::try_from(x) {
        Ok(0) => return 0,
        Ok(x) => {
            let up = x.leading_zeros() & !1;
            (root(x << up), up)
        }
        Err(_) => wide_root(x),
    };
    (u128::from(v) * u128::from(root)) >> (up / 2)
}

/// ln 2 in Q16.
const LN_2: u64 = 45_426;

/// Returns the natural logarithm of `p`, at least 1, in Q16, by squaring once for each bit.
pub(super) fn ln(p: u32) -> u64 {
    let whole = p.ilog2();
    let mut mantissa = u64::from(p) << (31 - whole);
    let mut log2 = u64::from(whole);
    for _ in 0..16 {
        mantissa = (mantissa * mantissa) >> 31;
        let bit = mantissa >> 32;
        mantissa >>= bit;
        log2 = (log2 << 1) | bit;
    }
    (log2 * LN_2) >> 16
}

/// Inverse roots in Q30 of the middles of intervals of width 2^57 from 2^62 on, over 2^64.
const INVERSE_ROOTS: [u32; 96] = {
    let mut table = [0; 96];
    let mut i = 0;
    while i < table.len() {
        table[i] = ((1 << 68) / (65 + 2 * i as u128)).isqrt() as u32;
        i += 1;
    }
    table
};

/// Returns the integer square root of `x`, which must be at least 2^62. Newton's iteration for the
/// inverse root takes neither divisions nor branches, and half the time of `u64::isqrt`.
#[inline]
fn root(x: u64) -> u64 {
    let top = x >> 32;
    let mut inverse = u64::from(INVERSE_ROOTS[((x >> 57) as usize).saturating_sub(32) % 96]);
    for _ in 0..2 {
        let product = (top * ((inverse * inverse) >> 30)) >> 32;
        inverse = (inverse * ((3 << 30) - product)) >> 31;
    }
    // The relative error is below 2^-24, and that of a step for the root itself below 2^-46: at
    // most 1 is left to correct. What is left of x is small, so it may be computed modulo 2^64.
    let rest = |root: u64| x.wrapping_sub(root.wrapping_mul(root)) as i64;
    let near = (top * inverse) >> 30;
    let root = near.wrapping_add_signed(((rest(near) >> 8) * inverse as i64) >> 55);
    let below = root - u64::from(rest(root) < 0);
    below + u64::from(rest(below) > 2 * below as i64)
}

/// The case of more than `2^31` iterations for each processor, in 128 bits.
#[cold]
fn wide_root(x: u128) -> (u64, u32) {
    let up = x.leading_zeros() & !1;
    ((x << up).isqrt() as u64, up)
}

#[cfg(test)]
mod tests {
    use super::root;

    /// At the squares and next to them, and at the ends of the intervals of the table.
    #[test]
    fn roots_are_exact() {
        for r in (1u64 << 31..1 << 32).step_by(9973).chain([(1 << 32) - 1]) {
            assert_eq!(root(r * r), r);
            assert_eq!(root(r * r + 1), r);
            assert_eq!(
                root(r * r + 2 * r),
                r,
                "the last one before the next square"
            );
        }
        for top in 32..128u64 {
            for x in [top << 57, (top << 57) + 1, (top << 57) + ((1 << 57) - 1)] {
                assert_eq!(root(x), x.isqrt());
            }
        }
    }
}
