//! Workers that communicate while they have no task.

use super::World;
use crate::execution::plan::Builder;
use crate::ranks::engine::ProgressEngine;
use std::time::Duration;
use tautline_core::progress::Pace;
use tautline_node::pool::Idle;

impl Builder {
    /// Lets workers that have found no task send and receive for `world` before they sleep, so that
    /// what a message starts need not wait for another thread. The last such call counts.
    ///
    /// ```
    /// use tautline::comm::Tag;
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let sums = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().workers(1).pinned(false).world(world).build()?;
    ///     let (comm, other) = (world.comm(), Rank(1 - world.rank().0));
    ///     let sum = rt.run(|cx| {
    ///         let mut sum = 0;
    ///         for number in 1..=100u64 {
    ///             comm.isend(&number, other, Tag(1));
    ///             sum += comm.irecv::<u64>(other, Tag(1)).wait(cx)?.value;
    ///         }
    ///         Ok::<_, tautline::comm::Error>(sum)
    ///     });
    ///     Ok::<_, tautline::Error>(sum?)
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [5050; 2]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn world(mut self, world: &World) -> Self {
        let (used, left) = (world.handle().clone(), world.handle().clone());
        let look = |engine: &ProgressEngine| engine.progress.look(engine);
        let hand_over = |engine: &ProgressEngine| engine.progress.hand_over(engine);
        let act = move || used.with(look).unwrap_or(false);
        let leave = move || _ = left.with(hand_over);
        // As long as a thread that waits for a message in shared memory: to hand over costs several
        // wake-ups.
        let patience = Duration::from_nanos(Pace::default().polling);
        self.idle = Some(Idle::new(patience, act, leave));
        self
    }
}
