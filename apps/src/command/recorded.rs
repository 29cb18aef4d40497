//! `tautline recorded`: process a recorded tree of tasks.

use super::Failure;
use super::app::{About, App, Findings, Problem, equal};
use super::number::grouped;
use super::quote::escaped;
use super::show::object;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use tautline_cli::program::digest;
use tautline_cli::recorded::{Bag, Found, Tree, Work};
use tautline_cli::text::Input;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline recorded tree.csv                             on all processors
  tautline simulate recorded tree.csv --places 256       on machines that you do not have
  tautline simulate recorded tree.csv --vary places=1,16,256

FILE:
  comma-separated values with the head `parent,ns`, a line a task: the number of the task that made it, counted
  from 0, or nothing for a root; and its own nanoseconds; comments begin with #. The library writes one from a program: tautline_cli::recorded.";

/// The longest file.
const BYTES_MAX: u64 = 1 << 32;

/// Process a tree of tasks that was recorded from a program
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Recorded {
    /// Recorded tree: the parent and the duration of each task; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl App for Recorded {
    type Problem = Trace;

    const NAME: &'static str = "recorded";

    fn problem(&self, small: bool) -> Result<Trace, Failure> {
        let input = Input::read(&self.file, BYTES_MAX)?;
        let digest = digest([input.peek().as_bytes()]);
        let tree = Tree::read(input)?;
        Ok(Trace {
            name: escaped(&self.file.display().to_string()),
            input: digest,
            work: Work {
                tree: tree.into(),
                spins: !small,
            },
        })
    }
}

/// A recorded tree, and the name of its file.
#[derive(Debug)]
pub(super) struct Trace {
    name: String,
    /// The digest of the file.
    input: String,
    work: Work,
}

impl Problem for Trace {
    type Bag = Bag;

    fn about(&self) -> About {
        let tree = &self.work.tree;
        let chain = tree.longest_chain_ns();
        let most = tree.ns() as f64 / chain.max(1) as f64;
        About {
            unit: "nanoseconds",
            kind: "tree",
            title: format!("recorded {}", self.name),
            facts: vec![
                ("tasks", grouped(tree.tasks())),
                ("work", format!("{} ns", grouped(tree.ns()))),
                (
                    "longest chain",
                    format!("{} ns, so a speedup of at most {most:.1}", grouped(chain)),
                ),
            ],
            task_ns: 1,
            input: Some(self.input.clone()),
            ..About::default()
        }
    }

    fn bag(&self) -> Bag {
        self.work.bag()
    }

    fn shared(&self) -> Work {
        self.work.clone()
    }

    fn findings(&self, found: &Found, complete: bool) -> Findings {
        let (title, known) = (self.about().title, self.work.tree.tasks());
        let compared = || equal(&title, "tasks", found.tasks, ("the file has", known));
        let keys = [
            ("tree_tasks", json!(found.tasks)),
            ("longest_chain_ns", json!(self.work.tree.longest_chain_ns())),
        ];
        Findings {
            rows: vec![("tasks", grouped(found.tasks))],
            json: object(keys),
            verdict: complete.then(compared),
            agrees: "all tasks of the file",
        }
    }
}
