//! What all ways to run an application have in common.

use super::App;
use crate::command::Outcome;
use clap::Command;
use std::fmt::Debug;

/// A request whose options have been read.
pub(crate) trait Runs: Debug {
    /// Carries the request out and reports the outcome.
    fn run(&self) -> Outcome;
}

/// Returns the description of the options `A`.
pub(crate) fn about<A: App>() -> String {
    let options = A::augment_args(Command::new(A::NAME));
    options
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}
