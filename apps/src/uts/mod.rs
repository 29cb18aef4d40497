//! Unbalanced tree search: count the nodes of a tree that is defined by a hash function only.
//!
//! A node is a 20-byte state; the state of its child `i` is the SHA-1 of both; the last word of
//! the state determines the number of children. Nothing about a subtree is known before it is
//! walked, so a tree of a few parameters is a hard and exactly checkable test of balancing.
//!
//! # Algorithm
//!
//! The trees are those of the UTS benchmark 2.1 (Olivier et al. 2006), node for node: [`Params`]
//! are its flags, [`named`] its sample trees. What differs is how they are walked: [`Uts`] stores
//! intervals of children instead of nodes, hashes the children of several nodes in a row, never
//! stores a leaf, and replaces the logarithm that the formula takes at every node by a table of
//! thresholds a level (exactly: see `rule.rs`). A row is hashed in the lanes of vector
//! registers or by SHA instructions, whichever is measured to be faster ([`Engine`]); the walk
//! does not depend on that.
//!
//! # Proved
//!
//! Counts against the published ones and those of the reference program (`apps/tests/uts.rs`),
//! by every engine (`apps/tests/uts_engines.rs`); the same stack after every call by every
//! engine; the tables against the formula at every threshold; no task lost or doubled under random
//! splits and merges.
//!
//! # Not proved
//!
//! That another platform's logarithm, sine and power round as the reference program's do here.
#![forbid(unsafe_code)]

mod check;
mod dot;
mod hash;
pub mod named;
mod params;
mod rule;
mod tree;
pub mod variant;
mod walk;

pub use dot::{DRAWN_MAX, Drawing};
pub use hash::Engine;
pub use params::{Kind, ParamError, Params, Shape};
pub use tree::{Node, Tree};
pub use walk::{Counts, Uts, sequential};
