//! Backtracking as a bag: a program says what a position is, [`Search`] walks, divides and counts.
//!
//! # Algorithm
//!
//! Depth first, on one position that is changed and changed back. A search keeps, for each level of its
//! path, the branches not yet taken (Finnerty 2022, recommended bag). To divide it, those of every level
//! are cut in two; the part cut off takes along the branches of the path, by which its new owner
//! repeats the way from the root. So what travels is bounded by the depth of the tree, whatever lies
//! below. Cutting every level gives both sides near and far subtrees alike.
//!
//! A position stays with the worker that made it, and so does the list of the walk: dividing copies a
//! path, and no node allocates.
#![forbid(unsafe_code)]

mod branches;
mod part;
mod search;

pub use branches::{Bits, Branches};
pub use search::{Found, Search, sequential};

use crate::glb::{Bound, Reason};

/// A position in a tree of choices, the root's to begin with.
///
/// The walk calls [`branches`](Self::branches) at a position; for each branch it takes
/// [`apply`](Self::apply), the same below, and [`undo`](Self::undo); then [`close`](Self::close).
///
/// ```
/// use tautline::backtrack::sequential;
/// use tautline::nqueens::{Matrix, Size};
///
/// assert_eq!(sequential::<Matrix>(&Size::new(6)?).sum, 4);
/// # Ok::<(), tautline::Error>(())
/// ```
pub trait Position: Sized + Send {
    /// What all workers of a place see, one value a place.
    type Shared: Sync;
    /// The branches of a position: [`Bits`], a [`Range`](std::ops::Range), or a type of the program's own.
    type Branches: Branches;
    /// What is found; its default is nothing.
    type Sum: Default + Send;

    /// The root.
    fn root(shared: &Self::Shared) -> Self;

    /// The branches of this position; what is found here goes into `sum`.
    ///
    /// A worker that takes over part of a search calls this again for each position on the path,
    /// and drops what is returned and found: the position must come out the same.
    fn branches(&mut self, sum: &mut Self::Sum, shared: &Self::Shared) -> Self::Branches;

    /// Goes down one of the [`branches`](Self::branches).
    fn apply(&mut self, branch: BranchOf<Self>, shared: &Self::Shared);

    /// Goes back up the branch taken last.
    fn undo(&mut self, branch: BranchOf<Self>, shared: &Self::Shared);

    /// Takes back what [`branches`](Self::branches) changed, if it did.
    #[inline(always)]
    fn close(&mut self, _shared: &Self::Shared) {}

    /// Adds what another part of the search found. Order must not matter.
    fn add(sum: &mut Self::Sum, other: Self::Sum);

    /// The bound that prunes this search, if it has one.
    fn bound(_shared: &Self::Shared) -> Option<&Bound> {
        None
    }

    /// A reason to end the whole search, given what has been found here.
    fn verdict(_sum: &Self::Sum) -> Option<Reason> {
        None
    }
}

/// A branch of a position.
pub type BranchOf<P> = <<P as Position>::Branches as Iterator>::Item;
