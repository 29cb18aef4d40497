//! The best solution found so far, as known at this place.
//!
//! # Words
//! `value`: only decreases. Any worker of the place improves it; the place's protocol sends an
//! improvement along its lifelines, and applies those that it receives (Finnerty 2022, TSP). The
//! number publishes nothing else, so no ordering is required.
//!
//! # Proved
//! That a place sends every improvement: models `bound_*` in `verify/tests/glb.rs`. That the best
//! bound reaches every place, is sent once along each lifeline, and does not delay termination:
//! over every delivery order, `gossip` in `verify/tests/explore.rs`.

use crate::sync::{AtomicUsize, Ordering};

/// A bound that only decreases: the cost of the best solution known at a place. To maximize,
/// negate.
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
    /// Creates a bound with the initial value `value`.
    pub fn new(value: usize) -> Self {
        Self {
            value: AtomicUsize::new(value),
        }
    }

    /// Returns the best value known here.
    #[inline]
    pub fn get(&self) -> usize {
        // ORDERING: Relaxed: the number publishes nothing else; a stale one only prunes less.
        self.value.load(Ordering::Relaxed)
    }

    /// Improves the bound by a solution of this value. Returns true if it is the best so far.
    #[inline]
    pub fn improve(&self, value: usize) -> bool {
        // ORDERING: Relaxed, as in get.
        self.value.fetch_min(value, Ordering::Relaxed) > value
    }
}
