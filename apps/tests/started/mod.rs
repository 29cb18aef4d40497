//! The command as tests start it.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::process::Command;

/// Returns the command with these arguments, without warnings and what the caller's environment
/// sets.
pub(crate) fn tautline(args: &str) -> Command {
    let mut command = prepared(Command::new(env!("CARGO_BIN_EXE_tautline")));
    command.args(args.split_whitespace());
    command
}

/// Returns a shell that runs `line`, in which `$CLI` is the command.
pub(crate) fn shell(line: &str) -> Command {
    let mut shell = prepared(Command::new("sh"));
    shell.args(["-c", line]);
    shell.env("CLI", env!("CARGO_BIN_EXE_tautline"));
    shell
}

/// Removes what the caller's environment sets, and the warnings.
pub(crate) fn prepared(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TAUTLINE_") {
            command.env_remove(name);
        }
    }
    command.env_remove("OMP_PLACES").env("TAUTLINE_WARN", "0");
    command
}
