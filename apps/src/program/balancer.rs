//! The options of the balancer, for every command that runs it.

use super::duration::seconds;
use super::known::{Known, named};
use super::show;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;
use tautline::choice;
use tautline::glb::{Config, Control, Fairness, Glb, Grain, Graph, Steal};
use tautline::pinning::{Bind, Pinning, PlaceList};
use tautline::runtime::Builder;
use tautline::spelling::{self, Lifelines, Spelled, grain, steal, truth};
use tautline_core::lifeline::Crew;

const PLACES_MAX: u64 = <Glb>::THREADS_MAX as u64;
const WORKERS_MAX: u64 = Crew::MAX as u64;
/// In less a run has hardly begun.
pub const DEADLINE_MIN_NS: u64 = 1_000_000;

/// How the work is balanced.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
#[group(skip)]
pub struct Balancer {
    /// Places: shares of the machine that exchange work by messages [default: as few as the workers need]
    #[arg(long, value_name = "P", env = "TAUTLINE_PLACES")]
    #[arg(value_parser = places, allow_hyphen_values = true, hide_env_values = true)]
    places: Option<u32>,
    /// Processors to pin the workers to, a list as in OMP_PLACES: cores, sockets(1), {0:4},{8:4}
    #[arg(long, value_name = "LIST", env = "TAUTLINE_PIN")]
    #[arg(value_parser = Known::new(list, parts), hide_possible_values = true, allow_hyphen_values = true, hide_env_values = true)]
    pin: Option<PlaceList>,
    /// Workers of a place, 1 to 64 [default: the allowed processors, divided among the places]
    #[arg(long, value_name = "W", env = "TAUTLINE_WORKERS")]
    #[arg(value_parser = whole::<usize, WORKERS_MAX>(), allow_negative_numbers = true, hide_env_values = true)]
    workers: Option<usize>,
    #[command(flatten)]
    rules: Rules,
    /// Let the system move workers between processors
    #[arg(long, env = "TAUTLINE_NO_PIN", hide_env_values = true, value_parser = truth)]
    no_pin: bool,
    /// Stop after this time, seconds or with units as in 500ms and 1h30m, and show the partial result
    #[arg(
        long,
        value_name = "TIME",
        env = "TAUTLINE_DEADLINE",
        hide_env_values = true
    )]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Option<Duration>,
}

/// The options of places, on threads and simulated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
#[group(skip)]
pub struct Rules {
    /// Random steals before a place uses its lifelines
    #[arg(
        short = 'w',
        long,
        value_name = "auto|N",
        env = "TAUTLINE_RANDOM_STEALS",
        default_value = "auto"
    )]
    #[arg(value_parser = Known::new(tries, || named(&["auto"])), hide_possible_values = true, allow_negative_numbers = true, hide_env_values = true)]
    random_steals: Tries,
    /// Lifeline graph: by the number of places (auto), ring, full, hypercube:H with radix H, or dimension:Z, the hypercube of Z
    /// dimensions with the least radix
    #[arg(
        long,
        value_name = "GRAPH",
        env = "TAUTLINE_LIFELINES",
        default_value = "auto"
    )]
    #[arg(value_parser = Known::new(graph, || named(&["auto", "ring", "full"])), hide_possible_values = true, hide_env_values = true)]
    lifelines: Lines,
    /// What a thief gets: half, or this number of tasks
    #[arg(
        long,
        value_name = "half|K",
        env = "TAUTLINE_STEAL",
        default_value = "half"
    )]
    #[arg(value_parser = Known::new(steal, || named(&["half"])), hide_possible_values = true, allow_negative_numbers = true, hide_env_values = true)]
    steal: Steal,
    /// Tasks between two polls: measured (auto), by a rule of Finnerty's from 10 on (merge-empty,
    /// split-merge), fixed (N), or frozen:N (fixed; the tuner runs but its result is ignored)
    #[arg(
        short = 'n',
        long,
        value_name = "auto|RULE|N",
        env = "TAUTLINE_GRAIN",
        default_value = "auto"
    )]
    #[arg(value_parser = Known::new(grain, || named(&["auto", "merge-empty", "split-merge"])), hide_possible_values = true, allow_negative_numbers = true, hide_env_values = true)]
    grain: Grain,
    /// The thread that serves messages while all workers of a place are busy
    #[arg(
        long,
        env = "TAUTLINE_FAIRNESS",
        default_value = "inline",
        hide_env_values = true
    )]
    fairness: Service,
    /// Seed of the choice of victims
    #[arg(long, value_name = "N", env = "TAUTLINE_SEED", default_value = "1")]
    #[arg(value_parser = spelling::seed, allow_negative_numbers = true, hide_env_values = true)]
    seed: u64,
}

