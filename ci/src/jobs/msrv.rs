//! The library compiles with the oldest compiler that `rust-version` in `Cargo.toml` promises.
//!
//! Every crate that a user can depend on is checked with all features, the library and the core
//! also without any. Dependencies are those of `Cargo.lock`, so the job also finds a dependency
//! that has outgrown the promise.

use super::Verdict;
use crate::context::say;
use crate::crates::{Crate, Layer, crates};
use crate::shell::{quiet, run, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::process::Command;
use toml::{Table, Value};

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let toolchain = toolchain(&tree.toml("Cargo.toml")?)?;
    if let Some(why) = install(&toolchain)? {
        return Ok(Verdict::CannotRun(why));
    }
    let mut command = rustup(&toolchain, "rustc");
    let said = quiet(command.arg("--version"))?.out;
    if !is_release(&said, &toolchain) {
        bail!("toolchain {toolchain} is `{}`", said.trim());
    }
    let all = crates(tree)?;
    // Tests, benchmarks and this program may use newer compilers.
    let promised: Vec<&Crate> = all
        .iter()
        .filter(|it| it.is_published && !it.needs_library)
        .collect();
    for words in checks(&promised) {
        let mut command = rustup(&toolchain, "cargo");
        command
            .current_dir(&tree.root)
            .args(["check", "--quiet", "--locked"])
            .args(words)
            .env("CARGO_TARGET_DIR", target_dir(tree).join("msrv"));
        run(&mut command).with_context(|| {
            format!("a crate needs a newer compiler than {toolchain}, or does not compile")
        })?;
    }
    Ok(Verdict::Holds(format!(
        "{} crates with Rust {toolchain}",
        promised.len()
    )))
}

/// The words of each check: all crates with all features; the library and the core without, each
/// alone: `cargo check` resolves features for one command as a whole, so together, one would enable
/// the features of another. Other sets differ in what the job `features` checks with any compiler.
fn checks(promised: &[&Crate]) -> Vec<Vec<String>> {
    let names = promised
        .iter()
        .flat_map(|it| ["-p".to_owned(), it.name.clone()]);
    let features = promised.iter().flat_map(|it| {
        let features = it.features();
        features
            .into_iter()
            .map(|feature| format!("{}/{feature}", it.name))
    });
    let features = features.collect::<Vec<_>>().join(",");
    let mut checks = vec![names.chain(["--features".to_owned(), features]).collect()];
    let alone = promised
        .iter()
        .filter(|it| [Layer::Library, Layer::Core].contains(&it.layer));
    let without = |name: &str| {
        ["-p", name, "--no-default-features"]
            .map(str::to_owned)
            .to_vec()
    };
    checks.extend(alone.map(|it| without(&it.name)));
    checks
}

/// The name of the toolchain that `rust-version` promises: the version with all three parts.
fn toolchain(manifest: &Table) -> Result<String> {
    let package = manifest.get("workspace").and_then(|w| w.get("package"));
    let version = package.and_then(|p| p.get("rust-version"));
    let version = version
        .and_then(Value::as_str)
        .context("Cargo.toml: no workspace.package.rust-version")?;
    let mut parts: Vec<&str> = version.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !(2..=3).contains(&parts.len()) || !parts.iter().all(is_number) {
        bail!("Cargo.toml: rust-version `{version}`; required: MAJOR.MINOR or MAJOR.MINOR.PATCH");
    }
    parts.resize(3, "0");
    Ok(parts.join("."))
}

/// Whether `rustc --version` names a release, and that release.
fn is_release(said: &str, toolchain: &str) -> bool {
    said.split_whitespace().nth(1) == Some(toolchain)
}

/// Whether a line of `rustup toolchain list` names this toolchain, with or without its host.
fn is_listed(list: &str, toolchain: &str) -> bool {
    let names = list.lines().filter_map(|l| l.split_whitespace().next());
    let rest = names.filter_map(|name| name.strip_prefix(toolchain));
    rest.into_iter()
        .any(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Installs the toolchain if it is missing, or reports why that is not possible.
fn install(toolchain: &str) -> Result<Option<String>> {
    let Ok(list) = quiet(Command::new("rustup").args(["toolchain", "list"])) else {
        let why = format!("rustup is missing: it provides Rust {toolchain}");
        return Ok(Some(why));
    };
    if is_listed(&list.out, toolchain) {
        return Ok(None);
    }
    say!("installing Rust {toolchain}");
    let mut command = Command::new("rustup");
    command.args(["toolchain", "install", toolchain, "--profile", "minimal"]);
    let done = quiet(command.arg("--no-self-update"))?;
    if done.ok {
        return Ok(None);
    }
    let last = done.err.lines().last().unwrap_or("").trim().to_owned();
    let why = format!("Rust {toolchain} cannot be installed: {last}");
    Ok(Some(why))
}

/// `rustup run TOOLCHAIN PROGRAM`, without what the cargo that runs this job has set for itself.
fn rustup(toolchain: &str, program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, program]);
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{checks, is_listed, is_release, toolchain};
    use crate::crates::crates;
    use crate::tree::sample::Sample;

    fn named(version: &str) -> Option<String> {
        let text = format!("[workspace.package]\nrust-version = {version}\n");
        toolchain(&toml::from_str(&text).unwrap()).ok()
    }

    #[test]
    fn the_core_and_the_library_are_checked_alone_too() {
        let tree = Sample::new(&[
            ("Cargo.toml", "[workspace]\n"),
            (
                "a/Cargo.toml",
                "[package]\nname = \"a\"\nmetadata.tautline.layer = \"core\"\n[features]\nx = []\ny = []\n",
            ),
            (
                "b/Cargo.toml",
                "[package]\nname = \"b\"\nmetadata.tautline.layer = \"backend\"\n",
            ),
        ]);
        let all = crates(&tree).unwrap();
        let checks = checks(&all.iter().collect::<Vec<_>>());
        let checks: Vec<String> = checks.iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            checks,
            ["-p a -p b --features a/x,a/y", "-p a --no-default-features"]
        );
    }

    #[test]
    fn the_promised_version_names_a_toolchain() {
        assert_eq!(named("\"1.89\"").as_deref(), Some("1.89.0"));
        assert_eq!(named("\"1.89.1\"").as_deref(), Some("1.89.1"));
        for wrong in [
            "\"1\"",
            "\"stable\"",
            "\"1.89.0.1\"",
            "\"1.\"",
            "1.89",
            "\"\"",
        ] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
        assert!(toolchain(&toml::from_str("[workspace]").unwrap()).is_err());
    }

    #[test]
    fn only_the_same_toolchain_counts_as_installed() {
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\n1.89.0-x86_64-unknown-linux-gnu\n1.85.1\n";
        assert!(is_listed(list, "1.89.0"));
        assert!(is_listed(list, "1.85.1"));
        assert!(!is_listed(list, "1.89.1"));
        assert!(!is_listed(list, "1.8"));
        assert!(!is_listed("1.89.01-x\n", "1.89.0"));
    }

    #[test]
    fn a_toolchain_must_be_the_release_it_is_named_for() {
        assert!(is_release("rustc 1.89.0 (29483883e 2025-08-04)", "1.89.0"));
        assert!(!is_release("rustc 1.89.0-nightly (abc)", "1.89.0"));
        assert!(!is_release("rustc 1.90.0 (abc)", "1.89.0"));
        assert!(!is_release("", "1.89.0"));
    }
}
