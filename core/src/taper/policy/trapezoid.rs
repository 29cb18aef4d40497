//! Trapezoid self-scheduling without a state: the chunk follows from the number of remaining
//! iterations.
//!
//! # Algorithm
//! Tzen and Ni 1993; spec 2.3 of Lucco 1995: of C = ⌈2N/(f + 1)⌉ chunks the first has f = ⌈N/(2p)⌉
//! iterations, each further one (f − 1)/(C − 1) less. That step is a fraction, so the boundaries
//! are rounded, not the chunks: boundary j is ⌈jf − j(j − 1)(f − 1)/(2(C − 1))⌉. The chunk that
//! begins at a position ends at the first boundary after it, which bisection finds without a
//! division.

use super::instance::Instance;

/// Returns the chunk if `left`, at least 1, iterations are left; not yet clipped to that.
#[inline]
pub(super) fn chunk(left: u64, cx: &Instance) -> u64 {
    let (slope, steps) = (u128::from(cx.first - 1), u128::from(cx.count - 1));
    if slope == 0 || steps == 0 {
        return cx.first;
    }
    let taken = u128::from(cx.taken(left));
    // Boundary j before rounding, times 2 (C − 1); it grows up to j = C, where it is past the end.
    let line = 2 * steps * u128::from(cx.first) + slope;
    let boundary = |j: u64| u128::from(j) * (line - slope * u128::from(j));
    let (mut before, mut after) = (0, cx.count);
    while after - before > 1 {
        let middle = before.midpoint(after);
        match boundary(middle) > 2 * steps * taken {
            true => after = middle,
            false => before = middle,
        }
    }
    (boundary(after).div_ceil(2 * steps) - taken) as u64
}
