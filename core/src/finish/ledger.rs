//! Vector counts: every place keeps a ledger, and one place adds the reports up.

#[cfg(feature = "distributed")]
use super::message::Combined;
use super::message::Refusal;
use crate::id::PlaceId;
#[cfg(feature = "distributed")]
use alloc::collections::BTreeMap;
use alloc::{vec, vec::Vec};

/// The counts of one place since its last report, in the order of their first change: made for few
/// places, as the neighbours in a lifeline graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    here: PlaceId,
    counts: Vec<(PlaceId, i64)>,
    reports: u64,
}

/// The changes of one place's counts; zeros are not sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// 1 for a place's first report, 2 for its second, …
    pub number: u64,
    /// Activities spawned at a place minus activities ended there.
    pub counts: Vec<(PlaceId, i64)>,
}

impl Ledger {
    /// Creates the empty ledger of `here`.
    pub fn new(here: PlaceId) -> Self {
        Self {
            here,
            counts: Vec::new(),
            reports: 0,
        }
    }

    /// Records that an activity was spawned at `at`. Called only while an activity runs here.
    pub fn spawned(&mut self, at: PlaceId) {
        self.add(at, 1);
    }

    /// Records that an activity ended here.
    pub fn ended(&mut self) {
        self.add(self.here, -1);
    }

    /// Returns the report for the home. Called when no activity runs here.
    pub fn report(&mut self) -> Report {
        self.reports += 1;
        Report {
            number: self.reports,
            counts: core::mem::take(&mut self.counts),
        }
    }

    fn add(&mut self, at: PlaceId, change: i64) {
        match self.counts.iter().position(|(q, _)| *q == at) {
            None => self.counts.push((at, change)),
            Some(i) => {
                self.counts[i].1 += change;
                if self.counts[i].1 == 0 {
                    self.counts.swap_remove(i);
                }
            }
        }
    }
}

/// The sums of one finish at the place that waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    places: u32,
    known: Sums,
    /// The number of places with live activities; a count is negative while a spawn is reported
    /// later than its end.
    open: usize,
    /// Reports that were overtaken and have not arrived, by place and number.
    missing: Vec<Gap>,
    /// Places that must report at least once, ascending.
    awaited: Vec<PlaceId>,
}

/// Consecutive numbers of reports of one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Gap {
    place: PlaceId,
    first: u64,
    last: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    live: i64,
    /// The highest report number received.
    highest: u64,
}

/// Entries by place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Sums {
    /// For all places.
    Dense(Vec<Known>),
    /// For those that took part.
    #[cfg(feature = "distributed")]
    Sparse(BTreeMap<PlaceId, Known>),
}

impl Sums {
    /// `at` is one of the places.
    fn get(&self, at: PlaceId) -> Known {
        let known = match self {
            Self::Dense(all) => all.get(at.index()),
            #[cfg(feature = "distributed")]
            Self::Sparse(some) => some.get(&at),
        };
        known.copied().unwrap_or_default()
    }

    fn set(&mut self, at: PlaceId, known: Known) {
        match self {
            Self::Dense(all) => all[at.index()] = known,
            #[cfg(feature = "distributed")]
            Self::Sparse(some) if known == Known::default() => drop(some.remove(&at)),
            #[cfg(feature = "distributed")]
            Self::Sparse(some) => drop(some.insert(at, known)),
        }
    }
}

impl Home {
    /// The highest count that reports of other places may lead to.
    const LIMIT: i64 = i64::MAX / 2;

    /// Creates the home of a finish over `places` places, most of which take part. The first
    /// activity runs at `here`.
    ///
    /// # Panics
    /// If `here` is not one of the places.
    pub fn new(here: PlaceId, places: u32) -> Self {
        let all = vec![Known::default(); places as usize];
        Self::begin(here, places, Sums::Dense(all))
    }

    fn begin(here: PlaceId, places: u32, mut known: Sums) -> Self {
        assert!(here.0 < places, "{here} of {places} places");
        let (live, highest) = (1, 0);
        known.set(here, Known { live, highest });
        Self {
            places,
            known,
            open: 1,
            missing: Vec::new(),
            awaited: Vec::new(),
        }
    }

    /// Processes the report of `from`. Returns true when all activities have ended: exactly once,
    /// and never early.
    ///
    /// # Errors
    /// If no correct place sends this report; nothing has changed then.
    pub fn on(&mut self, from: PlaceId, report: Report) -> Result<bool, Refusal> {
        let parts = [(from, report.number)];
        self.add_reports(&parts, &report.counts, Self::LIMIT)
    }

    /// Whether all activities have ended.
    pub fn is_done(&self) -> bool {
        self.open == 0 && self.missing.is_empty() && self.awaited.is_empty()
    }

    /// `parts` is ascending.
    fn add_reports(
        &mut self,
        parts: &[(PlaceId, u64)],
        counts: &[(PlaceId, i64)],
        limit: i64,
    ) -> Result<bool, Refusal> {
        for &(place, number) in parts {
            self.check_number(place, number)?;
        }
        for &(place, change) in counts {
            if place.0 >= self.places {
                return Err(Refusal::Place(place));
            }
            let reports = || parts.binary_search_by_key(&place, |part| part.0).is_ok();
            if change < 0 && !reports() {
                return Err(Refusal::EndedElsewhere(place));
            }
            if change == i64::MIN {
                return Err(Refusal::Overflow(place));
            }
        }
        for (done, &(place, change)) in counts.iter().enumerate() {
            if !self.add(place, change, limit) {
                for &(place, change) in counts[..done].iter().rev() {
                    // Each value was reached before, so no sum overflows.
                    self.add(place, -change, i64::MAX);
                }
                return Err(Refusal::Overflow(place));
            }
        }
        for &(place, number) in parts {
            self.note_number(place, number);
        }
        Ok(self.is_done())
    }

