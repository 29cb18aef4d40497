//! Undirected graphs without loops and parallel edges, as rows of neighbours.

use crate::random::SplitMix;
use thiserror::Error;

/// An undirected graph. Its vertices are numbers from 0.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where the neighbours of each vertex begin; one more for the end.
    starts: Vec<u32>,
    /// The neighbours of all vertices in turn, each row in ascending order.
    neighbours: Vec<u32>,
    /// All vertices in the order in which they are taken as sources.
    sources: Vec<u32>,
}

/// Why a graph cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Too many vertices.
    #[error("{0} vertices: at most {most}", most = Graph::VERTICES_MAX)]
    Vertices(usize),
    /// Too many edges.
    #[error("{0} edges: at most {most}", most = Graph::EDGES_MAX)]
    Edges(usize),
    /// An edge to a vertex that does not exist.
    #[error("edge {from} {to}: vertices are from 0 to below {vertices}")]
    Vertex {
        /// One end.
        from: u32,
        /// The other.
        to: u32,
        /// The number of vertices.
        vertices: usize,
    },
    /// An unsupported number of levels.
    #[error("scale {0}: at most {most}", most = Graph::VERTICES_MAX.ilog2())]
    Scale(u32),
    /// Too many edges a vertex.
    #[error("edge factor {0}: at most {most}", most = EDGE_FACTOR_MAX)]
    EdgeFactor(u32),
    /// Values that are not probabilities of the four quarters.
    #[error("a {a}, b {b}, c {c}: probabilities from 0 to 1, at most 1 together")]
    Quarters {
        /// Of the upper left quarter.
        a: f64,
        /// Of the upper right one.
        b: f64,
        /// Of the lower left one.
        c: f64,
    },
}

impl From<GraphError> for tautline::Error {
    fn from(refusal: GraphError) -> Self {
        Self::invalid(refusal)
    }
}

/// The maximum number of edges drawn for each vertex of a recursive graph.
pub(super) const EDGE_FACTOR_MAX: u32 = 1 << 10;

impl Graph {
    /// The maximum number of vertices.
    pub const VERTICES_MAX: usize = 1 << 26;
    /// The maximum number of edges, before loops and parallel ones are removed.
    pub const EDGES_MAX: usize = 1 << 30;

    /// Creates the graph of these edges; loops are removed, and so are all but one of parallel edges, in either
    /// direction. `seed` determines the order of the sources.
    ///
    /// # Errors
    /// Too many vertices or edges, or an edge to a vertex that does not exist.
    pub fn new(vertices: usize, edges: &[(u32, u32)], seed: u64) -> Result<Self, GraphError> {
        if vertices > Self::VERTICES_MAX {
            return Err(GraphError::Vertices(vertices));
        }
        if edges.len() > Self::EDGES_MAX {
            return Err(GraphError::Edges(edges.len()));
        }
        let outside = |(a, b): &&(u32, u32)| (*a).max(*b) as usize >= vertices;
        if let Some(&(from, to)) = edges.iter().find(outside) {
            return Err(GraphError::Vertex { from, to, vertices });
        }
        let mut starts = vec![0; vertices + 1];
        let both = || {
            let real = edges.iter().filter(|(a, b)| a != b);
            real.flat_map(|&(a, b)| [(a, b), (b, a)])
        };
        for (from, _) in both() {
            starts[from as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut neighbours = vec![0; starts[vertices] as usize];
        let mut next = starts.clone();
        for (from, to) in both() {
            neighbours[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        compact(&mut starts, &mut neighbours);
        let mut sources: Vec<_> = (0..vertices as u32).collect();
        SplitMix::new(seed).shuffle(&mut sources);
        Ok(Self {
            starts,
            neighbours,
            sources,
        })
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// Returns the neighbours of a vertex, in ascending order.
    ///
    /// # Panics
    /// If there is no such vertex.
    #[inline]
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let [from, to] = [0, 1].map(|next| self.starts[vertex as usize + next] as usize);
        &self.neighbours[from..to]
    }

    #[inline]
    pub(super) fn source(&self, position: u32) -> u32 {
        self.sources[position as usize]
    }

    /// Returns the number of tasks of all sources: two for each vertex that each source reaches, itself included.
    pub fn tasks(&self) -> u64 {
        let mut seen = vec![false; self.vertices()];
        let mut tasks = 0;
        let mut queue = Vec::new();
        for vertex in 0..self.vertices() {
            if std::mem::replace(&mut seen[vertex], true) {
                continue;
            }
            queue.clear();
            queue.push(vertex as u32);
            let mut at = 0;
            while let Some(&from) = queue.get(at) {
                at += 1;
                for to in self.neighbours(from) {
                    if !std::mem::replace(&mut seen[*to as usize], true) {
                        queue.push(*to);
                    }
                }
            }
            tasks += 2 * (at as u64).pow(2);
        }
        tasks
    }
}

/// Sorts rows and removes duplicates.
fn compact(starts: &mut [u32], neighbours: &mut Vec<u32>) {
    let (mut kept, mut from) = (0, 0);
    for end in &mut starts[1..] {
        let to = *end as usize;
        neighbours[from..to].sort_unstable();
        let row = kept;
        for at in from..to {
            if kept == row || neighbours[kept - 1] != neighbours[at] {
                neighbours[kept] = neighbours[at];
                kept += 1;
            }
        }
        from = to;
        *end = kept as u32;
    }
    neighbours.truncate(kept);
    neighbours.shrink_to_fit();
}
