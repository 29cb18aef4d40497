//! `tautline selftest`: random programs over ranks.

use super::{Computed, Memory, Problem};
use crate::command::Failure;
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::grouped;
use crate::command::show::object;
use clap::Args;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use tautline::Runtime;
use tautline::world::World;
use tautline_cli::program::Findings;
use tautline_cli::selftest::{self, Program, Selftest, Tested};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline selftest --ranks 4                    100 programs over four processes
  tautline selftest --ranks 3 --loopback         over three ranks of this process
  mpirun -n 8 tautline selftest --programs 1000  over ranks of MPI, in a build with the feature mpi
  tautline selftest --ranks 4 --seed 17 --programs 1   the program of one seed again

A program is drawn from a seed: finishes of all ranks, of parts and copies of the team, with activities anywhere, calls, batches,
nested finishes, panics and cancellations. A sequential interpreter gives the events, the outcomes and the values that it must have.
Of a program that fails the statements that the failure does not need are left out, and the rest is listed; the exit code is 1.";

/// Test this machine and its transport by random programs over ranks
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Programs {
    /// The seed of the first program
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// The number of programs, of consecutive seeds
    #[arg(long, value_name = "N", default_value = "100", value_parser = programs, allow_negative_numbers = true)]
    programs: u64,
    /// Activities that start each other, at most
    #[arg(long, value_name = "N", default_value = "4", value_parser = depth, allow_negative_numbers = true)]
    depth: u32,
}

fn seed(text: &str) -> Result<u64, String> {
    within(text, 0..=u64::MAX >> 1)
}

fn programs(text: &str) -> Result<u64, String> {
    within(text, 1..=1 << 40)
}

fn depth(text: &str) -> Result<u32, String> {
    within(text, 0..=Selftest::DEPTH_MAX.into()).map(|depth| depth as u32)
}

impl App for Programs {
    type Problem = Selftest;

    const NAME: &'static str = "selftest";

    fn problem(&self, _small: bool) -> Result<Selftest, Failure> {
        let Self {
            seed,
            programs,
            depth,
        } = *self;
        Ok(Selftest {
            seed,
            programs,
            depth,
        })
    }
}

/// Names the program that runs for long, as it may never end.
struct Watch(Option<Sender<String>>);

impl Watch {
    const LONG: Duration = Duration::from_secs(60);

    /// Starts to watch at rank 0.
    fn start(is_home: bool) -> Self {
        Self(is_home.then(|| {
            let (sender, begun) = mpsc::channel::<String>();
            // Without a thread it is not watched.
            _ = thread::Builder::new().spawn(move || {
                let mut runs = String::new();
                loop {
                    match begun.recv_timeout(Self::LONG) {
                        Ok(options) => runs = options,
                        Err(RecvTimeoutError::Disconnected) => return,
                        Err(RecvTimeoutError::Timeout) => {
                            let seconds = Self::LONG.as_secs();
                            let line = format!("selftest {runs} has run for {seconds} s or more");
                            _ = writeln!(io::stderr(), "tautline: {line}");
                        }
                    }
                }
            });
            sender
        }))
    }

    fn begins(&self, program: &Program) {
        if let Some(sender) = &self.0 {
            _ = sender.send(program.options());
        }
    }
}

impl Problem for Selftest {
    type Solution = Tested;

    fn about(&self) -> About {
        About {
            unit: "programs",
            facts: vec![
                ("seed", self.seed.to_string()),
                ("depth", self.depth.to_string()),
            ],
            tasks: Some(self.programs),
            ..About::default()
        }
    }

    fn memory(&self, _ranks: u32) -> Option<Memory> {
        None
    }

    #[track_caller]
    fn across(
        &self,
        world: &World,
        runtime: &Runtime,
    ) -> tautline::Result<Option<Computed<Tested>>> {
        let watch = Watch::start(world.is_home());
        let tested = selftest::across(self, world, runtime, |program| watch.begins(program))?;
        Ok(tested.map(Computed::from))
    }

    fn sequential(&self) -> Tested {
        selftest::sequential(self)
    }

    fn findings(&self, tested: &Tested) -> Findings {
        let failed = tested.failed.as_ref();
        let checksum = format!("{:016x}", tested.checksum);
        let counts = [
            ("events", tested.events),
            ("events at other ranks", tested.elsewhere),
            ("calls of all ranks", tested.teamed),
            ("panics", tested.panics),
            ("cancellations", tested.cancellations),
            ("overlaps", tested.overlaps),
            ("events compared in time", tested.ordered),
        ];
        let rows = counts.map(|(name, count)| (name, grouped(count)));
        Findings {
            rows: rows
                .into_iter()
                .chain([("checksum", checksum.clone())])
                .collect(),
            json: object([
                ("events", tested.events.into()),
                ("events_elsewhere", tested.elsewhere.into()),
                ("calls", tested.teamed.into()),
                ("panics", tested.panics.into()),
                ("cancellations", tested.cancellations.into()),
                ("overlaps", tested.overlaps.into()),
                ("ordered", tested.ordered.into()),
                ("checksum", checksum.into()),
            ]),
            verdict: Some(failed.map_or(Ok(()), |failed| Err(format!("selftest: {failed}")))),
            agrees: "",
        }
    }

    fn work(&self, tested: &Tested) -> u64 {
        tested.programs
    }
}
