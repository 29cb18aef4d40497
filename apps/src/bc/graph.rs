//! Graphs without loops and parallel edges, as rows of neighbours.

use crate::graph::Listed;
use crate::random::SplitMix;
use std::ops::Add;
use thiserror::Error;

/// A graph. Its vertices are numbers from 0.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The index of the first neighbour of each vertex; one more entry for the end.
    starts: Vec<u32>,
    /// The neighbours of all vertices in turn, each row in ascending order.
    neighbours: Vec<u32>,
    /// The length of the edge to each of them.
    lengths: Lengths,
    is_directed: bool,
    /// All vertices in the order in which they are taken as sources.
    sources: Vec<u32>,
}

/// Lengths of edges, in numbers as wide as the sum of a path.
#[derive(Clone, Debug)]
pub(super) enum Lengths {
    /// Edges have no lengths.
    None,
    Words(Vec<u64>),
    Wide(Vec<u128>),
}

/// A length of an edge or a path.
pub(super) trait Length: Copy + Ord + Default + Add<Output = Self> + 'static {
    /// Above all lengths.
    const MAX: Self;

    /// Returns the number, which fits.
    fn of(length: u128) -> Self;

    /// Returns the lengths if they are of this width, else none.
    fn all(lengths: &Lengths) -> &[Self];

    fn lengths(all: Vec<Self>) -> Lengths;
}

impl Length for u64 {
    const MAX: Self = Self::MAX;

    fn of(length: u128) -> Self {
        length as Self
    }

    #[inline]
    fn all(lengths: &Lengths) -> &[Self] {
        match lengths {
            Lengths::Words(lengths) => lengths,
            _ => &[],
        }
    }

    fn lengths(all: Vec<Self>) -> Lengths {
        Lengths::Words(all)
    }
}

impl Length for u128 {
    const MAX: Self = Self::MAX;

    fn of(length: u128) -> Self {
        length
    }

    #[inline]
    fn all(lengths: &Lengths) -> &[Self] {
        match lengths {
            Lengths::Wide(lengths) => lengths,
            _ => &[],
        }
    }

    fn lengths(all: Vec<Self>) -> Lengths {
        Lengths::Wide(all)
    }
}

/// An edge from one vertex to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The vertex at its begin.
    pub from: u32,
    /// The vertex at its end.
    pub to: u32,
    /// Its length, from 1 to [`Graph::length_max`].
    pub length: u128,
}

/// The meaning of a graph's edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Paths follow edges from their begin to their end only.
    pub is_directed: bool,
    /// The shortest paths are those of the least length, not of the fewest edges.
    pub is_weighted: bool,
}

