//! The bands of a rank: tasks that meet those of all ranks in each step.

use super::plate::{HotPlate, Settled, step};
use crate::part::part;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;
use tautline::comm::{Comm, Request, Tag};
use tautline::phaser::{Bands, Op, Rows};
use tautline::runtime::{Cx, TaskCx};
use tautline::team::Team;
use tautline::world::{Rank, World};
use tautline::{Error, Result, Runtime};

/// The tags of rows sent to the rank of lower rows, and to that of higher ones.
const DOWN: Tag = Tag(0);
const UP: Tag = Tag(1);

/// The outcome, and the duration of the steps alone.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The outcome.
    pub settled: Settled,
    /// Seconds, without the initialisation and the checksum.
    pub seconds: f64,
}

/// A side of a band of which the next row is not in the bands of this rank.
struct Side<'a> {
    /// The next row: of the edge, or received. Empty if it is in the next band.
    row: Vec<f64>,
    /// The rank that has it.
    neighbour: Option<Neighbour<'a>>,
}

struct Neighbour<'a> {
    comm: &'a Comm,
    rank: Rank,
    ours: Tag,
    theirs: Tag,
    /// The border row of the band, to be sent.
    border: Vec<f64>,
}

/// The messages of a side in a step.
struct Exchange {
    sent: Request<Vec<f64>>,
    received: Request<Vec<f64>>,
}

impl Side<'_> {
    /// Keeps the new border row.
    fn keep(&mut self, border: &[f64]) {
        if let Some(neighbour) = &mut self.neighbour {
            neighbour.border.copy_from_slice(border);
        }
    }

    /// Starts to send the border row, and to receive that of the neighbour.
    fn start(&mut self, task: &TaskCx<'_, '_>) -> Option<Exchange> {
        let row = &mut self.row;
        let Neighbour {
            comm,
            rank,
            ours,
            theirs,
            border,
        } = self.neighbour.as_mut()?;
        Some(Exchange {
            // The receive first: the message finds it posted. Held, as the other rank may take its
            // time.
            received: comm
                .irecv_vec(mem::take(row), *rank, *theirs)
                .hold(task.hold()),
            sent: comm
                .isend_vec(mem::take(border), *rank, *ours)
                .hold(task.hold()),
        })
    }

    /// Waits for the messages.
    async fn end(&mut self, exchange: Option<Exchange>) -> Result<()> {
        let Some((neighbour, Exchange { sent, received })) = self.neighbour.as_mut().zip(exchange)
        else {
            return Ok(());
        };
        self.row = received.await?.value;
        neighbour.border = sent.await?.value;
        Ok(())
    }
}

/// The rows of a rank.
struct Block<'a> {
    plate: &'a HotPlate,
    comm: &'a Comm,
    rank: u32,
    ranks: u32,
    first: usize,
    bands: Bands<f64>,
}

impl<'a> Block<'a> {
    /// # Errors
    /// Memory that the system refuses.
    fn new(plate: &'a HotPlate, comm: &'a Comm, team: &Team, workers: usize) -> Result<Self> {
        let (rank, ranks, size) = (team.rank().0, team.ranks(), plate.size);
        let range = part(size as u64, rank.into(), ranks.into());
        let rows = (range.end - range.start) as usize;
        // For all copies, of which the others are made infallibly.
        let reserved = Vec::<f64>::new().try_reserve_exact(rows * size * 3);
        reserved.map_err(|error| Error::Setting {
            setting: "size",
            value: size.to_string(),
            allowed: format!("expected a plate that fits, but {error}").into(),
        })?;
        let bands = Bands::new(vec![0.0; rows * size], size, workers.min(rows));
        Ok(Self {
            plate,
            comm,
            rank,
            ranks,
            first: range.start as usize,
            bands,
        })
    }

