//! The command as tests start it.

use std::process::Command;

/// Returns the command with these arguments, without warnings and what the caller's environment sets.
pub(crate) fn tautline(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.args(args.split_whitespace());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TAUTLINE_") {
            command.env_remove(name);
        }
    }
    command.env_remove("OMP_PLACES").env("TAUTLINE_WARN", "0");
    command
}
