//! `tautline bench`: what the mechanisms cost on this machine.

mod barrier;
mod report;

use super::Outcome;
use clap::{Args, Subcommand};

/// Measure what synchronisation costs on this machine
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
    /// Measures and prints.
    pub(super) fn run(&self) -> Outcome {
        match &self.what {
            What::Barrier(barrier) => barrier.run(),
        }
    }
}
