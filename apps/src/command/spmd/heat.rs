//! `tautline heat`: heat on a plate, with a test of convergence in each step.

use super::{Computed, Memory, Problem};
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::grouped;
use crate::command::show::object;
use crate::command::{Failure, Outcome};
use clap::Args;
use tautline::Runtime;
use tautline::world::World;
use tautline_cli::heat::{self, HotPlate, Settled};
use tautline_cli::program::Findings;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline heat                                  1024 x 1024 cells, until changes are below 0.001
  tautline heat --size 4096 --change 1e-5 --steps 500
                                                 a larger plate, 500 steps or fewer
  tautline heat --ranks 4 --workers 1            four processes, with a quarter of the rows each
  tautline heat --ranks 4 --loopback             four ranks of this process
  mpirun -n 4 tautline heat                      ranks of MPI, in a build with the feature mpi

Each step replaces each cell by the mean of its four neighbours. Cells above the plate are 1; those on its other sides are 0,
as is the plate at first. A rank has a band of rows for each of its workers; the tasks of all ranks meet in each step and find
its largest change. The result is the same, to the last bit, for every number of ranks and workers.";

/// The most rows, and cells of a row.
const SIZE_MAX: u64 = 1 << 20;
const STEPS_MAX: u64 = 1 << 40;

/// Compute heat on a plate until it settles, with steps that the tasks of all ranks take together
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Heat {
    /// Rows of the plate, and cells of each
    #[arg(long, value_name = "N", default_value = "1024", value_parser = size, allow_negative_numbers = true)]
    size: u64,
    /// End after a step whose largest change is below this
    #[arg(long, value_name = "EPS", default_value = "1e-3", value_parser = change, allow_negative_numbers = true)]
    change: f64,
    /// The most steps
    #[arg(long, value_name = "N", default_value = "10000", value_parser = steps, allow_negative_numbers = true)]
    steps: u64,
}

fn size(text: &str) -> Result<u64, String> {
    within(text, 1..=SIZE_MAX)
}

fn change(text: &str) -> Result<f64, String> {
    let change = text.parse().ok();
    let change = change.filter(|change: &f64| change.is_finite() && *change > 0.0);
    change.ok_or_else(|| "a number above 0".to_owned())
}

fn steps(text: &str) -> Result<u64, String> {
    within(text, 1..=STEPS_MAX)
}

impl App for Heat {
    type Problem = HotPlate;

    const NAME: &'static str = "heat";

    fn problem(&self, _small: bool) -> Result<HotPlate, Failure> {
        Ok(HotPlate {
            size: self.size as usize,
            change: self.change,
            steps: self.steps,
        })
    }
}

impl Problem for HotPlate {
    type Solution = Settled;

    fn about(&self) -> About {
        let (size, steps) = (grouped(self.size as u64), grouped(self.steps));
        About {
            unit: "cells",
            facts: vec![
                ("plate", format!("{size} x {size} cells")),
                (
                    "until",
                    format!("a change below {}, at most {steps} steps", self.change),
                ),
            ],
            ..About::default()
        }
    }

    fn check_ranks(&self, ranks: u32) -> Outcome {
        if self.size >= ranks as usize {
            return Ok(());
        }
        let size = self.size;
        let line = format!("--size {size}: expected at least {ranks}, a row for each rank");
        Err(Failure::Usage(line))
    }

    fn memory(&self, _ranks: u32) -> Option<Memory> {
        Some(Memory {
            option: format!("--size {}", self.size),
            bytes: self.bytes(),
        })
    }

    #[track_caller]
    fn across(
        &self,
        world: &World,
        runtime: &Runtime,
    ) -> tautline::Result<Option<Computed<Settled>>> {
        let measured = heat::across(self, world, runtime)?;
        Ok(measured.map(|measured| Computed {
            solution: measured.settled,
            times: vec![measured.seconds],
        }))
    }

    fn sequential(&self) -> Settled {
        heat::sequential(self)
    }

    fn findings(&self, settled: &Settled) -> Findings {
        let Settled {
            steps,
            change,
            checksum,
        } = *settled;
        let checksum = format!("{checksum:016x}");
        let (ended, why) = match self.is_settled(settled) {
            true => ("change", "ended by a change below the bound"),
            false => ("steps", "ended by the number of steps"),
        };
        Findings {
            rows: vec![
                ("change", change.to_string()),
                ("steps", format!("{}, {why}", grouped(steps))),
                ("checksum", checksum.clone()),
            ],
            json: object([
                ("steps", steps.into()),
                ("ended_by", ended.into()),
                ("change", change.into()),
                ("checksum", checksum.into()),
            ]),
            verdict: None,
            agrees: "",
        }
    }

    fn work(&self, settled: &Settled) -> u64 {
        self.cells().saturating_mul(settled.steps)
    }
}
