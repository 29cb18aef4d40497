//! `tautline gups`: RandomAccess of the HPC Challenge.

use super::{Computed, Memory, Problem};
use crate::command::Failure;
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::grouped;
use crate::command::show::object;
use clap::Args;
use tautline::Runtime;
use tautline::world::World;
use tautline_cli::gups::{self, Table, Updated};
use tautline_cli::program::Findings;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline gups                                  4 194 304 words, 16 777 216 updates
  tautline gups --log2 26 --workers 2            a table of 512 MiB, two workers
  tautline gups --ranks 4                        four processes, with a quarter of the table each
  tautline gups --ranks 4 --loopback             four ranks of this process
  mpirun -n 4 tautline gups                      ranks of MPI, in a build with the feature mpi

The stream of random numbers is HPCC's (HPCC_starts, polynomial 7). The verification applies it again and counts the words that
differ from their first values; HPCC accepts 1 % of them. The checksum of the table is the same for every number of ranks and
workers. Updates for other ranks travel in batches of 4 KiB: more than HPCC's 1024 may be held back.";

/// Measure random updates of a distributed table (HPCC RandomAccess), in giga-updates per second
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Gups {
    /// The table has 2^N words of 8 bytes
    #[arg(long, value_name = "N", default_value = "22", value_parser = log2, allow_negative_numbers = true)]
    log2: u32,
    /// Updates of all ranks together [default: four for each word]
    #[arg(long, value_name = "N", value_parser = updates, allow_negative_numbers = true)]
    updates: Option<u64>,
}

fn log2(text: &str) -> Result<u32, String> {
    within(text, 0..=Table::LOG2_MAX.into()).map(|log2| log2 as u32)
}

fn updates(text: &str) -> Result<u64, String> {
    within(text, 0..=Table::UPDATES_MAX)
}

impl App for Gups {
    type Problem = Table;

    const NAME: &'static str = "gups";

    fn problem(&self, _small: bool) -> Result<Table, Failure> {
        let table = Table::new(self.log2);
        Ok(match self.updates {
            Some(updates) => Table { updates, ..table },
            None => table,
        })
    }
}

impl Problem for Table {
    type Solution = Updated;

    fn about(&self) -> About {
        let mebibytes = self.bytes() as f64 / f64::from(1 << 20);
        let words = grouped(self.words());
        About {
            unit: "updates",
            facts: vec![
                (
                    "table",
                    format!("2^{} = {words} words, {mebibytes:.1} MiB", self.log2),
                ),
                ("updates", grouped(self.updates)),
            ],
            tasks: Some(self.updates),
            ..About::default()
        }
    }

    fn memory(&self, _ranks: u32) -> Option<Memory> {
        Some(Memory {
            option: format!("--log2 {}", self.log2),
            bytes: self.bytes(),
        })
    }

    #[track_caller]
    fn across(
        &self,
        world: &World,
        runtime: &Runtime,
    ) -> tautline::Result<Option<Computed<Updated>>> {
        let measured = gups::across(self, world, runtime)?;
        Ok(measured.map(|measured| Computed {
            solution: measured.updated,
            times: vec![measured.seconds],
        }))
    }

    fn sequential(&self) -> Updated {
        gups::sequential(self)
    }

    fn findings(&self, updated: &Updated) -> Findings {
        let Updated { checksum, errors } = *updated;
        let (checksum, words) = (format!("{checksum:016x}"), grouped(self.words()));
        let verdict = updated.is_accepted(self).then_some(()).ok_or_else(|| {
            let errors = grouped(errors);
            format!("gups: {errors} of {words} words are wrong, at most 1 % may be")
        });
        Findings {
            rows: vec![
                ("errors", format!("{} of {words} words", grouped(errors))),
                ("checksum", checksum.clone()),
            ],
            json: object([
                ("words", self.words().into()),
                ("errors", errors.into()),
                ("checksum", checksum.into()),
            ]),
            verdict: Some(verdict),
            agrees: "",
        }
    }

    fn rates(&self, computed: &Computed<Updated>) -> Findings {
        let seconds = computed.measured().unwrap_or_default().max(1e-9);
        let gups = self.updates as f64 / seconds / 1e9;
        Findings {
            rows: vec![("GUPS", format!("{gups:.6}"))],
            json: object([("gups", gups.into())]),
            ..Findings::default()
        }
    }
}
