//! `tautline stencil`: heat on a plate.

use super::{Computed, Problem};
use crate::command::Failure;
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::grouped;
use crate::command::show::object;
use clap::Args;
use tautline::Runtime;
use tautline::internal::spelling;
use tautline::world::World;
use tautline_cli::program::Findings;
use tautline_cli::stencil::{self, Heat, Plate};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline stencil                               1024 x 1024 cells, 100 steps, on all processors
  tautline stencil --steps 1000 --check          and compare the result with that of a loop
  tautline stencil --ranks 2 --workers 1         by two processes
  tautline launch -n 4 -- tautline stencil --width 4096 --band 16
                                                 four processes, tasks of 16 rows
  mpirun -n 4 tautline stencil                   ranks of MPI, in a build with the feature mpi

Each step replaces each cell by the mean of its four neighbours. Cells above the plate are 1, those on its other sides are
0. The result is the same, to the last bit, for every number of ranks, places, workers and rows of a band.";

/// The most cells of a row, and rows.
const SIDE_MAX: u64 = 1 << 16;
const STEPS_MAX: u64 = 1 << 40;

/// Compute heat on a plate, with rows that ranks send each other while their tasks compute
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Stencil {
    /// Cells of a row
    #[arg(long, value_name = "N", default_value = "1024", value_parser = side, allow_negative_numbers = true)]
    width: u64,
    /// Rows
    #[arg(long, value_name = "N", default_value = "1024", value_parser = side, allow_negative_numbers = true)]
    height: u64,
    /// Steps
    #[arg(long, value_name = "N", default_value = "100", value_parser = steps, allow_negative_numbers = true)]
    steps: u64,
    /// Rows of a task
    #[arg(long, value_name = "N", default_value = "64", value_parser = side, allow_negative_numbers = true)]
    band: u64,
    /// What the first state is drawn from
    #[arg(long, value_name = "N", default_value = "1", value_parser = spelling::seed, allow_negative_numbers = true)]
    seed: u64,
}

fn side(text: &str) -> Result<u64, String> {
    within(text, 1..=SIDE_MAX)
}

fn steps(text: &str) -> Result<u64, String> {
    within(text, 0..=STEPS_MAX)
}

/// A plate, and how many rows a task has.
pub(crate) struct Divided {
    plate: Plate,
    band: usize,
}

impl App for Stencil {
    type Problem = Divided;

    const NAME: &'static str = "stencil";

    fn problem(&self, _small: bool) -> Result<Divided, Failure> {
        let plate = Plate {
            width: self.width as usize,
            height: self.height as usize,
            steps: self.steps,
            seed: self.seed,
        };
        Ok(Divided {
            plate,
            band: self.band as usize,
        })
    }
}

impl Problem for Divided {
    type Solution = Heat;

    fn about(&self) -> About {
        let Plate {
            width,
            height,
            steps,
            seed,
        } = self.plate;
        let (width, height) = (grouped(width as u64), grouped(height as u64));
        About {
            unit: "cells",
            facts: vec![
                ("plate", format!("{width} x {height} cells, seed {seed}")),
                ("steps", grouped(steps)),
                ("tasks", format!("bands of {} rows", self.band)),
            ],
            tasks: Some(self.plate.cells()),
            ..About::default()
        }
    }

    #[track_caller]
    fn across(&self, world: &World, runtime: &Runtime) -> tautline::Result<Option<Computed<Heat>>> {
        let heat = stencil::across(&self.plate, self.band, &world.comm(), runtime)?;
        Ok(heat.map(Computed::from))
    }

    fn sequential(&self) -> Heat {
        stencil::sequential(&self.plate)
    }

    fn findings(&self, heat: &Heat) -> Findings {
        let checksum = format!("{:016x}", heat.checksum);
        Findings {
            rows: vec![
                ("heat", heat.sum.to_string()),
                ("greatest", heat.max.to_string()),
                ("checksum", checksum.clone()),
            ],
            json: object([
                ("heat", heat.sum.into()),
                ("greatest", heat.max.into()),
                ("checksum", checksum.into()),
            ]),
            verdict: None,
            agrees: "",
        }
    }
}
