//! The part of one place in one finish.

use super::Outcome;
use super::message::Combined;
use crate::id::PlaceId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Activities exchanged with other places, and the outcome as far as known here.
///
/// Kept from the first arrival until the home reports the end: numbers of reports continue, and the
/// totals are needed when a place is lost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Branch {
    here: PlaceId,
    /// Whether activities run here.
    pub(super) is_active: bool,
    /// The number of lost places that the counts exclude.
    pub(super) epoch: u32,
    reports: u64,
    /// Activities spawned, by place.
    sent: BTreeMap<PlaceId, i64>,
    /// Activities that arrived, by the place that spawned them.
    arrived: BTreeMap<PlaceId, i64>,
    /// The change of the counts since the last report; arrivals are counted as ended.
    changes: BTreeMap<PlaceId, i64>,
    /// The outcome raised here.
    own: Option<Outcome>,
    /// Whether `own` has changed since the last report.
    has_news: bool,
    /// The reason why the activities here were cancelled.
    pub(super) cancelled: Option<Outcome>,
}

impl Branch {
    /// Creates the branch of a place before the first arrival.
    pub(super) fn new(here: PlaceId) -> Self {
        Self {
            here,
            is_active: false,
            epoch: 0,
            reports: 0,
            sent: BTreeMap::new(),
            arrived: BTreeMap::new(),
            changes: BTreeMap::new(),
            own: None,
            has_news: false,
            cancelled: None,
        }
    }

    /// Records an arrival. The activity is counted as ended: the next report is made when it has.
    pub(super) fn arrived(&mut self, from: PlaceId) {
        *self.arrived.entry(from).or_default() += 1;
        self.change(self.here, -1);
    }

    /// Records that an activity was spawned at another place.
    pub(super) fn spawned(&mut self, to: PlaceId) {
        *self.sent.entry(to).or_default() += 1;
        self.change(to, 1);
    }

    /// Returns a report of an activity that begins here; its end is in the next one. Called when no
    /// activity runs here.
    pub(super) fn resumed(&mut self) -> Combined {
        self.change(self.here, 1);
        let report = self.report();
        self.change(self.here, -1);
        report
    }

    /// Records an outcome raised here. Returns whether it takes precedence here.
    pub(super) fn raise(&mut self, outcome: &Outcome) -> bool {
        let is_first = Outcome::merge(&mut self.own, outcome);
        self.has_news |= is_first;
        is_first
    }

    /// Returns the places that activities were spawned at.
    pub(super) fn targets(&self) -> Vec<PlaceId> {
        self.sent.keys().copied().collect()
    }

    /// Returns the activities spawned at other places since the last report.
    pub(super) fn unreported(&self) -> impl Iterator<Item = (PlaceId, i64)> {
        let changes = self.changes.iter().map(|(at, change)| (*at, *change));
        changes.filter(|(at, _)| *at != self.here)
    }

    /// Whether activities were exchanged with `place`.
    pub(super) fn knows(&self, place: PlaceId) -> bool {
        self.sent.contains_key(&place) || self.arrived.contains_key(&place)
    }

    /// Repeats the count without the `lost` places: the next report has the totals.
    pub(super) fn recount(&mut self, lost: &[PlaceId]) {
        let is_lost = |at: &PlaceId| lost.contains(at);
        self.epoch = lost.len() as u32;
        self.reports = 0;
        self.has_news = self.own.is_some();
        self.changes.clear();
        let sent: Vec<_> = self.sent.iter().map(|(at, n)| (*at, *n)).collect();
        for (at, n) in sent.into_iter().filter(|(at, _)| !is_lost(at)) {
            self.change(at, n);
        }
        let ended = self.arrived.iter().filter(|(at, _)| !is_lost(at));
        let ended: i64 = ended.map(|(_, n)| n).sum();
        self.change(self.here, -ended);
    }

    /// Returns the report for the home. Called when no activity runs here.
    pub(super) fn report(&mut self) -> Combined {
        self.reports += 1;
        let outcome = self.has_news.then(|| self.own.clone()).flatten();
        self.has_news = false;
        Combined {
            epoch: self.epoch,
            parts: Vec::from([(self.here, self.reports)]),
            counts: core::mem::take(&mut self.changes).into_iter().collect(),
            outcome,
        }
    }

    fn change(&mut self, at: PlaceId, change: i64) {
        let sum = self.changes.entry(at).or_default();
        *sum += change;
        if *sum == 0 {
            self.changes.remove(&at);
        }
    }
}
