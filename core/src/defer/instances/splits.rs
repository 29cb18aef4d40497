//! Contiguous blocks: where the split points between ranks should be.
//!
//! # Algorithm
//! The chains-on-chains problem: contiguous blocks whose largest work is least. A bound is feasible
//! if blocks that are filled up to it from the first rank on suffice for all iterations; the least
//! feasible one is found by bisection (Nicol 1994, "probe"). Among the divisions within this bound,
//! each split point is as near as possible to where all blocks would have equal work.

use super::Owned;
use super::message::{Move, Proposal};
use super::profile::Profile;
use crate::id::Rank;
use alloc::vec;
use alloc::vec::Vec;

pub(super) fn propose(owned: &[Owned], profile: &Profile, capacity: u64) -> Proposal {
    let bounds = bounds(owned, profile.end());
    let targets = targets(profile, owned.len());
    let work = |bounds: &[u64]| profile.work(&(bounds[0]..bounds[1]));
    let shifts = bounds.iter().zip(&targets).map(|(a, b)| a.abs_diff(*b));
    let step = |(bound, target): (&u64, &u64)| {
        let (least, most) = (
            bound.saturating_sub(capacity),
            bound.saturating_add(capacity),
        );
        (*target).clamp(least, most)
    };
    let steps: Vec<u64> = bounds.iter().zip(&targets).map(step).collect();
    Proposal {
        most: targets.windows(2).map(work).max().unwrap_or(0),
        shift: shifts.max().unwrap_or(0),
        moves: moves(owned, &steps),
    }
}

/// Returns the bounds of the blocks.
fn bounds(owned: &[Owned], end: u64) -> Vec<u64> {
    let mut bounds = vec![end; owned.len() + 1];
    for (at, parts) in owned.iter().enumerate().rev() {
        bounds[at] = parts.first().map_or(bounds[at + 1], |part| part.start);
    }
    bounds
}

/// Returns where `p` blocks should begin, and the last one end.
fn targets(profile: &Profile, p: usize) -> Vec<u64> {
    let (whole, end) = (profile.whole(), profile.end());
    let fill = |most: u64| {
        let mut bounds = vec![0; p + 1];
        for at in 0..p {
            bounds[at + 1] = profile.reach(profile.before(bounds[at]).saturating_add(most));
        }
        bounds
    };
    let (mut above, mut fits) = ((whole / p as u64).saturating_sub(1), whole);
    // A thousandth is less than what is worth a transfer.
    while fits - above > 1 + fits / 1024 {
        let middle = above + (fits - above) / 2;
        match fill(middle)[p] == end {
            true => fits = middle,
            false => above = middle,
        }
    }
    let mut bounds = fill(fits);
    let mut next = end;
    for at in (1..p).rev() {
        // The least from which on the following blocks suffice; the first iteration with no more
        // than that after it.
        let least = profile.before(next).saturating_sub(fits);
        let mut start = profile.reach(least);
        start += u64::from(profile.before(start) < least);
        next = start.min(bounds[at]);
        let even = profile.reach((u128::from(whole) * at as u128 / p as u128) as u64);
        bounds[at] = even.clamp(next, bounds[at]);
    }
    for at in 1..p {
        let most = profile.reach(profile.before(bounds[at - 1]).saturating_add(fits));
        bounds[at] = bounds[at].min(most);
    }
    bounds[p] = end;
    bounds
}

/// Returns how iterations have to move so that the blocks have these bounds.
fn moves(owned: &[Owned], bounds: &[u64]) -> Vec<Move> {
    let ranks = || (0..).map(Rank);
    let blocks = || ranks().zip(bounds.windows(2));
    let mut moves = Vec::new();
    for (from, parts) in ranks().zip(owned) {
        for part in parts {
            let cut = |block: &[u64]| part.start.max(block[0])..part.end.min(block[1]);
            let cuts = blocks().map(|(to, block)| (to, cut(block)));
            let moving = cuts.filter(|(to, part)| *to != from && part.start < part.end);
            moves.extend(moving.map(|(to, part)| Move { from, to, part }));
        }
    }
    moves
}
