//! What a place measures about itself for its tuner.

use core::ops::AddAssign;

/// Turns that were timed: the look outside and the tasks after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Turns.
    pub turns: u64,
    /// Tasks done in them.
    pub tasks: u64,
    /// Ticks before the tasks: feeding, answering, serving.
    pub looking: u64,
    /// Ticks in the tasks.
    pub computing: u64,
}

impl AddAssign for Sample {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.tasks += other.tasks;
        self.looking += other.looking;
        self.computing += other.computing;
    }
}

impl Sample {
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            turns: self.turns - before.turns,
            tasks: self.tasks - before.tasks,
            looking: self.looking - before.looking,
            computing: self.computing - before.computing,
        }
    }
}

/// Adds up samples, and the time during which all workers of the place had work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    sample: Sample,
    full: u64,
    full_since: Option<u64>,
}

impl Gauge {
    /// Some turns were timed.
    pub fn sampled(&mut self, sample: Sample) {
        self.sample += sample;
    }

    /// At tick `now` all workers have work, or not.
    pub fn crew(&mut self, is_full: bool, now: u64) {
        self.full = self.full_until(now);
        self.full_since = is_full.then_some(now);
    }

    /// The samples so far, and the ticks with all workers at work up to `now`.
    pub fn read(&self, now: u64) -> (Sample, u64) {
        (self.sample, self.full_until(now))
    }

    fn full_until(&self, now: u64) -> u64 {
        // A clock may differ a little between processors.
        let open = self.full_since.map_or(0, |since| now.saturating_sub(since));
        self.full + open
    }
}