    fn neighbour(&self, rank: Option<u32>, ours: Tag, theirs: Tag) -> Option<Neighbour<'a>> {
        Some(Neighbour {
            comm: self.comm,
            rank: Rank(rank?),
            ours,
            theirs,
            border: vec![0.0; self.plate.size],
        })
    }

    /// Returns the upper and the lower side of a band.
    fn sides(&self, band: usize) -> [Side<'a>; 2] {
        let inner = || Side {
            row: Vec::new(),
            neighbour: None,
        };
        let above = (band == 0).then(|| Side {
            // Of another rank: its first state.
            row: if self.rank == 0 {
                self.plate.above()
            } else {
                self.plate.below()
            },
            neighbour: self.neighbour(self.rank.checked_sub(1), UP, DOWN),
        });
        let next = Some(self.rank + 1).filter(|next| *next < self.ranks);
        let below = (band + 1 == self.bands.len()).then(|| Side {
            row: self.plate.below(),
            neighbour: self.neighbour(next, DOWN, UP),
        });
        [above, below].map(|side| side.unwrap_or_else(inner))
    }

    /// Computes a step of a band, and returns its largest change.
    fn step(&self, band: usize, at: u64, [above, below]: &mut [Side<'_>; 2]) -> Result<f64> {
        let size = self.plate.size;
        let mut change = 0.0;
        self.bands.step(band, at, |old, new| {
            change = stepped(old, new, &above.row, &below.row, size);
            above.keep(&new[..size]);
            below.keep(&new[new.len() - size..]);
        })?;
        Ok(change)
    }

    /// Computes all steps with the tasks of all ranks. Returns the number of steps, and the largest
    /// change of the last.
    fn settle<'s>(&'s self, cx: &mut Cx<'s, '_>, team: &mut Team) -> Result<(u64, f64)> {
        let (change, mut member) = team.accumulator::<f64>(cx, Op::Max)?;
        let spawn = |band| {
            let change = change.clone();
            cx.spawn_phased_value(member.signal_wait(), async move |mut task| {
                let mut sides = self.sides(band);
                let mut steps = 0;
                loop {
                    let own = self.step(band, steps, &mut sides)?;
                    change.put(&mut task, own)?;
                    task.signal()?;
                    // While the changes of all ranks are combined.
                    let [above, below] = &mut sides;
                    let (up, down) = (above.start(task.task()), below.start(task.task()));
                    above.end(up).await?;
                    below.end(down).await?;
                    task.wait().await?;
                    steps += 1;
                    let most = change.get();
                    if self.plate.ends(steps, most) {
                        return Ok::<_, Error>((steps, most));
                    }
                }
            })
        };
        let tasks = (0..self.bands.len()).map(spawn);
        let tasks = tasks.collect::<std::result::Result<Vec<_>, _>>();
        // This task takes no part in the steps.
        drop(member);
        let ended = tasks?
            .into_iter()
            .map(|task| task.join(cx).map_err(Error::invalid)?);
        let ended = ended.collect::<Result<Vec<_>>>()?;
        Ok(ended[0])
    }
}

/// Computes a step of some rows, with the rows around them where they are not in the bands of this
/// rank; returns the largest change.
fn stepped(old: &Rows<'_, f64>, new: &mut [f64], above: &[f64], below: &[f64], size: usize) -> f64 {
    let mut change = 0.0_f64;
    for (row, out) in old.rows().zip(new.chunks_mut(size)) {
        let own = old.row(row).expect("a row of the band");
        let above = row
            .checked_sub(1)
            .and_then(|row| old.row(row))
            .unwrap_or(above);
        let below = old.row(row + 1).unwrap_or(below);
        change = change.max(step(above, own, below, out));
    }
    change
}

/// Computes `plate` over all ranks of `world`, with a band for each worker. Returns the outcome at
/// rank 0, and `None` at the others.
///
/// # Errors
/// The loss of a rank; memory that the system refuses.
///
/// # Panics
/// If there are more ranks than rows, or no steps.
#[track_caller]
pub fn across(plate: &HotPlate, world: &World, runtime: &Runtime) -> Result<Option<Measured>> {
    let (mut team, comm) = (world.team(), world.comm());
    assert!(
        plate.size >= team.ranks() as usize && plate.steps > 0,
        "{plate:?}"
    );
    let block = Block::new(plate, &comm, &team, runtime.workers())?;
    let run = || runtime.run(|cx| measured(cx, &mut team, &block));
    let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        // As an accumulator reports the loss of a rank.
        let error = payload.downcast::<Error>();
        Err(*error.unwrap_or_else(|payload| resume_unwind(payload)))
    })?;
    Ok(world.is_home().then_some(outcome))
}

fn measured<'s>(cx: &mut Cx<'s, '_>, team: &mut Team, block: &'s Block<'_>) -> Result<Measured> {
    team.barrier().wait(cx)?;
    let began = Instant::now();
    let (steps, change) = block.settle(cx, team)?;
    let seconds = began.elapsed().as_secs_f64();
    let own = block
        .plate
        .checksum(block.first, &block.bands.cells(steps)?);
    let checksum = team.all_reduce(own, u64::wrapping_add).wait(cx)?;
    let settled = Settled {
        steps,
        change,
        checksum,
    };
    Ok(Measured { settled, seconds })
}
