//! The constant chunk that is best for independent tasks.
//!
//! # Algorithm
//! Kruskal and Weiss 1985; spec 2.3 of Lucco 1995: K = (√2 N h / (σ p √ln p))^(2/3) minimises
//! Nh/(pK) + σ √(2K ln p). It is computed as the cube root of the square of N/p · h/μ · μ/σ ·
//! √(2/ln p).

use super::super::fixed::ln;
use super::super::summary::Estimate;

/// Returns the chunk for `n` iterations on `p` processors if a chunk costs `chunk_ns`: within 1 and
/// ⌈N/p⌉, which it is for p = 1 and for σ = 0. It is 1 if μ is not known.
pub(super) fn chunk(n: u64, p: u32, chunk_ns: u64, estimate: Estimate) -> u64 {
    let block = n.div_ceil(u64::from(p)).max(1);
    let (mean, cv) = (estimate.mean_ns.to_bits(), estimate.cv.to_bits());
    if p == 1 || cv == 0 {
        return block;
    }
    if mean == 0 || chunk_ns == 0 {
        return 1;
    }
    // h/μ, N/p h/μ and N/p h/σ in Q32.
    let overhead = (u128::from(chunk_ns) << 48) / u128::from(mean);
    let share = u128::from(n).saturating_mul(overhead) / u128::from(p);
    let base = share.saturating_mul(1 << 16) / u128::from(cv);
    // √(2/ln p) in Q16.
    let spread = ((2u64 << 48) / ln(p)).isqrt();
    let root = base.saturating_mul(u128::from(spread)) >> 32;
    // From 2^64 on, the square in Q32 would exceed 128 bits, and the chunk 2^32.
    let k = match u64::try_from(root) {
        Ok(root) => cube_root(u128::from(root).pow(2) >> 32),
        Err(_) => cube_root((root >> 16).min(u128::from(u64::MAX)).pow(2)),
    };
    k.clamp(1, block)
}

/// Returns the integer cube root of `x`.
fn cube_root(x: u128) -> u64 {
    let (mut below, mut above) = (0u128, 1 << 43);
    while above - below > 1 {
        let middle = below.midpoint(above);
        match middle.checked_pow(3).is_some_and(|cube| cube <= x) {
            true => below = middle,
            false => above = middle,
        }
    }
    below as u64
}
