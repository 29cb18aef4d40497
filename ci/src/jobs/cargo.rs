//! The jobs that are one cargo command.

use super::Verdict;
use crate::crates::crates;
use crate::shell::{cargo, quick_release, quiet, run, target_dir, test as run_tests};
use crate::tree::Tree;
use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Whether `cargo WORD` exists; if not, what to install.
fn lacks(tree: &Tree, word: &str, component: &str) -> Option<Verdict> {
    let there = quiet(&mut cargo(tree, [word, "--version"])).is_ok_and(|said| said.ok);
    (!there).then(|| {
        Verdict::CannotRun(format!(
            "cargo {word} is missing: rustup component add {component}"
        ))
    })
}

/// Selects all packages of the workspace but those that compile only where a library of the system
/// is installed, which have jobs of their own.
pub(super) fn workspace(tree: &Tree) -> Result<Vec<String>> {
    let mut words = vec!["--workspace".to_owned()];
    for of in crates(tree)?.into_iter().filter(|it| it.needs_library) {
        words.extend(["--exclude".to_owned(), of.name]);
    }
    Ok(words)
}

/// Returns `cargo WORD` for all these packages, followed by `words`.
pub(super) fn of_all(tree: &Tree, word: &'static str, words: &str) -> Result<Command> {
    let mut command = cargo(tree, [word]);
    command.args(workspace(tree)?).args(words.split(' '));
    Ok(command)
}

fn holds() -> Result<Verdict> {
    Ok(Verdict::Holds(String::new()))
}

pub(super) fn fmt(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if let Some(lack) = lacks(tree, "fmt", "rustfmt") {
        return Ok(lack);
    }
    run(&mut cargo(tree, ["fmt", "--all", "--check"]))?;
    // Workspaces of their own, so `--all` does not reach them.
    for of in crates(tree)?.into_iter().filter(|it| !it.is_member) {
        let folder = of.folder;
        let words = format!("fmt --manifest-path {folder}/Cargo.toml --check");
        run(&mut cargo(tree, words.split(' ')))?;
    }
    holds()
}

pub(super) fn clippy(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if let Some(lack) = lacks(tree, "clippy", "clippy") {
        return Ok(lack);
    }
    // The workspace enables all features; `features` checks each apart.
    run(&mut of_all(tree, "clippy", "--all-targets -- -D warnings")?)?;
    holds()
}

pub(super) fn docs(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let words = "--no-deps --document-private-items";
    run(of_all(tree, "doc", words)?.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    holds()
}

/// The deques where arithmetic wraps instead of panicking.
pub(super) fn wrapping(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let words = "test --release -p tautline-core --test deque";
    let mut command = cargo(tree, words.split(' '));
    let unchecked = ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false");
    run_tests(quick_release(&mut command).env(unchecked.0, unchecked.1))?;
    holds()
}

pub(super) fn bench_smoke(tree: &Tree, _: &[String]) -> Result<Verdict> {
    // Once each, with what the tests have built.
    run(&mut of_all(tree, "test", "--bench *")?)?;
    run(&mut of_all(tree, "build", "--examples")?)?;
    let tables: &[&str] = match cfg!(target_os = "linux") {
        true => &["tasks", "processes", "objects"],
        false => &["tasks"],
    };
    for table in tables {
        let program = format!("debug/examples/{table}{}", std::env::consts::EXE_SUFFIX);
        run(Command::new(target_dir(tree).join(program)).arg("--quick"))?;
    }
    let programs = ["tasks", "phasers", "shapes", "objects"].map(|table| (table, table));
    rendered(tree, &[&programs[..], &[("processes", "ranks")]].concat())
}

/// Whether tables are what their programs, which have been built, render from the stored figures:
/// pairs of a program and a table.
fn rendered(tree: &Tree, tables: &[(&str, &str)]) -> Result<Verdict> {
    let (stored, folder) = (
        tree.root.join("benches/figures"),
        target_dir(tree).join("tables"),
    );
    let copies = folder.join("figures");
    if copies.exists() {
        fs::remove_dir_all(&copies)?;
    }
    copy_files(&stored, &copies)?;
    for entry in fs::read_dir(&stored)? {
        let entry = entry?;
        if entry.path().is_dir() {
            copy_files(&entry.path(), &copies.join(entry.file_name()))?;
        }
    }
    for (program, table) in tables {
        let file = format!("debug/examples/{program}{}", std::env::consts::EXE_SUFFIX);
        let mut command = Command::new(target_dir(tree).join(file));
        run(command.arg("--render").arg("--figures").arg(&copies))?;
        let file = format!("{}.md", table.to_uppercase());
        let [made, kept] = [&folder, &tree.root.join("benches")].map(|at| at.join(&file));
        ensure!(
            fs::read_to_string(made)? == fs::read_to_string(kept)?,
            "benches/{file} is not what `--example {program} -- --render` makes of benches/figures, whose {table}.md has the notes"
        );
    }
    holds()
}

/// Copies the files of a folder, but not its folders, into another.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
