//! The long runs of tests that a normal run does short.

use super::Verdict;
use crate::shell::{cargo, quick_release, run};
use crate::tree::Tree;
use anyhow::Result;

/// Tasks of the run that must not grow.
const TASKS: &str = "1000000000";
/// Pools that are started, used and stopped.
const CYCLES: &str = "100000";

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    long(tree, "soak", "many_tasks", ("TAUTLINE_SOAK_TASKS", TASKS))?;
    let cycles = ("TAUTLINE_SOAK_CYCLES", CYCLES);
    long(tree, "pool", "started_run_and_stopped", cycles)?;
    Ok(Verdict::Holds(format!("{TASKS} tasks, {CYCLES} pools")))
}

fn long(tree: &Tree, file: &str, test: &str, (key, value): (&str, &str)) -> Result<()> {
    let words = ["test", "--release", "-p", "tautline-node", "--test", file];
    let mut command = cargo(tree, words);
    command.args([test, "--", "--nocapture"]).env(key, value);
    run(quick_release(&mut command))
}
