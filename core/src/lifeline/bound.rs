//! The best that any place has found so far, as far as this place knows.
//!
//! # Words
//! `value`: only ever falls. Any worker of the place improves it; the place's protocol passes an
//! improvement on along its lifelines, and takes in those of others (Finnerty 2022, TSP). The number
//! is all there is, so no ordering is needed.
//!
//! # Proved
//! That a place leaves no improvement untold: models `bound_*` in `verify/tests/glb.rs`. That the best
//! bound reaches every place, each is told once along a lifeline, and the end waits for none: over
//! every delivery order, `whispers` in `verify/tests/explore.rs`.

use crate::sync::{AtomicUsize, Ordering};

/// A bound that only falls: the cost of the best solution known at a place. What is to be maximised
/// is negated.
///
/// ```
/// # use tautline_core::lifeline::Bound;
/// let shortest = Bound::default();
/// assert!(shortest.improve(120));
/// assert!(!shortest.improve(130));
/// assert_eq!(shortest.get(), 120);
/// ```
#[derive(Debug)]
pub struct Bound {
    value: AtomicUsize,
}

impl Default for Bound {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Bound {
    /// Nothing better than `value` is known.
    pub fn new(value: usize) -> Self {
        Self {
            value: AtomicUsize::new(value),
        }
    }

    /// The best value known here.
    #[inline]
    pub fn get(&self) -> usize {
        // ORDERING: Relaxed: the number is all there is to see; a stale one only prunes less.
        self.value.load(Ordering::Relaxed)
    }

    /// Takes in a solution of this value. True if it is the best so far.
    #[inline]
    pub fn improve(&self, value: usize) -> bool {
        // ORDERING: Relaxed, as in get.
        self.value.fetch_min(value, Ordering::Relaxed) > value
    }
}
