//! Recursive random graphs: few vertices with many neighbours, many with few.

use super::graph::{self, Graph, GraphError};
use crate::random::SplitMix;

/// What a recursive graph is made from (R-MAT: Chakrabarti, Zhan, Faloutsos 2004).
///
/// The matrix of neighbours is cut into quarters, one is drawn, that one is cut again, until a single edge is
/// left. The probabilities preset are those of Graph500. Without noise, and vertices keep their
/// numbers: balance comes from the order of the sources. Loops and parallel edges, which are many, are
/// drawn but left out of the graph, and edges have no direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmat {
    /// The graph has 2^scale vertices.
    pub scale: u32,
    /// Edges drawn for each vertex.
    pub edge_factor: u32,
    /// The probability of the upper left quarter.
    pub a: f64,
    /// Of the upper right one.
    pub b: f64,
    /// Of the lower left one; the lower right one has the rest.
    pub c: f64,
    /// Seed of the edges and of the order of the sources.
    pub seed: u64,
}

impl Default for Rmat {
    fn default() -> Self {
        Self {
            scale: 12,
            edge_factor: 8,
            a: 0.57,
            b: 0.19,
            c: 0.19,
            seed: 1,
        }
    }
}

impl Rmat {
    /// The most levels.
    pub const SCALE_MAX: u32 = Graph::VERTICES_MAX.ilog2();
    /// The most edges drawn for each vertex.
    pub const EDGE_FACTOR_MAX: u32 = graph::EDGE_FACTOR_MAX;

    /// Draws the graph.
    ///
    /// # Errors
    /// The first parameter out of bounds.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let Self { a, b, c, .. } = *self;
        if self.scale > Self::SCALE_MAX {
            return Err(GraphError::Scale(self.scale));
        }
        if self.edge_factor > Self::EDGE_FACTOR_MAX {
            return Err(GraphError::EdgeFactor(self.edge_factor));
        }
        let is_part = |p: f64| (0.0..=1.0).contains(&p);
        // 0.57 + 0.24 + 0.19 and the like may miss 1 by a rounding.
        if ![a, b, c].into_iter().all(is_part) || a + b + c > 1.0 + f64::EPSILON {
            return Err(GraphError::Quarters { a, b, c });
        }
        let vertices = 1 << self.scale;
        let count = vertices * self.edge_factor as usize;
        if count > Graph::EDGES_MAX {
            return Err(GraphError::Edges(count));
        }
        let mut random = SplitMix::new(self.seed);
        let edges: Vec<_> = (0..count).map(|_| self.edge(&mut random)).collect();
        Graph::new(vertices, &edges, random.next())
    }

    fn edge(&self, random: &mut SplitMix) -> (u32, u32) {
        let (mut from, mut to) = (0, 0);
        for _ in 0..self.scale {
            let draw = random.unit();
            let lower = draw >= self.a + self.b;
            let right = match lower {
                false => draw >= self.a,
                true => draw >= self.a + self.b + self.c,
            };
            from = from << 1 | u32::from(lower);
            to = to << 1 | u32::from(right);
        }
        (from, to)
    }
}
