//! The options of the balancer, for every command that runs it.

use super::duration::seconds;
use super::known::{Known, named};
use super::show;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tautline::balance::{Balancer, Config, Control};
use tautline::internal::spelling::{self, truth};
use tautline::internal::{self, DEADLINE, NO_PIN, PIN, PLACES, Rule, Setting, WORKERS};
use tautline::pinning::{Bind, Pinning, PlaceList};
use tautline::plan::{Choice, Plan};
use tautline::runtime::{Builder, Runtime};
use tautline_core::lifeline::Crew;

const PLACES_MAX: u64 = <Balancer>::THREADS_MAX as u64;
const WORKERS_MAX: u64 = Crew::MAX as u64;
/// In less a run has hardly begun.
pub const DEADLINE_MIN_NS: u64 = 1_000_000;

/// The options of the balancer.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
#[group(skip)]
pub struct Balancing {
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    rules: Rules,
    #[arg(long, value_name = "TIME", env = DEADLINE.variable, hide_env_values = true, help = DEADLINE.help)]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Option<Duration>,
}

/// The options of places, workers and their processors.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The number of places.
    pub places: Option<u32>,
    /// The number of workers of a place.
    pub workers: Option<usize>,
    /// The processors to which workers are pinned.
    pub pin: Option<PlaceList>,
    /// Whether none is pinned.
    pub no_pin: bool,
}

