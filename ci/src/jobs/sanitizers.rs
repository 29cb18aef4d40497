//! AddressSanitizer and ThreadSanitizer over the tests of the core and the exhibits, of the threads
//! under them, and of ranks in one process.

use super::Verdict;
use crate::context::say;
use crate::shell::{Said, quiet, target_dir, test as run_tests};
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::process::Command;

const TARGET: &str = "--target=x86_64-unknown-linux-gnu";

/// The file of the core's tests that has the canaries.
const CANARIES: &str = "sync";

/// The tests of what is `unsafe`, by package: those that AddressSanitizer runs for every change.
const OF_UNSAFE: [(&str, &[&str]); 3] = [
    (
        "tautline-core",
        &[
            "balance",
            "deque",
            "flow",
            "loops_par",
            "loops_sort",
            "loops_verbs",
            "phased",
            "phaser",
            "sync",
            "task",
        ],
    ),
    ("tautline-exhibits", &["phaser"]),
    ("tautline-node", &["balance", "pool"]),
];

/// Tests that run ten thousand loops through code without `unsafe`.
const SAFE: [&str; 2] = [
    "each_iteration_has_one_executor_in_each_instance",
    "random_baselines_end_with_each_iteration_done_once",
];

#[derive(Clone, Copy)]
struct Sanitizer {
    flags: &'static str,
    /// The variable that its run time reads, and what it is set to.
    options: (&'static str, &'static str),
    /// Builds the standard library too.
    std: bool,
    /// Ignored tests of [`CANARIES`], each with what must be reported of it.
    canaries: &'static [(&'static str, &'static str)],
    /// Parts of the names of tests that cannot run under it.
    skip: &'static [&'static str],
    /// Its folder inside the target folder.
    folder: &'static str,
    /// Whether code is optimised: that takes long to compile, but not all tests end soon without.
    optimised: bool,
}

const ADDRESS: Sanitizer = Sanitizer {
    flags: "-Zsanitizer=address",
    // Some tests leak on purpose, and forgetting is safe.
    options: ("ASAN_OPTIONS", "detect_leaks=0"),
    std: false,
    canaries: &[
        ("a_use_after_free_for_the_sanitizer", "heap-use-after-free"),
        (
            "a_read_out_of_bounds_for_the_sanitizer",
            "heap-buffer-overflow",
        ),
    ],
    // It keeps locals elsewhere, so addresses of the stack tell nothing; it needs memory where a
    // test leaves none; and it keeps what is freed, so memory is not flat.
    skip: &[
        "stack::",
        "waiting::",
        "refused::",
        "flat_memory",
        SAFE[0],
        SAFE[1],
    ],
    folder: "asan",
    optimised: true,
};

const THREAD: Sanitizer = Sanitizer {
    // The cfg lets the core's fences be seen.
    flags: "-Zsanitizer=thread --cfg tautline_tsan",
    options: ("TSAN_OPTIONS", "halt_on_error=0 exitcode=66"),
    // Else the standard library's locks are invisible, and everything under them looks like a race.
    std: true,
    canaries: &[
        ("a_race_for_the_sanitizer", "data race"),
        ("a_race_beside_fences_for_the_sanitizer", "data race"),
    ],
    // It keeps no more than 65 536 frames of a thread; it needs memory where a test leaves none;
    // and its own is not flat.
    skip: &[
        "thousand_deep",
        "million_deep",
        "deep_again",
        "refused::",
        "flat_memory",
    ],
    folder: "tsan",
    optimised: true,
};

/// Whether the ignored test of this name is one that a sanitizer must fail.
pub(super) fn is_canary(test: &str) -> bool {
    let mut all = ADDRESS.canaries.iter().chain(THREAD.canaries);
    all.any(|(name, _)| *name == test)
}

pub(super) fn asan(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut words = Vec::new();
    for (package, files) in OF_UNSAFE {
        words.extend(["-p", package]);
        words.extend(files.iter().flat_map(|file| ["--test", file]));
    }
    let sanitizer = Sanitizer {
        optimised: false,
        ..ADDRESS
    };
    run(tree, sanitizer, &words, "no bad access")
}

pub(super) fn asan_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    run(tree, ADDRESS, &ALL, "no bad access")
}

pub(super) fn tsan(tree: &Tree, _: &[String]) -> Result<Verdict> {
    run(tree, THREAD, &ALL, "no race")
}

/// All tests of the core, of the exhibits and of the threads.
const ALL: [&str; 7] = [
    "-p",
    "tautline-core",
    "-p",
    "tautline-exhibits",
    "-p",
    "tautline-node",
    "--tests",
];

/// Tests in which threads of several ranks share memory.
const OF_RANKS: [&str; 14] = [
    "-p",
    "tautline",
    "--features",
    "serde",
    "--test",
    "hot",
    "--test",
    "comm",
    "--test",
    "progress",
    "--test",
    "collective",
    "--test",
    "protocol",
];

