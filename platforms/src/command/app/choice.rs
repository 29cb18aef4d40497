//! The table of applications as subcommands, on threads and in virtual time.

use super::baseline::{self, Speed};
use super::runs::Runs;
use super::{App, Threads};
use crate::command::simulate::Virtual;
use crate::command::{APPLICATIONS, Outcome};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// An application and the ways to run it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Application {
    name: &'static str,
    threads: Way,
    simulated: Way,
    task_ns: fn() -> Option<Speed>,
}

/// One way to run an application: its options, and how they are parsed.
#[derive(Clone, Copy, Debug)]
struct Way {
    options: fn(Command) -> Command,
    read: fn(&ArgMatches) -> Result<Box<dyn Runs>, Error>,
}

impl Application {
    /// Returns the application whose options are `A`.
    pub(crate) const fn of<A: App>() -> Self {
        Self {
            name: A::NAME,
            threads: Way::of::<Threads<A>>(),
            simulated: Way::of::<Virtual<A>>(),
            task_ns: baseline::speed::<A>,
        }
    }

    /// Returns its name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl Application {
    /// Measures the duration of a task, on this thread, of its default problem; `None`
    /// if it requires options.
    pub(crate) fn speed(&self) -> Option<Speed> {
        (self.task_ns)()
    }
}

impl Way {
    const fn of<T: Args + Runs + 'static>() -> Self {
        Self {
            options: T::augment_args,
            read: |matches| Ok(Box::new(T::from_arg_matches(matches)?)),
        }
    }
}

/// The requested application, on the threads of this machine or on a simulated one.
#[derive(Debug)]
pub(crate) struct Chosen<const SIMULATED: bool>(Box<dyn Runs>);

impl<const SIMULATED: bool> Chosen<SIMULATED> {
    /// Carries out the request.
    pub(crate) fn run(&self) -> Outcome {
        self.0.run()
    }

    fn ways() -> impl Iterator<Item = (&'static str, Way)> {
        APPLICATIONS.iter().map(|application| match SIMULATED {
            false => (application.name, application.threads),
            true => (application.name, application.simulated),
        })
    }
}

impl<const SIMULATED: bool> Subcommand for Chosen<SIMULATED> {
    fn augment_subcommands(command: Command) -> Command {
        Self::ways().fold(command, |command, (name, way)| {
            command.subcommand((way.options)(Command::new(name)))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Self::ways().any(|(known, _)| known == name)
    }
}

impl<const SIMULATED: bool> FromArgMatches for Chosen<SIMULATED> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, options) = matches
            .subcommand()
            .ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let (_, way) = Self::ways()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        (way.read)(options).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
