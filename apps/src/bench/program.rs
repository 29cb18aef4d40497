//! Barriers of external programs.
#![forbid(unsafe_code)]

use super::{Kind, Plan, Sample, Taken};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tautline::balance::Control;

/// The time between two checks whether a program has ended.
const POLLED: Duration = Duration::from_millis(1);

impl Kind {
    /// The barrier of a program, given as its path and first arguments. It is called with a number
    /// of episodes and a number of threads after them, and prints the nanoseconds of an episode,
    /// before anything else. The variable `OMP_PLACES` lists the processors; its n-th thread is to
    /// stay on the n-th of them, in turn.
    pub fn program(
        name: impl Into<String>,
        words: impl IntoIterator<Item: Into<OsString>>,
    ) -> Self {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        Self::measured(name, move |plan| call(&words, plan))
    }
}

fn call(words: &[OsString], plan: &Plan) -> io::Result<Sample> {
    let mut places: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for cpu in plan.cpus.iter().filter(|&&cpu| seen.insert(cpu)) {
        places.push(format!("{{{cpu}}}"));
    }
    let mut command = Command::new(words.first().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words.get(1..).unwrap_or_default());
    command.args([plan.iterations.to_string(), plan.cpus.len().to_string()]);
    let output = output(command.env("OMP_PLACES", places.join(",")), &plan.stop)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    match first.filter(|ns: &f64| output.status.success() && ns.is_finite()) {
        Some(ns) => Ok(Sample {
            ns,
            pinned: true,
            lost: Taken::default(),
        }),
        None => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().last().unwrap_or_default().to_owned();
            let status = output.status;
            let fault = format!("it ends with {status} and no number of nanoseconds; {said:?}");
            Err(io::Error::other(fault))
        }
    }
}

/// Runs a program to its end, or kills it once `stop` is stopped.
fn output(command: &mut Command, stop: &Control) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdout, stderr) = (all_of(child.stdout.take()), all_of(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stop.is_stopped() {
            child.kill()?;
            child.wait()?;
            // What it has started may hold its pipes open, so nothing waits for their ends.
            return Err(io::ErrorKind::Interrupted.into());
        }
        // A sleep, since std waits for a child or for the stop, not for the first of both.
        thread::sleep(POLLED);
    };
    let text = |pipe: JoinHandle<_>| pipe.join().expect("it only reads");
    Ok(Output {
        status,
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

/// Reads a pipe to its end, as a full one would stop the program.
fn all_of(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut text = Vec::new();
        // What cannot be read is missing in the text, which is checked.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
        text
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tautline::balance::Reason;

    fn plan() -> Plan {
        Plan {
            cpus: vec![3, 1, 3],
            iterations: 40,
            delay: 0,
            stop: Arc::default(),
        }
    }

    #[test]
    fn a_program_is_told_what_to_do_and_its_number_is_taken() {
        // Its arguments as a number: episodes, threads, processors.
        let told = r#"#!/bin/sh
            echo "$1$2.$(echo "$OMP_PLACES" | tr -cd 0-9) 2.0""#;
        let file = std::env::temp_dir().join(format!("tautline-program-{}", std::process::id()));
        std::fs::write(&file, told).unwrap();
        let words = [OsString::from("sh"), file.clone().into()];
        let sample = Kind::program("told", words).sample(&plan());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(sample.unwrap().ns, 403.31);
    }

    #[test]
    fn a_program_is_killed_when_measuring_stops() {
        let plan = plan();
        plan.stop.stop(Reason::Deadline);
        // Without an end of its own.
        let sample = Kind::program("it", ["sleep", "1000000"]).sample(&plan);
        assert!(sample.is_err(), "{sample:?}");
    }

    #[test]
    fn a_program_that_fails_is_an_error() {
        for words in [&["false"][..], &["echo", "episodes"], &["/no/such"], &[]] {
            let sample = Kind::program("it", words).sample(&plan());
            assert!(sample.is_err(), "{words:?}");
        }
    }
}
