//! The shared counter from which threads take the chunks of a loop.
//!
//! # Algorithm
//! Self-scheduling by a compare-exchange (spec 2.2 of Lucco 1995): a thread computes the size of
//! its chunk from the position, and advances the position by it; if another thread was faster, it
//! computes the size again. The position only grows and never passes the end, so there is neither
//! ABA nor an overflow. Lock-free: apart from the spurious failures of a weak exchange, an attempt
//! fails only if another thread has taken a chunk.
//!
//! # Words
//! `next`: the first iteration that is not taken; written by any thread that takes a chunk.
//!
//! # Orderings
//! None: all accesses are relaxed. That a read-modify-write reads the last value suffices for each
//! iteration to be taken once. A claim publishes nothing else: what an iteration writes is visible
//! to the caller after the loop only by the caller's own synchronisation, such as the join or the
//! barrier at its end, and what precedes the loop is visible to its iterations likewise (models
//! `claim_results_after_join`, `claim_publishes_nothing` in `verify/tests/taper.rs`).

use super::policy::{Instance, Policy};
use super::summary::Estimate;
use crate::sync::{AtomicUsize, CachePadded, Ordering};
use core::ops::Range;

/// A range of iterations, taken in chunks by any number of threads.
///
/// ```
/// # use tautline_core::taper::{Claim, Estimate, Instance, Policy};
/// let claim = Claim::new(0..1000);
/// let instance = Instance::new(1000, 2);
/// let take = || claim.take(&Policy::Guided, Estimate::START, &instance);
/// assert_eq!((take(), take()), (Some(0..500), Some(500..750)));
/// assert_eq!(claim.left(), 250);
/// while let Some(iterations) = take() {
///     assert!(iterations.end <= 1000);
/// }
/// ```
#[derive(Debug)]
pub struct Claim {
    next: CachePadded<AtomicUsize>,
    end: usize,
}

impl Claim {
    /// Creates a counter at the start of `range`. An empty range has no chunk.
    pub fn new(range: Range<usize>) -> Self {
        Self {
            next: CachePadded::new(AtomicUsize::new(range.start)),
            end: range.end,
        }
    }

    /// Takes the next chunk of `policy`; `None` if none is left, for good. `cx` describes the whole
    /// range.
    #[inline]
    pub fn take(&self, policy: &Policy, estimate: Estimate, cx: &Instance) -> Option<Range<usize>> {
        self.take_with(|left| policy.chunk(left, estimate, cx))
    }

    /// Takes the next chunk, whose size is `chunk` of the number of remaining iterations, at least
    /// 1 and at most that number. `chunk` is called once for each attempt.
    #[inline]
    pub fn take_with(&self, mut chunk: impl FnMut(u64) -> u64) -> Option<Range<usize>> {
        // ORDERING: Relaxed: a stale position fails the exchange below.
        let mut start = self.next.load(Ordering::Relaxed);
        while start < self.end {
            let left = self.end - start;
            let size = usize::try_from(chunk(left as u64)).map_or(left, |k| k.clamp(1, left));
            let after = start + size;
            // ORDERING: Relaxed, twice: the exchange reads the last position, so the chunk is taken
            // once. The caller's synchronisation publishes the iterations, not this word.
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            let next = &self.next;
            match next.compare_exchange_weak(start, after, success, failure) {
                Ok(_) => return Some(start..after),
                Err(moved) => start = moved,
            }
        }
        None
    }

    /// Returns the number of remaining iterations. Other threads may take some at any time.
    pub fn left(&self) -> usize {
        // ORDERING: Relaxed: the number is a hint.
        self.end.saturating_sub(self.next.load(Ordering::Relaxed))
    }
}
