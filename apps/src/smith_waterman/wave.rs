//! The tiles of a rank: tasks that begin when their inputs are there, and pass on their edges.

use super::score::{Best, Scores, tile};
use std::mem;
use std::sync::{Mutex, PoisonError};
use tautline::Runtime;
use tautline::comm::{self, Comm, Error, Received, Request, Tag};
use tautline::runtime::{Cx, Ddf};
use tautline::world::{Bulk, Rank};

/// The assignment of columns of tiles to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Each rank has as many as the others, give or take one, side by side.
    Blocks,
    /// The ranks take turns.
    Cyclic,
}

impl Distribution {
    /// Returns the rank of a column.
    fn owner(self, column: usize, columns: usize, ranks: usize) -> Rank {
        let rank = match self {
            Self::Blocks => column * ranks / columns,
            Self::Cyclic => column % ranks,
        };
        Rank(rank as u32)
    }
}

/// Two sequences, and how their table is cut and distributed.
#[derive(Clone, Copy, Debug)]
pub struct Tiles<'a> {
    /// The sequence with a row of the table for each letter.
    pub first: &'a [u8],
    /// The one with a column for each.
    pub second: &'a [u8],
    /// The contributions of letters.
    pub scores: Scores,
    /// The rows and columns of a tile, at least 1; those at the end of the table may have less.
    pub side: usize,
    /// The assignment of columns of tiles to ranks.
    pub distribution: Distribution,
}

impl Tiles<'_> {
    /// Returns the number of rows of tiles.
    pub fn rows(&self) -> usize {
        self.first.len().div_ceil(self.side)
    }

    /// Returns the number of columns of tiles.
    pub fn columns(&self) -> usize {
        self.second.len().div_ceil(self.side)
    }

    /// Returns the letters of the first sequence in a row of tiles.
    fn row(&self, row: usize) -> &[u8] {
        part(self.first, row, self.side)
    }

    /// Returns the letters of the second sequence in a column of tiles.
    fn column(&self, column: usize) -> &[u8] {
        part(self.second, column, self.side)
    }

    /// Returns the tag of the edge to the left of a tile. Each has its own: a tile may send its
    /// right column before the tile above has sent that of its own.
    fn tag(&self, row: usize, column: usize) -> Tag {
        Tag((row * self.columns() + column) as u32)
    }

    fn owner(&self, column: usize, comm: &Comm) -> Rank {
        let ranks = comm.ranks() as usize;
        self.distribution.owner(column, self.columns(), ranks)
    }
}

/// Returns the letters of a tile.
fn part(letters: &[u8], number: usize, side: usize) -> &[u8] {
    let start = number * side;
    &letters[start..letters.len().min(start + side)]
}

/// The bottom row or the right column of a tile, for the one tile that needs it: it takes them out.
struct Edge(Mutex<Vec<i32>>);

impl Edge {
    fn of(scores: Vec<i32>) -> Halo {
        Ok(Self(Mutex::new(scores)))
    }

    fn take(&self) -> Vec<i32> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An edge, unless an error of a message has kept its tile from being computed.
type Halo = Result<Edge, Error>;

/// The edge to the left of a tile.
enum Left {
    /// Of a tile of this rank, or of the table.
    Here(Ddf<Halo>),
    /// Of a tile of another rank.
    Elsewhere(Request<Bulk<i32>>),
}

/// The tiles of a rank.
struct Wave<'a> {
    tiles: &'a Tiles<'a>,
    comm: &'a Comm,
    /// The columns of this rank.
    columns: Vec<usize>,
    /// The edges above the tiles, by rows, and below the last ones.
    above: Vec<Ddf<Halo>>,
    /// The edges to the left of the tiles, by rows.
    left: Vec<Left>,
    /// The best alignment so far, or the first error.
    best: Mutex<Result<Best, Error>>,
}

/// A tile of this rank: its row, and the position of its column among those of the rank.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    column: usize,
}

impl At {
    fn below(self) -> Self {
        Self {
            row: self.row + 1,
            ..self
        }
    }

    fn right(self) -> Self {
        Self {
            column: self.column + 1,
            ..self
        }
    }
}

impl<'a> Wave<'a> {
    /// Lets the edges of the table be there, and starts to receive all others of other ranks, held
    /// by the scope of `cx`.
    fn new(tiles: &'a Tiles<'a>, comm: &'a Comm, cx: &Cx<'_, '_>) -> Self {
        let (rows, columns) = (tiles.rows(), tiles.columns());
        let owner = |column| tiles.owner(column, comm);
        let own: Vec<usize> = (0..columns)
            .filter(|column| owner(*column) == comm.rank())
            .collect();
        let above = (0..(rows + 1) * own.len()).map(|_| Ddf::new()).collect();
        let mut left = Vec::with_capacity(rows * own.len());
        for row in 0..rows {
            left.extend(own.iter().map(|&column| match column.checked_sub(1) {
                Some(before) if owner(before) != comm.rank() => {
                    let tag = tiles.tag(row, column);
                    Left::Elsewhere(comm.irecv(owner(before), tag).hold(cx.hold()))
                }
                _ => Left::Here(Ddf::new()),
            }));
        }
        Self {
            tiles,
            comm,
            columns: own,
            above,
            left,
            best: Mutex::new(Ok(Best::default())),
        }
    }

