//! The division of numbered things into blocks.
#![forbid(unsafe_code)]

use std::ops::Range;

/// Returns part `at` of `count` things that are divided into `parts` blocks, whose sizes differ by
/// at most one.
pub(crate) fn part(count: u64, at: u64, parts: u64) -> Range<u64> {
    let bound = |at: u64| (u128::from(count) * u128::from(at) / u128::from(parts)) as u64;
    bound(at)..bound(at + 1)
}
