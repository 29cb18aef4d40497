//! Betweenness centrality: how many shortest paths of a graph pass through each vertex.
//!
//! The work is known in advance but uneven: the cost of a source depends on how much of the graph
//! it reaches. Results are a vector as long as the graph, which every bag sums up separately.
//!
//! # Algorithm
//!
//! Brandes 2001: from each source a breadth-first search counts shortest paths, and a backward pass
//! sums up what each vertex contributes. Predecessors are not stored: in the backward pass a vertex
//! checks which of its neighbours are one step farther (Green, Bader 2013). A source takes
//! milliseconds on a large graph, too long between two polls: so a task is one vertex settled or
//! summed, twice as many as the source reaches, and a search may stop between any two of them and
//! resume later. Only sources not begun are divided.
//!
//! Where edges have lengths, vertices are settled in the order of Dijkstra 1959. Lengths are
//! decimal numbers, of which the sums are exact, so that paths are of equal length if they are so
//! on paper. In a directed graph pairs of ends are ordered.
//!
//! Sums are exact: every contribution is rounded once, to 2^-64, and added as an integer. So the
//! result is the same to the last bit, regardless of how the sources are distributed and ordered.
//!
//! # Proved
//!
//! Against [`brandes()`], which keeps predecessors and sums up in floating point, and closed forms
//! for paths, stars, cycles and complete graphs (`apps/tests/bc.rs`); the number of tasks against
//! the sizes of the components.
//!
//! # Not proved
//!
//! Graphs with more than 10^308 shortest paths between two vertices: their number is no longer
//! finite.
#![forbid(unsafe_code)]

mod bag;
mod brandes;
mod graph;
mod portable;
mod rmat;
mod walk;

pub use bag::{Bc, Centrality, sequential};
pub use brandes::brandes;
pub use graph::{Edge, Form, Graph, GraphError};
pub use rmat::Rmat;
