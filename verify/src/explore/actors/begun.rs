//! History of loops over ranks, for their checks: the iterations that have begun, and the ranks
//! that have ended.

use crate::explore::Flaw;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Predict, Table};
use tautline_core::taper::Estimate;

/// The history of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Begun {
    /// Iterations begun, as bits.
    begun: u32,
    /// Ranks that have ended, as bits.
    ended: u32,
}

impl Begun {
    /// Records that a chunk begins: each iteration does so once.
    pub(super) fn begin(&mut self, chunk: &[Range<u64>]) -> Option<Flaw> {
        let mut flaw = None;
        for bit in bits(chunk) {
            if self.begun & bit != 0 {
                flaw = Some(Flaw::Count);
            }
            self.begun |= bit;
        }
        flaw
    }

    /// Records that iterations are sent: none of them has begun.
    pub(super) fn send(&self, parts: &[Range<u64>]) -> Option<Flaw> {
        let mut bits = bits(parts);
        bits.any(|bit| self.begun & bit != 0).then_some(Flaw::Count)
    }

    /// Records that a rank ends, once.
    pub(super) fn end(&mut self, here: Rank) -> Option<Flaw> {
        let bit = 1 << here.0;
        let has_ended = self.ended & bit != 0;
        self.ended |= bit;
        has_ended.then_some(Flaw::Repeated)
    }

    /// Returns the flaw of a loop of `n` iterations, of which `moving` are in flight.
    pub(super) fn judge(&self, n: u64, moving: u64) -> Option<Flaw> {
        let is_early = self.ended != 0 && (self.begun != all(n) || moving > 0);
        is_early.then_some(Flaw::Early)
    }

    /// Returns whether the loop has ended at all ranks.
    pub(super) fn is_final(&self, n: u64, ranks: u32) -> bool {
        self.ended == all(u64::from(ranks)) && self.begun == all(n)
    }
}

/// Returns the number of iterations.
pub(super) fn len(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

fn bits(parts: &[Range<u64>]) -> impl Iterator<Item = u32> {
    parts.iter().cloned().flatten().map(|at| 1 << at)
}

fn all(n: u64) -> u32 {
    (1 << n) - 1
}

/// The predicted times of the iterations; without any, each counts as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Forecast(Option<Table>);

impl Forecast {
    /// Creates the forecast of these times, if there are any.
    pub fn new(times: &[u64]) -> Self {
        let is_known = !times.is_empty();
        Self(is_known.then(|| Table::new(times.iter().copied())))
    }
}

impl Predict for Forecast {
    fn work(&self, range: Range<u64>) -> u64 {
        let count = range.end - range.start;
        self.0.as_ref().map_or(count, |table| table.work(range))
    }

    fn estimate(&self) -> Option<Estimate> {
        self.0.as_ref().and_then(Table::estimate)
    }
}
