//! Travelling salesman: the shortest round trip through all cities, by branch and bound.
//!
//! Pruning requires the best length found so far, and that is found while searching: the size of
//! the tree depends on the order in which it is walked. So this is the test of bounds that travel
//! along the lifelines, and of work whose amount is unknown in advance.
//!
//! # Algorithm
//!
//! A node is a path that starts at city 0; a branch adds a city. Branches are tried in the order of
//! their distance, and a node is pruned unless the length so far plus a lower bound for the rest is
//! below the best tour (Finnerty 2022, TSP). The bound is that of Held and Karp 1970: the rest is a
//! path through the cities not visited, hence no shorter than their minimum spanning tree and the
//! two edges that connect it with both ends of the path. Distances are those after the price of
//! each city has been added to its edges, which changes every tour by the same amount; the prices
//! are computed before the search, by the ascent of Held and Karp (`ascent.rs`). Both are integers,
//! so the bound is exact. Every tour is found in one of its two directions only. The initial tour
//! is that of the nearest neighbour, improved by exchanges of two edges.
//!
//! Edges may be fixed: every tour must contain them. A path is pruned once it leaves a city without
//! its fixed edges. In the weights of the bound fixed edges are shorter, each by the same amount,
//! and edges that they exclude longer, so that the spanning tree takes the former and avoids the
//! latter: the lengths of all tours that remain change by the same amount.
//!
//! # Proved
//!
//! Lengths against [`held_karp()`] for random instances and against the published optima of the
//! public library (`apps/tests/tsp.rs`); no branch lost or doubled under random splits and
//! merges: with the best length known beforehand, the number of nodes is the same in any order.
#![forbid(unsafe_code)]

mod ascent;
mod bag;
mod first;
mod fixed;
mod held_karp;
mod instance;
mod part;
mod portable;
mod tour;
pub mod tsplib;

pub use bag::{Found, Incumbent, Search, Tour, Tsp, sequential};
pub use fixed::FixedError;
pub use held_karp::{CITIES_MAX as HELD_KARP_CITIES_MAX, held_karp};
pub use instance::{Instance, InstanceError};
pub use tour::{draw_tour, write_tour};
