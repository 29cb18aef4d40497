//! `tautline completions` and `tautline man`: what shells and manuals know of the command.

use super::known::Known;
use super::{Cli, Failure, Outcome, deliver, quote};
use clap::builder::{StringValueParser, ValueParser};
use clap::{Arg, Args, Command, CommandFactory, ValueHint};
use clap_complete::{Shell, generate};
use clap_mangen::Man as Page;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
EXAMPLES:
  tautline completions bash > ~/.local/share/bash-completion/completions/tautline
  tautline completions zsh > ~/.zfunc/_tautline
  tautline completions fish > ~/.config/fish/completions/tautline.fish")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual, of all or of one command
#[derive(Args, Debug)]
#[command(after_help = "\
EXAMPLES:
  tautline man | man -l -
  tautline man uts > tautline-uts.1
  tautline man bench barrier | man -l -
  tautline man --all /usr/share/man/man1    a file for each command")]
pub(super) struct Man {
    /// The command, with those that it belongs to, as in bench barrier
    #[arg(value_name = "COMMAND", hide_possible_values = true)]
    #[arg(value_parser = Known::new(StringValueParser::new(), commands))]
    of: Vec<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "of")]
    all: Option<PathBuf>,
}

/// Returns the names of all commands.
fn commands() -> Vec<String> {
    let root = Cli::command();
    let names = root.get_subcommands().map(Command::get_name);
    names.map(str::to_owned).collect()
}

impl Completions {
    /// Prints them.
    pub(super) fn run(&self, command: Command) -> Outcome {
        let mut text = Vec::new();
        generate(self.shell, &mut hinted(command), "tautline", &mut text);
        deliver(&String::from_utf8_lossy(&text))
    }
}

/// Returns the command, of which shells propose files for those options alone that name files.
fn hinted(command: Command) -> Command {
    let path: ValueParser = clap::value_parser!(PathBuf);
    let is_unknown = |arg: &Arg| {
        let is_path = arg.get_value_parser().type_id() == path.type_id();
        let other = arg.get_action().takes_values() && !is_path;
        other && arg.get_value_hint() == ValueHint::Unknown && arg.get_possible_values().is_empty()
    };
    command
        .mut_args(|arg| match is_unknown(&arg) {
            true => arg.value_hint(ValueHint::Other),
            false => arg,
        })
        .mut_subcommands(hinted)
}

impl Man {
    /// Prints or writes it.
    pub(super) fn run(&self, command: Command) -> Outcome {
        // Sets the names of the pages, and the words that call the commands.
        let mut command = without_help(command);
        command.build();
        if let Some(folder) = &self.all {
            return write(&command, folder);
        }
        let mut found = &command;
        for (at, name) in self.of.iter().enumerate() {
            let refusal = || {
                let names = found
                    .get_subcommands()
                    .map(Command::get_name)
                    .collect::<Vec<_>>()
                    .join(", ");
                let given = quote::shown(&self.of[..=at].join(" "));
                Failure::Usage(match names.is_empty() {
                    true => format!("man {given}: {} has no commands", self.of[..at].join(" ")),
                    false => format!("man {given}: expected one of {names}"),
                })
            };
            found = found.find_subcommand(name).ok_or_else(refusal)?;
        }
        deliver(&page(found)?)
    }
}

/// Returns the command without `help`, which has no page.
fn without_help(command: Command) -> Command {
    let command = command.disable_help_subcommand(true);
    command.mut_subcommands(without_help)
}

/// Writes the page of a command, and those of the commands below it that its page mentions, to
/// `folder`.
fn write(command: &Command, folder: &Path) -> Outcome {
    let path = folder.join(format!("{}.1", title(command)));
    let refused = |error: io::Error| Failure::Usage(format!("--all {}: {error}", path.display()));
    fs::write(&path, page(command)?).map_err(refused)?;
    let mut below = command.get_subcommands().filter(|it| !it.is_hide_set());
    below.try_for_each(|inner| write(inner, folder))
}

/// Returns the name of the page of a command.
fn title(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// Returns the page of a command, in the form of `troff`.
fn page(command: &Command) -> Result<String, Failure> {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    // The other form lists all options, without the names of their values.
    let page = Page::new(command.override_usage(usage.to_owned()))
        .source(concat!("tautline ", env!("CARGO_PKG_VERSION")))
        .manual("Tautline");
    let mut text = Vec::new();
    let rendered = page.render(&mut text);
    rendered.map_err(|error| Failure::Undelivered(format!("cannot write the manual: {error}")))?;
    let text = String::from_utf8_lossy(&text);
    // As `troff` itself reads bytes of Latin-1.
    let spelled = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => format!(r"\[u{:04X}]", u32::from(c)),
    };
    Ok(text.chars().map(spelled).collect())
}
