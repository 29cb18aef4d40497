//! What a place measures about itself for its tuner.

use core::ops::AddAssign;

/// Turns that were timed: the look outside and the tasks after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Turns.
    pub turns: u64,
    /// Of these, turns that ended because no task was left.
    pub dry: u64,
    /// Tasks done in them.
    pub tasks: u64,
    /// Ticks before the tasks: feeding, answering, serving.
    pub looking: u64,
    /// Turns in which nothing of that was to be done.
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

/// Adds up samples, and how long how many workers of the place had work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    sample: Sample,
    utilization: Utilization,
    running: u64,
    size: u64,
    since: u64,
}

/// How much of its workers a place used.
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
    /// Some turns were timed.
    pub fn sampled(&mut self, sample: Sample) {
        self.sample += sample;
    }

    /// From tick `now` on `running` workers of `size` have work.
    pub fn crew(&mut self, running: usize, size: usize, now: u64) {
        self.utilization_until(now);
        self.running = running as u64;
        self.size = size as u64;
    }

    /// The samples so far, and the use of the workers up to `now`.
    pub fn read(&mut self, now: u64) -> (Sample, Utilization) {
        (self.sample, self.utilization_until(now))
    }

    /// What has been read is kept: a clock may differ a little between processors, and no later reading
    /// may be below this one.
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
