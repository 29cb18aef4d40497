//! The measurements of a place for its tuner.

use core::ops::AddAssign;

/// Sums over the turns that were timed: the polling phase and the tasks after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The number of turns.
    pub turns: u64,
    /// Of these, turns that ended because no task was left.
    pub dry: u64,
    /// Tasks done in them.
    pub tasks: u64,
    /// Ticks before the tasks: feeding, answering, serving.
    pub looking: u64,
    /// Turns whose polling phase found nothing to do.
    pub quiet_turns: u64,
    /// Ticks before the tasks in those.
    pub quiet_looking: u64,
    /// Ticks in the tasks.
    pub computing: u64,
}

impl AddAssign for Sample {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.dry += other.dry;
        self.tasks += other.tasks;
        self.looking += other.looking;
        self.quiet_turns += other.quiet_turns;
        self.quiet_looking += other.quiet_looking;
        self.computing += other.computing;
    }
}

impl Sample {
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            turns: self.turns - before.turns,
            dry: self.dry - before.dry,
            tasks: self.tasks - before.tasks,
            looking: self.looking - before.looking,
            quiet_turns: self.quiet_turns - before.quiet_turns,
            quiet_looking: self.quiet_looking - before.quiet_looking,
            computing: self.computing - before.computing,
        }
    }
}

/// Accumulates samples, and the times during which workers of the place had work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    sample: Sample,
    utilization: Utilization,
    running: u64,
    size: u64,
    since: u64,
}

/// The utilization of the workers of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Utilization {
    /// Ticks during which all workers had work.
    pub full: u64,
    /// Ticks with work, added up over the workers.
    pub busy: u64,
    /// Ticks without work, added up over the workers, while at least one of them had some.
    pub idle: u64,
}

impl Utilization {
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            full: self.full - before.full,
            busy: self.busy - before.busy,
            idle: self.idle - before.idle,
        }
    }
}

impl Gauge {
    /// Adds a sample of timed turns.
    pub fn sampled(&mut self, sample: Sample) {
        self.sample += sample;
    }

    /// Records that from tick `now` on, `running` workers of `size` have work.
    pub fn crew(&mut self, running: usize, size: usize, now: u64) {
        self.utilization_until(now);
        self.running = running as u64;
        self.size = size as u64;
    }

    /// Returns the samples so far, and the utilization up to `now`.
    pub fn read(&mut self, now: u64) -> (Sample, Utilization) {
        (self.sample, self.utilization_until(now))
    }

    /// Never lets a later reading be below an earlier one: a clock may differ slightly between
    /// processors.
    fn utilization_until(&mut self, now: u64) -> Utilization {
        let ticks = now.saturating_sub(self.since);
        let is_full = u64::from(self.running == self.size && self.size > 0);
        let idle = match self.running {
            0 => 0,
            running => self.size - running,
        };
        self.utilization.full += is_full * ticks;
        self.utilization.busy += self.running * ticks;
        self.utilization.idle += idle * ticks;
        self.since += ticks;
        self.utilization
    }
}
