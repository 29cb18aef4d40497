//! A finish over places: every place keeps a ledger, and one place adds them up.

use crate::id::PlaceId;
use alloc::{vec, vec::Vec};

/// The counts of one place since its last report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    here: PlaceId,
    counts: Vec<(PlaceId, i64)>,
    reports: u64,
}

/// The changes of one place's counts; zeros are not sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// The place that waits for the finish: it starts with one activity running at itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    /// Activities known to be live, by place; negative while a spawn is reported later than its
    /// end.
    live: Vec<i64>,
    /// Components of `live` that are not zero.
    open: usize,
    /// By place: the highest report number received.
    highest: Vec<u64>,
    /// The number of reports that were overtaken and have not arrived.
    missing: u64,
}

impl Home {
    /// Creates the home of a finish over `places` places whose first activity runs at
    /// [`PlaceId::HOME`].
    pub fn new(places: u32) -> Self {
        let places = places as usize;
        let mut home = Self {
            live: vec![0; places],
            open: 0,
            highest: vec![0; places],
            missing: 0,
        };
        home.add(PlaceId::HOME, 1);
        home
    }

    /// Processes the report of `from`. Returns true when all activities have ended: exactly once,
    /// and never early.
    ///
    /// # Panics
    /// If `from` is not one of the finish's places.
    pub fn on(&mut self, from: PlaceId, report: Report) -> bool {
        let highest = &mut self.highest[from.index()];
        if report.number > *highest {
            self.missing += report.number - *highest - 1;
            *highest = report.number;
        } else {
            self.missing -= 1;
        }
        for (at, change) in report.counts {
            self.add(at, change);
        }
        self.is_done()
    }

    /// Whether all activities have ended.
    pub fn is_done(&self) -> bool {
        self.open == 0 && self.missing == 0
    }

    fn add(&mut self, at: PlaceId, change: i64) {
        let live = &mut self.live[at.index()];
        let was_open = *live != 0;
        *live += change;
        match (was_open, *live != 0) {
            (false, true) => self.open += 1,
            (true, false) => self.open -= 1,
            _ => {}
        }
    }
}
