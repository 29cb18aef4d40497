//! herd7, which decides whether a model allows an outcome.

use crate::shell::quiet;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

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

/// The program, and the processor time that it may take for all tests together.
pub(super) struct Herd {
    program: OsString,
    limit: Duration,
    spent: Mutex<Duration>,
}

impl Herd {
    /// Finds the program. Returns why not, otherwise.
    pub(super) fn find(limit: Duration) -> Result<Self, String> {
        let program = std::env::var_os(VARIABLE).unwrap_or_else(|| OsString::from("herd7"));
        let answer = quiet(Command::new(&program).arg("-version"));
        match answer.is_ok_and(|said| said.ok) {
            true => Ok(Self {
                program,
                limit,
                spent: Mutex::default(),
            }),
            false => Err(format!(
                "{}: cannot be started; install herdtools7, or run ci/herd7.sh and set {VARIABLE}",
                program.display()
            )),
        }
    }

    /// Runs one test file, under a model of `models` or under that of its processor.
    pub(super) fn run(&self, test: &Path, models: &Path, model: Option<&str>) -> Result<Seen> {
        let seconds = self.limit.as_secs();
        if self.spent() > self.limit {
            bail!("not run: all tests together took {seconds} s of processor time");
        }
        let mut command = Command::new("timeout");
        command.arg(seconds.to_string()).arg(&self.program);
        // Leaves out candidates that no coherent model allows, which all of these are.
        command.args(["-optace", "true"]);
        if let Some(model) = model {
            command.arg("-I").arg(models).args(["-model", model]);
        }
        let said = quiet(command.arg(test))?;
        *self.spent.lock().expect(UNPOISONED) += time(&said.out).unwrap_or_default();
        observation(&said.out).with_context(|| {
            let first = said.err.lines().find(|line| !line.trim().is_empty());
            first.map_or_else(|| format!("no observation in {seconds} s"), str::to_owned)
        })
    }

    /// Returns the processor time of all runs so far.
    pub(super) fn spent(&self) -> Duration {
        *self.spent.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no run panics with the lock";

/// Reads the line `Time NAME 0.12`.
fn time(out: &str) -> Option<Duration> {
    let line = out.lines().find(|line| line.starts_with("Time "))?;
    let seconds = line.split_whitespace().nth(2)?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
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

#[cfg(test)]
mod tests {
    use super::{Seen, observation, time};
    use std::time::Duration;

    #[test]
    fn verdict_and_time_are_read() {
        let out = "Test a Allowed\nObservation a Always 2 0\nTime a 0.25\n";
        assert_eq!(observation(out), Some(Seen::Sometimes));
        assert_eq!(time(out), Some(Duration::from_millis(250)));
        assert_eq!(observation("Observation a Never 0 3"), Some(Seen::Never));
        assert_eq!(observation("Warning: a"), None);
    }
}
