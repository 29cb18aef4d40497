//! The part of the graph that a rank has: the neighbours of its vertices (kernel 1).

use super::rmat::{Edge, Rmat};
use crate::part::part;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use tautline::Result;
use tautline::runtime::Cx;
use tautline::team::{At, Handler, Team, handler};
use tautline::world::Rank;
use tautline_core::wire::Portable;

/// Pieces of a rank's work for each of its workers.
const PIECES: usize = 4;

/// The division of vertices over ranks: cyclic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) vertices: u32,
}

impl Division {
    pub(super) fn owner(self, vertex: u32) -> u32 {
        vertex % self.ranks
    }

    /// Returns the position of a vertex among those of its rank.
    pub(super) fn row(self, vertex: u32) -> usize {
        (vertex / self.ranks) as usize
    }

    /// Returns the vertex of this rank at a position.
    pub(super) fn vertex(self, row: u32) -> u32 {
        row * self.ranks + self.rank
    }

    /// Returns the vertices of this rank.
    pub(super) fn own(self) -> impl Iterator<Item = u32> {
        (self.rank..self.vertices).step_by(self.ranks as usize)
    }
}

/// The graph as a rank has it.
pub(super) struct Graph {
    pub(super) division: Division,
    /// The first position of the neighbours of each vertex of this rank, and the end of all.
    starts: Vec<usize>,
    /// The first position of those of other ranks.
    others: Vec<usize>,
    /// Those of this rank, by their rows, before those of other ranks: a search computes the owners
    /// of the vertices that it sends alone.
    neighbours: Vec<u32>,
    /// The part of the list of edges that this rank has drawn, for the validation.
    pub(super) edges: Vec<Edge>,
    /// Pieces into which the work of the rank is divided.
    pub(super) pieces: usize,
}

impl Graph {
    /// Whether the vertex at a row has a neighbour.
    pub(super) fn has_neighbours(&self, row: usize) -> bool {
        self.starts[row] < self.starts[row + 1]
    }

    /// Returns the rows of the distinct neighbours at this rank, without itself, of the vertex at a
    /// row.
    pub(super) fn here(&self, row: usize) -> &[u32] {
        &self.neighbours[self.starts[row]..self.others[row]]
    }

    /// Returns the distinct neighbours at other ranks of the vertex at a row.
    pub(super) fn elsewhere(&self, row: usize) -> &[u32] {
        &self.neighbours[self.others[row]..self.starts[row + 1]]
    }

    /// Draws the edges, a part at each rank, and sends both directions of each to the owners of its
    /// ends: once to count them, once to store them.
    pub(super) fn build(
        rmat: &Rmat,
        cx: &mut Cx<'_, '_>,
        team: &mut Team,
        workers: usize,
    ) -> Result<Self> {
        let division = Division {
            rank: team.rank().0,
            ranks: team.ranks(),
            vertices: 1 << rmat.scale,
        };
        let pieces = PIECES * workers;
        let edges = drawn(rmat, cx, division, pieces);
        let directions = Directions {
            division,
            edges: &edges,
            pieces,
        };
        let degrees = directions.count(cx, team)?;
        let mut starts = vec![0];
        for degree in &degrees {
            // ORDERING: Relaxed: the finish has ordered all additions before.
            let degree = degree.load(Ordering::Relaxed) as usize;
            starts.push(starts[starts.len() - 1] + degree);
        }
        let neighbours = directions.store(&degrees, &starts, cx, team)?;
        let mut graph = Self {
            division,
            starts,
            others: Vec::new(),
            neighbours,
            edges,
            pieces,
        };
        graph.sort(cx);
        graph.deduplicate();
        graph.group();
        Ok(graph)
    }

    /// Sorts the neighbours of each vertex.
    fn sort(&mut self, cx: &mut Cx<'_, '_>) {
        let rows = self.starts.len() as u64 - 1;
        let (starts, pieces) = (&self.starts, self.pieces as u64);
        let mut rest = &mut self.neighbours[..];
        cx.scope(|cx| {
            for piece in 0..pieces {
                let rows = part(rows, piece, pieces);
                let starts = &starts[rows.start as usize..=rows.end as usize];
                let (first, end) = (starts[0], starts[starts.len() - 1]);
                let (own, behind) = mem::take(&mut rest).split_at_mut(end - first);
                rest = behind;
                cx.spawn(move |_| {
                    for row in starts.windows(2) {
                        own[row[0] - first..row[1] - first].sort_unstable();
                    }
                });
            }
        });
    }

    /// Removes all but one of equal neighbours of each vertex.
    fn deduplicate(&mut self) {
        let mut kept = 0;
        for row in 0..self.starts.len() - 1 {
            let (range, first) = (self.starts[row]..self.starts[row + 1], kept);
            for at in range {
                let neighbour = self.neighbours[at];
                if kept == first || self.neighbours[kept - 1] != neighbour {
                    self.neighbours[kept] = neighbour;
                    kept += 1;
                }
            }
            self.starts[row] = first;
        }
        if let Some(end) = self.starts.last_mut() {
            *end = kept;
        }
        self.neighbours.truncate(kept);
        self.neighbours.shrink_to_fit();
    }

