//! Applications: what each provides to the command, and what the command derives from it.
//!
//! | part | what it is |
//! |---|---|
//! | [`App`], [`About`] | the options of an application, and the description of its problem |
//! | [`Problem`], [`Findings`] | a problem that a bag computes, and its result; of messages: [`spmd`](super::spmd) |
//! | [`AnyProblem`], [`AnyOutput`] | the problem of any application, and what its bags submit to |
//! | [`Application`] | a line of a table of applications |
//! | [`Way`], [`Request`], [`Chosen`] | a way to run an application, and the requested one |
//! | [`Threads`] | `tautline APP`: on the threads of this machine |
//! | [`Answer`] | the result of a run, in real or in virtual time; what else programs share is in [`tautline_cli::program`] |

mod any;
mod baseline;
mod choice;
mod portable;
mod report;
mod threads;

pub(super) use any::{AnyApp, AnyOutput, AnyProblem};
pub(super) use baseline::Speed;
pub(super) use choice::{Application, Chosen, Request, Way};
pub(super) use tautline_cli::program::{Answer, Findings, Rates};
pub(super) use threads::Threads;

use super::number::grouped;
use super::{Failure, Outcome};
use clap::Args;
use std::fmt::Debug;
use tautline::balance::{Bag, Config};
use tautline_core::wire::Portable;

/// The options of an application. Its documentation is the command's description, and `after_help`
/// contains its examples.
pub(super) trait App: Args + Debug + 'static {
    /// The problem that these options describe.
    type Problem;

    /// Its name on the command line.
    const NAME: &'static str;

    /// Checks the options; `small` requests the problem of a simulation: a suitable default size,
    /// and no preparation that only real threads require.
    fn problem(&self, small: bool) -> Result<Self::Problem, Failure>;
}

/// The description of a problem.
#[derive(Debug, Default)]
pub(super) struct About {
    /// The name of the tasks, in the plural: `nodes`.
    pub unit: &'static str,
    /// The kind of problem, in a word: `tree`.
    pub kind: &'static str,
    /// A description in a few words: for the head of pictures.
    pub title: String,
    /// The rows at the head of a table.
    pub facts: Vec<(&'static str, String)>,
    /// The approximate duration of a task on a core of a present-day server, in nanoseconds, to
    /// which a simulated machine's slowdown is applied.
    pub task_ns: u64,
    /// The number of tasks, if known in advance: for progress.
    pub tasks: Option<u64>,
    /// The digest of what was read from files; `None` if nothing was.
    pub input: Option<String>,
}

/// A problem that a [`Bag`] computes.
pub(super) trait Problem: Send + Sync + 'static {
    /// The work.
    type Bag: Bag<Shared: 'static, Output: Default + 'static> + Portable + 'static;

    /// Returns its description.
    fn about(&self) -> About;

    /// Returns the name that distinguishes it from others of its kind.
    fn name(&self) -> String {
        self.about().title
    }

    /// Refuses settings of the balancer that do not suit this problem.
    fn check(&self, _config: &Config) -> Outcome {
        Ok(())
    }

    /// Returns how many [units](About::unit) `output` stands for, where the balancer counted
    /// `tasks`: more, if a task may stand for several.
    fn work(&self, _output: &<Self::Bag as Bag>::Output, tasks: u64) -> u64 {
        tasks
    }

    /// Returns all the work.
    fn bag(&self) -> Self::Bag;

    /// Returns what the workers of a place share.
    fn shared(&self) -> <Self::Bag as Bag>::Shared;

    /// Evaluates the output. `complete`: all work was done.
    fn findings(&self, output: &<Self::Bag as Bag>::Output, complete: bool) -> Findings;

    /// Returns pictures of solutions, as many as the options of the application request.
    fn pictures(&self) -> Vec<String> {
        Vec::new()
    }

    /// Writes the result where options of the application request it.
    fn deliver(&self, _output: &<Self::Bag as Bag>::Output) -> Outcome {
        Ok(())
    }

    /// Returns a similar problem that a sequential program does in a few seconds, and its name, to
    /// compare rates with; `None`: this one itself.
    fn smaller(&self) -> Option<(String, Self)>
    where
        Self: Sized,
    {
        None
    }
}

/// Compares a number of things that were `found` in the problem of this title with the one that is
/// `known`, and that words introduce.
pub(super) fn equal(
    title: &str,
    things: &str,
    found: u64,
    (words, known): (&str, u64),
) -> Result<(), String> {
    if found == known {
        return Ok(());
    }
    let (found, known) = (grouped(found), grouped(known));
    Err(format!("{title}: {found} {things}, {words} {known}"))
}

/// Reads the options of an application, and checks them. The first word is the program.
#[cfg(test)]
pub(super) fn read<A: App>(line: &str) -> Result<A::Problem, String> {
    let command = A::augment_args(clap::Command::new(A::NAME));
    let matches = command.try_get_matches_from(line.split(' '));
    let read = matches.and_then(|matches| A::from_arg_matches(&matches));
    let options = read.map_err(|error| error.to_string())?;
    options.problem(false).map_err(|failure| match failure {
        Failure::Usage(line) => line,
        other => format!("{other:?}"),
    })
}
