//! Graphs without loops and parallel edges, as rows of neighbours.

use crate::random::SplitMix;
use thiserror::Error;

/// A graph. Its vertices are numbers from 0.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where the neighbours of each vertex begin; one more for the end.
    starts: Vec<u32>,
    /// The neighbours of all vertices in turn, each row in ascending order.
    neighbours: Vec<u32>,
    /// The length of the edge to each of them, if edges have lengths.
    lengths: Option<Vec<u64>>,
    is_directed: bool,
    /// All vertices in the order in which they are taken as sources.
    sources: Vec<u32>,
}

/// An edge from one vertex to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Its length, from 1 to [`Graph::LENGTH_MAX`].
    pub length: u64,
}

/// What the edges of a graph mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Paths follow edges from their begin to their end only.
    pub is_directed: bool,
    /// The shortest paths are those of the least length, not of the fewest edges.
    pub is_weighted: bool,
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
    /// An edge whose length is out of bounds.
    #[error("length {0}: from 1 to {most}", most = Graph::LENGTH_MAX)]
    Length(u64),
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

    /// The maximum length of an edge: the sum over a path fits a word.
    pub const LENGTH_MAX: u64 = 1 << 37;

    /// Creates the undirected graph of these edges; loops are removed, and so are all but one of parallel edges, in
    /// either direction. `seed` determines the order of the sources.
    ///
    /// # Errors
    /// Too many vertices or edges, or an edge to a vertex that does not exist.
    pub fn new(vertices: usize, edges: &[(u32, u32)], seed: u64) -> Result<Self, GraphError> {
        check(vertices, edges.len(), edges.iter().copied())?;
        let real = || edges.iter().filter(|(a, b)| a != b);
        let both = || real().flat_map(|&(a, b)| [(a, b), (b, a)]);
        let (starts, neighbours) = rows(vertices, both, |to| *to);
        Ok(Self {
            starts,
            neighbours,
            lengths: None,
            is_directed: false,
            sources: shuffled(vertices, seed),
        })
    }

    /// As [`new`](Self::new), of edges with lengths or directions. Of parallel edges the shortest remains. Without
    /// [`Form::is_weighted`] lengths are not looked at.
    ///
    /// # Errors
    /// As `new`, or a length out of bounds.
    pub fn of_form(
        vertices: usize,
        edges: &[Edge],
        form: Form,
        seed: u64,
    ) -> Result<Self, GraphError> {
        check(vertices, edges.len(), edges.iter().map(|e| (e.from, e.to)))?;
        let mut lengths = edges.iter().map(|edge| edge.length);
        let bad = lengths.find(|length| !(1..=Self::LENGTH_MAX).contains(length));
        if let Some(length) = bad.filter(|_| form.is_weighted) {
            return Err(GraphError::Length(length));
        }
        let real = || edges.iter().filter(|edge| edge.from != edge.to);
        let ways = || {
            real().flat_map(|edge| {
                let length = if form.is_weighted { edge.length } else { 1 };
                let back = (edge.to, (edge.from, length));
                let there = (edge.from, (edge.to, length));
                [Some(there), (!form.is_directed).then_some(back)]
            })
        };
        let (starts, rows) = rows(vertices, || ways().flatten(), |(to, _)| *to);
        let (neighbours, lengths): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        Ok(Self {
            starts,
            neighbours,
            lengths: form.is_weighted.then_some(lengths),
            is_directed: form.is_directed,
            sources: shuffled(vertices, seed),
        })
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> usize {
        match self.is_directed {
            true => self.neighbours.len(),
            false => self.neighbours.len() / 2,
        }
    }

    /// Whether paths follow edges in one direction only.
    pub fn is_directed(&self) -> bool {
        self.is_directed
    }

    /// Whether edges have lengths.
    pub fn is_weighted(&self) -> bool {
        self.lengths.is_some()
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

    /// Returns the length of the edge to each of the [`neighbours`](Self::neighbours) of a vertex; none if edges have no lengths.
    #[inline]
    pub(super) fn lengths(&self, vertex: u32) -> &[u64] {
        let [from, to] = [0, 1].map(|next| self.starts[vertex as usize + next] as usize);
        self.lengths
            .as_ref()
            .map_or(&[], |lengths| &lengths[from..to])
    }

    #[inline]
    pub(super) fn source(&self, position: u32) -> u32 {
        self.sources[position as usize]
    }

    /// Returns the number of tasks of all sources: two for each vertex that each source reaches, itself included. `None` for
    /// a directed graph, where that takes as long as the search itself.
    pub fn tasks(&self) -> Option<u64> {
        (!self.is_directed).then(|| self.of_components())
    }

    fn of_components(&self) -> u64 {
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

/// Returns the vertices in the order in which they are taken as sources.
fn shuffled(vertices: usize, seed: u64) -> Vec<u32> {
    let mut sources: Vec<_> = (0..vertices as u32).collect();
    SplitMix::new(seed).shuffle(&mut sources);
    sources
}

fn check(
    vertices: usize,
    count: usize,
    mut edges: impl Iterator<Item = (u32, u32)>,
) -> Result<(), GraphError> {
    if vertices > Graph::VERTICES_MAX {
        return Err(GraphError::Vertices(vertices));
    }
    if count > Graph::EDGES_MAX {
        return Err(GraphError::Edges(count));
    }
    match edges.find(|(a, b)| *a.max(b) as usize >= vertices) {
        Some((from, to)) => Err(GraphError::Vertex { from, to, vertices }),
        None => Ok(()),
    }
}

/// Returns where the row of each vertex begins, one more for the end, and the rows: sorted, and of those to the same vertex the
/// first only. `ways` returns where each begins, and the rest of it.
fn rows<T: Copy + Default + Ord, I: Iterator<Item = (u32, T)>>(
    vertices: usize,
    ways: impl Fn() -> I,
    to: impl Fn(&T) -> u32,
) -> (Vec<u32>, Vec<T>) {
    let mut starts = vec![0; vertices + 1];
    for (from, _) in ways() {
        starts[from as usize + 1] += 1;
    }
    for vertex in 0..vertices {
        starts[vertex + 1] += starts[vertex];
    }
    let mut rows = vec![T::default(); starts[vertices] as usize];
    let mut next = starts.clone();
    for (from, way) in ways() {
        rows[next[from as usize] as usize] = way;
        next[from as usize] += 1;
    }
    let (mut kept, mut from) = (0, 0);
    for end in &mut starts[1..] {
        let past = *end as usize;
        rows[from..past].sort_unstable();
        let row = kept;
        for at in from..past {
            if kept == row || to(&rows[kept - 1]) != to(&rows[at]) {
                rows[kept] = rows[at];
                kept += 1;
            }
        }
        from = past;
        *end = kept as u32;
    }
    rows.truncate(kept);
    rows.shrink_to_fit();
    (starts, rows)
}
