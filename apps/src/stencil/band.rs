//! The bands of a rank: tasks that exchange rows with their neighbours.

use super::plate::{Heat, Part, Plate, relax};
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use tautline::Runtime;
use tautline::comm::{Comm, Error, Request, Tag};
use tautline::runtime::{Ddf, TaskCx};
use tautline::world::Rank;

/// The tags of rows sent to the band of lower rows, and to that of higher ones.
const DOWN: Tag = Tag(0);
const UP: Tag = Tag(1);

/// A row that is shared by those that compute with it.
type Row = Arc<Vec<f64>>;

/// The cell into which a band puts its next border row for a neighbour.
type Cell = Arc<Ddf<Result<Border, Error>>>;

/// A border row, and where the one of the next step will be.
struct Border {
    row: Row,
    next: Cell,
}

/// A side of a band.
enum Side<'a> {
    /// The edge of the plate.
    Edge(Row),
    /// A band of this rank.
    Band { ours: Cell, theirs: Cell },
    /// A band of another rank.
    Rank {
        comm: &'a Comm,
        rank: Rank,
        ours: Tag,
        theirs: Tag,
        /// The memory of the rows that were sent.
        memory: Vec<f64>,
    },
}

/// The exchange that was started for a step at a side.
enum Coming {
    Here(Row),
    InCell(Cell),
    Messages(Box<Messages>),
}

struct Messages {
    sent: Request<Vec<f64>>,
    received: Request<Vec<f64>>,
}

impl Side<'_> {
    /// Gives the border row `own` to the neighbour, and starts to get the neighbour's.
    fn exchange(&mut self, own: &[f64], task: &TaskCx<'_, '_>) -> Coming {
        match self {
            Side::Edge(row) => Coming::Here(Arc::clone(row)),
            Side::Band { ours, theirs } => {
                let next = Cell::default();
                let border = Border {
                    row: Arc::new(own.to_vec()),
                    next: Arc::clone(&next),
                };
                // Put here alone, as it is replaced at once.
                _ = mem::replace(ours, next).put(Ok(border));
                Coming::InCell(Arc::clone(theirs))
            }
            Side::Rank {
                comm,
                rank,
                ours,
                theirs,
                memory,
            } => {
                let mut row = mem::take(memory);
                row.clear();
                row.extend_from_slice(own);
                let into = vec![0.0; own.len()];
                Coming::Messages(Box::new(Messages {
                    // The receive first: the message finds it posted. Held, as the other rank may
                    // take its time.
                    received: comm.irecv_vec(into, *rank, *theirs).hold(task.hold()),
                    sent: comm.isend_vec(row, *rank, *ours).hold(task.hold()),
                }))
            }
        }
    }

    /// Waits for the neighbour's row.
    async fn arrival(&mut self, coming: Coming) -> Result<Row, Error> {
        match coming {
            Coming::Here(row) => Ok(row),
            Coming::InCell(cell) => {
                let border = cell.wait().await.as_ref().map_err(Clone::clone)?;
                if let Side::Band { theirs, .. } = self {
                    *theirs = Arc::clone(&border.next);
                }
                Ok(Arc::clone(&border.row))
            }
            Coming::Messages(messages) => {
                let Messages { sent, received } = *messages;
                let row = received.await?.value;
                let sent = sent.await?.value;
                if let Side::Rank { memory, .. } = self {
                    *memory = sent;
                }
                Ok(Arc::new(row))
            }
        }
    }

    /// Ends the neighbour, if it is of this rank; those of others learn of the end of this rank.
    fn fail(&self, error: &Error) {
        if let Side::Band { ours, .. } = self {
            _ = ours.put(Err(error.clone()));
        }
    }
}

/// Rows that one task computes.
struct Band<'a> {
    plate: &'a Plate,
    rows: Range<usize>,
    above: Side<'a>,
    below: Side<'a>,
}

