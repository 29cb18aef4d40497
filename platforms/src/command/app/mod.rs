//! Applications: what each gives to the command, and what the command makes of any of them.
//!
//! | part | what it is |
//! |---|---|
//! | [`App`], [`Problem`], [`Findings`] | what an application implements |
//! | [`Application`], [`Chosen`] | a line of the table of applications, and the one that was asked for |
//! | [`Threads`] | `tautline APP`: on the threads of this machine |
//! | [`Answer`] | what came of a run, in real or in virtual time |

mod answer;
mod baseline;
mod choice;
mod report;
mod runs;
mod threads;

pub(super) use answer::{Answer, Rates};
pub(super) use baseline::Speed;
pub(super) use choice::{Application, Chosen};
pub(super) use runs::{Runs, about};
pub(super) use threads::Threads;

use super::{Failure, Outcome};
use clap::Args;
use std::fmt::Debug;
use tautline::glb::{Bag, Config, PlaceId};

/// The options of an application. Its documentation is the command's description, and what `after_help`
/// says its examples.
pub(super) trait App: Args + Debug + 'static {
    /// What these options describe.
    type Problem: Problem;

    /// Its name on the command line.
    const NAME: &'static str;

    /// Checks the options; `small` asks for a simulation's problem: the size that suits one if none was
    /// given, and no time lost on what only real threads need.
    fn problem(&self, small: bool) -> Result<Self::Problem, Failure>;
}

/// Something to be computed by a [`Bag`].
pub(super) trait Problem: Send + Sync + 'static {
    /// Its work.
    type Bag: Bag;

    /// What a task is, in the plural: `nodes`.
    const TASKS: &'static str;

    /// What it is one of, in a word: `tree`.
    const KIND: &'static str = "problem";

    /// What it is, in a few words: for the head of pictures.
    fn title(&self) -> String;

    /// What it is called beside others of its kind.
    fn name(&self) -> String {
        self.title()
    }

    /// The problem's own rows at the head of a table.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// Refuses settings of the balancer that do not suit this problem.
    fn check(&self, _config: &Config) -> Outcome {
        Ok(())
    }

    /// About how long a task takes on a core of a present-day server, in nanoseconds: what a simulated
    /// machine's slowdown is applied to.
    fn task_ns(&self) -> u64;

    /// How many tasks there are, if that is known beforehand: for progress.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// How many [`TASKS`](Self::TASKS) stand behind `output`, where the balancer saw `tasks`: more, if
    /// a task may stand for several.
    fn work(&self, _output: &<Self::Bag as Bag>::Output, tasks: u64) -> u64 {
        tasks
    }

    /// All the work.
    fn bag(&self) -> Self::Bag;

    /// What the workers of `place` share.
    fn shared(&self, place: PlaceId) -> <Self::Bag as Bag>::Shared;

    /// What bags submit to, before any has.
    fn output(&self) -> <Self::Bag as Bag>::Output;

    /// What came of it. `complete`: all work was done.
    fn findings(&self, output: &<Self::Bag as Bag>::Output, complete: bool) -> Findings;

    /// A problem like this one that a sequential program does in a few seconds, and its name, to compare
    /// rates with; `None`: this one itself.
    fn smaller(&self) -> Option<(String, Self)>
    where
        Self: Sized,
    {
        None
    }
}

/// A result, ready to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Findings {
    /// Rows of the table: `("solutions", "14 200")`. Behind the first of them the table says how the result
    /// compares with what is known, or that it is partial.
    pub rows: Vec<(&'static str, String)>,
    /// Keys of the object for programs, beside the common ones: `solutions`, `optimum`.
    pub json: serde_json::Map<String, serde_json::Value>,
    /// Held against what is known: `Some(Ok(()))` verified, `Some(Err(line))` wrong and how, `None`
    /// nothing to compare.
    pub verdict: Option<Result<(), String>>,
}
