//! Parallel loops: `cx.par_for`.
//!
//! | part | what it is |
//! |---|---|
//! | [`Cx::par_for`](crate::task::Cx::par_for) | calls a function for each index of a range |
//! | [`Cx::par`](crate::task::Cx::par), [`Par`] | loops over the items of ranges, slices and vectors, and what they compute |
//! | `raw` | the unsafe code of these: the claim on an index |
//! | `body` | what a loop does with consecutive indices |
//! | `instance` | one execution of a loop: the claims of its workers, and the times of its blocks |
//!
//! # Algorithm
//! The loop forks as many parts as workers run, and each part takes chunks from one shared counter until nothing is left; a part
//! that no worker steals is entered by the caller at the end, and finds nothing. So a loop takes the workers that are free, and a
//! nested loop takes none from another.
//!
//! Chunks are those of TAPER (Lucco 1995, section 4.1; spec 2.4), at most a factoring chunk. A task in its sense is a *block* of
//! iterations that lasts as long as about a hundred readings of the clock, so that neither timing blocks nor taking chunks costs
//! more than about one part in a hundred.
#![deny(unsafe_code)]

mod body;
mod instance;
mod par;
#[allow(unsafe_code, reason = "claims on indices: see its head")]
mod raw;

pub use par::{Chunked, IntoPar, Par, WithCx};
pub use raw::{Indexed, Source, TileMut};

use crate::port::Host;
use crate::task::Cx;
use body::Body;
use core::ops::Range;
use instance::Instance;

impl<P: Host> Cx<'_, '_, P> {
    /// Calls `body` with each index of `range`, once, on the workers that are free, and returns when all calls have returned. The
    /// order is not defined. Allocates nothing.
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
    /// If a finish around this task is cancelled, indices that no worker has taken yet are left out.
    ///
    /// # Panics
    /// With a panic of `body`. Indices that no worker has taken by then are left out.
    pub fn par_for(&mut self, range: Range<usize>, body: impl Fn(usize) + Sync) {
        let start = range.start;
        engine(self, range.len(), &|indices: Range<usize>| {
            (start + indices.start..start + indices.end).for_each(&body);
        });
    }
}

/// Runs a loop over the indices below `len`. Returns what its parts have accumulated.
fn engine<'s, 'e, P: Host, B: Body<'s, 'e, P>>(
    cx: &mut Cx<'s, 'e, P>,
    len: usize,
    body: &B,
) -> B::Part {
    let parts = cx.pool().wanted().min(len).max(1);
    Instance::new(0..len, parts, body).run(cx, parts)
}
