//! Reading the arguments and variables.

use super::{Failure, ended, refusal};
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use tautline::internal::WARN;
use tautline::variables;

/// The heading of options that change what is printed and written, not what is computed.
const OUTPUT: &str = "Output";

/// Reads `arguments`, of which the first is the program, by `command`, with `of` from what was
/// given. Prints help and version unchanged, and any error as one line that names option, value and
/// allowed values.
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
    let matches = with_variables(command.clone()).try_get_matches_from(arguments);
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

/// Returns the commands and settings in `matches` that all ranks must have alike, also where an
/// option has its default. Three kinds of options may differ: those for which the library has a
/// variable, as they change no result; those of the heading "Output"; and the name of an input
/// file, whose content is compared.
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

/// Returns the command with the variables as the library reads them: without blanks around a value,
/// and an empty one counts as unset.
fn with_variables(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let value = arg.get_env().and_then(std::env::var_os);
            let text = value.as_deref().and_then(OsStr::to_str);
            match text.map(|text| (text, text.trim())) {
                Some((_, "")) => arg.env(None::<&str>),
                Some((text, trimmed)) if text != trimmed => {
                    arg.env(None::<&str>).default_value(trimmed.to_owned())
                }
                _ => arg,
            }
        })
        .mut_subcommands(with_variables)
}

/// Refuses values of variables that no option has, before anything runs.
fn check_variables() -> Result<(), String> {
    variables::check().map_err(|error| error.to_string())?;
    let value = std::env::var(WARN.variable).unwrap_or_default();
    match value.trim() {
        "" | "0" | "1" => Ok(()),
        other => Err(format!(
            "{} {}: 0 silences warnings, 1 does not",
            WARN.variable,
            other.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Balanced;
    use clap::Args;

    #[test]
    fn variables_of_options_are_listed() {
        let command = Balanced::augment_args(clap::Command::new("any"));
        let named: Vec<_> = command
            .get_arguments()
            .filter_map(|arg| arg.get_env()?.to_str())
            .collect();
        assert!(named.len() > 8, "{named:?}");
        assert!(
            named.iter().all(|name| variables::ALL.contains(name)),
            "{named:?}"
        );
    }
}
