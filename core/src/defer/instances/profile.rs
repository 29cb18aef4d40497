//! The work of all iterations, as the accounts of an instance report it.

use super::Owned;
use super::message::Account;
use super::parts::slice;
use alloc::vec::Vec;
use core::ops::Range;

/// The most sections into which a rank divides its iterations.
const SECTIONS: usize = 64;

/// Divides iterations with these times into sections: single iterations, if there are few;
/// otherwise sections of about equal work, so that what is long is known exactly (as refinement
/// does, spec 2.9). Returns the number of iterations and the work of each.
pub(super) fn sections(times: &[u64]) -> Vec<(u64, u64)> {
    if times.len() <= SECTIONS {
        return times.iter().map(|time| (1, *time)).collect();
    }
    let whole: u128 = times.iter().map(|time| u128::from(*time)).sum();
    let mut sections: Vec<(u64, u64)> = Vec::new();
    let (mut before, mut last) = (0_u128, None);
    for time in times {
        // Where the middle of the iteration is.
        let middle = 2 * before + u128::from(*time);
        let section = (middle * SECTIONS as u128).checked_div(2 * whole);
        before += u128::from(*time);
        match sections.last_mut() {
            Some((count, work)) if last == section => {
                *count += 1;
                *work = work.saturating_add(*time);
            }
            _ => sections.push((1, *time)),
        }
        last = section;
    }
    sections
}

/// Returns whether these may be the sections of `len` iterations.
pub(super) fn are_sections(sections: &[(u64, u64)], len: u64) -> bool {
    let count = |sum: u64, section: &(u64, u64)| sum.checked_add(section.0);
    let is_full = sections.iter().try_fold(0, count) == Some(len);
    is_full && sections.len() <= SECTIONS + 1 && sections.iter().all(|section| section.0 > 0)
}

/// The work of all iterations before each bound of a section; inside of a section, all are taken to
/// have equal work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Profile {
    /// Position and work before it, ascending; the last is the whole. Sums of malformed accounts
    /// saturate.
    points: Vec<(u64, u64)>,
}

impl Profile {
    /// Adds up the accounts. What has yet to be executed has the work that it had `before`.
    pub(super) fn new(owned: &[Owned], accounts: &[Account], before: Option<&Self>) -> Self {
        let mut pieces = Vec::new();
        for (parts, account) in owned.iter().zip(accounts) {
            let mut start = 0;
            for (count, work) in &account.sections {
                let positions = start..start + count;
                start = positions.end;
                let (mut rest, mut left) = (*work, *count);
                for piece in slice(parts, positions) {
                    let len = piece.end - piece.start;
                    let share = (u128::from(rest) * u128::from(len) / u128::from(left)) as u64;
                    (rest, left) = (rest - share, left - len);
                    pieces.push((piece.end, share));
                }
            }
            for part in slice(parts, start..u64::MAX) {
                let known = before.into_iter().flat_map(|before| {
                    let work = |piece: Range<u64>| (piece.end, before.work(&piece));
                    before.pieces(&part).map(work)
                });
                pieces.extend(known);
            }
        }
        pieces.sort_unstable();
        let mut points = Vec::from([(0, 0)]);
        let mut work = 0_u64;
        points.extend(pieces.into_iter().map(|(end, share)| {
            work = work.saturating_add(share);
            (end, work)
        }));
        Self { points }
    }

    /// Returns the work of all iterations.
    pub(super) fn whole(&self) -> u64 {
        self.points.last().map_or(0, |last| last.1)
    }

    /// Returns the number of iterations.
    pub(super) fn end(&self) -> u64 {
        self.points.last().map_or(0, |last| last.0)
    }

    /// Returns the work before an iteration.
    pub(super) fn before(&self, iteration: u64) -> u64 {
        let at = self.points.partition_point(|point| point.0 < iteration);
        let (Some(&(end, until)), Some(at)) = (self.points.get(at), at.checked_sub(1)) else {
            return 0;
        };
        let (start, before) = self.points[at];
        let (len, done) = (u128::from(end - start), u128::from(iteration - start));
        before + (u128::from(until - before) * done / len) as u64
    }

    /// Returns the last iteration before which there is no more than `work`.
    pub(super) fn reach(&self, work: u64) -> u64 {
        let at = self.points.partition_point(|point| point.1 <= work);
        let (Some(&(end, until)), Some(at)) = (self.points.get(at), at.checked_sub(1)) else {
            return self.end();
        };
        let (start, before) = self.points[at];
        let (len, span) = (u128::from(end - start), u128::from(until - before));
        start + (len * u128::from(work - before) / span) as u64
    }

    /// Returns the work of a range.
    pub(super) fn work(&self, range: &Range<u64>) -> u64 {
        self.before(range.end) - self.before(range.start)
    }

    /// Returns the parts of a range that were measured together.
    pub(super) fn pieces(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let range = range.clone();
        let from = self.points.partition_point(|point| point.0 <= range.start);
        let mut start = range.start;
        self.points[from..].iter().map_while(move |point| {
            let piece = start..point.0.min(range.end);
            start = piece.end;
            (piece.start < piece.end).then_some(piece)
        })
    }
}