    fn check_number(&self, place: PlaceId, number: u64) -> Result<(), Refusal> {
        if place.0 >= self.places {
            return Err(Refusal::Place(place));
        }
        if number > self.known.get(place).highest || self.gap(place, number).is_some() {
            return Ok(());
        }
        Err(Refusal::Doubled(place, number))
    }

    /// Returns the index in `missing` after the gaps that begin up to `number`.
    fn after(&self, place: PlaceId, number: u64) -> usize {
        let begins = |gap: &Gap| (gap.place, gap.first) <= (place, number);
        self.missing.partition_point(begins)
    }

    /// Returns the index in `missing` of the gap around `number`, if it is missing.
    fn gap(&self, place: PlaceId, number: u64) -> Option<usize> {
        let at = self.after(place, number).checked_sub(1)?;
        let gap = &self.missing[at];
        (gap.place == place && number <= gap.last).then_some(at)
    }

    fn note_number(&mut self, place: PlaceId, number: u64) {
        if let Ok(at) = self.awaited.binary_search(&place) {
            self.awaited.remove(at);
        }
        let known = self.known.get(place);
        if number > known.highest {
            let (first, last) = (known.highest + 1, number - 1);
            if first <= last {
                let at = self.after(place, first);
                self.missing.insert(at, Gap { place, first, last });
            }
            let highest = number;
            self.known.set(place, Known { highest, ..known });
        } else if let Some(at) = self.gap(place, number) {
            let Gap { first, last, .. } = self.missing[at];
            match (first < number, number < last) {
                (false, false) => drop(self.missing.remove(at)),
                (true, false) => self.missing[at].last = number - 1,
                (false, true) => self.missing[at].first = number + 1,
                (true, true) => {
                    self.missing[at].last = number - 1;
                    let first = number + 1;
                    self.missing.insert(at + 1, Gap { place, first, last });
                }
            }
        }
    }

    /// Returns false, without an effect, if the sum overflows or is above `limit`.
    fn add(&mut self, at: PlaceId, change: i64, limit: i64) -> bool {
        let Known {
            live: before,
            highest,
        } = self.known.get(at);
        let sum = before.checked_add(change);
        let Some(live) = sum.filter(|sum| (-limit..=limit).contains(sum)) else {
            return false;
        };
        self.open += usize::from(live != 0);
        self.open -= usize::from(before != 0);
        self.known.set(at, Known { live, highest });
        true
    }
}

/// Items that only finishes over places require.
#[cfg(feature = "distributed")]
impl Home {
    /// As [`new`](Self::new), if few of the places take part.
    pub(super) fn sparse(here: PlaceId, places: u32) -> Self {
        Self::begin(here, places, Sums::Sparse(BTreeMap::new()))
    }

    /// As [`sparse`](Self::sparse), for a repeated count: each of the places that are not lost
    /// must report.
    pub(super) fn repeated(here: PlaceId, places: u32, is_lost: impl Fn(PlaceId) -> bool) -> Self {
        let mut home = Self::sparse(here, places);
        home.awaited = (0..places)
            .map(PlaceId)
            .filter(|at| !is_lost(*at))
            .collect();
        home
    }

    /// Processes reports of other places that were added up on their way. The lists are ascending.
    pub(super) fn on_combined(&mut self, combined: &Combined) -> Result<bool, Refusal> {
        self.add_reports(&combined.parts, &combined.counts, Self::LIMIT)
    }

    /// Whether all activities may have ended after these reports: each count that is not zero must
    /// change.
    pub(super) fn may_end_by(&self, combined: &Combined) -> bool {
        self.open <= combined.counts.len()
    }

    /// Processes a report of the home itself, which no count of another place makes overflow.
    pub(super) fn on_own(&mut self, combined: &Combined) -> Result<bool, Refusal> {
        self.add_reports(&combined.parts, &combined.counts, i64::MAX)
    }

    /// Returns the counts of live activities, as far as they are reported, without zeros. A count
    /// that reports in flight will change may be negative.
    pub(super) fn live(&self) -> BTreeMap<PlaceId, i64> {
        let dense = match &self.known {
            Sums::Dense(all) => &all[..],
            Sums::Sparse(_) => &[],
        };
        let dense = (0..).map(PlaceId).zip(dense);
        let sparse = match &self.known {
            Sums::Dense(_) => None,
            Sums::Sparse(some) => Some(some),
        };
        let sparse = sparse.into_iter().flatten().map(|(at, known)| (*at, known));
        let known = dense.chain(sparse).map(|(at, known)| (at, known.live));
        known.filter(|(_, live)| *live != 0).collect()
    }

    /// Returns the places that must report at least once, ascending.
    pub(super) fn awaited(&self) -> &[PlaceId] {
        &self.awaited
    }

    /// Returns the places that took part.
    pub(super) fn members(self) -> Vec<PlaceId> {
        match self.known {
            Sums::Dense(all) => (0..all.len() as u32).map(PlaceId).collect(),
            Sums::Sparse(some) => some.into_keys().collect(),
        }
    }
}
