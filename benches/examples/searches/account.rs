//! Accounts of the time of a worker.

use std::time::Instant;

/// Of this many polls one is timed: reading the clock takes as long as a poll.
const SAMPLED: u32 = 64;

/// Seconds of a sample in which the thread had lost its processor: it is excluded.
const LOST: f64 = 1e-4;

/// The seconds of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    polls: u32,
    /// Polls, releases and replies while there was work; from samples.
    pub overhead: f64,
    /// Without work, until there was some or the search had ended.
    pub search: f64,
}

impl Account {
    /// Runs what is not exploring.
    #[inline]
    pub(crate) fn beside<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.polls = self.polls.wrapping_add(1);
        if self.polls % SAMPLED != 0 {
            return work();
        }
        let start = Instant::now();
        let result = work();
        let seconds = start.elapsed().as_secs_f64();
        if seconds < LOST {
            self.overhead += f64::from(SAMPLED) * seconds;
        }
        result
    }

    /// Runs the search for work.
    pub(crate) fn search<R>(&mut self, search: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = search();
        self.search += start.elapsed().as_secs_f64();
        result
    }

    /// Adds another worker's seconds.
    pub(crate) fn add(&mut self, other: &Self) {
        self.overhead += other.overhead;
        self.search += other.search;
    }
}
