//! Costs of the simulated machine as options: `--set KEY=VALUE` for all of its table, and an option
//! each for the most used ones.

use crate::command::duration::nanoseconds;
use crate::command::quote::shown;
use crate::command::{Failure, Outcome};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::ffi::OsString;
use std::fmt::Write as _;
use tautline::internal::costs::{self, Costs, KEYS, Key, Section, Unit, Value, parse_network};
use tautline::internal::spelling::truth;
use tautline_sim::Shape;

const SET: &str = "set";

/// A cost with a value, as given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    key: &'static Key,
    value: Value,
    way: Way,
}

/// The option that gives a cost.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The one of its name.
    Own,
    Set,
    Vary,
}

/// Costs that override those of the machine.
#[derive(Clone, Debug)]
pub(super) struct Overrides(Vec<Given>);

impl Args for Overrides {
    fn augment_args(command: Command) -> Command {
        let set = Arg::new(SET)
            .long(SET)
            .value_name("KEY=VALUE")
            .action(ArgAction::Append)
            .value_parser(set)
            .help("Set a cost of the machine, such as near_ns=1us")
            .long_help(keys());
        let own = KEYS.iter().filter(|key| key.is_option()).map(option);
        command
            .next_help_heading("Simulated machine")
            .arg(set)
            .args(own)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Overrides {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = KEYS
            .iter()
            .filter(|key| key.is_option())
            .map(|key| key.name);
        let given = |name| matches.get_many::<Given>(name).into_iter().flatten();
        Ok(Self(names.chain([SET]).flat_map(given).copied().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn option(key: &'static Key) -> Arg {
    let way = Way::Own;
    Arg::new(key.name)
        .long(key.name.replace('_', "-"))
        .value_name(match key.unit {
            Unit::Ns => "TIME",
            Unit::Network => "SHAPE",
            _ => "N",
        })
        .value_parser(move |text: &str| read(key, text).map(|value| Given { key, value, way }))
        .allow_hyphen_values(true)
        .help(key.help)
}

/// Refuses options that costs had before `--set`, by the new form.
///
/// # Errors
/// The first of these arguments that is one.
pub(in crate::command) fn refuse_former(arguments: &[OsString]) -> Outcome {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    for option in options.filter_map(|argument| argument.to_str()) {
        let option = option.split('=').next().unwrap_or_default();
        let key = option.strip_prefix("--").and_then(costs::find);
        if let Some(key) = key.filter(|key| !key.is_option()) {
            let name = key.name;
            let line = format!("{option}: expected --set {name}=VALUE instead");
            return Err(Failure::Usage(line));
        }
    }
    Ok(())
}

/// Returns the help of `--set`, with a line for each cost that has no option.
fn keys() -> String {
    let mut text =
        "Set a cost of the machine, such as near_ns=1us; times are nanoseconds or have units. \
                    Keys, beside those of the options below:"
            .to_owned();
    for key in KEYS.iter().filter(|key| !key.is_option()) {
        let (name, help) = (key.name, key.help);
        let _ = match (key.unit, key.unit.name()) {
            (Unit::Ns, _) | (_, "") => write!(text, "\n- {name}: {help}"),
            (_, unit) => write!(text, "\n- {name}: {help} ({unit})"),
        };
    }
    text
}

/// Reads `KEY=VALUE`.
fn set(text: &str) -> Result<Given, String> {
    let Some((name, text)) = text.split_once('=') else {
        return Err("KEY=VALUE, such as near_ns=1us".to_owned());
    };
    let names = || KEYS.iter().map(|key| key.name);
    let key = costs::find(name.trim()).ok_or_else(|| unknown(name, names()))?;
    let value = read(key, text.trim())?;
    let way = Way::Set;
    Ok(Given { key, value, way })
}

/// Returns the rule for a name that differs from all `known` ones.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let name = name.trim().replace('-', "_");
    let likeness = |known: &&str| strsim::jaro(&name, &known.replace('-', "_"));
    let near = known
        .clone()
        .filter(|known| known.len() > 1)
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|known| likeness(known) > 0.7);
    let known_names = known.collect::<Vec<_>>().join(", ");
    match near {
        Some(near) => format!("unknown, did you mean {near}? expected one of {known_names}"),
        None => format!("unknown, expected one of {known_names}"),
    }
}

/// Reads a value of the cost.
fn read(key: &Key, text: &str) -> Result<Value, String> {
    let number = match key.unit {
        Unit::Network => return parse_network(text).map(Value::Network),
        Unit::Switch => truth(text).ok().map(u64::from),
        Unit::Ns => nanoseconds(text, 0..=u64::MAX).ok(),
        _ => text.parse().ok(),
    };
    number
        .and_then(|number| key.value(number))
        .ok_or_else(|| key.allowed())
}

impl Given {
    /// Reads a value of `--vary`.
    pub(super) fn varied(key: &'static Key, text: &str) -> Result<Self, String> {
        let way = Way::Vary;
        read(key, text).map(|value| Self { key, value, way })
    }

    /// Returns the failure for this value, which the rest of the request excludes.
    fn refused(&self, why: &str) -> Failure {
        let Self { key, value, way } = self;
        let (name, value) = (key.name, shown(&value.to_string()));
        Failure::Usage(match way {
            Way::Own => format!("--{} {value}: {why}", name.replace('_', "-")),
            Way::Set => format!("--set {name}={value}: {why}"),
            Way::Vary => format!("--vary {name}={value}: {why}"),
        })
    }

    /// Returns the reason for which these `costs`, which have the value, are refused.
    fn doubt(&self, costs: &Costs, machine: &str, has_faults: bool) -> Option<String> {
        let cluster = &costs.machine.cluster;
        let (is_flat, name) = (cluster.shape == Shape::Flat, self.key.name);
        if name == "link_mb_per_s" && is_flat {
            return Some(format!(
                "the network of {machine} has no links; see --network"
            ));
        }
        let is_one_process = cluster.ranks.places == 0 && name != "rank_places";
        match self.key.section {
            Section::Ranks if is_one_process => {
                Some("one process has no messages to encode; see --rank-places".to_owned())
            }
            Section::Faults if !has_faults => {
                Some("without --fault there is nothing to which it applies".to_owned())
            }
            _ => None,
        }
    }
}

impl Overrides {
    /// Adds a value, in place of another one of the same cost.
    pub(super) fn replace(&mut self, given: Given) {
        self.0.retain(|other| other.key.name != given.key.name);
        self.0.push(given);
    }

    /// Refuses the costs to which nothing applies, for the reason `why`.
    ///
    /// # Errors
    /// The first of these.
    pub(super) fn only(&self, applies: impl Fn(&Key) -> bool, why: &str) -> Outcome {
        match self.0.iter().find(|given| !applies(given.key)) {
            Some(given) => {
                let names = KEYS.iter().filter(|key| applies(key)).map(|key| key.name);
                let names = names.collect::<Vec<_>>().join(", ");
                Err(given.refused(&format!("{why}, expected one of {names}")))
            }
            None => Ok(()),
        }
    }

    /// Applies the overrides to `costs`, those of `machine` for a run on `nodes` nodes, with faults
    /// or without.
    ///
    /// # Errors
    /// A cost that is given twice, or to which nothing applies.
    pub(super) fn over(
        &self,
        mut costs: Costs,
        (machine, nodes): (&str, u32),
        has_faults: bool,
    ) -> Result<Costs, Failure> {
        let is_given = |name: &str| self.0.iter().any(|given| given.key.name == name);
        for (at, given) in self.0.iter().enumerate() {
            let is_same = |other: &Given| other.key.name == given.key.name;
            if self.0[..at].iter().any(is_same) {
                return Err(given.refused("given more than once"));
            }
            given.key.set(&mut costs, given.value);
        }
        // A loot takes time by its bytes or by its tasks.
        let is_limited = is_given("mb_per_s") && costs.machine.cluster.mb_per_s > 0;
        if is_limited && !is_given("loot_task_ns") {
            costs.machine.loot_task_ns = 0;
        }
        for given in &self.0 {
            if let Value::Network(shape) = given.value {
                if let Some(room) = costs::room(shape).filter(|&room| room < nodes.into()) {
                    let why = format!("room for {room} nodes, not for the {nodes} in use");
                    return Err(given.refused(&why));
                }
            }
            if let Some(why) = given.doubt(&costs, machine, has_faults) {
                return Err(given.refused(&why));
            }
        }
        Ok(costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_set_by_its_printed_value_and_refused_by_its_bounds() {
        for key in KEYS {
            let printed = key.get(&Costs::default()).to_string();
            let given = set(&format!("{}={printed}", key.name)).expect(key.name);
            assert_eq!(
                (given.key.name, given.value.to_string()),
                (key.name, printed)
            );
            let refused = set(&format!("{}=-1", key.name)).expect_err(key.name);
            assert_eq!(refused, key.allowed());
        }
        let given = set("near-ns = 1us").expect("hyphens, blanks and units");
        assert_eq!(
            (given.key.name, given.value),
            ("near_ns", Value::Number(1_000))
        );
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_one() {
        for (text, nearest) in [
            ("nearns=5", "did you mean near_ns?"),
            ("far=5", "did you mean far_ns?"),
            ("link-mb-pers=5", "did you mean link_mb_per_s?"),
        ] {
            let refused = set(text).expect_err(text);
            assert!(refused.contains(nearest), "{text}: {refused}");
        }
        let refused = set("xyzzy=5").expect_err("no such key");
        assert!(!refused.contains("did you mean"), "{refused}");
        assert!(
            set("near_ns")
                .expect_err("no value")
                .starts_with("KEY=VALUE")
        );
    }
}
