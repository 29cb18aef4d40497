//! The clocks of ranks, which begin when their runtimes do.
//!
//! For pictures each rank bounds the difference to rank 0's clock by rounds of a broadcast: a round
//! orders events of both ranks in both directions. The common clock of a machine would be exact,
//! and of no use over a network.

use super::World;
use crate::Result;
#[cfg(feature = "process")]
use crate::process::clock;

/// The number of comparisons of clocks: waits are woken with different delays, and the shortest
/// ones count.
const ROUNDS: usize = 16;

/// The conversion from the clock of a rank to that of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    /// To be added, in ticks.
    pub ticks: i64,
    /// The most by which that may be wrong.
    pub error: u64,
}

impl World {
    /// Compares the clock of this process with that of rank 0, for traces. Every rank makes this
    /// call.
    #[cfg(feature = "process")]
    pub(super) fn compare_clocks(&self) -> Result<()> {
        let offset = self.clock_offset(clock::now)?;
        _ = self.engine.behind.set((offset.ticks, offset.error));
        Ok(())
    }

    /// Compares the clock `now` of this rank with that of rank 0, of ticks of the same length.
    /// Every rank makes this call.
    ///
    /// # Algorithm
    /// Rank 0 takes its time after all ranks have begun the round before, and before any of them
    /// ends the present one. So what is to be added is at least that time less the end of this
    /// round here, and at most that time less the beginning of the round before.
    pub(crate) fn clock_offset(&self, now: impl Fn() -> u64) -> Result<Offset> {
        let (mut least, mut most) = (i64::MIN, i64::MAX);
        let mut before = None;
        for _ in 0..=ROUNDS {
            let began = now();
            let home = self.broadcast(began)? as i64;
            least = least.max(home.saturating_sub(now() as i64));
            if let Some(before) = before.replace(began as i64) {
                most = most.min(home.saturating_sub(before));
            }
        }
        if self.is_home() {
            return Ok(Offset::default());
        }
        Ok(Offset {
            ticks: least.midpoint(most),
            error: most.abs_diff(least).div_ceil(2),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ranks::world::loopback;
    use std::time::Instant;

    /// The difference is found within the reported error, however the clocks differ.
    #[test]
    fn the_difference_of_clocks_is_bounded() {
        let origin = Instant::now();
        let ahead = [5_000_000_000_u64, 1_000, 9_000_000_000];
        let offsets = loopback(3, |world| {
            let now = || origin.elapsed().as_nanos() as u64 + ahead[world.rank().index()];
            world.clock_offset(now).expect("all live")
        });
        for (offset, ahead_here) in offsets.into_iter().zip(ahead) {
            let exact = ahead[0] as i64 - ahead_here as i64;
            assert!(
                offset.ticks.abs_diff(exact) <= offset.error,
                "{offset:?}, {exact}"
            );
        }
    }
}
