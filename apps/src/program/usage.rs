//! Reading the arguments and variables.

use super::{Failure, ended, refusal};
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use std::ffi::{OsStr, OsString};
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

/// Reads `arguments`, of which the first is the program, by `command`, with `of` from what was given. Prints help and version
/// unchanged, and any error as one line that names option, value and what is allowed.
///
/// # Errors
/// The exit code, if there is nothing to run.
pub fn read<T>(
    command: &clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
    of: impl FnOnce(&clap::ArgMatches) -> Result<T, clap::Error>,
) -> Result<T, ExitCode> {
    let end = |outcome| ended::end(command.get_name(), outcome);
    let refuse = |line: String| end(Err(Failure::Usage(line)));
    check_variables().map_err(refuse)?;
    let matches = without_empty_variables(command.clone()).try_get_matches_from(arguments);
    matches
        .and_then(|matches| of(&matches))
        .map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let printed = error.print().and_then(|()| io::stdout().flush());
                end(ended::delivered(printed))
            }
            _ => refuse(refusal::line(&error, command)),
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
