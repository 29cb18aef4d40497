//! herd7, which decides whether a model allows an outcome.

use crate::shell::quiet;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const VARIABLE: &str = "TAUTLINE_HERD7";

/// Whether an outcome was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Never,
    Sometimes,
}

impl Seen {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::Sometimes => "Sometimes",
        }
    }
}

/// The program, and when it must have ended.
pub(super) struct Herd {
    program: OsString,
    end: Instant,
}

impl Herd {
    /// Finds the program. Returns why not, otherwise.
    pub(super) fn find(limit: Duration) -> Result<Self, String> {
        let program = std::env::var_os(VARIABLE).unwrap_or_else(|| OsString::from("herd7"));
        let end = Instant::now() + limit;
        let answer = quiet(Command::new(&program).arg("-version"));
        match answer.is_ok_and(|said| said.ok) {
            true => Ok(Self { program, end }),
            false => Err(format!(
                "{}: cannot be started; install herdtools7, or run ci/herd7.sh and set {VARIABLE}",
                program.display()
            )),
        }
    }

    /// Runs one test file, under a model of `models` or under that of its processor.
    pub(super) fn run(&self, test: &Path, models: &Path, model: Option<&str>) -> Result<Seen> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            bail!("not run: the time for all tests is over");
        }
        let mut command = Command::new("timeout");
        command
            .arg(format!("{:.1}", left.as_secs_f64()))
            .arg(&self.program);
        // Leaves out candidates that no coherent model allows, which all of these are.
        command.args(["-optace", "true"]);
        if let Some(model) = model {
            command.arg("-I").arg(models).args(["-model", model]);
        }
        let said = quiet(command.arg(test))?;
        observation(&said.out).with_context(|| {
            let first = said.err.lines().find(|line| !line.trim().is_empty());
            first
                .unwrap_or("no observation in the time for all tests")
                .to_owned()
        })
    }
}

/// Reads the line `Observation NAME Sometimes 1 3`.
fn observation(out: &str) -> Option<Seen> {
    let line = out.lines().find(|line| line.starts_with("Observation "))?;
    match line.split_whitespace().nth(2)? {
        "Never" => Some(Seen::Never),
        "Sometimes" | "Always" => Some(Seen::Sometimes),
        _ => None,
    }
}