/// The reason why a graph cannot be built.
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
    #[error("length {length}: from 1 to {most}, so that sums are exact")]
    Length {
        /// The length.
        length: u128,
        /// The longest in a graph of this number of vertices.
        most: u128,
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
    pub const VERTICES_MAX: usize = crate::graph::VERTICES_MAX;
    /// The maximum number of edges, before loops and parallel ones are removed.
    pub const EDGES_MAX: usize = 1 << 30;

    /// Returns the maximum length of an edge of a graph with N vertices: the sum over a path fits
    /// 128 bits.
    pub fn length_max(vertices: usize) -> u128 {
        u128::MAX / vertices.max(1) as u128
    }

    /// Creates the undirected graph of these edges; loops are removed, and so are all but one of
    /// parallel edges, in either direction. `seed` determines the order of the sources.
    ///
    /// # Errors
    /// Too many vertices or edges, or an edge to a vertex that does not exist.
    pub fn new(vertices: usize, edges: &[(u32, u32)], seed: u64) -> Result<Self, GraphError> {
        Self::build(vertices, edges, None, false, seed)
    }

    /// As [`new`](Self::new), of edges with lengths or directions. Of parallel edges the shortest
    /// remains. Without [`Form::is_weighted`] lengths are ignored.
    ///
    /// # Errors
    /// As `new`, or a length out of bounds.
    pub fn of_form(
        vertices: usize,
        edges: &[Edge],
        form: Form,
        seed: u64,
    ) -> Result<Self, GraphError> {
        let ends: Vec<_> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
        let lengths = form
            .is_weighted
            .then(|| edges.iter().map(|edge| edge.length));
        let lengths: Option<Vec<_>> = lengths.map(Iterator::collect);
        Self::build(vertices, &ends, lengths.as_deref(), form.is_directed, seed)
    }

    /// Creates the graph of a file.
    ///
    /// ```
    /// use tautline_cli::bc::Graph;
    /// use tautline_cli::graph::{self, Options};
    /// use tautline_cli::text::Input;
    ///
    /// let file = Input::new("path", b"a b\nb c\n")?;
    /// let listed = graph::read(file, &Options::default())?;
    /// let graph = Graph::of_file(&listed, 1)?;
    /// assert_eq!((graph.vertices(), graph.edges()), (3, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`of_form`](Self::of_form).
    pub fn of_file(listed: &Listed, seed: u64) -> Result<Self, GraphError> {
        let (vertices, lengths) = (listed.names.len(), listed.lengths.as_deref());
        Self::build(vertices, &listed.edges, lengths, listed.is_directed, seed)
    }

    fn build(
        vertices: usize,
        edges: &[(u32, u32)],
        lengths: Option<&[u128]>,
        is_directed: bool,
        seed: u64,
    ) -> Result<Self, GraphError> {
        check(vertices, edges)?;
        let most = Self::length_max(vertices);
        let mut all = lengths.iter().copied().flatten().copied();
        if let Some(length) = all.find(|length| !(1..=most).contains(length)) {
            return Err(GraphError::Length { length, most });
        }
        let longest = lengths.iter().copied().flatten().max();
        let fits = |longest: u128| longest <= u128::from(u64::MAX) / vertices.max(1) as u128;
        let (starts, neighbours, lengths) = match (lengths, longest) {
            (Some(lengths), Some(longest)) if !fits(*longest) => {
                weighted::<u128>(vertices, edges, lengths, is_directed)
            }
            (Some(lengths), _) => weighted::<u64>(vertices, edges, lengths, is_directed),
            (None, _) => {
                let real = || edges.iter().filter(|(a, b)| a != b);
                let both = |&(a, b)| [Some((a, b)), (!is_directed).then_some((b, a))];
                let ways = || real().flat_map(both).flatten();
                let (starts, neighbours) = rows(vertices, ways, |to| *to);
                (starts, neighbours, Lengths::None)
            }
        };
        Ok(Self {
            starts,
            neighbours,
            lengths,
            is_directed,
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
        !matches!(self.lengths, Lengths::None)
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

    /// The lengths of all edges.
    #[inline]
    pub(super) fn all_lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Returns each of the [`neighbours`](Self::neighbours) of a vertex and the length of the edge
    /// to it; none if lengths are not of this width.
    #[inline]
    pub(super) fn ways<L: Length>(&self, vertex: u32) -> impl Iterator<Item = (u32, L)> {
        let [from, to] = [0, 1].map(|next| self.starts[vertex as usize + next] as usize);
        let lengths = L::all(&self.lengths).get(from..to).unwrap_or(&[]);
        let neighbours = self.neighbours[from..to].iter().copied();
        neighbours.zip(lengths.iter().copied())
    }

    #[inline]
    pub(super) fn source(&self, position: u32) -> u32 {
        self.sources[position as usize]
    }

    /// Returns the number of tasks of all sources: two for each vertex that each source reaches,
    /// itself included. `None` for a directed graph, where that takes as long as the search itself.
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

fn check(vertices: usize, edges: &[(u32, u32)]) -> Result<(), GraphError> {
    if vertices > Graph::VERTICES_MAX {
        return Err(GraphError::Vertices(vertices));
    }
    if edges.len() > Graph::EDGES_MAX {
        return Err(GraphError::Edges(edges.len()));
    }
    let is_outside = |&&(a, b): &&(u32, u32)| a.max(b) as usize >= vertices;
    match edges.iter().find(is_outside) {
        Some(&(from, to)) => Err(GraphError::Vertex { from, to, vertices }),
        None => Ok(()),
    }
}

/// Returns the rows of neighbours and lengths of this width, which fit.
fn weighted<L: Length>(
    vertices: usize,
    edges: &[(u32, u32)],
    lengths: &[u128],
    is_directed: bool,
) -> (Vec<u32>, Vec<u32>, Lengths) {
    let ways = || {
        let all = edges.iter().zip(lengths).filter(|((a, b), _)| a != b);
        all.flat_map(|(&(a, b), length)| {
            let length = L::of(*length);
            let back = (!is_directed).then_some((b, (a, length)));
            [Some((a, (b, length))), back].into_iter().flatten()
        })
    };
    let (starts, rows) = rows(vertices, ways, |(to, _)| *to);
    let (neighbours, lengths) = rows.into_iter().unzip();
    (starts, neighbours, L::lengths(lengths))
}

/// Returns where the row of each vertex begins, one more for the end, and the rows: sorted, and of
/// those to the same vertex the first only. `ways` returns where each begins, and the rest of it.
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