pub(super) fn tsan_ranks(tree: &Tree, _: &[String]) -> Result<Verdict> {
    run(tree, THREAD, &OF_RANKS, "no race")
}

fn run(tree: &Tree, sanitizer: Sanitizer, tests: &[&str], holds: &str) -> Result<Verdict> {
    if let Some(why) = lack(sanitizer) {
        return Ok(Verdict::CannotRun(why));
    }
    for &(canary, report) in sanitizer.canaries {
        let words = ["-p", "tautline-core", "--test", CANARIES, "--", canary];
        let exactly = ["--exact", "--ignored"];
        let mut command = sanitized(tree, sanitizer, &[&words[..], &exactly].concat());
        caught(canary, report, &quiet(&mut command)?)?;
    }
    let skip = sanitizer.skip.iter().flat_map(|name| ["--skip", name]);
    let mut words = tests.to_vec();
    words.extend(["--no-fail-fast", "--"].into_iter().chain(skip));
    run_tests(&mut sanitized(tree, sanitizer, &words))?;
    Ok(Verdict::Holds(holds.into()))
}

/// Returns the component that this machine lacks, and the command that installs it.
fn lack(sanitizer: Sanitizer) -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("the sanitizers are set up for x86_64 Linux only: run it there".into());
    }
    let listing = ["component", "list", "--toolchain", "nightly"];
    let listing = quiet(Command::new("rustup").args(listing));
    let listing = listing.ok().filter(|said| said.ok);
    match (listing, sanitizer.std) {
        (None, _) => Some("no nightly: rustup toolchain install nightly".into()),
        (Some(said), true) if !has_source(&said.out) => Some(
            "no nightly with its source: rustup toolchain install nightly --component rust-src"
                .into(),
        ),
        _ => None,
    }
}

fn has_source(listing: &str) -> bool {
    let is_there = |line: &str| line.starts_with("rust-src") && line.contains("(installed)");
    listing.lines().any(is_there)
}

fn sanitized(tree: &Tree, sanitizer: Sanitizer, words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&tree.root).args(["+nightly", "test"]);
    if sanitizer.std {
        command.arg("-Zbuild-std");
    }
    let (key, options) = sanitizer.options;
    command
        .arg(TARGET)
        .args(words)
        // Set by the cargo that runs this, for a toolchain that cannot sanitize.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", target_dir(tree).join(sanitizer.folder))
        // Reports need lines, not variables, which take a third of the time to build.
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
        .env("RUSTFLAGS", sanitizer.flags)
        .env(key, options)
        .env("TAUTLINE_SOAK_CYCLES", "200");
    if !sanitizer.optimised {
        command
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            // Frames are larger.
            .env("RUST_MIN_STACK", (16 << 20).to_string());
    }
    command
}

/// The canaries, which must be found: otherwise the job finds nothing.
fn caught(canary: &str, report: &str, said: &Said) -> Result<()> {
    let begins = |line: &str| line.contains("Sanitizer: ") && line.contains(report);
    if !said.err.lines().any(begins) {
        say!("{}{}", said.out, said.err);
        bail!("`{canary}` is not reported as {report}: the sanitizer sees nothing");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ADDRESS, CANARIES, OF_UNSAFE, THREAD, caught, has_source};
    use crate::shell::Said;

    #[test]
    fn the_canaries_must_be_caught() {
        let said = |err: &str| Said {
            ok: false,
            out: String::new(),
            err: err.to_owned(),
        };
        let caught = |err: &str| caught("x", "data race", &said(err));
        assert!(caught("WARNING: ThreadSanitizer: data race (pid=1)").is_ok());
        assert!(caught("WARNING: ThreadSanitizer: lock-order-inversion").is_err());
        assert!(caught("error: could not compile the data race").is_err());
    }

    #[test]
    fn the_canaries_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tests = root.join(format!("core/tests/{CANARIES}.rs"));
        let tests = std::fs::read_to_string(tests).unwrap();
        for (canary, _) in [ADDRESS.canaries, THREAD.canaries].concat() {
            assert!(tests.contains(&format!("fn {canary}()")), "{canary}");
        }
    }

    #[test]
    fn the_tests_of_what_is_unsafe_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (package, files) in OF_UNSAFE {
            let folder = match package {
                "tautline-core" => "core",
                "tautline-exhibits" => "exhibits",
                _ => "backends/node",
            };
            for file in files {
                assert!(
                    root.join(format!("{folder}/tests/{file}.rs")).exists(),
                    "{file}"
                );
            }
        }
    }

    #[test]
    fn the_source_must_be_installed() {
        assert!(has_source("rust-docs\nrust-src (installed)\n"));
        assert!(!has_source("rust-src\nrust-std (installed)\n"));
    }
}