    /// Moves the neighbours of this rank to the front of those of each vertex, and replaces them by
    /// their rows.
    fn group(&mut self) {
        let division = self.division;
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for range in self.starts.windows(2) {
            let neighbours = &mut self.neighbours[range[0]..range[1]];
            own.clear();
            others.clear();
            for &vertex in &*neighbours {
                match division.owner(vertex) == division.rank {
                    true => own.push(division.row(vertex) as u32),
                    false => others.push(vertex),
                }
            }
            let (here, elsewhere) = neighbours.split_at_mut(own.len());
            here.copy_from_slice(&own);
            elsewhere.copy_from_slice(&others);
            self.others.push(range[0] + own.len());
        }
    }
}

/// Draws the part of the edges that belongs to this rank.
fn drawn(rmat: &Rmat, cx: &mut Cx<'_, '_>, division: Division, pieces: usize) -> Vec<Edge> {
    let own = part(rmat.edges(), division.rank.into(), division.ranks.into());
    let mut edges = vec![[0; 2]; (own.end - own.start) as usize];
    let size = edges.len().div_ceil(pieces).max(1);
    cx.scope(|cx| {
        for (piece, edges) in (0..).zip(edges.chunks_mut(size)) {
            let first = own.start + piece * size as u64;
            cx.spawn(move |_| {
                let numbers = first..first + edges.len() as u64;
                for (edge, drawn) in edges.iter_mut().zip(rmat.part(numbers)) {
                    *edge = drawn;
                }
            });
        }
    });
    edges
}

/// Both directions of the edges that a rank has drawn, without loops.
struct Directions<'a> {
    division: Division,
    edges: &'a [Edge],
    pieces: usize,
}

impl Directions<'_> {
    /// Returns the number of directions that begin at each vertex of this rank.
    fn count(&self, cx: &mut Cx<'_, '_>, team: &mut Team) -> Result<Vec<AtomicU32>> {
        let division = self.division;
        let degrees = Vec::from_iter(division.own().map(|_| AtomicU32::new(0)));
        let count = |vertex: u32| {
            // ORDERING: Relaxed: the end of the finish orders the counts before they are read.
            degrees[division.row(vertex)].fetch_add(1, Ordering::Relaxed);
        };
        let counts = handler(|_, _, vertex: u32| count(vertex)).short();
        team.finish(cx, &counts, |cx, at| {
            self.send(cx, at, &counts, |[vertex, _]| vertex, &count);
        })?;
        Ok(degrees)
    }

    /// Returns the other ends of the directions, each in the range of `starts` that its vertex has.
    fn store(
        &self,
        degrees: &[AtomicU32],
        starts: &[usize],
        cx: &mut Cx<'_, '_>,
        team: &mut Team,
    ) -> Result<Vec<u32>> {
        let end = starts[starts.len() - 1];
        let neighbours = Vec::from_iter((0..end).map(|_| AtomicU32::new(0)));
        let store = |[vertex, neighbour]: Edge| {
            let row = self.division.row(vertex);
            // ORDERING: Relaxed: each subtraction reserves a slot of its own; the finish has
            // ordered the counts before.
            let left = degrees[row].fetch_sub(1, Ordering::Relaxed) as usize;
            // ORDERING: Relaxed: the end of the finish orders the slots before they are read.
            neighbours[starts[row] + left - 1].store(neighbour, Ordering::Relaxed);
        };
        let stores = handler(|_, _, edge: Edge| store(edge)).short();
        team.finish(cx, &stores, |cx, at| {
            self.send(cx, at, &stores, |edge| edge, &store);
        })?;
        Ok(neighbours.into_iter().map(AtomicU32::into_inner).collect())
    }

    /// Sends `of` each direction to the handler of the owner, or passes it to `here`.
    fn send<'s, F: Sync, A: Portable + 'static>(
        &'s self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        handler: &'s Handler<F, A, ()>,
        of: fn(Edge) -> A,
        here: &'s (impl Fn(A) + Sync),
    ) {
        let division = self.division;
        let size = self.edges.len().div_ceil(self.pieces).max(1);
        for piece in self.edges.chunks(size) {
            cx.spawn(move |cx| {
                let mut batch = at.batch(cx, handler);
                for [one, other] in piece.iter().copied().filter(|[one, other]| one != other) {
                    for edge in [[one, other], [other, one]] {
                        match division.owner(edge[0]) {
                            owner if owner == division.rank => here(of(edge)),
                            owner => batch.push(cx, Rank(owner), of(edge)),
                        }
                    }
                }
            });
        }
    }
}
