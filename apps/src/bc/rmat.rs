//! Recursive random graphs: few vertices with many neighbours, many with few.

use super::graph::{self, Graph, GraphError};
use crate::random::SplitMix;

/// The parameters of a recursive graph (R-MAT: Chakrabarti, Zhan, Faloutsos 2004).
///
/// The matrix of neighbours is divided into quarters, one is drawn and divided again, until a
/// single edge is left. The default probabilities are those of Graph500. There is no noise, and
/// vertices keep their numbers: balance comes from the order of the sources. Loops and parallel
/// edges, which are frequent, are drawn but removed from the graph, and edges have no direction.
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
    /// The maximum number of levels.
    pub const SCALE_MAX: u32 = Graph::VERTICES_MAX.ilog2();
    /// The maximum number of edges drawn for each vertex.
    pub const EDGE_FACTOR_MAX: u32 = graph::EDGE_FACTOR_MAX;

    /// Draws the graph.
    ///
    /// # Errors
    /// The first parameter that is out of bounds.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let Self { a, b, c, .. } = *self;
        if self.scale > Self::SCALE_MAX {
            return Err(GraphError::Scale(self.scale));
        }
        if self.edge_factor > Self::EDGE_FACTOR_MAX {
            return Err(GraphError::EdgeFactor(self.edge_factor));
        }
        let is_part = |p: f64| (0.0..=1.0).contains(&p);
        // 0.57 + 0.24 + 0.19 and the like may differ from 1 by a rounding.
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
