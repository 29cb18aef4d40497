//! The grain tuner: how many tasks a worker does between two looks outside.
//!
//! | part | what it is |
//! |---|---|
//! | [`Tuning`], [`Rule`] | what can be set |
//! | [`Pace`] | which turns of a worker are timed |
//! | [`Gauge`] | what a place measures about itself |
//! | [`Log`] | its readings at one moment |
//! | [`Tuner`] | from two readings to the next grain: pure, integers only, no clock of its own |
//!
//! # Algorithm
//! Finnerty 2022, section 3.4: a grain is too large if the place was short of running workers, too
//! small if one emptying of its reserve was followed by several feedings (merge/empty), or if few
//! could take from what one had fed (split/merge). Both signs need a reserve that runs empty, so a
//! place with much work, or with one worker, never learns that its grain is too small.
//!
//! [`Rule::Direct`] is ours and has no such blindness: a sampled turn tells how long the look outside
//! took and how long the tasks did, and the grain follows from the share that looking may have. That
//! share is larger where workers have been waiting for work, the last moments counting most.
#![forbid(unsafe_code)]

mod gauge;
mod pace;
mod tuner;

pub use gauge::{Gauge, Sample, Utilization};
pub use pace::Pace;
pub use tuner::Tuner;

/// The largest grain that a tuner chooses: a fraction of a second of small tasks.
pub const GRAIN_MAX: usize = 1 << 20;

/// How a grain is tuned.
///
/// ```
/// # use tautline_core::grain::{Rule, Tuning};
/// let published = Tuning::thesis(Rule::MergeEmpty);
/// let patient = Tuning { interval: 10_000_000, ..Tuning::default() };
/// assert_eq!(published.initial, 10);
/// # assert!(patient.interval > published.interval);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// What the verdicts are based on.
    pub rule: Rule,
    /// The grain of the first turns, at least 1.
    pub initial: usize,
    /// Ticks of the port's clock between two verdicts.
    pub interval: u64,
    /// Measure and judge, but leave the grain as it is.
    pub frozen: bool,
}

impl Tuning {
    /// The thesis' settings: 10 tasks at first, a verdict every millisecond of a clock of nanoseconds.
    pub const fn thesis(rule: Rule) -> Self {
        Self {
            rule,
            initial: 10,
            interval: 1_000_000,
            frozen: false,
        }
    }

    /// Everything is measured and judged, and the grain stays at `grain`.
    pub const fn frozen(grain: usize) -> Self {
        Self {
            rule: Rule::Direct,
            initial: grain,
            interval: 1_000_000,
            frozen: true,
        }
    }
}

impl Tuning {
    /// Ticks before the first verdict. A direct measurement says something at once; it is repeated at
    /// intervals that double.
    pub(crate) const fn first_interval(&self) -> u64 {
        match self.rule {
            Rule::Direct => self.interval / 64,
            Rule::MergeEmpty | Rule::SplitMerge => self.interval,
        }
    }

    /// Ticks between verdicts in the long run. Where many workers report, there is enough to judge by
    /// several times an interval; and a place that came by work a moment ago cannot wait.
    pub(crate) const fn last_interval(&self) -> u64 {
        match self.rule {
            Rule::Direct => self.interval / 4,
            Rule::MergeEmpty | Rule::SplitMerge => self.interval,
        }
    }
}

impl Default for Tuning {
    /// Measured directly, from a grain of 1.
    fn default() -> Self {
        Self {
            rule: Rule::Direct,
            initial: 1,
            interval: 1_000_000,
            frozen: false,
        }
    }
}

/// What tells that a grain is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Looking outside takes too large a share of the time.
    Direct,
    /// The reserve was fed more than 1.3 times for each time it was emptied.
    MergeEmpty,
    /// The reserve was split fewer than 2 times for each time it was fed.
    SplitMerge,
}

/// What a place has counted and measured since its beginning; every number only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Times that work was put into the reserve of the place.
    pub fed: u64,
    /// Times that work was taken out of it.
    pub split: u64,
    /// Times that this left it empty.
    pub emptied: u64,
    /// How the workers were used.
    pub utilization: Utilization,
    /// The sampled turns.
    pub sample: Sample,
}

impl Log {
    fn since(&self, before: &Self) -> Self {
        Self {
            fed: self.fed - before.fed,
            split: self.split - before.split,
            emptied: self.emptied - before.emptied,
            utilization: self.utilization.since(&before.utilization),
            sample: self.sample.since(&before.sample),
        }
    }
}
