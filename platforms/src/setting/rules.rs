//! The balancer's parameters: those that the program, options or variables request, and the
//! defaults of the others.
//!
//! The defaults are derived from simulations, which `apps/tables/defaults.md` shows with the
//! commands that repeat them. A machine enters by its places and workers: the latency of its
//! network, from a torus of microseconds to the 35 of Ethernet, changes the best settings less than
//! the seed does.
#![forbid(unsafe_code)]

use super::choice::{Choice, Source};
use super::spelling::Lifelines;
use super::{Setting, WORKERS, balancer};
use crate::Result;
use crate::error::refuse;
use std::fmt;
use tautline_core::glb::{Config, Fairness, Grain, Steal};
use tautline_core::lifeline::{Crew, Graph};

/// Up to this many places the binary hypercube is the best graph.
pub(super) const BINARY_PLACES: u32 = 8192;

/// The share of a thief: half, the only amount that performs acceptably on every tree.
pub(super) const SHARE: Steal = Steal::Half;

/// Returns the number of random steals: one for each doubling of the places. With fewer, many
/// places become quiet after a bad guess and wait; additional ones find little and are served by
/// places that have work.
pub fn random_steals(places: u32) -> usize {
    places.max(2).next_power_of_two().trailing_zeros() as usize
}

/// Returns the lifeline graph: the binary hypercube; for very many places one with fewer
/// dimensions, as every quiet place has sent requests along all of them.
pub fn lifelines(places: u32) -> Graph {
    let radix = if places <= BINARY_PLACES { 2 } else { 8 };
    Graph::Hypercube { radix }
}

/// The requested parameters; the others are chosen by the number of places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Steals tried at random before a place turns to its lifelines.
    pub random_steals: Option<usize>,
    /// The lifeline graph.
    pub lifelines: Option<Lifelines>,
    /// The share of a thief.
    pub steal: Option<Steal>,
    /// Tasks between two polls.
    pub grain: Option<Grain>,
    /// The worker that serves messages while all workers of a place are busy.
    pub fairness: Option<Fairness>,
    /// The seed of the choice of victims.
    pub seed: Option<u64>,
}

/// A parameter of the balancer, by its field of [`Rules`] and of [`Config`].
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The values in words.
    pub allowed: &'static str,
    /// Well-known values, and their help.
    pub known: &'static [(&'static str, &'static str)],
    /// Whether only the known values are allowed.
    pub is_closed: bool,
    /// Reads a text into the field, which `auto` leaves unset; else returns the allowed values.
    pub read: fn(&str, &mut Rules) -> Result<(), String>,
    /// Returns the value.
    pub value: fn(&Config) -> Value,
    /// Returns the default for the places of the parameters, and its reason.
    pub why: fn(&Config) -> String,
    /// Whether [`explain`] lists it: its default depends on the machine, or was measured.
    pub is_explained: bool,
    pub(super) is_set: fn(&Rules) -> bool,
    pub(super) is_default: fn(&Config) -> bool,
    /// Takes the value of others where the field is unset.
    pub(super) or: fn(&mut Rules, &Rules),
    /// Sets the parameter: the field, else the default.
    pub(super) over: fn(&Rules, &mut Config),
    /// Sets the field to the parameter.
    pub(super) fix: fn(&mut Rules, &Config),
    /// Returns a value out of its bounds, and the allowed ones.
    pub(super) check: fn(&Config) -> Result<(), (String, String)>,
}

/// The value of a setting, as data and tables have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, also in data.
    Number(u64),
    /// A text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Rules {
    /// These rules, and those of `others` where none is set here.
    #[must_use]
    pub fn or(mut self, others: &Self) -> Self {
        balancer().for_each(|(_, rule)| (rule.or)(&mut self, others));
        self
    }

    /// All parameters for the places and workers of `shape`.
    pub fn over(&self, mut shape: Config) -> Config {
        balancer().for_each(|(_, rule)| (rule.over)(self, &mut shape));
        shape
    }

    /// All rules set, to the parameters of `config`.
    pub fn of(config: &Config) -> Self {
        let mut rules = Self::default();
        balancer().for_each(|(_, rule)| (rule.fix)(&mut rules, config));
        rules
    }
}

/// A parameter out of its bounds: its setting, its value, and the allowed ones.
pub(crate) type Refusal = (&'static Setting, String, String);

/// Checks what holds wherever the computation runs, except for the number of workers.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    balancer().try_for_each(|(setting, rule)| {
        (rule.check)(config).map_err(|(value, allowed)| (setting, value, allowed))
    })
}

/// Returns these parameters, if they may be used on threads and in simulations.
///
/// # Errors
/// The first one that is out of its bounds.
pub fn checked(config: Config) -> Result<Config> {
    let most = Crew::MAX;
    if !(1..=most).contains(&config.workers) {
        return refuse(
            WORKERS.name,
            config.workers,
            format!("from 1 to {most} a place"),
        );
    }
    match check(&config) {
        Ok(()) => Ok(config),
        Err((setting, value, allowed)) => refuse(setting.name, value, allowed),
    }
}

/// Returns the parameters for fewer workers in the same places, of which each keeps as many as it
/// must have.
pub(crate) fn reduced(config: Config, workers: usize) -> Config {
    let reduced = config.divided(config.places, workers.max(config.places as usize));
    match check(&reduced) {
        Ok(()) => reduced,
        // A worker of each place only serves messages.
        Err(_) => config.divided(config.places, 2 * config.places as usize),
    }
}

/// Explains the parameters whose defaults depend on the machine, or were measured, with
/// [`Source::Asked`] where another value than the default is set.
pub fn explain(config: &Config) -> Vec<Choice> {
    let explained = balancer().filter(|(_, rule)| rule.is_explained);
    explained
        .map(|(setting, rule)| choice(config, setting, rule))
        .collect()
}

/// Explains all parameters, with the variable where `environment` has a value of it.
pub(crate) fn choices(config: &Config, environment: &Rules) -> Vec<Choice> {
    let all = balancer().map(|(setting, rule)| {
        let choice = choice(config, setting, rule);
        match (rule.is_set)(environment) {
            true => Choice {
                source: Source::Variable(setting.variable),
                ..choice
            },
            false => choice,
        }
    });
    all.collect()
}

fn choice(config: &Config, setting: &Setting, rule: &Rule) -> Choice {
    let source = match (rule.is_default)(config) {
        true => Source::Rule,
        false => Source::Asked,
    };
    Choice::chosen(
        setting.name,
        (rule.value)(config),
        source,
        (rule.why)(config),
    )
}
