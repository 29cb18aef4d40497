//! Errors in the arguments and variables, in one line.

use super::origin::origin;
use super::{Failure, ended};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use tautline::phaser::DEGREE_VARIABLE;
use tautline::pinning::WARN_VARIABLE;
use tautline::{platform, watch};
use tautline_process::{RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE};

/// The variables that no option stands for.
const OTHERS: [&str; 11] = [
    RANK_VARIABLE,
    RANKS_VARIABLE,
    SEGMENT_VARIABLE,
    WARN_VARIABLE,
    DEGREE_VARIABLE,
    platform::VARIABLE,
    watch::TRACE_VARIABLE,
    watch::LIFE_VARIABLE,
    watch::TIMES_VARIABLE,
    watch::DUMP_VARIABLE,
    watch::STALLED_VARIABLE,
];

/// The heading of options that change what is printed and written, not what is computed.
const OUTPUT: &str = "Output";

/// Reads the arguments of this process by `command`, with `of` from what was given. Prints help and version unchanged, and any error
/// as one line that names option, value and what is allowed.
///
/// # Errors
/// The exit code, if there is nothing to run.
pub fn read<T>(
    command: &clap::Command,
    of: impl FnOnce(&clap::ArgMatches) -> Result<T, clap::Error>,
) -> Result<T, ExitCode> {
    let end = |outcome| ended::end(command.get_name(), outcome);
    let refuse = |line: String| end(Err(Failure::Usage(line)));
    check_variables().map_err(refuse)?;
    let matches = without_empty_variables(command.clone()).try_get_matches();
    matches
        .and_then(|matches| of(&matches))
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let printed = error.print().and_then(|()| io::stdout().flush());
                end(ended::delivered(printed))
            }
            _ => refuse(line(&error, command)),
        })
}

/// Returns the commands and settings in `matches` that all ranks must have alike, also where an option has its default. Three kinds
/// of options may differ: those for which the library has a variable, as they change no result; those of the heading "Output"; and
/// of a path its name, since what is read from a file is compared by its content.
pub fn settings(command: &clap::Command, matches: &clap::ArgMatches) -> Vec<String> {
    let mut settings = Vec::new();
    for arg in command.get_arguments().filter(|arg| is_shared(arg)) {
        let values = matches.try_get_raw(arg.get_id().as_str());
        let Some(values) = values.ok().flatten() else {
            continue;
        };
        let name = name_of(arg);
        match is_path(arg) {
            true => settings.push(name),
            false => {
                let text = |value: &OsStr| format!("{name}={}", value.to_string_lossy());
                settings.extend(values.map(text));
            }
        }
    }
    if let Some((name, inner)) = matches.subcommand() {
        settings.insert(0, name.to_owned());
        let command = command.find_subcommand(name);
        settings.extend(
            command
                .into_iter()
                .flat_map(|command| self::settings(command, inner)),
        );
    }
    settings
}

fn is_shared(arg: &clap::Arg) -> bool {
    let variable = arg.get_env().unwrap_or_default().to_string_lossy();
    arg.get_help_heading() != Some(OUTPUT) && !variable.starts_with("TAUTLINE_")
}

fn is_path(arg: &clap::Arg) -> bool {
    let path: ValueParser = clap::value_parser!(PathBuf);
    arg.get_value_parser().type_id() == path.type_id()
}

/// Returns the name of an argument as it is given.
fn name_of(arg: &clap::Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => arg.get_id().to_string().to_uppercase(),
    }
}

/// Returns one line that names option, value and what is allowed.
pub fn line(error: &clap::Error, root: &clap::Command) -> String {
    let context = |kind| error.get(kind).map(text).filter(|text| !text.is_empty());
    // `--places <PLACES>` is redundant.
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
            format!(
                "{option}: one argument too many; see {} --help",
                command(error)
            )
        }
        ErrorKind::UnknownArgument => {
            format!("{option}: unknown{near}; see {} --help", command(error))
        }
        ErrorKind::InvalidSubcommand => {
            let given = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!(
                "{given}: no such command{near}; the commands are {}",
                names(root)
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!(
                "a command is missing: one of {}; see {} --help",
                names(root),
                root.get_name()
            )
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            match other == option || other.is_empty() {
                true => format!("{option}: given more than once"),
                false => format!("{option}: not together with {}", name(&other)),
            }
        }
        ErrorKind::MissingRequiredArgument => missing(error),
        _ => {
            let all = error.to_string();
            let first = all.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    }
}

/// Returns the names of the commands of `root`, or of those of the command that the arguments name.
pub fn names(root: &clap::Command) -> String {
    let mut command = root;
    for word in std::env::args_os().skip(1) {
        match command.find_subcommand(&word) {
            Some(inner) if inner.has_subcommands() => command = inner,
            _ => break,
        }
    }
    let names = command.get_subcommands().map(clap::Command::get_name);
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the line for required arguments that are missing.
fn missing(error: &clap::Error) -> String {
    let names: Vec<_> = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) => all.iter().map(|arg| name(arg)).collect(),
        _ => vec!["an argument"],
    };
    let (names, command) = (names.join(", "), command(error));
    format!("{names}: missing; see {command} --help")
}

/// Returns the words that call the command whose arguments are wrong.
fn command(error: &clap::Error) -> String {
    let usage = error.get(ContextKind::Usage).map(text).unwrap_or_default();
    let usage = usage.trim_start_matches("Usage: ");
    let is_word = |word: &&str| word.starts_with(|first: char| first.is_ascii_alphabetic());
    let words: Vec<_> = usage.split_whitespace().take_while(is_word).collect();
    words.join(" ")
}

/// Returns the option without the name of its value.
fn name(arg: &str) -> &str {
    arg.split([' ', '=']).next().unwrap_or(arg)
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(all) => all.join(", "),
        other => other.to_string(),
    }
}

fn is_empty(value: &OsStr) -> bool {
    value.to_str().is_some_and(|text| text.trim().is_empty())
}

/// Returns the command without the variables that are empty: they count as unset.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_unset = |arg: &clap::Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        value.is_some_and(|value| is_empty(&value))
    };
    command
        .mut_args(|arg| match is_unset(&arg) {
            true => arg.env(None::<&str>),
            false => arg,
        })
        .mut_subcommands(without_empty_variables)
}

/// Refuses values of the variables that correspond to no option, before anything runs.
fn check_variables() -> Result<(), String> {
    match std::env::var_os(WARN_VARIABLE) {
        Some(value) if !is_empty(&value) && value != "0" && value != "1" => {
            let value = value.to_string_lossy();
            let value = value.escape_debug();
            Err(format!(
                "{WARN_VARIABLE} {value}: 0 silences warnings, 1 does not"
            ))
        }
        _ => Ok(()),
    }
}

/// Warns in one line of all variables with the prefix of this library that are unknown.
pub fn warn_of_unknown_variables(command: &clap::Command) {
    let known: Vec<_> = command
        .get_subcommands()
        .chain([command])
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| arg.get_env())
        .collect();
    let unknown: Vec<String> = std::env::vars_os()
        .filter(|(_, value)| !is_empty(value))
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("TAUTLINE_"))
        .filter(|name| {
            !OTHERS.iter().any(|other| name == other) && !known.contains(&name.as_os_str())
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
        all.extend(OTHERS.map(Into::into));
        eprintln!(
            "{}: {names}: unknown and ignored; the variables are {}",
            command.get_name(),
            all.join(" ")
        );
    }
}
