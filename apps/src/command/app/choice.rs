//! The table of applications as subcommands, on threads and in virtual time.

use super::any::{AnyApp, AnyBag, AnyProblem};
use super::baseline::{self, Speed};
use super::{App, Problem};
use crate::command::{APPLICATIONS, Failure, Outcome};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use std::any::TypeId;
use std::fmt::Debug;
use std::sync::Arc;
use tautline_core::wire::Malformed;

/// An application: its options, and how they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Application {
    name: &'static str,
    options: fn(Command) -> Command,
    read: fn(&ArgMatches) -> Result<Box<dyn AnyApp>, Error>,
    bag: fn() -> TypeId,
    unpack: fn(&[u8]) -> Result<AnyBag, Malformed>,
}

/// A way to run applications, on the threads of this machine or on a simulated one: the options
/// other than those of the application.
pub(crate) trait Way: Args + Debug {
    /// Completes the description of the command, which has that of `application` and the options of
    /// both.
    fn describe(command: Command, application: &Application) -> Command;

    /// Runs the application that `request` names, and reports the outcome. All ranks must have the
    /// same `settings`.
    fn run(&self, request: &Request, settings: &[String]) -> Outcome;
}

/// An application, and its options as given.
#[derive(Debug)]
pub(crate) struct Request {
    application: &'static Application,
    app: Box<dyn AnyApp>,
}

/// The requested application, and how it is to be run.
#[derive(Debug)]
pub(crate) struct Chosen<W> {
    /// The application and its options.
    pub request: Request,
    /// The options of the run.
    pub way: W,
}

impl Application {
    /// Returns the application whose options are `A`.
    pub(crate) const fn of<A: App>() -> Self {
        Self {
            name: A::NAME,
            options: A::augment_args,
            read: |options| Ok(Box::new(A::from_arg_matches(options)?)),
            bag: TypeId::of::<<A::Problem as Problem>::Bag>,
            unpack: AnyBag::unpack::<<A::Problem as Problem>::Bag>,
        }
    }

    /// Returns the type of its bags.
    pub(super) fn bag(&self) -> TypeId {
        (self.bag)()
    }

    /// Decodes one of its bags.
    pub(super) fn unpack(&self, bytes: &[u8]) -> Result<AnyBag, Malformed> {
        (self.unpack)(bytes)
    }

    /// Returns its name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the description of its options.
    pub(crate) fn about(&self) -> String {
        let command = (self.options)(Command::new(self.name));
        let about = command.get_about();
        about.map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the command that runs it, with all options.
    pub(crate) fn command<W: Way>(&self) -> Command {
        let own = (self.options)(Command::new(self.name)).next_help_heading(None);
        W::describe(W::augment_args(own), self)
    }

    /// Reads the options of [`command`](Self::command).
    ///
    /// # Errors
    /// An option that is missing or malformed.
    pub(crate) fn read<W: Way>(&'static self, options: &ArgMatches) -> Result<Chosen<W>, Error> {
        let request = Request {
            application: self,
            app: (self.read)(options)?,
        };
        let way = W::from_arg_matches(options)?;
        Ok(Chosen { request, way })
    }

    /// Measures the duration of a task, on this thread, of its default problem; `None`
    /// if it requires options.
    pub(crate) fn speed(&self) -> Option<Speed> {
        let command = (self.options)(Command::new(self.name).no_binary_name(true));
        let options = command.try_get_matches_from([""; 0]).ok()?;
        let problem = (self.read)(&options).ok()?.problem(false).ok()?;
        Some(baseline::speed(&*problem))
    }
}

impl Request {
    /// Returns the requested application.
    pub(crate) fn application(&self) -> &'static Application {
        self.application
    }

    /// Returns the problem that the options describe, as [`App::problem`] does.
    ///
    /// # Errors
    /// What the application refuses.
    pub(crate) fn problem(&self, small: bool) -> Result<Arc<dyn AnyProblem>, Failure> {
        self.app.problem(small)
    }
}

impl<W: Way> Chosen<W> {
    /// Carries out the request.
    pub(crate) fn run(&self, settings: &[String]) -> Outcome {
        self.way.run(&self.request, settings)
    }
}

impl<W: Way> Subcommand for Chosen<W> {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(APPLICATIONS.iter().map(Application::command::<W>))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        APPLICATIONS.iter().any(|known| known.name == name)
    }
}

impl<W: Way> FromArgMatches for Chosen<W> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, options) = matches
            .subcommand()
            .ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        APPLICATIONS
            .iter()
            .find(|known| known.name == name)
            .ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?
            .read(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
