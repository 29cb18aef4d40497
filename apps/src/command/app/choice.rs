//! The table of applications as subcommands, on threads and in virtual time.

use super::any::{AnyApp, AnyBag};
use super::baseline::{self, Speed};
use super::{App, Problem};
use crate::command::Outcome;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use std::any::TypeId;
use std::fmt::Debug;
use tautline_core::wire::Malformed;

/// An application: its options, and how they are read. `A` is what all applications of a table
/// have in common.
#[derive(Debug)]
pub(crate) struct Application<A: ?Sized = dyn AnyApp> {
    name: &'static str,
    options: fn(Command) -> Command,
    read: fn(&ArgMatches) -> Result<Box<A>, Error>,
    /// Its bags, if it has any.
    pub(super) bags: Option<Bags>,
}

/// The type of the bags of an application, and how one is decoded.
#[derive(Debug)]
pub(super) struct Bags {
    pub kind: fn() -> TypeId,
    pub unpack: fn(&[u8]) -> Result<AnyBag, Malformed>,
}

/// A way to run applications, on the threads of this machine or on a simulated one: the options
/// other than those of the application.
pub(crate) trait Way: Args + Debug {
    /// The options of the applications that run so.
    type App: ?Sized + Debug + 'static;

    /// These applications.
    const ALL: &'static [Application<Self::App>];

    /// Completes the description of the command, which has that of `application` and the options of
    /// both.
    fn describe(command: Command, application: &Application<Self::App>) -> Command {
        command.about(application.about())
    }

    /// Runs the application that `request` names, and reports the outcome. All ranks must have the
    /// same `settings`.
    fn run(&self, request: &Request<Self::App>, settings: &[String]) -> Outcome;
}

/// An application, and its options as given.
#[derive(Debug)]
pub(crate) struct Request<A: ?Sized + 'static = dyn AnyApp> {
    application: &'static Application<A>,
    /// The options.
    pub app: Box<A>,
}

/// The requested application, and how it is to be run.
#[derive(Debug)]
pub(crate) struct Chosen<W: Way> {
    /// The application and its options.
    pub request: Request<W::App>,
    /// The options of the run.
    pub way: W,
}

impl Application {
    /// Returns the application whose options are `A`.
    pub(crate) const fn of<A: App<Problem: Problem>>() -> Self {
        let bags = Bags {
            kind: TypeId::of::<<A::Problem as Problem>::Bag>,
            unpack: AnyBag::unpack::<<A::Problem as Problem>::Bag>,
        };
        Self {
            bags: Some(bags),
            ..Self::new::<A>(|options| Ok(Box::new(A::from_arg_matches(options)?)))
        }
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

impl<A: ?Sized> Application<A> {
    /// Returns the application whose options are `O`, without bags.
    pub(crate) const fn new<O: App>(read: fn(&ArgMatches) -> Result<Box<A>, Error>) -> Self {
        Self {
            name: O::NAME,
            options: O::augment_args,
            read,
            bags: None,
        }
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
    pub(crate) fn command<W: Way<App = A>>(&self) -> Command {
        let own = (self.options)(Command::new(self.name)).next_help_heading(None);
        W::describe(W::augment_args(own), self)
    }

    /// Reads the options of [`command`](Self::command).
    ///
    /// # Errors
    /// An option that is missing or malformed.
    pub(crate) fn read<W: Way<App = A>>(
        &'static self,
        options: &ArgMatches,
    ) -> Result<Chosen<W>, Error> {
        let request = Request {
            application: self,
            app: (self.read)(options)?,
        };
        let way = W::from_arg_matches(options)?;
        Ok(Chosen { request, way })
    }
}

impl<A: ?Sized> Request<A> {
    /// Returns the requested application.
    pub(crate) fn application(&self) -> &'static Application<A> {
        self.application
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
        command.subcommands(W::ALL.iter().map(Application::command::<W>))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        W::ALL.iter().any(|known| known.name == name)
    }
}

impl<W: Way> FromArgMatches for Chosen<W> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, options) = matches
            .subcommand()
            .ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        W::ALL
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
