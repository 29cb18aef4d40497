//! Sets of iterations, as ranges. Invariant: they ascend, and neither overlap nor touch.

use crate::taper::blocked;
use alloc::vec::Vec;
use core::ops::Range;

/// Deals the iterations 0..n to p ranks, in `strips` turns of one range each; returns those of a
/// rank.
pub(super) fn dealt(rank: u32, n: u64, p: u32, strips: u32) -> Vec<Range<u64>> {
    let strips = strips.min(u32::MAX / p);
    let mut parts = Vec::new();
    for turn in 0..strips {
        let part = blocked(turn * p + rank, n, strips * p);
        if part.start < part.end {
            insert(&mut parts, part);
        }
    }
    parts
}

/// Returns the number of iterations.
pub(super) fn len(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

/// Returns whether all iterations of `part` are in the set.
pub(super) fn contains(parts: &[Range<u64>], part: &Range<u64>) -> bool {
    let includes = |own: &Range<u64>| own.start <= part.start && part.end <= own.end;
    part.start < part.end && parts.iter().any(includes)
}

/// Returns whether an iteration of `part` is in the set.
pub(super) fn overlaps(parts: &[Range<u64>], part: &Range<u64>) -> bool {
    let meets = |own: &Range<u64>| own.start < part.end && part.start < own.end;
    parts.iter().any(meets)
}

/// Returns the iterations at these positions of the set.
pub(super) fn slice(
    parts: &[Range<u64>],
    positions: Range<u64>,
) -> impl Iterator<Item = Range<u64>> {
    let mut before = 0;
    let cut = move |part: &Range<u64>| {
        let own = before..before + part.end - part.start;
        before = own.end;
        let (start, end) = (own.start.max(positions.start), own.end.min(positions.end));
        (start < end).then(|| part.start + start - own.start..part.start + end - own.start)
    };
    parts.iter().filter_map(cut)
}

/// Adds iterations that are not in the set.
pub(super) fn insert(parts: &mut Vec<Range<u64>>, part: Range<u64>) {
    let at = parts.partition_point(|own| own.start < part.start);
    parts.insert(at, part);
    for at in [at + 1, at] {
        if at > 0 && at < parts.len() && parts[at - 1].end == parts[at].start {
            parts[at - 1].end = parts[at].end;
            parts.remove(at);
        }
    }
}

/// Removes iterations; those of one of the ranges.
pub(super) fn remove(parts: &mut Vec<Range<u64>>, part: &Range<u64>) {
    let Some(at) = parts.iter().position(|own| own.contains(&part.start)) else {
        return;
    };
    let own = parts.remove(at);
    for rest in [part.end..own.end, own.start..part.start] {
        if rest.start < rest.end {
            parts.insert(at, rest);
        }
    }
}