/// Returns the requested number of random steals, if any.
#[derive(Clone, Copy, Debug)]
struct Tries(Option<usize>);

/// The lifelines, if requested.
#[derive(Clone, Copy, Debug)]
struct Lines(Option<Lifelines>);

/// [`Fairness`] in the spelling of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Service {
    /// A worker, between two grains
    Inline,
    /// One worker yields until another thread has served them
    Yield,
    /// One worker fewer: its thread only serves messages
    OneCoreFree,
    /// No thread, until a worker runs dry
    Never,
}

impl Balancer {
    /// Returns the computation that the options describe, on this machine.
    ///
    /// # Errors
    /// A list of places without an allowed processor.
    pub fn glb<'a>(&self, control: &'a Control) -> Result<Glb<'a>, tautline::Error> {
        let mut builder = Builder::new();
        if let Some(list) = &self.pin {
            builder = pinned_to(list, builder)?;
        }
        if self.no_pin {
            builder = builder.pinned(false);
        }
        let mut glb = Glb::with(builder);
        if let Some(places) = self.places {
            glb = glb.places(places);
        }
        if let Some(workers) = self.workers {
            glb = glb.workers(workers);
        }
        if let Some(deadline) = self.deadline {
            glb = glb.deadline(deadline);
        }
        let places = glb.plan()?.balancing.places;
        Ok(self.rules.of(glb, places).control(control))
    }

    /// Returns the list of processors to which workers are to be pinned, if there is one.
    pub fn listed(&self) -> Option<&PlaceList> {
        self.pin.as_ref()
    }

    /// Returns the time after which the run is stopped, if that is requested.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }
}

impl Rules {
    /// Applies these rules to `glb`, for `places` places.
    pub fn of<'a>(&self, glb: Glb<'a>, places: u32) -> Glb<'a> {
        glb.random_steals(self.random_steals(places))
            .lifelines(self.lifelines(places))
            .steal(self.steal)
            .grain(self.grain)
            .seed(self.seed)
            .fairness(self.fairness())
    }

    /// Returns the number of random steals, for `places` places.
    pub fn random_steals(&self, places: u32) -> usize {
        let Tries(asked) = self.random_steals;
        asked.unwrap_or_else(|| choice::random_steals(places))
    }

    /// Returns the lifelines, for `places` places.
    pub fn lifelines(&self, places: u32) -> Graph {
        let Lines(asked) = self.lifelines;
        asked.map_or_else(|| choice::lifelines(places), |lines| lines.of(places))
    }

    /// Returns which thread serves messages while all workers of a place are busy.
    pub fn fairness(&self) -> Fairness {
        match self.fairness {
            Service::Inline => Fairness::Inline,
            Service::Yield => Fairness::Yield,
            Service::OneCoreFree => Fairness::OneCoreFree,
            Service::Never => Fairness::Never,
        }
    }
}

fn places(text: &str) -> Result<u32, String> {
    spelling::whole::<u32, PLACES_MAX>(text)
}

fn tries(text: &str) -> Result<Tries, String> {
    spelling::random_steals(text).map(Tries)
}

fn graph(text: &str) -> Result<Lines, String> {
    spelling::lifelines(text).map(Lines)
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

/// Returns the parser of a whole number, as [`spelling::whole`]. One type for all options of a type: clap
/// compiles its part for each type of parser.
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
    format!(
        "random steals {}, lifelines {}, steal {}, grain {}, fairness {}, seed {}",
        config.random_steals,
        Spelled(config.lifelines),
        Spelled(config.steal),
        Spelled(config.grain),
        Spelled(config.fairness),
        config.seed
    )
}

/// Returns the settings and their reasons, as rows of a table.
pub fn reasons(config: &Config) -> Vec<(&'static str, String)> {
    rows(choice::explain(config))
}

/// Choices as rows of a table.
pub fn rows(choices: Vec<choice::Choice>) -> Vec<(&'static str, String)> {
    let row = |choice: choice::Choice| (choice.setting, choice.to_string());
    choices.into_iter().map(row).collect()
}

/// Returns the settings as data, with their reasons if `explain`.
pub fn json(config: &Config, explain: bool) -> Value {
    let mut object = json!({
        "random_steals": config.random_steals,
        "lifelines": Spelled(config.lifelines).to_string(),
        "steal": Spelled(config.steal).to_string(),
        "grain": match config.grain {
            Grain::Fixed(tasks) => tasks.into(),
            tuned @ Grain::Tuned(_) => Value::from(Spelled(tuned).to_string()),
        },
        "fairness": Spelled(config.fairness).to_string(),
        "seed": config.seed,
    });
    if explain {
        let why = reasons(config).into_iter();
        let why = why.map(|(setting, reason)| (setting, reason.into()));
        object["why"] = Value::Object(show::object(why));
    }
    object
}
