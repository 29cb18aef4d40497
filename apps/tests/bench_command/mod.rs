//! `tautline bench` without the variables of the process that runs the tests.

use std::process::Command;

/// `tautline bench` with these words, to be started.
pub(crate) fn bench(args: &[&str]) -> Command {
    let mut command = tautline();
    command.arg("bench").args(args);
    command
}

/// The command without words.
pub(crate) fn tautline() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("TAUTLINE_") || name.starts_with("OMP_") {
            command.env_remove(name.as_ref());
        }
    }
    command
}
