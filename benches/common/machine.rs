//! On what was measured, for the heads of tables.

use std::process::Command;

/// The load of the last 1, 5 and 15 minutes.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The version of a crate that this program was built with.
pub fn version(name: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != format!("name = {name:?}"));
    let version = lines.nth(1).and_then(|line| line.split('"').nth(1));
    version.unwrap_or("of unknown version")
}

/// The first line that a program says of its version, if it is there.
#[allow(dead_code, reason = "some tables name no program")]
pub fn said_by(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}