impl Args for Layout {
    fn augment_args(command: Command) -> Command {
        command.args([
            option(&PLACES)
                .help(with_default(&PLACES))
                .value_parser(places)
                .allow_hyphen_values(true),
            option(&PIN)
                .help(PIN.help)
                .value_parser(Known::new(list, parts))
                .allow_hyphen_values(true),
            option(&WORKERS)
                .help(with_default(&WORKERS))
                .value_parser(whole::<usize, WORKERS_MAX>()),
            option(&NO_PIN)
                .help(NO_PIN.help)
                .value_parser(truth)
                .action(ArgAction::SetTrue),
        ])
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Layout {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            places: matches.get_one(id(&PLACES)).copied(),
            workers: matches.get_one(id(&WORKERS)).copied(),
            pin: matches.get_one(id(&PIN)).cloned(),
            no_pin: matches.get_flag(id(&NO_PIN)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Layout {
    /// Returns the builder of a runtime with these places, workers and processors.
    ///
    /// # Errors
    /// A list of places without an allowed processor.
    pub fn builder(&self) -> Result<Builder, tautline::Error> {
        let mut builder = Builder::new();
        if let Some(list) = &self.pin {
            builder = pinned_to(list, builder)?;
        }
        if self.no_pin {
            builder = builder.pinned(false);
        }
        if let Some(places) = self.places {
            builder = builder.places(places);
        }
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        Ok(builder)
    }
}

/// Returns the option of a setting, without help and parser.
///
/// # Panics
/// A setting without an option.
pub fn option(setting: &'static Setting) -> Arg {
    let option = setting.option.expect("the setting has an option");
    let arg = Arg::new(id(setting))
        .long(option.long)
        .short(option.short)
        .env(setting.variable)
        .hide_env_values(true);
    match option.value {
        "" => arg,
        name => arg
            .value_name(name)
            .hide_possible_values(true)
            .allow_negative_numbers(true),
    }
}

/// The name by which the value of the option is found.
fn id(setting: &'static Setting) -> &'static str {
    setting
        .option
        .map_or(setting.variable, |option| option.long)
}

/// Returns the help of a setting whose option has no value by default.
pub fn with_default(setting: &Setting) -> String {
    format!("{} [default: {}]", setting.help, setting.default)
}

/// The options of places, on threads and simulated: one for each parameter of the balancer.
#[derive(Clone, Copy, Debug)]
pub struct Rules(internal::Rules);

impl Args for Rules {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Balancer");
        command.args(internal::balancer().map(|(setting, rule)| arg(setting, rule)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Rules {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut rules = internal::Rules::default();
        for (setting, rule) in internal::balancer() {
            let value = matches.get_one::<String>(id(setting));
            let value = value.expect("each option has a default");
            (rule.read)(value, &mut rules).expect("its parser has read it");
        }
        Ok(Self(rules))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the option of a parameter of the balancer.
fn arg(setting: &'static Setting, rule: &'static Rule) -> Arg {
    let arg = option(setting)
        .default_value(setting.default)
        .help(setting.help);
    if rule.is_closed {
        let value =
            |(name, help): &(&'static str, &'static str)| PossibleValue::new(*name).help(*help);
        let values = PossibleValuesParser::new(rule.known.iter().map(value));
        return arg.hide_possible_values(false).value_parser(values);
    }
    let read =
        |text: &str| (rule.read)(text, &mut internal::Rules::default()).map(|()| text.to_owned());
    let known = || {
        rule.known
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect()
    };
    arg.value_parser(Known::new(read, known))
}

impl Balancing {
    /// Returns the runtime that the options describe.
    ///
    /// # Errors
    /// A list of places without an allowed processor.
    pub fn builder(&self) -> Result<Builder, tautline::Error> {
        let Layout {
            places, workers, ..
        } = self.layout;
        if let (None, Some(workers)) = (places, workers) {
            // Of the one place.
            internal::checked(Config {
                workers,
                ..Config::default()
            })?;
        }
        self.layout.builder()
    }

    /// Returns all parameters of the balancer on a runtime with this plan.
    ///
    /// # Errors
    /// The first one that is out of its bounds.
    pub fn config(&self, plan: &Plan) -> Result<Config, tautline::Error> {
        internal::checked(self.rules.over(plan.balancing))
    }

    /// Returns the computation that the options describe, on a runtime that was built as they
    /// describe.
    pub fn on<'a>(&self, runtime: &'a Runtime, control: &'a Control) -> Balancer<'a> {
        let balancer = runtime.balancer().control(control);
        let balancer = self.rules.of(balancer, runtime.plan().balancing);
        match self.deadline {
            Some(deadline) => balancer.deadline(deadline),
            None => balancer,
        }
    }

    /// Returns the list of processors to which workers are to be pinned, if there is one.
    pub fn listed(&self) -> Option<&PlaceList> {
        self.layout.pin.as_ref()
    }

    /// Returns the time after which the run is stopped, if that is requested.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }
}

impl Rules {
    /// Applies these rules to `balancer`, for the places of `shape`.
    pub fn of<'a>(&self, balancer: Balancer<'a>, shape: Config) -> Balancer<'a> {
        balancer.balanced_as(&self.over(shape))
    }

    /// Returns all parameters, for the places of `shape`.
    pub fn over(&self, shape: Config) -> Config {
        self.0.over(shape)
    }
}

fn places(text: &str) -> Result<u32, String> {
    spelling::whole::<u32, PLACES_MAX>(text)
}

/// Pins the workers of `builder` to the processors of `list`.
///
/// # Errors
/// A list without an allowed processor.
pub fn pinned_to(list: &PlaceList, builder: Builder) -> Result<Builder, tautline::Error> {
    let pinning = Pinning::listed(builder.machine(), list, Bind::Close)?;
    Ok(builder.pinning(pinning))
}

/// Returns the names of parts of a machine, for lists of processors.
pub fn parts() -> Vec<String> {
    named(&["threads", "cores", "ll_caches", "numa_domains", "sockets"])
}

/// Parses a list of processors.
pub fn list(text: &str) -> Result<PlaceList, String> {
    text.parse()
        .map_err(|error: tautline::pinning::ListError| error.to_string())
}

/// Returns the parser of a whole number, as [`spelling::whole`]. One type for all options of a
/// type: clap compiles its part for each type of parser.
pub fn whole<T: FromStr, const MOST: u64>() -> fn(&str) -> Result<T, String> {
    spelling::whole::<T, MOST>
}

/// Parses a whole number of `range`.
pub fn within(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("a whole number from {} to {}", range.start(), range.end()))
}

/// Returns the number of places and of their workers.
pub fn crews(config: &Config) -> String {
    let Config {
        places,
        workers,
        smaller,
        ..
    } = *config;
    match smaller {
        0 => format!("{places} x {workers}"),
        _ => {
            let larger = places - smaller;
            format!("{larger} x {workers} + {smaller} x {}", workers - 1)
        }
    }
}

/// Returns the settings in one line.
pub fn line(config: &Config) -> String {
    let shown = internal::balancer();
    let shown = shown.map(|(setting, rule)| format!("{} {}", setting.name, (rule.value)(config)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the settings and their reasons, as rows of a table.
pub fn reasons(config: &Config) -> Vec<(&'static str, String)> {
    rows(internal::explain(config))
}

/// Choices as rows of a table.
pub fn rows(choices: Vec<Choice>) -> Vec<(&'static str, String)> {
    let row = |choice: Choice| (choice.setting, choice.to_string());
    choices.into_iter().map(row).collect()
}

/// Returns the settings as data, with their reasons if `explain`.
pub fn json(config: &Config, explain: bool) -> Value {
    let value = |rule: &Rule| match (rule.value)(config) {
        internal::Value::Number(number) => number.into(),
        internal::Value::Text(text) => Value::from(text),
    };
    let all = internal::balancer().map(|(setting, rule)| (setting.key(), value(rule)));
    let mut object: Map<_, _> = all.collect();
    if explain {
        let why = reasons(config).into_iter();
        let why = why.map(|(setting, reason)| (setting, reason.into()));
        object.insert("why".to_owned(), Value::Object(show::object(why)));
    }
    Value::Object(object)
}
