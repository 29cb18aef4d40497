//! `tautline simulate`: the subcommands and options other than the applications.

use super::Virtual;
use super::calibrate::Calibrate;
use super::machines::Machines;
use super::team::Team;
use crate::command::app::Chosen;
use crate::command::{Failure, Outcome, missing_command};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline simulate uts                     1024 places count the 16 526 523 nodes of D11
  tautline simulate team                    barriers, finishes and phases of 1024 ranks
  tautline simulate --list-machines         what --machine knows by name
  tautline simulate --calibrate > here.toml what things cost here, for --machine here.toml
  tautline simulate uts --help              all options and more examples";

/// Run an application on thousands of places in virtual time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Simulate {
    #[command(subcommand)]
    program: Option<Program>,
    #[command(flatten)]
    machines: Machines,
    #[command(flatten)]
    calibrate: Calibrate,
}

/// The simulated program.
#[derive(Debug, Subcommand)]
enum Program {
    #[command(flatten)]
    Application(Chosen<Virtual>),
    Team(Team),
}

impl Simulate {
    /// Carries out the request.
    pub(crate) fn run(&self) -> Outcome {
        match &self.program {
            Some(Program::Application(application)) => application.run(&[]),
            Some(Program::Team(team)) => team.run(),
            None if self.machines.asked() => self.machines.list(),
            None if self.calibrate.asked() => self.calibrate.run(),
            None => Err(Failure::Usage(missing_command())),
        }
    }
}
