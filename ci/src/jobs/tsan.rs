//! ThreadSanitizer over the tests of tasks, with nothing suppressed.

use super::Verdict;
use crate::shell::{Said, quiet, run, target_dir};
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::process::Command;

/// The standard library is built too: else its locks are invisible, and everything under them looks like a race.
const BUILD: [&str; 4] = [
    "+nightly",
    "test",
    "-Zbuild-std",
    "--target=x86_64-unknown-linux-gnu",
];

/// A test that is a race on purpose.
pub const CANARY: &str = "a_race_for_the_sanitizer";

const TESTS: [(&str, &str, &[&str]); 2] = [
    ("tautline-core", "task", &[]),
    // The sanitizer keeps no more than 65 536 frames of a thread.
    (
        "tautline-node",
        "pool",
        &[
            "--skip",
            "thousand_deep",
            "--skip",
            "million_deep",
            "--skip",
            "deep_again",
        ],
    ),
];

pub fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        let why = "the sanitizer is set up for x86_64 Linux only: run it there";
        return Ok(Verdict::CannotRun(why.into()));
    }
    let listing = ["component", "list", "--toolchain", "nightly"];
    let listing = quiet(Command::new("rustup").args(listing));
    if !listing.is_ok_and(|said| said.ok && has_source(&said.out)) {
        let install = "rustup toolchain install nightly --component rust-src";
        let why = format!("no nightly with its source: {install}");
        return Ok(Verdict::CannotRun(why));
    }
    let (package, test, _) = TESTS[0];
    let canary = [CANARY, "--exact", "--ignored"];
    caught(&quiet(&mut sanitized(tree, package, test, &canary))?)?;
    let mut failed = Vec::new();
    for (package, test, words) in TESTS {
        if let Err(error) = run(&mut sanitized(tree, package, test, words)) {
            failed.push(format!("{test}: {error:#}"));
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(Verdict::Holds("no race".into()))
}

fn has_source(listing: &str) -> bool {
    let is_there = |line: &str| line.starts_with("rust-src") && line.contains("(installed)");
    listing.lines().any(is_there)
}

fn sanitized(tree: &Tree, package: &str, test: &str, words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(&tree.root)
        .args(BUILD)
        .args(["-p", package, "--test", test, "--"])
        .args(words)
        // Set by the cargo that runs this, for a toolchain that cannot sanitize.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_TARGET_DIR", target_dir(tree).join("tsan"))
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("TSAN_OPTIONS", "halt_on_error=0 exitcode=66")
        .env("TAUTLINE_SOAK_CYCLES", "200");
    command
}

/// The race that is there on purpose must be found, or the job sees nothing.
fn caught(said: &Said) -> Result<()> {
    if !said.err.contains("ThreadSanitizer: data race") {
        print!("{}{}", said.out, said.err);
        bail!("the race of `{CANARY}` was not found: the sanitizer sees nothing");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{caught, has_source};
    use crate::shell::Said;

    #[test]
    fn the_canary_must_be_caught() {
        let said = |err: &str| Said {
            ok: false,
            out: String::new(),
            err: err.to_owned(),
        };
        assert!(caught(&said("WARNING: ThreadSanitizer: data race (pid=1)")).is_ok());
        assert!(caught(&said("error: could not compile")).is_err());
    }

    #[test]
    fn the_source_must_be_installed() {
        assert!(has_source("rust-docs\nrust-src (installed)\n"));
        assert!(!has_source("rust-src\nrust-std (installed)\n"));
    }
}
