//! Breadth-first search as Graph500 measures it, in traversed edges per second (TEPS): in R-MAT
//! graphs that are distributed over the ranks.
//!
//! Few vertices have most of the edges, levels differ in size by orders of magnitude, and each
//! begins when the one before has ended everywhere: a test of short active messages, and of
//! finishes that end soon.
//!
//! # Algorithm
//! Vertices are distributed cyclically. A rank draws a part of the edges and sends both directions
//! of each to the owners of its ends (kernel 1). A search (kernel 2) has a teamed finish for each
//! level: the tasks of a rank claim the neighbours of the level that are its own, and push the
//! others, each once in a search, into batches for their owners. The first claim of a vertex
//! determines its parent, by a compare-exchange. The neighbours of a vertex that are its rank's
//! precede the others, so that only vertices that are sent need a division.
//!
//! The tree is gathered at all ranks, each of which [validates](Tree::validate) it with the edges
//! that it has drawn, by the five rules of the specification. That needs 10 bytes a vertex at each
//! rank.
//!
//! # Proved
//! The levels against a search by a plain queue, for all shapes; each rule by trees that it alone
//! refuses (`apps/tests/teams.rs`).
#![forbid(unsafe_code)]

mod graph;
mod rmat;
mod run;
mod search;
mod tree;

pub use rmat::{Edge, Rmat};
pub use run::{Found, Measured, Searches, Teps, across, sequential};
pub use tree::{NONE, Rule, Tree, Violation};
