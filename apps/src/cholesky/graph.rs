//! The tasks of the factorization: one for each operation on tiles, declared at once.

use super::{Factor, Matrix, NotPositive, Shape, Tile, factor, solve, update};
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tautline::Runtime;
use tautline::balance::Reason;
use tautline::runtime::{Cx, Ddf};

/// A version of a tile that the one task that changes it takes out.
struct Taken(Mutex<Tile>);

impl Taken {
    fn take(&self) -> Tile {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The versions of a tile: before each step that changes it, and the final one.
struct Versions {
    before: Vec<Ddf<Taken>>,
    last: Ddf<Tile>,
}

/// The tiles of the lower triangle.
struct Tiles {
    shape: Shape,
    versions: Vec<Versions>,
    failure: Mutex<Option<NotPositive>>,
}

impl Tiles {
    fn new(shape: Shape) -> Self {
        let versions = shape.lower().map(|(_, j)| Versions {
            before: (0..=j).map(|_| Ddf::new()).collect(),
            last: Ddf::new(),
        });
        Self {
            shape,
            versions: versions.collect(),
            failure: Mutex::new(None),
        }
    }

    /// Returns the cell of the tile (i, j) before step k.
    fn take(&self, i: usize, j: usize, k: usize) -> &Ddf<Taken> {
        &self.versions[self.shape.index(i, j)].before[k]
    }

    /// Returns the cell of the final tile (i, j).
    fn get(&self, i: usize, j: usize) -> &Ddf<Tile> {
        &self.versions[self.shape.index(i, j)].last
    }

    /// Puts the tile (i, j) after `k` steps, which is done by one task.
    fn put(&self, i: usize, j: usize, k: usize, tile: Tile) {
        let is_first = match k > j {
            true => self.get(i, j).put(tile).is_ok(),
            false => self.take(i, j, k).put(Taken(Mutex::new(tile))).is_ok(),
        };
        debug_assert!(is_first, "a second version {k} of the tile ({i}, {j})");
    }

    /// Spawns all tasks.
    fn factorize<'s>(&'s self, cx: &mut Cx<'s, '_>) {
        let shape = self.shape;
        for k in 0..shape.tiles() {
            cx.spawn_when(self.take(k, k, k), move |tile, cx| {
                let mut tile = tile.take();
                match factor(shape, k, &mut tile) {
                    Ok(()) => self.put(k, k, k + 1, tile),
                    Err(failure) => self.fail(failure, cx),
                }
            });
            for i in k + 1..shape.tiles() {
                let inputs = (self.take(i, k, k), self.get(k, k));
                cx.spawn_when(inputs, move |(x, l), _| {
                    let mut x = x.take();
                    solve(shape, k, l, &mut x);
                    self.put(i, k, k + 1, x);
                });
            }
            for i in k + 1..shape.tiles() {
                for j in k + 1..=i {
                    let inputs = (self.take(i, j, k), self.get(i, k), self.get(j, k));
                    cx.spawn_when(inputs, move |(tile, x, y), _| {
                        let mut tile = tile.take();
                        update(shape, (i, j, k), &mut tile, x, y);
                        self.put(i, j, k + 1, tile);
                    });
                }
            }
        }
    }

    /// Ends all tasks: those that have not begun are dropped.
    fn fail(&self, failure: NotPositive, cx: &Cx<'_, '_>) {
        // Tasks that factorize depend on each other in the order of rows, so this is the first one.
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        cx.cancel(Reason::GivenUp);
    }
}

/// The result of a factorization.
#[derive(Debug)]
pub struct Measured {
    /// The factor.
    pub factor: Result<Factor, NotPositive>,
    /// The duration, from the first task to the end of the last one; the elements are drawn before.
    pub seconds: f64,
}

/// Factorizes `matrix` by tasks of `runtime`. A matrix that is not positive definite ends all
/// tasks.
///
/// # Panics
/// If `matrix` has another number of rows than `shape`.
#[track_caller]
pub fn factorize(matrix: &Matrix, shape: Shape, runtime: &Runtime) -> Measured {
    let all = Tiles::new(shape);
    let tiles = &all;
    runtime.run(|cx| {
        cx.scope(|cx| {
            for (i, j) in shape.lower() {
                cx.spawn(move |_| tiles.put(i, j, 0, matrix.tile(shape, i, j)));
            }
        });
    });
    let began = Instant::now();
    let ended = runtime.run(|cx| cx.finish(|cx| tiles.factorize(cx)));
    let seconds = began.elapsed().as_secs_f64();
    let failure = all.failure.into_inner();
    let failure = failure.unwrap_or_else(PoisonError::into_inner);
    let last = all.versions.into_iter();
    let last: Option<Vec<_>> = last.map(|versions| versions.last.into_inner()).collect();
    let factor = match (failure, ended, last) {
        (Some(failure), _, _) => Err(failure),
        (None, Ok(()), Some(tiles)) => Ok(Factor { shape, tiles }),
        (None, ended, _) => unreachable!("tasks are cancelled by a failure alone: {ended:?}"),
    };
    Measured { factor, seconds }
}
