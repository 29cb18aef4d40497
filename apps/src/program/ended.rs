//! The ends of programs: their result on stdout, or one line on stderr, and the exit code.

use super::origin::origin;
use super::quote::{escaped, shown};
use super::refusal::expected;
use std::io::{self, Write};
use std::process::ExitCode;

/// The reason why a program ends without its result.
#[derive(Debug)]
pub enum Failure {
    /// The request cannot be carried out.
    Usage(String),
    /// An answer is wrong or missing.
    Check(String),
    /// An answer could not be written.
    Undelivered(String),
    /// The user interrupted the run. The partial result has been printed.
    Interrupted,
    /// A rank was lost, or the ranks do not agree.
    Ranks(String),
    /// The ranks that this process has launched ended with this exit code, and have printed why.
    Ended(u8),
}

/// The value that a command or program returns.
pub type Outcome = Result<(), Failure>;

impl<E: Into<tautline::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        if let tautline::Error::Rank(ended) = error {
            return Self::Ranks(ended.to_string());
        }
        Self::Usage(match error {
            tautline::Error::Setting {
                setting,
                value,
                allowed,
            } => match setting.starts_with(|first: char| first.is_ascii_uppercase()) {
                true => format!("{setting} {value}: {allowed}"),
                false => {
                    let option = format!("--{}", setting.replace(['_', ' '], "-"));
                    let origin = origin(&option, &value);
                    let (value, rule) = (shown(&value), expected(&allowed));
                    format!("{option} {value}: {rule}{origin}")
                }
            },
            other => other.to_string(),
        })
    }
}

/// Prints the line of a failure of the `program`, and returns the exit code.
pub fn end(program: &str, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(line)) => complain(program, &line, 2),
        Err(Failure::Check(line)) => complain(program, &line, 1),
        Err(Failure::Undelivered(line)) => complain(program, &line, 3),
        Err(Failure::Ranks(line)) => complain(program, &line, 4),
        Err(Failure::Interrupted) => ExitCode::from(130),
        Err(Failure::Ended(code)) => ExitCode::from(code),
    }
}

fn complain(program: &str, line: &str, code: u8) -> ExitCode {
    // In one line, whatever values it shows. `eprintln` would panic where standard error cannot be
    // written.
    let _ = writeln!(io::stderr(), "{program}: {}", escaped(line));
    ExitCode::from(code)
}

/// Writes a result. A closed pipe is not a failure.
///
/// # Errors
/// A result that cannot be written.
pub fn deliver(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    delivered(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Returns how a program ends that has written its result. A closed pipe is not a failure.
pub(super) fn delivered(written: io::Result<()>) -> Outcome {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Undelivered(
            format!("cannot write the result: {error}"),
        )),
        _ => Ok(()),
    }
}
