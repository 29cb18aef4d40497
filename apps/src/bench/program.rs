//! Barriers of external programs.
#![forbid(unsafe_code)]

use super::{Kind, Plan, Sample, Taken};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command;

impl Kind {
    /// The barrier of a program, given as its path and first arguments. It is called with a number of episodes and a number of
    /// threads after them, and prints the nanoseconds of an episode, before anything else. The variable `OMP_PLACES`
    /// lists the processors; its n-th thread is to stay on the n-th of them, in turn.
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
    let output = command.env("OMP_PLACES", places.join(",")).output()?;
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            cpus: vec![3, 1, 3],
            iterations: 40,
            delay: 0,
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
    fn a_program_that_fails_is_an_error() {
        for words in [&["false"][..], &["echo", "episodes"], &["/no/such"], &[]] {
            let sample = Kind::program("it", words).sample(&plan());
            assert!(sample.is_err(), "{words:?}");
        }
    }
}
