//! `tautline simulate`: an application on a machine that is not there, in virtual time.

mod setting;
mod uts;

use super::Outcome;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline simulate uts                     1024 places count the 16 526 523 nodes of D11
  tautline simulate uts --help              all options and more examples";

/// Run an application on thousands of places in virtual time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, arg_required_else_help = false)]
pub struct Simulate {
    #[command(subcommand)]
    application: Application,
}

#[derive(Debug, Subcommand)]
enum Application {
    Uts(Box<uts::Uts>),
}

impl Simulate {
    /// Simulates what was asked for.
    pub fn run(&self) -> Outcome {
        match &self.application {
            Application::Uts(uts) => uts.run(),
        }
    }
}