    /// Spawns all tiles, and lets those at the edges of the table begin.
    fn start<'s>(&'s self, cx: &mut Cx<'s, '_>) {
        for row in 0..self.tiles.rows() {
            for column in 0..self.columns.len() {
                let at = At { row, column };
                let above = &self.above[self.index(at)];
                match &self.left[self.index(at)] {
                    Left::Here(left) => cx.spawn_when((above, left), move |(above, left), cx| {
                        let left = left.as_ref().map(Edge::take);
                        let left = left.as_deref().map_err(|error| *error);
                        self.compute(at, above, left, cx);
                    }),
                    Left::Elsewhere(left) => {
                        let inputs = (above, left.cell());
                        cx.spawn_when(
                            inputs,
                            move |(above, left): (_, &comm::Result<Received<_>>), cx| {
                                let left = left.as_ref().map(|received| &*received.value.0);
                                self.compute(at, above, left, cx);
                            },
                        );
                    }
                }
            }
        }
        let zeros = |letters: &[u8], more| Edge::of(vec![0; letters.len() + more]);
        for row in (0..self.tiles.rows()).filter(|_| self.columns.first() == Some(&0)) {
            self.put_left(At { row, column: 0 }, zeros(self.tiles.row(row), 1));
        }
        for (column, &of_table) in self.columns.iter().enumerate() {
            let scores = zeros(self.tiles.column(of_table), 0);
            self.put_above(At { row: 0, column }, scores);
        }
    }

    fn index(&self, at: At) -> usize {
        at.row * self.columns.len() + at.column
    }

    /// Fills the cell above a tile.
    fn put_above(&self, at: At, edge: Halo) {
        // Each cell is put by the only tile that has it as an edge.
        _ = self.above[self.index(at)].put(edge);
    }

    /// Fills the cell to the left of a tile whose left neighbour is of this rank.
    fn put_left(&self, at: At, edge: Halo) {
        if let Left::Here(cell) = &self.left[self.index(at)] {
            _ = cell.put(edge);
        }
    }

    /// Computes a tile, unless one of its edges is missing, and passes on its own.
    fn compute<'s>(
        &'s self,
        at: At,
        above: &Halo,
        left: Result<&[i32], &Error>,
        cx: &mut Cx<'s, '_>,
    ) {
        // Tiles whose edges are there are not computed either: this rank has nothing to find any
        // more.
        let failed = self.error();
        let (above, left) = match (above, left, &failed) {
            (Ok(above), Ok(left), None) => (above, left),
            (Err(error), _, _) | (_, Err(error), _) | (_, _, Some(error)) => {
                return self.fail(at, error);
            }
        };
        let Tiles { scores, side, .. } = *self.tiles;
        let column = self.columns[at.column];
        let (first, second) = (self.tiles.row(at.row), self.tiles.column(column));
        let mut row = above.take();
        let (right, found) = tile(first, second, scores, &mut row, left);
        self.found(found.moved(at.row * side, column * side));
        let next = column + 1;
        if next == self.tiles.columns() {
            return self.put_above(at.below(), Edge::of(row));
        }
        let owner = self.tiles.owner(next, self.comm);
        if owner == self.comm.rank() {
            // The tile that becomes ready last is the next one of this worker, and other ranks wait
            // for right columns.
            self.put_above(at.below(), Edge::of(row));
            return self.put_left(at.right(), Edge::of(right));
        }
        let tag = self.tiles.tag(at.row, next);
        let sent = self.comm.isend(&Bulk(right), owner, tag).hold(cx.hold());
        self.put_above(at.below(), Edge::of(row));
        cx.spawn_async(|_| async {
            if let Err(error) = sent.await {
                self.failed(&error);
            }
        });
    }

    /// Passes on that a tile could not be computed; other ranks learn of the end of this one.
    fn fail(&self, at: At, error: &Error) {
        self.failed(error);
        self.put_above(at.below(), Err(error.clone()));
        let is_own = |next: &usize| *next == self.columns[at.column] + 1;
        if self.columns.get(at.column + 1).is_some_and(is_own) {
            self.put_left(at.right(), Err(error.clone()));
        }
    }

    fn found(&self, found: Best) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(best) = &mut *best {
            *best = best.or(found);
        }
    }

    /// Returns the first error.
    fn error(&self) -> Option<Error> {
        let best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        best.as_ref().err().cloned()
    }

    fn failed(&self, error: &Error) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if best.is_ok() {
            *best = Err(error.clone());
        }
    }
}

/// Finds the best alignment by the tiles of all ranks of `comm`, and returns it at rank 0. The
/// other ranks get `None`.
///
/// # Errors
/// That of a message, as the loss of a rank.
///
/// # Panics
/// If the side of the tiles is 0.
#[track_caller]
pub fn across(tiles: &Tiles<'_>, comm: &Comm, runtime: &Runtime) -> Result<Option<Best>, Error> {
    let best = runtime.run(|cx| {
        let wave = Wave::new(tiles, comm, cx);
        cx.scope(|cx| wave.start(cx));
        wave.best.into_inner()
    });
    let best = best.unwrap_or_else(PoisonError::into_inner)?;
    Ok(comm.reduce(best, Best::or).wait_blocking()?.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_distributed_evenly() {
        for (columns, ranks) in [(1, 1), (1, 4), (7, 3), (8, 4), (100, 7)] {
            for distribution in [Distribution::Blocks, Distribution::Cyclic] {
                let mut counts = vec![0; ranks];
                for column in 0..columns {
                    counts[distribution.owner(column, columns, ranks).index()] += 1;
                }
                let (least, most) = (columns / ranks, columns.div_ceil(ranks));
                assert!(
                    counts.iter().all(|count| (least..=most).contains(count)),
                    "{distribution:?}: {counts:?}"
                );
            }
        }
    }
}
