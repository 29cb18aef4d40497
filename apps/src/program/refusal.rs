//! Errors in the arguments, in one line.

use super::origin::origin;
use super::quote::{escaped, shown};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::error::Error as _;

/// Returns one line that names option, value and what is allowed.
pub fn line(error: &clap::Error, root: &Command) -> String {
    let context = |kind| error.get(kind).map(text).filter(|text| !text.is_empty());
    // `--places <PLACES>` is redundant.
    let option = context(ContextKind::InvalidArg).map(|arg| name(&arg).to_owned());
    // `[N]` is optional, which does not matter where it is given.
    let option = option
        .as_deref()
        .unwrap_or("the arguments")
        .trim_matches(['[', ']']);
    let given = context(ContextKind::InvalidValue).unwrap_or_default();
    let value = shown(&given);
    match error.kind() {
        ErrorKind::InvalidValue => {
            let allowed = context(ContextKind::ValidValue);
            match (given.is_empty(), allowed) {
                (true, None) => format!("{option}: needs a value"),
                (true, Some(allowed)) => format!("{option}: needs a value, one of {allowed}"),
                (false, allowed) => {
                    let allowed = allowed.unwrap_or_default();
                    let near = near(error, ContextKind::SuggestedValue).replacen(',', ";", 1);
                    let origin = origin(option, &given);
                    format!("{option} {value}: expected one of {allowed}{origin}{near}")
                }
            }
        }
        ErrorKind::ValueValidation => {
            let rule = error.source().map(ToString::to_string).unwrap_or_default();
            let rule = expected(&rule);
            format!("{option} {value}: {rule}{}", origin(option, &given))
        }
        ErrorKind::UnknownArgument => unknown(error, option, root),
        ErrorKind::InvalidSubcommand => {
            let given = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = near(error, ContextKind::SuggestedSubcommand);
            let (command, _) = innermost(root);
            let mark = if near.is_empty() { ";" } else { "" };
            let (given, names) = (shown(&given), names_of(command));
            format!("{given}: no such command{near}{mark} the commands are {names}")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            missing_command(root)
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            match name(&other) == option || other.is_empty() {
                true => format!("{option}: given more than once"),
                false => format!("{option}: not together with {}", name(&other)),
            }
        }
        ErrorKind::MissingRequiredArgument => missing(error),
        ErrorKind::InvalidUtf8 => not_unicode(),
        ErrorKind::TooManyValues => format!("{option} {value}: expected no value"),
        _ => {
            let all = error.to_string();
            let first = all.lines().next().unwrap_or_default();
            escaped(first.trim_start_matches("error: "))
        }
    }
}

/// Returns the line for arguments that are not Unicode where text is expected: clap does not name
/// them.
fn not_unicode() -> String {
    let arguments = std::env::args_os().skip(1);
    let odd = arguments.filter(|argument| argument.to_str().is_none());
    let odd: Vec<_> = odd
        .map(|argument| format!("\"{}\"", argument.as_encoded_bytes().escape_ascii()))
        .collect();
    format!("{}: not Unicode, expected UTF-8", odd.join(", "))
}

/// Returns the rule of a value that does not keep it, as the end of a line.
pub fn expected(rule: &str) -> String {
    match rule {
        _ if rule.contains("expected ") => rule.to_owned(),
        _ if rule.starts_with("from ") => format!("expected a number {rule}"),
        _ => format!("expected {rule}"),
    }
}

/// Returns the line for a command without the one that should follow it.
pub fn missing_command(root: &Command) -> String {
    let (command, words) = innermost(root);
    let names = names_of(command);
    format!("a command is missing: expected one of {names}; see {words} --help")
}

/// Returns the names of the commands of `command`.
fn names_of(command: &Command) -> String {
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    shown.map(Command::get_name).collect::<Vec<_>>().join(", ")
}

/// Returns the innermost command with commands of its own that the arguments of this process name,
/// and the words that call it.
fn innermost(root: &Command) -> (&Command, String) {
    let (mut command, mut words) = (root, root.get_name().to_owned());
    for word in std::env::args_os().skip(1) {
        match command.find_subcommand(&word) {
            Some(inner) if inner.has_subcommands() => {
                command = inner;
                words = format!("{words} {}", inner.get_name());
            }
            _ => break,
        }
    }
    (command, words)
}

/// Returns the line for an option that is unknown, or not known here.
fn unknown(error: &clap::Error, option: &str, root: &Command) -> String {
    let words = command(error);
    let option = shown(option);
    if !option.starts_with('-') {
        return format!("{option}: one argument too many; see {words} --help");
    }
    if let Some(inner) = place_of(&option, &words, root) {
        return format!("{option}: expected after the command, as in {words} {inner} {option}");
    }
    let near = near(error, ContextKind::SuggestedArg);
    let mark = if near.is_empty() { ";" } else { "" };
    format!("{option}: unknown{near}{mark} see {words} --help")
}

/// Returns the command below the one that `words` call to which the option belongs, if there is
/// one: preferably one that the arguments of this process name.
fn place_of(option: &str, words: &str, root: &Command) -> Option<String> {
    let mut here = root;
    for word in words.split(' ').skip(1) {
        here = here.find_subcommand(word)?;
    }
    let has_option = |command: &&Command| command.get_arguments().any(|arg| is_named(arg, option));
    let mut given = std::env::args_os().skip(1);
    let given = given.find_map(|word| here.find_subcommand(word).filter(has_option));
    let found = given.or_else(|| here.get_subcommands().find(has_option))?;
    Some(found.get_name().to_owned())
}

fn is_named(arg: &Arg, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => arg
            .get_long_and_visible_aliases()
            .unwrap_or_default()
            .contains(&long),
        None => arg
            .get_short()
            .is_some_and(|short| option == format!("-{short}")),
    }
}

/// Returns the question for what is similar to the value, the most similar first; empty if nothing
/// is.
fn near(error: &clap::Error, kind: ContextKind) -> String {
    let all = match error.get(kind) {
        // clap has the most similar one last.
        Some(ContextValue::Strings(all)) => all.iter().rev().take(2).cloned().collect(),
        Some(ContextValue::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    match all.is_empty() {
        true => String::new(),
        false => format!(", did you mean {}?", all.join(" or ")),
    }
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
    let end = match arg.starts_with('-') {
        // `--header[=<WHETHER>]`, but `[FILE]`.
        true => arg.find([' ', '=', '[']),
        false => arg.find([' ', '=']),
    };
    &arg[..end.unwrap_or(arg.len())]
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(all) => all.join(", "),
        other => other.to_string(),
    }
}
