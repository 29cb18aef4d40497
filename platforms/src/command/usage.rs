//! What is wrong with the arguments, in one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::process::ExitCode;
use tautline::phaser::DEGREE_VARIABLE;
use tautline::pinning::WARN_VARIABLE;

/// Prints help and version as they are, and any error as one line that names option, value and what is
/// allowed.
pub(super) fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => super::complain(&line(error), 2),
    }
}

/// One line that names option, value and what is allowed.
pub(super) fn line(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(text).filter(|text| !text.is_empty());
    // `--places <PLACES>` says more than it needs to.
    let option = context(ContextKind::InvalidArg).map(|arg| name(&arg).to_owned());
    let option = option.as_deref().unwrap_or("the arguments");
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let near =
        context(ContextKind::SuggestedArg).or_else(|| context(ContextKind::SuggestedSubcommand));
    let near = near.map_or(String::new(), |near| format!(", did you mean {near}?"));
    match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => format!("{option}: needs a value"),
        ErrorKind::InvalidValue => {
            let allowed = context(ContextKind::ValidValue).unwrap_or_default();
            format!(
                "{option} {value}: one of {allowed}{}",
                origin(option, &value)
            )
        }
        ErrorKind::ValueValidation => {
            let reason = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{option} {value}: {reason}{}", origin(option, &value))
        }
        ErrorKind::UnknownArgument if !option.starts_with('-') => {
            format!("{option}: one argument too many; see tautline --help")
        }
        ErrorKind::UnknownArgument => format!("{option}: unknown{near}; see tautline --help"),
        ErrorKind::InvalidSubcommand => {
            let given = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!(
                "{given}: no such command{near}; the commands are {}",
                super::names()
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!(
                "a command is missing: one of {}; see tautline --help",
                super::names()
            )
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            if other == option || other.is_empty() {
                format!("{option}: given more than once")
            } else {
                format!("{option}: not together with {}", name(&other))
            }
        }
        _ => {
            let all = error.to_string();
            let first = all.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    }
}

/// The option without the name of its value.
fn name(arg: &str) -> &str {
    arg.split([' ', '=']).next().unwrap_or(arg)
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(all) => all.join(", "),
        other => other.to_string(),
    }
}

/// Says so if the value was not given as an option but stands in a variable.
fn origin(option: &str, value: &str) -> String {
    let variable = option
        .trim_start_matches('-')
        .replace('-', "_")
        .to_uppercase();
    let variable = format!("TAUTLINE_{variable}");
    let given = std::env::args_os().any(|arg| arg.to_string_lossy().ends_with(value));
    let set = std::env::var(&variable).is_ok_and(|set| set == value);
    if set && !given {
        format!(" (from {variable})")
    } else {
        String::new()
    }
}

/// One line for all variables that look like ours and are not.
pub(super) fn warn_of_unknown_variables(command: &clap::Command) {
    let known: Vec<_> = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| arg.get_env())
        .collect();
    let unknown: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("TAUTLINE_"))
        .filter(|name| {
            name != WARN_VARIABLE && name != DEGREE_VARIABLE && !known.contains(&name.as_os_str())
        })
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if !unknown.is_empty() {
        let (names, mut all) = (unknown.join(" "), Vec::new());
        for name in known {
            let name = name.to_string_lossy();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all.extend([WARN_VARIABLE.into(), DEGREE_VARIABLE.into()]);
        eprintln!(
            "tautline: {names}: unknown and ignored; the variables are {}",
            all.join(" ")
        );
    }
}
