//! `tautline bench show`: figures that were measured before, as a table, a page, or compared with
//! earlier ones.

use super::outputs::{Outputs, read};
use super::table;
use crate::command::{Outcome, deliver};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline bench show new.json                        as a table
  tautline bench show new.json --against old.json     what has become worse, on any machine
  tautline bench show new.json --html new.html        as a page, with a map of the round trips

FILE is what tautline bench ... --json printed, on this machine or another one.";

/// Show or compare figures that were measured before
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// The figures
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    outputs: Outputs,
}

impl Show {
    /// Prints or writes them.
    pub(super) fn run(&self) -> Outcome {
        let record = read("show", &self.file)?;
        let opened = self.outputs.open(&record)?;
        if !opened.json {
            deliver(&table::of(&record))?;
        }
        opened.finish(&record, json!({}))
    }
}
