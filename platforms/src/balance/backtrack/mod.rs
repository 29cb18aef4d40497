//! Backtracking as a bag: a program defines positions, [`Search`] walks, divides and counts.
//!
//! # Algorithm
//!
//! Depth first, on one position that is changed and restored. A search stores, for each level of
//! its path, the branches not yet taken (Finnerty 2022, recommended bag). To divide it, those of
//! every level are split in two; the part split off includes the branches of the path, by which its
//! new owner replays the path from the root. So the size of loot is bounded by the depth of the
//! tree, regardless of what lies below. Splitting every level gives both sides near and far
//! subtrees alike.
//!
//! A position stays with the worker that made it, and so does the stack of the walk: dividing
//! copies a path, and no node allocates.
#![forbid(unsafe_code)]

mod branches;
mod part;
#[cfg(feature = "serde")]
mod portable;
mod search;

pub use branches::{Bits, Branches};
pub use search::{Found, Search, paths, sequential};

use crate::balance::{AnyBound, Reason};

/// A position in a tree of choices, initially that of the root.
///
/// The walk calls [`branches`](Self::branches) at a position; for each branch it calls
/// [`apply`](Self::apply), walks below, and calls [`undo`](Self::undo); then
/// [`close`](Self::close).
///
/// ```
/// use std::ops::Range;
/// use tautline::balance::backtrack::{Position, sequential};
///
/// /// The stairs climbed by steps of one and two, of a number that all share.
/// struct Climbed(u32);
///
/// impl Position for Climbed {
///     type Shared = u32;
///     type Branches = Range<u32>;
///     type Sum = u64;
///
///     fn root(_: &u32) -> Self {
///         Self(0)
///     }
///
///     fn branches(&mut self, ways: &mut u64, &stairs: &u32) -> Range<u32> {
///         *ways += u64::from(self.0 == stairs);
///         1..(stairs - self.0).min(2) + 1
///     }
///
///     fn apply(&mut self, step: u32, _: &u32) {
///         self.0 += step;
///     }
///
///     fn undo(&mut self, step: u32, _: &u32) {
///         self.0 -= step;
///     }
///
///     fn add(ways: &mut u64, other: u64) {
///         *ways += other;
///     }
/// }
///
/// assert_eq!(sequential::<Climbed>(&20).sum, 10_946);
/// ```
pub trait Position: Sized + Send {
    /// State shared by all workers of a place, one value a place.
    type Shared: Sync;
    /// The branches of a position: [`Bits`], a [`Range`](std::ops::Range), or a type of the
    /// program.
    type Branches: Branches;
    /// The result; its default is that of an empty search.
    type Sum: Default + Send;

    /// Creates the root.
    fn root(shared: &Self::Shared) -> Self;

    /// Returns the branches of this position; results found here go into `sum`.
    ///
    /// A worker that takes over part of a search calls this again for each position on the path,
    /// and drops the branches and results: the position must be changed in the same way.
    fn branches(&mut self, sum: &mut Self::Sum, shared: &Self::Shared) -> Self::Branches;

    /// Descends along one of the [`branches`](Self::branches).
    fn apply(&mut self, branch: BranchOf<Self>, shared: &Self::Shared);

    /// Ascends from the branch taken last.
    fn undo(&mut self, branch: BranchOf<Self>, shared: &Self::Shared);

    /// Restores what [`branches`](Self::branches) changed, if anything.
    #[inline(always)]
    fn close(&mut self, _shared: &Self::Shared) {}

    /// Adds the result of another part of the search. Order must not matter.
    fn add(sum: &mut Self::Sum, other: Self::Sum);

    /// Returns the bound that prunes this search, if it has one.
    fn bound(_shared: &Self::Shared) -> Option<&dyn AnyBound> {
        None
    }

    /// Returns a reason to end the whole search, given what has been found here.
    fn verdict(_sum: &Self::Sum) -> Option<Reason> {
        None
    }
}

/// A branch of a position.
pub type BranchOf<P> = <<P as Position>::Branches as Iterator>::Item;
