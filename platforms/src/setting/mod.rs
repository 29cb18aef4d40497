//! The settings. Each one with a variable is a row of [`TABLE`]: its name, variable, option, bounds
//! and default. The builder, the environment, the options of the command,
//! [`Plan::explain`](crate::plan::Plan::explain), data and documentation are views of it.
//!
//! A new setting is a row, and the field of [`Rules`] or of the builder that has its value.
#![forbid(unsafe_code)]

mod choice;
pub(crate) mod environment;
pub(crate) mod launchers;
mod rules;
pub mod spelling;
mod table;

pub use choice::{Choice, Source};
pub use rules::{Rule, Rules, Value, checked, explain, lifelines, random_steals};
pub(crate) use rules::{check, choices, reduced};
pub use table::*;

use std::borrow::Cow;

/// The maximum number of workers of a runtime.
pub const WORKERS_MAX: usize = 4096;

/// A setting that has an environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in errors and explanations; in data with underscores.
    pub name: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// The option of the command, if it has one.
    pub option: Option<Opt>,
    /// The values.
    pub kind: Kind,
    /// The default.
    pub default: &'static str,
    /// The reason for the default, if that is explained in general; else [`Rule::why`] does, or
    /// nothing.
    pub why: &'static str,
    /// The effect: the help of the option, and a cell of the documentation.
    pub help: &'static str,
}

/// The option of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// The long name.
    pub long: &'static str,
    /// The short name, if there is one.
    pub short: Option<char>,
    /// The name of the value; empty for a switch.
    pub value: &'static str,
}

/// The values of a setting.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number in these bounds.
    Number {
        /// The least.
        least: usize,
        /// The largest.
        most: usize,
    },
    /// True or false.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text of this form, which the module of the setting reads.
    Text(&'static str),
    /// A parameter of the balancer.
    Rule(Rule),
}

impl Setting {
    /// Returns the values that the variable may have, as errors and the documentation state them.
    pub fn allowed(&self) -> Cow<'static, str> {
        match self.kind {
            Kind::Number { least, most } => format!("a whole number from {least} to {most}").into(),
            Kind::Flag => Cow::from(spelling::TRUTH),
            Kind::Word([first @ .., last]) => format!("{} or {last}", first.join(", ")).into(),
            Kind::Word([]) => Cow::from("nothing"),
            Kind::Text(form) => Cow::from(form),
            Kind::Rule(rule) => Cow::from(rule.allowed),
        }
    }

    /// Returns the parameter of the balancer that it is, if it is one.
    pub fn rule(&self) -> Option<&Rule> {
        match &self.kind {
            Kind::Rule(rule) => Some(rule),
            _ => None,
        }
    }

    /// Returns its name in data.
    pub fn key(&self) -> String {
        self.name.replace(' ', "_")
    }
}

/// Returns the settings that are parameters of the balancer.
pub fn balancer() -> impl Iterator<Item = (&'static Setting, &'static Rule)> {
    TABLE.iter().filter_map(|row| Some((*row, row.rule()?)))
}

#[cfg(test)]
mod tests;
