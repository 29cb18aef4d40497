//! `tautline completions` and `tautline man`: what shells and manuals know of the command.

use super::{Failure, Outcome, deliver};
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use clap_mangen::Man as Page;

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
  tautline man uts > tautline-uts.1")]
pub(super) struct Man {
    /// The command
    #[arg(value_name = "COMMAND")]
    of: Option<String>,
}

impl Completions {
    /// Prints them.
    pub(super) fn run(&self, mut command: Command) -> Outcome {
        let mut text = Vec::new();
        generate(self.shell, &mut command, "tautline", &mut text);
        deliver(&String::from_utf8_lossy(&text))
    }
}

impl Man {
    /// Prints it.
    pub(super) fn run(&self, command: Command) -> Outcome {
        let command = match &self.of {
            None => command,
            Some(name) => {
                let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
                let refusal = || Failure::Usage(format!("man {name}: one of {}", names.join(", ")));
                let found = command.find_subcommand(name).ok_or_else(refusal)?;
                found.clone().display_name(format!("tautline-{name}"))
            }
        };
        let mut text = Vec::new();
        let rendered = Page::new(command).render(&mut text);
        rendered
            .map_err(|error| Failure::Undelivered(format!("cannot write the manual: {error}")))?;
        deliver(&String::from_utf8_lossy(&text))
    }
}
