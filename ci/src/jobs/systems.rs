//! The crates that users install compile for macOS and Windows, and the tests of threads pass under
//! Wine.

use super::Verdict;
use crate::context::say;
use crate::crates::crates;
use crate::shell::{cargo, quiet, run, target_dir};
use crate::tree::Tree;
use anyhow::Result;
use std::fs;
use std::process::Command;

const MACOS: &str = "x86_64-apple-darwin";
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Tests under Wine: of pools on threads of the system.
const TESTS: &str = "-p tautline-node --lib --tests";

/// The linker for Windows, and what runs its programs.
const LINKER: &str = "x86_64-w64-mingw32-gcc";
const WINE: &str = "wine";

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let all = crates(tree)?;
    let compiled = all.iter().filter(|it| it.is("systems"));
    let packages: Vec<&str> = compiled.flat_map(|it| ["-p", &it.name]).collect();
    for target in [MACOS, WINDOWS] {
        if let Some(why) = install(target)? {
            return Ok(Verdict::CannotRun(why));
        }
        let words = format!("check --quiet --locked --target {target}");
        let mut command = built(tree, &words);
        command.args(&packages);
        if target == MACOS {
            // Nothing is linked, so what an assembler would make is not missed.
            command.env("CC_x86_64_apple_darwin", "true");
            command.env("AR_x86_64_apple_darwin", "true");
        }
        run(&mut command)?;
    }
    for program in [LINKER, WINE] {
        if quiet(Command::new(program).arg("--version")).is_err() {
            let why = format!("no {program}: apt-get install wine64 wine gcc-mingw-w64-x86-64");
            return Ok(Verdict::CannotRun(why));
        }
    }
    library(tree)?;
    let words = format!("test --locked --no-fail-fast --target {WINDOWS} {TESTS}");
    let variable = |what: &str| format!("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_{what}");
    let mut command = built(tree, &words);
    command
        .env(variable("LINKER"), LINKER)
        .env(variable("RUNNER"), WINE)
        .env("WINEDEBUG", "-all")
        .env("WINEPREFIX", target_dir(tree).join("wine"));
    run(&mut command)?;
    Ok(Verdict::Holds(format!(
        "{MACOS} compiles, {WINDOWS} runs under Wine"
    )))
}

/// Builds the library that Wine may lack, where Windows looks for it: beside the programs.
fn library(tree: &Tree) -> Result<()> {
    let folder = target_dir(tree)
        .join("systems")
        .join(WINDOWS)
        .join("debug/deps");
    fs::create_dir_all(&folder)?;
    let mut command = Command::new(LINKER);
    command
        .current_dir(&tree.root)
        .args(["-O1", "-shared", "-o"]);
    command.arg(folder.join("bcryptprimitives.dll"));
    run(command.args(["verify/wine/bcryptprimitives.c", "-ladvapi32"]))
}

fn built(tree: &Tree, words: &str) -> Command {
    let mut command = cargo(tree, words.split(' '));
    command.env("CARGO_TARGET_DIR", target_dir(tree).join("systems"));
    command
}

/// Installs the standard library for `target` if it is missing, or reports why that is not
/// possible.
fn install(target: &str) -> Result<Option<String>> {
    let Ok(list) = quiet(Command::new("rustup").args(["target", "list", "--installed"])) else {
        return Ok(Some(format!("rustup is missing: it provides {target}")));
    };
    if list.out.lines().any(|line| line == target) {
        return Ok(None);
    }
    say!("installing {target}");
    let done = quiet(Command::new("rustup").args(["target", "add", target]))?;
    let last = done.err.lines().last().unwrap_or("").trim();
    Ok((!done.ok).then(|| format!("{target} cannot be installed: {last}")))
}
