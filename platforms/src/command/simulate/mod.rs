//! `tautline simulate`: an application on a machine that is not there, in virtual time.

mod machines;
mod setting;
mod uts;

use super::{Failure, Outcome, names};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline simulate uts                     1024 places count the 16 526 523 nodes of D11
  tautline simulate --list-machines         what --machine knows by name
  tautline simulate uts --help              all options and more examples";

/// Run an application on thousands of places in virtual time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Simulate {
    #[command(subcommand)]
    application: Option<Application>,
    #[command(flatten)]
    machines: machines::Machines,
}

#[derive(Debug, Subcommand)]
enum Application {
    Uts(Box<uts::Uts>),
}

impl Simulate {
    /// Simulates what was asked for.
    pub fn run(&self) -> Outcome {
        match &self.application {
            Some(Application::Uts(uts)) => uts.run(),
            None if self.machines.asked() => self.machines.list(),
            None => Err(Failure::Usage(format!(
                "a command is missing: one of {}; see tautline --help",
                names()
            ))),
        }
    }
}
