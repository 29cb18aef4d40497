//! Selects the turns of a worker that are timed.

use crate::grain::{Sample, Tuning};

/// The number of timed turns per interval of the tuner; short ones in between are not timed, since
/// reading a clock may take longer than they do.
const TIMED_PER_INTERVAL: u64 = 32;

/// The maximum number of consecutive turns that are not timed.
const SKIP_MAX: u64 = 4096;

/// Times some of the turns of one worker and determines when to report them.
#[derive(Clone, Debug)]
pub struct Pace {
    timing: Timing,
    /// The number of following turns that are not timed.
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
    /// Creates the pace of a worker that begins at tick `now`.
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

    /// Ends the previous turn and begins the next one. Returns the measurements when they are to be
    /// reported.
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

    /// Records that the polling phase of this turn found something to do.
    #[inline]
    pub fn disturbed(&mut self) {
        if let Timing::Looking { quiet, .. } = &mut self.timing {
            *quiet = false;
        }
    }

    /// Ends the polling phase of this turn.
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

    /// Discards the timing of this turn: the worker waits for another worker before it processes
    /// tasks.
    #[cold]
    pub fn waits(&mut self) {
        self.timing = Timing::Off;
    }

    /// Records that `done` tasks were processed, and whether none is left.
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
