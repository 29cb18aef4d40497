//! Applications: what each provides to the command, and what the command derives from it.
//!
//! | part | what it is |
//! |---|---|
//! | [`App`], [`Problem`], [`Findings`] | what an application implements |
//! | [`AnyProblem`], [`AnyOutput`] | the problem of any application, and what its bags submit to |
//! | [`Application`] | a line of the table of applications |
//! | [`Way`], [`Request`], [`Chosen`] | a way to run an application, and the requested one |
//! | [`Threads`] | `tautline APP`: on the threads of this machine |
//! | [`Answer`] | the result of a run, in real or in virtual time; what else programs share is in [`tautline_cli::program`] |

mod any;
mod baseline;
mod choice;
mod portable;
mod report;
mod threads;

pub(super) use any::{AnyOutput, AnyProblem};
pub(super) use baseline::Speed;
pub(super) use choice::{Application, Chosen, Request, Way};
pub(super) use tautline_cli::program::{Answer, Findings, Rates};
pub(super) use threads::Threads;

use super::{Failure, Outcome};
use clap::Args;
use std::fmt::Debug;
use tautline::balance::{Bag, Config, PlaceId};
use tautline_core::wire::Portable;

/// The options of an application. Its documentation is the command's description, and `after_help`
/// contains its examples.
pub(super) trait App: Args + Debug + 'static {
    /// The problem that these options describe.
    type Problem: Problem;

    /// Its name on the command line.
    const NAME: &'static str;

    /// Checks the options; `small` requests the problem of a simulation: a suitable default size,
    /// and no preparation that only real threads require.
    fn problem(&self, small: bool) -> Result<Self::Problem, Failure>;
}

/// A problem that a [`Bag`] computes.
pub(super) trait Problem: Send + Sync + 'static {
    /// The work.
    type Bag: Bag<Shared: 'static, Output: 'static> + Portable + 'static;

    /// The name of the tasks, in the plural: `nodes`.
    const TASKS: &'static str;

    /// The kind of problem, in a word: `tree`.
    const KIND: &'static str = "problem";

    /// Returns a description in a few words: for the head of pictures.
    fn title(&self) -> String;

    /// Returns the name that distinguishes it from others of its kind.
    fn name(&self) -> String {
        self.title()
    }

    /// Returns the problem's rows at the head of a table.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// Refuses settings of the balancer that do not suit this problem.
    fn check(&self, _config: &Config) -> Outcome {
        Ok(())
    }

    /// Returns the approximate duration of a task on a core of a present-day server, in
    /// nanoseconds, to which a simulated machine's slowdown is applied.
    fn task_ns(&self) -> u64;

    /// Returns the number of tasks, if known in advance: for progress.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// Returns how many [`TASKS`](Self::TASKS) `output` stands for, where the balancer counted
    /// `tasks`: more, if a task may stand for several.
    fn work(&self, _output: &<Self::Bag as Bag>::Output, tasks: u64) -> u64 {
        tasks
    }

    /// Returns the digest of what was read from files; `None` if nothing was.
    fn input(&self) -> Option<String> {
        None
    }

    /// Returns all the work.
    fn bag(&self) -> Self::Bag;

    /// Returns what the workers of `place` share.
    fn shared(&self, place: PlaceId) -> <Self::Bag as Bag>::Shared;

    /// Returns the initial output, to which bags submit.
    fn output(&self) -> <Self::Bag as Bag>::Output;

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
