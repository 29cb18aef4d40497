//! The grain tuner: the number of tasks that a worker processes between two polls.
//!
//! | part | what it is |
//! |---|---|
//! | [`Tuning`], [`Rule`] | parameters |
//! | [`Pace`] | selects the turns of a worker that are timed |
//! | [`Gauge`] | the measurements of a place |
//! | [`Log`] | its readings at one moment |
//! | [`Tuner`] | computes the next grain from two readings: pure, integers only, without a clock |
//!
//! # Algorithm
//! Finnerty 2022, section 3.4: a grain is too large if the place was short of running workers, too
//! small if one emptying of its reserve was followed by several feedings (merge/empty), or if few
//! workers could take from what one had fed (split/merge). Both signs require a reserve that runs
//! empty, so a place with much work, or with one worker, never detects that its grain is too small.
//!
//! [`Rule::Direct`] is ours and does not have this limitation: a sampled turn measures the time of
//! polling and of the tasks, and the grain follows from the share of the time that polling may
//! take. That share is larger if workers have recently been waiting for work.
//!
//! It has no thread: a worker whose samples are due delivers them under the place's lock, a few
//! times a millisecond, and the last one to deliver tunes. Turns that end because the bag is empty
//! do not enlarge the grain; the shortage at the last decisions is remembered, as it comes in
//! bursts. The shares and figures are in `docs/decisions/025-measured-grain.md`.
#![forbid(unsafe_code)]

mod gauge;
mod pace;
mod tuner;

pub use gauge::{Gauge, Sample, Utilization};
pub use pace::Pace;
pub use tuner::Tuner;

/// The largest grain that a tuner chooses: a fraction of a second of small tasks.
pub const GRAIN_MAX: usize = 1 << 20;

/// The parameters of a tuner.
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
    /// The basis of the verdicts.
    pub rule: Rule,
    /// The grain of the first turns, at least 1.
    pub initial: usize,
    /// Ticks of the port's clock between two verdicts.
    pub interval: u64,
    /// Whether the grain is kept regardless of the verdicts, which are still computed.
    pub frozen: bool,
}

impl Tuning {
    pub(crate) const DEFAULT: Self = Self {
        rule: Rule::Direct,
        initial: 1,
        interval: 1_000_000,
        frozen: false,
    };

    /// Returns the thesis' settings: 10 tasks at first, a verdict every millisecond of a clock of
    /// nanoseconds.
    ///
    /// ```
    /// # use tautline_core::grain::{Rule, Tuning};
    /// assert_eq!(Tuning::thesis(Rule::MergeEmpty).initial, 10);
    /// ```
    pub const fn thesis(rule: Rule) -> Self {
        Self {
            rule,
            initial: 10,
            interval: 1_000_000,
            frozen: false,
        }
    }

    /// Returns settings with the constant grain `grain`; the tuner runs but its result is ignored.
    ///
    /// ```
    /// # use tautline_core::grain::Tuning;
    /// assert_eq!(Tuning::frozen(511).initial, 511);
    /// ```
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
    /// Returns the ticks before the first verdict. A direct measurement is meaningful immediately;
    /// it is repeated at intervals that double.
    pub(crate) const fn first_interval(&self) -> u64 {
        match self.rule {
            Rule::Direct => self.interval / 64,
            Rule::MergeEmpty | Rule::SplitMerge => self.interval,
        }
    }

    /// Returns the ticks between verdicts in the long run. Where many workers report, a fraction of
    /// the interval has enough samples; and a place that has just received work cannot wait.
    pub(crate) const fn last_interval(&self) -> u64 {
        match self.rule {
            Rule::Direct => self.interval / 4,
            Rule::MergeEmpty | Rule::SplitMerge => self.interval,
        }
    }
}

impl Default for Tuning {
    /// Returns a direct measurement, from a grain of 1.
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The criterion for a grain that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Polling takes too large a share of the time.
    Direct,
    /// The reserve was fed more than 1.3 times for each time it was emptied.
    MergeEmpty,
    /// The reserve was split fewer than 2 times for each time it was fed.
    SplitMerge,
}

/// The counters and measurements of a place since its beginning; every number only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Times that work was added to the reserve of the place.
    pub fed: u64,
    /// Times that work was taken from it.
    pub split: u64,
    /// Times that this left it empty.
    pub emptied: u64,
    /// Requests from other places.
    pub requests: u64,
    /// The utilization of the workers.
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
            requests: self.requests - before.requests,
            utilization: self.utilization.since(&before.utilization),
            sample: self.sample.since(&before.sample),
        }
    }
}
