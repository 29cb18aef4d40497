//! Parallel loops: `cx.par_for`, and `cx.loop_over` with settings.
//!
//! | part | what it is |
//! |---|---|
//! | [`Cx::par_for`](crate::task::Cx::par_for) | calls a function for each index of a range |
//! | [`Cx::loop_over`](crate::task::Cx::loop_over), [`Loop`] | the same with a [`Schedule`], a name and a [`Report`] |
//! | [`Cx::par`](crate::task::Cx::par), [`Par`] | loops over the items of ranges, slices, vectors and strings, and what they compute |
//! | [`Cx::concurrent`](crate::task::Cx::concurrent), [`LoopScope`] | several loops: concurrent, one after another, or pipelined |
//! | [`Taper`], [`Estimate`], [`Class`], [`Q16`] | a setting of [`Schedule`], and what a [`Report`] has measured |
//! | `raw` | the unsafe code of these: the claim on an index |
//! | `body` | what a loop does with consecutive indices |
//! | `instance` | one execution of a loop: the claims of its workers, and the times of its blocks |
//! | `progress` | reports of a loop's progress |
//! | `timing` | the times of the blocks of a chunk |
//! | `plan` | the chunks of an execution, from a policy or from earlier executions |
//!
//! # Algorithm
//! The loop forks as many parts as workers run, and each part takes chunks from one shared counter
//! until nothing is left; a part that no worker steals is entered by the caller at the end, and
//! finds nothing. So a loop takes the workers that are free, and a nested loop takes none from
//! another.
//!
//! Chunks are those of TAPER (Lucco 1995, section 4.1; spec 2.4), at most a factoring chunk. A task
//! in its sense is a *block* of iterations that lasts for about a hundred readings of the
//! clock, so that neither timing blocks nor taking chunks costs more than about one part in a
//! hundred.
//!
//! The times of blocks are kept by call site, name and the three innermost enclosing loops
//! ([`taper::Trail`](crate::taper::Trail)), in a bounded table of the pool
//! ([`taper::Sites`](crate::taper::Sites)). From the second execution on, chunks have equal
//! *predicted work* (spec 2.11), and only one execution in eight is timed after the third. A call
//! site that another execution uses at the time runs as the first time. A loop that has taken less
//! than a block runs on one worker, until it takes longer.
//!
//! Blocks carry the variation that matters to chunks, also where neighbours are alike. A chunk is
//! at most factoring's, since the first chunk of a loop whose costs fall may not hold half of its
//! work. Decisions 18 to 21 in `docs/decisions` have the alternatives.
#![deny(unsafe_code)]

mod body;
mod builder;
mod concurrent;
mod instance;
mod par;
mod plan;
mod progress;
#[allow(unsafe_code, reason = "claims on indices: see its head")]
mod raw;
mod settings;
mod timing;

pub use builder::Loop;
pub use concurrent::{
    ConcurrentLoop, Dispatched, Dispatcher, LoopConflict, LoopId, LoopScope, Sharing,
};
pub use par::{Chunked, IntoPar, Par, Try, WithCx};
pub use raw::{
    Access, Accesses, Columns, ColumnsMut, ColumnsRef, Indexed, PerIndex, Push, Reads, Source,
    Tile, TileMut, Writes,
};
pub use settings::{Report, Schedule};

pub use crate::taper::{Class, Estimate, Q16, Taper};

use crate::port::Host;
use crate::task::Cx;
use core::ops::Range;
use instance::engine;
use settings::Settings;

impl<P: Host> Cx<'_, '_, P> {
    /// Calls `body` with each index of `range`, once, on the workers that are free, and returns
    /// when all calls have returned. The order is not defined. Allocates nothing.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicU64, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sum = AtomicU64::new(0);
    /// cx.par_for(0..1000, |i| _ = sum.fetch_add(i as u64, Ordering::Relaxed));
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # }
    /// ```
    ///
    /// If a finish around this task is cancelled, indices that have not started are left out, but
    /// for the rest of the blocks that run, and the loop [unwinds](crate::task::Cx::par) to it. A
    /// loop whose indices have all started returns.
    ///
    /// # Panics
    /// With a panic of `body`. Indices that have not started by then may be left out.
    #[track_caller]
    pub fn par_for(&mut self, range: Range<usize>, body: impl Fn(usize) + Sync) {
        engine(
            self,
            range.len(),
            &Settings::here(),
            &builder::from(range.start, body),
        );
    }
}
