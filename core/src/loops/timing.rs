//! The times of blocks.

use crate::port::Clock;
use crate::taper::Summary;

/// The durations of the blocks of a chunk.
#[derive(Default)]
pub(super) struct Timing {
    /// The start of the running block, if it is timed.
    began: Option<u64>,
    pub(super) blocks: Summary,
}

impl Timing {
    /// Begins to time a block, unless the end of the last one is its begin.
    #[inline]
    pub(super) fn start(&mut self, clock: &impl Clock) {
        self.began.get_or_insert_with(|| clock.now());
    }

    pub(super) fn stop(&mut self) {
        self.began = None;
    }

    pub(super) fn is_running(&self) -> bool {
        self.began.is_some()
    }

    /// Returns the nanoseconds since the last call, or the start.
    pub(super) fn lap(&mut self, clock: &impl Clock) -> u64 {
        let now = clock.now();
        let began = self.began.replace(now).unwrap_or(now);
        clock.nanoseconds(now.saturating_sub(began))
    }
}