impl Band<'_> {
    /// Computes all steps, and returns the heat of the rows.
    async fn run(mut self, task: TaskCx<'_, '_>) -> Result<Part, Error> {
        let ended = self.steps(&task).await;
        if let Err(error) = &ended {
            self.above.fail(error);
            self.below.fail(error);
        }
        ended
    }

    async fn steps(&mut self, task: &TaskCx<'_, '_>) -> Result<Part, Error> {
        let width = self.plate.width;
        let mut cells = self.plate.first(self.rows.clone());
        let mut next = cells.clone();
        for _ in 0..self.plate.steps {
            let below = cells.len() - width;
            let above = self.above.exchange(&cells[..width], task);
            let below = self.below.exchange(&cells[below..], task);
            self.relax_inner(&cells, &mut next);
            let above = self.above.arrival(above).await?;
            let below = self.below.arrival(below).await?;
            self.relax_border(&above, &below, &cells, &mut next);
            mem::swap(&mut cells, &mut next);
        }
        Ok(Part::of(self.rows.start, &cells, width))
    }

    /// Computes the rows that need none of a neighbour.
    fn relax_inner(&self, cells: &[f64], next: &mut [f64]) {
        let width = self.plate.width;
        let outs = next.chunks_mut(width).skip(1);
        for (rows, out) in windows(cells, width).zip(outs) {
            let (above, rest) = rows.split_at(width);
            let (own, below) = rest.split_at(width);
            relax(above, own, below, out);
        }
    }

    /// Computes the first and the last row.
    fn relax_border(&self, above: &[f64], below: &[f64], cells: &[f64], next: &mut [f64]) {
        let width = self.plate.width;
        let last = cells.len() - width;
        let (first_own, last_own) = (&cells[..width], &cells[last..]);
        if last == 0 {
            return relax(above, first_own, below, next);
        }
        relax(
            above,
            first_own,
            &cells[width..][..width],
            &mut next[..width],
        );
        let before = &cells[last - width..last];
        relax(before, last_own, below, &mut next[last..]);
    }
}

/// Returns each three rows that follow each other.
fn windows(cells: &[f64], width: usize) -> impl Iterator<Item = &[f64]> {
    let rows = (cells.len() / width).saturating_sub(2);
    (0..rows).map(move |row| &cells[row * width..][..3 * width])
}

/// Divides `rows` into bands of at most `size` rows, whose sides are `above` and `below`.
fn bands<'a>(
    plate: &'a Plate,
    rows: Range<usize>,
    size: usize,
    above: Side<'a>,
    below: Side<'a>,
) -> Vec<Band<'a>> {
    let mut all: Vec<Band<'a>> = Vec::new();
    let (mut above, mut start) = (above, rows.start);
    while rows.end - start > size {
        let (down, up) = (Cell::default(), Cell::default());
        let between = Side::Band {
            ours: Arc::clone(&down),
            theirs: Arc::clone(&up),
        };
        let behind = Side::Band {
            ours: up,
            theirs: down,
        };
        all.push(Band {
            plate,
            rows: start..start + size,
            above: mem::replace(&mut above, behind),
            below: between,
        });
        start += size;
    }
    all.push(Band {
        plate,
        rows: start..rows.end,
        above,
        below,
    });
    all
}

/// Computes a plate over all ranks of `comm`, by bands of at most `band` rows, and returns its heat
/// at rank 0. The other ranks get `None`.
///
/// # Errors
/// That of a message, as the loss of a rank; and that of a rank that has failed itself.
///
/// # Panics
/// If `band` or the width of the plate is 0.
#[track_caller]
pub fn across(
    plate: &Plate,
    band: usize,
    comm: &Comm,
    runtime: &Runtime,
) -> Result<Option<Heat>, Error> {
    assert!(band > 0 && plate.width > 0, "{plate:?}, bands of {band}");
    let part = own_rows(plate, band, comm, runtime)?;
    let parts = comm.gather(part).wait_blocking()?.value;
    Ok(parts.map(|parts| {
        let mut all = Part::default();
        parts.into_iter().for_each(|part| all.append(part));
        all.heat()
    }))
}

/// Computes the rows of this rank. Ranks in excess of the rows have none.
fn own_rows(plate: &Plate, band: usize, comm: &Comm, runtime: &Runtime) -> Result<Part, Error> {
    let (rank, height) = (comm.rank().index(), plate.height);
    let ranks = height.min(comm.ranks() as usize);
    if rank >= ranks {
        return Ok(Part::default());
    }
    let side = |rank: usize, ours, theirs| Side::Rank {
        comm,
        rank: Rank(rank as u32),
        ours,
        theirs,
        memory: Vec::new(),
    };
    let above = match rank {
        0 => Side::Edge(Arc::new(plate.above())),
        _ => side(rank - 1, UP, DOWN),
    };
    let below = match rank + 1 < ranks {
        true => side(rank + 1, DOWN, UP),
        false => Side::Edge(Arc::new(plate.below())),
    };
    let rows = height * rank / ranks..height * (rank + 1) / ranks;
    let bands = bands(plate, rows, band, above, below);
    let mut parts: Vec<_> = bands.iter().map(|_| None).collect();
    runtime.run(|cx| {
        cx.scope(|cx| {
            for (band, part) in bands.into_iter().zip(&mut parts) {
                cx.spawn_async(|task| async move { *part = Some(band.run(task).await) });
            }
        });
    });
    let mut all = Part::default();
    for part in parts {
        all.append(part.expect("the scope waits for all bands")?);
    }
    Ok(all)
}
