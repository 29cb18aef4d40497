//! `tautline bench`: costs of mechanisms on this machine.

mod barrier;
mod report;

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
}

impl Bench {
    /// Measures and prints the results.
    pub(super) fn run(&self) -> Outcome {
        match &self.what {
            What::Barrier(barrier) => barrier.run(),
        }
    }
}
