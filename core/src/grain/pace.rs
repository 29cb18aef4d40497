//! Which turns of a worker are timed.

use crate::grain::{Sample, Tuning};

/// Turns are timed so often that this many fit an interval of the tuner; short ones in between are not,
/// since reading a clock may take longer than they do.
const TIMED_PER_INTERVAL: u64 = 32;

/// Most turns in a row that are not timed.
const SKIP_MAX: u64 = 4096;

/// Times some of the turns of one worker and says when to report them.
#[derive(Clone, Debug)]
pub struct Pace {
    timing: Timing,
    /// Turns to come that are not timed.
    skip: u64,
    sum: Sample,
    reported: u64,
    /// Ticks between two reports.
    patience: u64,
    interval: u64,
}

#[derive(Clone, Copy, Debug)]
enum Timing {
    Off,
    Looking {
        began: u64,
        quiet: bool,
    },
    Computing {
        began: u64,
        quiet: bool,
        looked: u64,
        tasks: u64,
        dry: bool,
    },
}

impl Pace {
    /// A worker that begins at tick `now`.
    pub fn new(tuning: &Tuning, now: u64) -> Self {
        Self {
            timing: Timing::Off,
            skip: 0,
            sum: Sample::default(),
            reported: now,
            patience: tuning.first_interval(),
            interval: tuning.interval,
        }
    }

    /// A turn begins, and the one before has ended. What was measured, when it is time to report it.
    #[inline]
    pub fn begin(&mut self, now: impl FnOnce() -> u64) -> Option<Sample> {
        match self.timing {
            Timing::Off if self.skip > 0 => {
                self.skip -= 1;
                None
            }
            _ => self.lap(now()),
        }
    }

    /// There is something to be done before the tasks.
    #[inline]
    pub fn disturbed(&mut self) {
        if let Timing::Looking { quiet, .. } = &mut self.timing {
            *quiet = false;
        }
    }

    /// The look outside is over.
    #[inline]
    pub fn looked(&mut self, now: impl FnOnce() -> u64) {
        if let Timing::Looking { began, quiet } = self.timing {
            self.timing = Timing::Computing {
                began,
                quiet,
                looked: now(),
                tasks: 0,
                dry: false,
            };
        }
    }

    /// Discards the timing of this turn: the worker waits for another worker before it processes tasks.
    #[cold]
    pub fn waits(&mut self) {
        self.timing = Timing::Off;
    }

    /// So many tasks were done, and perhaps none is left.
    #[inline]
    pub fn did(&mut self, done: u64, is_dry: bool) {
        if let Timing::Computing { tasks, dry, .. } = &mut self.timing {
            *tasks = done;
            *dry = is_dry;
        }
    }

    #[cold]
    fn lap(&mut self, now: u64) -> Option<Sample> {
        if let Timing::Computing {
            began,
            quiet,
            looked,
            tasks,
            dry,
        } = self.timing
        {
            let looking = looked.saturating_sub(began);
            self.sum += Sample {
                turns: 1,
                dry: u64::from(dry),
                tasks,
                looking,
                quiet_turns: u64::from(quiet),
                quiet_looking: if quiet { looking } else { 0 },
                computing: now.saturating_sub(looked),
            };
            let length = now.saturating_sub(began).max(1);
            self.skip = (self.interval / TIMED_PER_INTERVAL / length).min(SKIP_MAX);
        }
        self.timing = match self.skip {
            0 => Timing::Looking {
                began: now,
                quiet: true,
            },
            _ => Timing::Off,
        };
        if now.saturating_sub(self.reported) < self.patience {
            return None;
        }
        self.reported = now;
        self.patience = self.patience.saturating_mul(2).min(self.interval / 2);
        Some(core::mem::take(&mut self.sum))
    }
}
