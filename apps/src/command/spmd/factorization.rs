//! `tautline cholesky`: the factor of a dense symmetric positive definite matrix.

use super::{Computed, Memory, Problem};
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::grouped;
use crate::command::quote::escaped;
use crate::command::show::object;
use crate::command::{Failure, Outcome};
use clap::Args;
use std::path::PathBuf;
use tautline::Runtime;
use tautline::internal::spelling;
use tautline::world::World;
use tautline_cli::cholesky::{self, Factor, Matrix, NotPositive, Shape};
use tautline_cli::program::{Findings, digest};
use tautline_cli::text::Input;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline cholesky                              a drawn matrix of 2000 rows, tiles of 128
  tautline cholesky --n 6000 --tile 256 --check  a larger one, whose factor is verified
  tautline cholesky bcsstk01.mtx                 a symmetric matrix in the Matrix Market format
  tautline cholesky --workers 1 --json           one worker, the result as JSON

The lower factor L of A = L Lᵀ is computed in place, by a task for each operation on a tile. --check compares with a sequential
program, and requires |A - L Lᵀ| <= n ε |A| in the norm of Frobenius. The factor is the same, to the last bit, for every number of
workers; the checksum is a hash of its bits, which depend on --tile. A drawn matrix has elements within 1/2 of 0, and of n on the
diagonal.";

/// The most rows of a drawn matrix, and of a tile.
const ROWS_MAX: u64 = 1 << 20;
/// The longest file.
const BYTES_MAX: u64 = 1 << 30;
/// The most tasks.
const TASKS_MAX: u64 = 1 << 24;
/// The greatest residual of a factor that is as precise as the numbers allow.
const RESIDUAL_MAX: f64 = 1.0;

/// Factorize a dense symmetric positive definite matrix, by tasks that change its tiles in place
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cholesky {
    /// A matrix in the Matrix Market format, array or coordinate, - for standard input [default:
    /// drawn]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Rows of a drawn matrix
    #[arg(long, value_name = "N", default_value = "2000", value_parser = rows, allow_negative_numbers = true)]
    #[arg(conflicts_with = "file")]
    n: u64,
    /// Seed of a drawn matrix
    #[arg(long, value_name = "N", default_value = "1", value_parser = spelling::seed, allow_negative_numbers = true)]
    #[arg(conflicts_with = "file")]
    seed: u64,
    /// Rows and columns of a tile
    #[arg(long, value_name = "N", default_value = "128", value_parser = tile, allow_negative_numbers = true)]
    tile: u64,
}

fn rows(text: &str) -> Result<u64, String> {
    within(text, 0..=ROWS_MAX)
}

fn tile(text: &str) -> Result<u64, String> {
    within(text, 1..=ROWS_MAX)
}

/// A matrix, and its division into tiles.
pub(crate) struct Factorization {
    matrix: Matrix,
    shape: Shape,
    /// The origin of the matrix.
    source: String,
    /// The option that determines its size.
    option: String,
    /// The digest of the file.
    input: Option<String>,
}

impl App for Cholesky {
    type Problem = Factorization;

    const NAME: &'static str = "cholesky";

    fn problem(&self, _small: bool) -> Result<Factorization, Failure> {
        let (matrix, source, option, input) = match &self.file {
            None => (
                Matrix::drawn(self.n as usize, self.seed),
                format!("drawn, seed {}", self.seed),
                format!("--n {}", self.n),
                None,
            ),
            Some(path) => {
                let input = Input::read(path, BYTES_MAX)?;
                let digest = digest([input.peek().as_bytes()]);
                let name = path.display().to_string();
                let matrix = cholesky::read(input)?;
                (matrix, escaped(&name), name, Some(digest))
            }
        };
        let shape = Shape::new(matrix.rows(), self.tile as usize);
        if shape.tasks() > TASKS_MAX {
            return Err(Failure::Usage(format!(
                "--tile {}: {} tasks for {} rows, at most {}; larger tiles are fewer",
                self.tile,
                grouped(shape.tasks()),
                grouped(shape.rows() as u64),
                grouped(TASKS_MAX)
            )));
        }
        Ok(Factorization {
            matrix,
            shape,
            source,
            option,
            input,
        })
    }
}

impl Problem for Factorization {
    type Solution = Result<Factor, NotPositive>;

    fn about(&self) -> About {
        let (rows, tiles) = (grouped(self.shape.rows() as u64), self.shape.tiles());
        let (tasks, side) = (grouped(self.shape.tasks()), self.shape.side());
        About {
            unit: "flops",
            facts: vec![
                ("matrix", format!("{rows} x {rows}, {}", self.source)),
                (
                    "tasks",
                    format!("{tasks} on {tiles} x {tiles} tiles of {side}"),
                ),
            ],
            input: self.input.clone(),
            ..About::default()
        }
    }

    fn check_ranks(&self, ranks: u32) -> Outcome {
        match ranks {
            1 => Ok(()),
            _ => Err(Failure::Usage(format!(
                "--ranks {ranks}: expected 1, as the tiles of cholesky are not distributed"
            ))),
        }
    }

    fn memory(&self, _ranks: u32) -> Option<Memory> {
        let (side, tiles) = (self.shape.side() as u64, self.shape.tiles() as u64);
        let side = side.min(self.shape.rows() as u64);
        Some(Memory {
            option: self.option.clone(),
            bytes: tiles * (tiles + 1) / 2 * side * side * 8,
        })
    }

    #[track_caller]
    fn across(
        &self,
        _world: &World,
        runtime: &Runtime,
    ) -> tautline::Result<Option<Computed<Self::Solution>>> {
        let measured = cholesky::factorize(&self.matrix, self.shape, runtime);
        Ok(Some(Computed {
            solution: measured.factor,
            times: vec![measured.seconds],
        }))
    }

    fn sequential(&self) -> Self::Solution {
        cholesky::sequential(&self.matrix, self.shape)
    }

    fn findings(&self, factor: &Self::Solution) -> Findings {
        let (rows, tile) = (self.shape.rows(), self.shape.side());
        let sizes = [("rows", rows.into()), ("tile", tile.into())];
        match factor {
            Ok(factor) => {
                let checksum = format!("{:016x}", factor.checksum());
                let keys = [("checksum", checksum.clone().into())];
                Findings {
                    rows: vec![("checksum", checksum)],
                    json: object(sizes.into_iter().chain(keys)),
                    ..Findings::default()
                }
            }
            Err(failure @ NotPositive { row }) => Findings {
                rows: vec![("not positive", format!("the pivot of row {row}"))],
                json: object(
                    sizes
                        .into_iter()
                        .chain([("not_positive_row", (*row).into())]),
                ),
                verdict: Some(Err(format!("{}: {failure}", Cholesky::NAME))),
                agrees: "",
            },
        }
    }

    fn verification(&self, factor: &Self::Solution) -> Findings {
        let Ok(factor) = factor else {
            return Findings::default();
        };
        let residual = cholesky::residual(&self.matrix, factor);
        let shown = format!("{residual:.3}");
        let verdict = match residual <= RESIDUAL_MAX {
            true => Ok(()),
            false => Err(format!("a residual of {shown}, more than {RESIDUAL_MAX}")),
        };
        Findings {
            rows: vec![("residual", shown)],
            json: object([("residual", residual.into())]),
            verdict: Some(verdict),
            agrees: "",
        }
    }

    fn work(&self, factor: &Self::Solution) -> u64 {
        match factor {
            Ok(_) => self.shape.operations(),
            Err(_) => 0,
        }
    }
}
