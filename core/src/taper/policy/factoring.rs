//! Factoring without a state: the batch follows from the number of remaining iterations.
//!
//! # Algorithm
//! Hummel, Schonberg and Flynn 1992, as Lucco 1995 (003:368) uses it: p chunks of ⌈R/(2p)⌉, then R
//! again. Let m = ⌈N/p⌉ and d = pm − N. By induction, batch j begins with p ⌊m/2^j⌋ − d iterations
//! left, and its chunks have ⌈⌊m/2^j⌋/2⌉: so the batch is found by comparing bit lengths, where the
//! definition would iterate over all batches.

use super::instance::Instance;

/// Returns the chunk if `left`, at least 1, iterations are left; not yet clipped to that.
#[inline]
pub(super) fn chunk(left: u64, cx: &Instance) -> u64 {
    let (p, m) = (u64::from(cx.p()), cx.block);
    // The difference is below p; the product alone may wrap.
    let short = p.wrapping_mul(m).wrapping_sub(cx.n());
    let share = (left + short).div_ceil(p).min(m);
    let batch = m.ilog2() - share.ilog2();
    let batch = batch - u32::from(m >> batch < share);
    (m >> batch).div_ceil(2)
}
