//! The sticky permit on which parking is built.
//!
//! # Words
//! `given`: set by the thread that unparks, cleared by the owner when it takes the permit.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | P1 | `give` | `try_take` | what happened before the wake-up | `parking_*` in `verify/tests/sync.rs` |

use super::{AtomicBool, Ordering};

/// A sticky permit, as in `std::thread::park`: a wake-up that precedes the sleep is not lost.
#[derive(Debug)]
pub struct Permit {
    given: AtomicBool,
}

impl Default for Permit {
    fn default() -> Self {
        Self::new()
    }
}

impl Permit {
    /// Creates a permit that is not available.
    pub fn new() -> Self {
        Self {
            given: AtomicBool::new(false),
        }
    }

    /// Makes the permit available. The caller must then wake the owner, if it sleeps.
    ///
    /// ```
    /// # use tautline_core::sync::Permit;
    /// let permit = Permit::new();
    /// permit.give(); // by any thread; sticky
    /// assert!(permit.try_take() && !permit.try_take());
    /// ```
    pub fn give(&self) {
        // ORDERING: Release, pairs with Acquire in try_take (P1). A swap, not a store: the owner
        // then also observes what precedes the earlier calls that this one covers.
        self.given.swap(true, Ordering::Release);
    }

    /// Takes the permit if it is available. Called by the owner only.
    pub fn try_take(&self) -> bool {
        // ORDERING: Relaxed load first, so that a spinning owner does not write the line; the
        // Acquire of the swap pairs with Release in give (P1).
        self.given.load(Ordering::Relaxed) && self.given.swap(false, Ordering::Acquire)
    }
}
