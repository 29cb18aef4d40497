//! `tautline bench`: costs of mechanisms on this machine.

mod barrier;
mod measuring;
mod outputs;
mod report;
mod show;
mod table;

use super::Outcome;
use clap::{Args, Subcommand};

/// Measure the costs of synchronization on this machine
#[derive(Args, Debug)]
pub(super) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Barrier(barrier::Barrier),
    Show(show::Show),
}

impl Bench {
    /// Measures and prints the results.
    pub(super) fn run(&self) -> Outcome {
        match &self.what {
            What::Barrier(barrier) => barrier.run(),
            What::Show(show) => show.run(),
        }
    }
}
