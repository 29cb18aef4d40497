//! Iterations that may be anywhere: what the ranks with most work give to those with least.
//!
//! # Algorithm
//! Free pairing (spec 2.12 of Lucco 1995, b, with as many decisions as there are ranks off
//! balance): the rank with most work gives to the one with least what comes closest to half of
//! their difference, until the rest is not worth it.

use super::Owned;
use super::message::{Move, Proposal};
use super::profile::Profile;
use crate::defer::Conditions;
use crate::id::Rank;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

/// Iterations that were measured together, with their work and the rank that has them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    work: u64,
    start: u64,
    end: u64,
    owner: usize,
}

pub(super) fn propose(
    owned: &[Owned],
    mut loads: Vec<u64>,
    profile: &Profile,
    conditions: &Conditions,
) -> Proposal {
    let pieces = |(owner, parts): (usize, &Owned)| {
        let cut = parts.iter().flat_map(|part| profile.pieces(part));
        let piece = |part: Range<u64>| Piece {
            work: profile.work(&part),
            start: part.start,
            end: part.end,
            owner,
        };
        let mut pieces: Vec<Piece> = cut.map(piece).collect();
        pieces.sort_unstable();
        pieces
    };
    let mut held: Vec<Vec<Piece>> = owned.iter().enumerate().map(pieces).collect();
    let mut order: BTreeSet<(u64, usize)> = loads.iter().copied().zip(0..).collect();
    while let (Some(&(most, from)), Some(&(least, to))) = (order.last(), order.first()) {
        // Half of what is tolerated, so that the next instances need no plan.
        let difference = most - least;
        if u128::from(difference) * 2000 <= u128::from(most) * u128::from(conditions.threshold) {
            break;
        }
        let Some(piece) = take(&mut held[from], difference) else {
            break;
        };
        order.remove(&(most, from));
        order.remove(&(least, to));
        loads[from] -= piece.work;
        loads[to] += piece.work;
        order.insert((loads[from], from));
        order.insert((loads[to], to));
        let at = held[to].partition_point(|own| *own < piece);
        held[to].insert(at, piece);
    }
    let mut moves = Vec::new();
    for (to, pieces) in held.into_iter().enumerate() {
        let moved = pieces.into_iter().filter(|piece| piece.owner != to);
        moves.extend(moved.map(|piece| (piece.owner, to, piece.start, piece.end)));
    }
    moves.sort_unstable();
    let most = loads.iter().max().copied().unwrap_or(0);
    limited(moves, most, owned.len(), conditions.capacity)
}

/// Removes the piece whose work is closest to half of the difference, and less than all of it.
fn take(pieces: &mut Vec<Piece>, difference: u64) -> Option<Piece> {
    let half = difference / 2;
    let at = pieces.partition_point(|piece| piece.work <= half);
    let below = at.checked_sub(1).filter(|below| pieces[*below].work > 0);
    let above = pieces.get(at).filter(|piece| piece.work < difference);
    let at = match (below, above) {
        (Some(below), Some(above)) if half - pieces[below].work <= above.work - half => below,
        (_, Some(_)) => at,
        (below, None) => below?,
    };
    Some(pieces.remove(at))
}

/// Joins adjacent moves, and keeps those for which ranks have the bandwidth: `capacity` iterations
/// out and in.
fn limited(sorted: Vec<(usize, usize, u64, u64)>, most: u64, p: usize, capacity: u64) -> Proposal {
    let mut used = alloc::vec![(0_u64, 0_u64); p];
    let mut shift = 0;
    let mut moves: Vec<Move> = Vec::new();
    for (from, to, start, end) in sorted {
        let (out, into) = (used[from].0, used[to].1);
        shift = shift.max(out.max(into) + end - start);
        let end = end.min(start.saturating_add(capacity.saturating_sub(out.max(into))));
        if start == end {
            continue;
        }
        used[from].0 += end - start;
        used[to].1 += end - start;
        let (from, to) = (Rank(from as u32), Rank(to as u32));
        match moves.last_mut() {
            Some(last) if (last.from, last.to, last.part.end) == (from, to, start) => {
                last.part.end = end
            }
            _ => moves.push(Move {
                from,
                to,
                part: start..end,
            }),
        }
    }
    Proposal { most, shift, moves }
}
