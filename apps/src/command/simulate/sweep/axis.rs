//! The varied option or cost, and its values.

use crate::command::Failure;
use crate::command::list::{RANGES, sequence};
use crate::command::quote::shown;
use crate::command::refusal::expected;
use crate::command::simulate::costs::{Given, unknown};
use clap::Command;
use std::str::FromStr;
use tautline::internal::costs::{self, KEYS, Key};

/// Options that do not affect how runs proceed.
const NOT_VARIED: [&str; 9] = [
    "vary", "set", "repeat", "plot", "y", "life", "trace", "help", "version",
];
/// Random steals and dimensions of the lifeline graph, in the notation of Saraswat 2011.
const PAIRS: &str = "wz";
/// The maximum number of values in a table.
const VALUES_MAX: usize = 10_000;

/// `KEY=V1,V2,…`, as given.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// The name of a cost, the option's long name, or the letter of one without a long name, or
    /// `wz`.
    pub name: String,
    /// The cost, if it is one.
    key: Option<&'static Key>,
    /// At least one.
    pub values: Vec<String>,
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "KEY=V1,V2,… or, if commas belong to the values, KEY=V1;V2;…, of values and {RANGES}; or costs"
            )
        };
        let (name, values) = text.split_once('=').ok_or_else(form)?;
        let mark = if values.contains(';') { ';' } else { ',' };
        let values: Option<Vec<Vec<String>>> = values.split(mark).map(given).collect();
        let values = values.ok_or_else(form)?.concat();
        let name = name.trim().trim_start_matches('-').replace('_', "-");
        if name.is_empty() {
            return Err(form());
        }
        if values.len() > VALUES_MAX {
            return Err(format!("at most {VALUES_MAX} values"));
        }
        let key = costs::find(&name);
        let name = key.map_or(name, |key| key.name.to_owned());
        Ok(Self { name, key, values })
    }
}

impl Axis {
    /// Returns the name under which `command` knows the option.
    pub(super) fn resolved(self, command: &Command) -> Result<Self, String> {
        if self.is_of(command) {
            return Ok(self);
        }
        let known = names(command);
        let mut letter = self.name.chars();
        let long = match (letter.next(), letter.next()) {
            (Some(letter), None) => command
                .get_arguments()
                .find(|option| option.get_short() == Some(letter))
                .and_then(|option| option.get_long())
                .filter(|long| known.iter().any(|name| name == long)),
            _ => None,
        };
        match long {
            Some(long) => Ok(Self {
                name: long.to_owned(),
                ..self
            }),
            None => {
                let options = known.iter().map(String::as_str);
                let options = options.filter(|name| costs::find(name).is_none());
                let options = [PAIRS].into_iter().chain(options);
                let keys = KEYS.iter().map(|key| key.name);
                let rule = unknown(&self.name, options.chain(keys));
                Err(format!("--vary {}: {rule}", self.name))
            }
        }
    }

    /// Whether it is a cost, or an option of `command`.
    pub(super) fn is_of(&self, command: &Command) -> bool {
        self.key.is_some() || self.name == PAIRS || names(command).contains(&self.name)
    }

    /// Returns the failure of the run with the value at this position, named as it was requested.
    pub(super) fn named(&self, position: usize, failure: Failure) -> Failure {
        let Failure::Usage(line) = failure else {
            return failure;
        };
        let value = &self.values[position];
        let refused = match (self.name.as_str(), value.split_once('/')) {
            (PAIRS, Some((steals, dimensions))) => vec![
                format!("--random-steals {steals}: "),
                format!("--lifelines dimension:{dimensions}: "),
            ],
            (letter, _) if letter.chars().count() == 1 => {
                vec![format!("-{letter} {}: ", shown(value))]
            }
            (name, _) => vec![format!("--{name} {}: ", shown(value))],
        };
        let rest = refused.iter().find_map(|start| line.strip_prefix(start));
        let (name, value) = (&self.name, shown(value));
        let named = rest.map(|rest| format!("--vary {name}={value}: {rest}"));
        Failure::Usage(named.unwrap_or(line))
    }

