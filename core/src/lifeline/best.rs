//! The best solution of a branch and bound, with its cost.
//!
//! # Proved
//! Nothing of its own: the cost that is read without the lock is a [`Bound`], the solution is
//! guarded by a [`Lock`], and both have models.

use super::{AnyBound, Bound, Bounding, Key};
use crate::port::Spin;
use crate::sync::Lock;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// The best solution found so far and its cost, which is the [`Bound`] that prunes the search. The
/// smallest cost is the best; to maximise, use costs in [`Reverse`](core::cmp::Reverse).
///
/// As the shared state of a place it is what tasks prune by, and what any other thread reads while
/// they run: the incumbent. As the sum of tasks it carries the solution to the result of the
/// computation.
///
/// ```
/// # use tautline_core::lifeline::Best;
/// let best = Best::new();
/// assert!(best.add(120, "by the coast"));
/// assert!(!best.add(130, "by the pass"));
/// assert_eq!(best.bound(), 120); // one load
/// assert_eq!(best.incumbent(), Some((120, "by the coast")));
///
/// let mut sum = Best::from((110, "by the tunnel"));
/// sum.merge(best); // the better of the two
/// assert_eq!(sum.into_incumbent(), Some((110, "by the tunnel")));
/// ```
///
/// Reading the bound costs what it does of a [`Bound`]; only an improvement takes the lock of the
/// solution.
pub struct Best<C: Bounding, S> {
    /// At most the cost of the incumbent; below it after an improvement elsewhere.
    bound: Bound<C>,
    incumbent: Lock<Option<(C, S)>>,
}

// The incumbent is replaced as a whole.
impl<C: Bounding, S: UnwindSafe> UnwindSafe for Best<C, S> {}
impl<C: Bounding, S: RefUnwindSafe> RefUnwindSafe for Best<C, S> {}

impl<C: Bounding, S> Default for Best<C, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Bounding, S> From<(C, S)> for Best<C, S> {
    /// Begins with a known solution, from a heuristic for example.
    fn from((cost, solution): (C, S)) -> Self {
        let best = Self::new();
        best.add(cost, solution);
        best
    }
}

impl<C: Bounding, S> Best<C, S> {
    /// Creates one without a solution, which every cost improves but the worst: the largest
    /// integer, infinity, or, in [`Reverse`](core::cmp::Reverse), the smallest integer, such as 0.
    pub fn new() -> Self {
        Self {
            bound: Bound::default(),
            incumbent: Lock::new(None),
        }
    }

    /// Returns the cost of the best solution known here, which may have been found at another
    /// place. Before the first one, the largest integer or infinity.
    #[inline]
    pub fn bound(&self) -> C {
        self.bound.get()
    }

    /// Keeps a solution of this cost if it is better than all known here. Returns whether it is. A
    /// cost that is not a number, or is the worst of its type, is ignored.
    pub fn add(&self, cost: C, solution: S) -> bool {
        if !cost.is_ordered() || cost.key() >= self.bound().key() {
            return false;
        }
        let mut incumbent = self.incumbent.lock(&Spin);
        let improves = self.bound.improve(cost);
        let displaced = match improves {
            true => incumbent.replace((cost, solution)),
            false => Some((cost, solution)),
        };
        drop(incumbent);
        // Outside of the lock, for it may take long.
        drop(displaced);
        improves
    }

    /// Returns the best solution that was added here, and its cost. Other calls that read or
    /// improve it wait while it is cloned.
    pub fn incumbent(&self) -> Option<(C, S)>
    where
        S: Clone,
    {
        self.incumbent.lock(&Spin).clone()
    }

    /// Keeps the better of both: the solution with the lower cost, and the lower bound.
    ///
    /// ```
    /// # use tautline_core::lifeline::{AnyBound, Best};
    /// let mut best = Best::from((7, 'a'));
    /// best.improve_to(5); // found at another place, which keeps the solution
    /// assert_eq!((best.bound(), best.incumbent()), (5, Some((7, 'a'))));
    /// best.merge(Best::from((5, 'b')));
    /// assert_eq!((best.bound(), best.incumbent()), (5, Some((5, 'b'))));
    /// # let _: Best<u32, char> = best;
    /// ```
    pub fn merge(&mut self, other: Self) {
        self.bound.improve(other.bound());
        let mut mine = self.incumbent.lock(&Spin);
        if let Some((cost, solution)) = other.into_incumbent()
            && mine
                .as_ref()
                .is_none_or(|(known, _)| cost.key() < known.key())
        {
            *mine = Some((cost, solution));
        }
    }

    /// Returns the best solution that was added here, and its cost.
    pub fn into_incumbent(self) -> Option<(C, S)> {
        self.incumbent.into_inner()
    }
}

impl<C: Bounding, S: Send> AnyBound for Best<C, S> {
    #[inline]
    fn key(&self) -> Key {
        self.bound.key()
    }

    fn improve_to(&self, key: u128) {
        self.bound.improve_to(key);
    }
}

impl<C: Bounding + fmt::Debug, S: fmt::Debug> fmt::Debug for Best<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Best");
        debug.field("bound", &self.bound());
        // A debugger must not wait.
        match self.incumbent.try_lock() {
            Some(incumbent) => debug.field("incumbent", &*incumbent).finish(),
            None => debug.finish_non_exhaustive(),
        }
    }
}

#[cfg(feature = "wire")]
mod portable {
    use super::{Best, Bounding, Spin};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl<C: Bounding + Serialize, S: Serialize> Serialize for Best<C, S> {
        fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
            let incumbent = self.incumbent.lock(&Spin);
            (self.bound(), &*incumbent).serialize(serializer)
        }
    }

    impl<'de, C: Bounding + Deserialize<'de>, S: Deserialize<'de>> Deserialize<'de> for Best<C, S> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let (bound, incumbent) = <(C, Option<(C, S)>)>::deserialize(deserializer)?;
            let best = incumbent.map_or_else(Self::new, Self::from);
            best.bound.improve(bound);
            Ok(best)
        }
    }
}
