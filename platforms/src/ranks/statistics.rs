//! Counts of what a rank has sent.
#![forbid(unsafe_code)]

use std::ops::Add;
use tautline_core::service::OperationCounts;

/// Counts of calls over ranks at one rank: of a team, or of all teams, communicators and the world.
/// They can be added, and sent to other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Calls begun, finishes and phases included.
    pub calls: u64,
    /// Messages sent in them: of collective calls, activities, results, reports and grants of
    /// room. Short ones of several calls travel in one parcel.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Messages that came before the call was made here, and were kept.
    pub early: u64,
    /// Messages that start activities at other ranks: a part of a [batch](crate::team::Batch)
    /// counts as one.
    pub spawns: u64,
    /// Reports of ended activities, each of one or several ranks, sent on their way to the rank
    /// that waits.
    pub reports: u64,
    /// Waits for room on the way to a rank that did not keep up.
    pub waits: u64,
    /// Parcels sent over the link, with messages of balanced computations and communicators, too;
    /// 0 of a team, which shares them.
    pub parcels: u64,
}

impl Statistics {
    /// Returns the counts with their names, in the order of the fields.
    ///
    /// ```
    /// use tautline::world::Statistics;
    ///
    /// assert_eq!(Statistics::default().named()[0], ("calls", 0));
    /// ```
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("calls", self.calls),
            ("messages", self.messages),
            ("bytes", self.bytes),
            ("early", self.early),
            ("spawns", self.spawns),
            ("reports", self.reports),
            ("waits", self.waits),
            ("parcels", self.parcels),
        ]
    }

    /// Returns those of operations and of finishes.
    pub(super) fn of(operations: OperationCounts, finishes: FinishCounts) -> Self {
        let OperationCounts {
            begun,
            sent,
            sent_bytes,
            early,
        } = operations;
        let FinishCounts {
            spawns,
            reports,
            waits,
        } = finishes;
        Self {
            calls: begun,
            messages: sent,
            bytes: sent_bytes,
            early,
            spawns,
            reports,
            waits,
            parcels: 0,
        }
    }
}

/// Returns the sums.
impl Add for Statistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            messages: self.messages + other.messages,
            bytes: self.bytes + other.bytes,
            early: self.early + other.early,
            spawns: self.spawns + other.spawns,
            reports: self.reports + other.reports,
            waits: self.waits + other.waits,
            parcels: self.parcels + other.parcels,
        }
    }
}

/// Counts of finishes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FinishCounts {
    pub(super) spawns: u64,
    pub(super) reports: u64,
    pub(super) waits: u64,
}

impl FinishCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.spawns += other.spawns;
        self.reports += other.reports;
        self.waits += other.waits;
    }
}