    /// Returns the cost with the value at this position; `None` if it is an option.
    pub(super) fn cost(&self, position: usize) -> Option<Result<Given, String>> {
        let (key, value) = (self.key?, &self.values[position]);
        let named = |rule: String| {
            let (name, value) = (key.name, shown(value));
            format!("--vary {name}={value}: {}", expected(&rule))
        };
        Some(Given::varied(key, value).map_err(named))
    }

    /// Returns the arguments that set the option to the value at this position.
    pub(super) fn arguments(&self, position: usize) -> Result<Vec<String>, String> {
        let value = &self.values[position];
        if self.name == PAIRS {
            let (steals, dimensions) = value.split_once('/').ok_or_else(|| {
                format!("--vary {PAIRS}={value}: expected pairs of random steals and dimensions, like 83/1")
            })?;
            return Ok(vec![
                format!("--random-steals={steals}"),
                format!("--lifelines=dimension:{dimensions}"),
            ]);
        }
        Ok(vec![match self.name.chars().count() {
            1 => format!("-{}{value}", self.name),
            _ => format!("--{}={value}", self.name),
        }])
    }

    /// Returns the values as numbers, if all are.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        let number = |value: &String| value.parse().ok().filter(|value: &f64| value.is_finite());
        self.values.iter().map(number).collect()
    }

    /// Returns the length of the longest of them.
    pub(super) fn width(&self) -> usize {
        let lengths = self.values.iter().chain([&self.name]);
        lengths
            .map(|text| text.chars().count())
            .max()
            .unwrap_or_default()
    }
}

/// Returns the values of one part of a list, of which a range has several; `None` if it is
/// malformed.
fn given(part: &str) -> Option<Vec<String>> {
    let part = part.trim();
    // The name of a file may have dots, too.
    match part.contains("..") && part.starts_with(|first: char| first.is_ascii_digit()) {
        true => Some(sequence(part)?.iter().map(u64::to_string).collect()),
        false => (!part.is_empty()).then(|| vec![part.to_owned()]),
    }
}

/// Returns what can be varied: by long name, or by letter for options without a long name.
fn names(command: &Command) -> Vec<String> {
    let options = command.get_arguments().filter(|option| {
        option.get_action().takes_values()
            && !option.is_positional()
            && !NOT_VARIED.contains(&option.get_id().as_str())
    });
    let name = |option: &clap::Arg| {
        let letter = option.get_short().map(String::from);
        option.get_long().map(str::to_owned).or(letter)
    };
    options.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        text.parse().unwrap()
    }

    #[test]
    fn values_are_separated_by_what_they_do_not_contain() {
        assert_eq!(axis("grain=1, 2,3").values, ["1", "2", "3"]);
        assert_eq!(axis("--task-ns=5").name, "task_ns");
        let values = axis("cost=1;pareto:2,1.5").values;
        assert_eq!(values, ["1", "pareto:2,1.5"]);
        assert_eq!(axis("places=1..4").values, ["1", "2", "3", "4"]);
        assert_eq!(
            axis("places=1..64..x8, 100").values,
            ["1", "8", "64", "100"]
        );
        let files = axis("machine=../a.toml,cluster").values;
        assert_eq!(files, ["../a.toml", "cluster"]);
        for bad in [
            "grain",
            "=1",
            "grain=",
            "grain=1,,2",
            "places=1..",
            "places=4..1",
            "places=1..4..0",
            "places=1..x",
            "",
            "=",
            "places=1...4",
        ] {
            let error = bad.parse::<Axis>().unwrap_err();
            assert!(error.contains("KEY=V1,V2"), "{bad}: {error}");
        }
    }

    #[test]
    fn pairs_set_two_options() {
        let pairs = axis("wz=83/1,1/3");
        let arguments = pairs.arguments(1).unwrap();
        assert_eq!(arguments, ["--random-steals=1", "--lifelines=dimension:3"]);
        assert!(axis("wz=83").arguments(0).unwrap_err().contains("83/1"));
        assert_eq!(pairs.numbers(), None);
        assert_eq!(axis("b=4").arguments(0).unwrap(), ["-b4"]);
    }
}
