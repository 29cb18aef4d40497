//! What every application gives to the command: its problem, and what its result says.

use super::Failure;
use clap::Args;
use std::fmt::Debug;
use tautline::glb::{Bag, PlaceId};

/// The options of an application.
pub trait App: Args + Debug {
    /// What these options describe.
    type Problem: Problem;

    /// Its name on the command line.
    const NAME: &'static str;

    /// Checks the options; `small` asks for the size that suits a simulation if none was given.
    fn problem(&self, small: bool) -> Result<Self::Problem, Failure>;
}

/// Something to be computed by a [`Bag`].
pub trait Problem: Sync {
    /// Its work.
    type Bag: Bag;

    /// What it is, in a few words: for the head of tables and pictures.
    fn title(&self) -> String;

    /// The problem's own rows at the head of a table.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// What a task is, in the plural: `nodes`.
    const TASKS: &'static str;

    /// About how long a task takes on a core of a present-day server, in nanoseconds: what a simulated
    /// machine's speed is applied to.
    fn task_ns(&self) -> u64;

    /// How many tasks there are, if that is known beforehand: for progress.
    fn tasks(&self) -> Option<u64> {
        None
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
pub struct Findings {
    /// Rows of the table: `("solutions", "14 200")`.
    pub rows: Vec<(&'static str, String)>,
    /// Keys of the object for programs, beside the common ones: `solutions`, `optimum`.
    pub json: serde_json::Map<String, serde_json::Value>,
    /// Held against what is known: `Some(Ok(()))` verified, `Some(Err(line))` wrong and how, `None`
    /// nothing to compare.
    pub verdict: Option<Result<(), String>>,
}
