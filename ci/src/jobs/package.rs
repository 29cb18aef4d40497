//! The crates as they are published, a program outside of the workspace that depends on the
//! library, and a backend there.
//!
//! `cargo package` of all of them at once resolves the dependencies among them from what it has
//! just packaged, so nothing need be on the registry.

use super::{Verdict, judge};
use crate::crates::{Crate, crates};
use crate::shell::{cargo, quiet, run as attached, target_dir, test as run_tests};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Files that every package has in addition to its sources.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];
/// Folders that a package may not have: it is large, and no use to a program that depends on the
/// crate.
const LARGE: [&str; 3] = ["tests/", "tables/", "bare/"];
const DEPENDENT: &str = "verify/dependent/Cargo.toml";
/// The backend, and what its program prints.
const TOY: (&str, &str) = ("conform/toy", "fib(20) is 6765");
/// The most lines of the backend and its tests, but for empty lines and comments.
const TOY_LINES: usize = 150;

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut crates = crates(tree)?;
    crates.retain(|it| it.is_published);
    let mut command = cargo(tree, ["package", "--allow-dirty", "--no-verify", "--quiet"]);
    for Crate { name, .. } in &crates {
        command.args(["-p", name]);
    }
    attached(&mut command)?;
    let mut findings = Vec::new();
    for Crate { name, folder, .. } in &crates {
        let listed = quiet(&mut cargo(
            tree,
            ["package", "--allow-dirty", "--list", "-p", name],
        ))?;
        if !listed.ok {
            bail!("cargo package --list -p {name}: {}", listed.err.trim());
        }
        findings.extend(wrong(name, &listed.out));
        if tree.read(format!("{folder}/README.md"))?.contains("](../") {
            findings.push(format!(
                "{folder}/README.md: a link that leads out of the package"
            ));
        }
        for license in &FILES[..2] {
            if tree.read(format!("{folder}/{license}"))? != tree.read(license)? {
                findings.push(format!("{folder}/{license}: not the text of {license}"));
            }
        }
    }
    if !findings.is_empty() {
        return judge(findings, "");
    }
    // What such a program may have: waiting must stay within the stack where no further stack is to
    // be had.
    let words = "test -p tautline-node --no-default-features --test pool waiting";
    run_tests(&mut cargo(tree, words.split(' ')))?;
    let seconds = dependent(tree)?;
    let lines = toy(tree)?;
    Ok(Verdict::Holds(format!(
        "{} packages; a program on the library: {seconds}; a backend: {lines} lines",
        crates.len()
    )))
}

/// Findings in the list of a package's files: missing ones, and superfluous ones.
fn wrong(name: &str, listed: &str) -> Vec<String> {
    let missing = FILES
        .iter()
        .filter(|file| !listed.lines().any(|line| line == **file));
    let missing = missing.map(|file| format!("{name}: no {file} in its package"));
    let is_large = |line: &&str| LARGE.iter().any(|folder| line.starts_with(folder));
    let large = listed.lines().filter(is_large);
    let large = large.map(|file| format!("{name}: {file} in its package; `exclude` it"));
    missing.chain(large).collect()
}

/// Builds the dependent program from nothing, in both profiles, and runs it; returns how long each
/// build took.
fn dependent(tree: &Tree) -> Result<String> {
    let folder = target_dir(tree).join("dependent");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut shown = Vec::new();
    for (profile, option) in [("debug", None), ("release", Some("--release"))] {
        let before = processor_seconds();
        let mut command = cargo(tree, ["build", "--locked", "--manifest-path", DEPENDENT]);
        // Crates from a registry are not compiled incrementally; by default those at paths are.
        command.args(option).env("CARGO_INCREMENTAL", "0");
        attached(command.env("CARGO_TARGET_DIR", &folder))?;
        let program = format!("tautline-dependent{}", std::env::consts::EXE_SUFFIX);
        let program = folder.join(profile).join(program);
        attached(&mut Command::new(&program))?;
        refused(&program, "TAUTLINE_LIFE", "story")?;
        if let Some((before, after)) = before.zip(processor_seconds()) {
            shown.push(format!("{profile} {:.0} s", after - before));
        }
    }
    if shown.is_empty() {
        return Ok("its time is measured on Linux only".to_owned());
    }
    Ok(format!("{} of processor time", shown.join(", ")))
}

/// Runs the suites of a host on the backend outside of the workspace, and its program; returns its
/// length in lines.
fn toy(tree: &Tree) -> Result<usize> {
    let (folder, prints) = TOY;
    let lines = lines(tree, folder)?;
    if lines > TOY_LINES {
        bail!("{folder}: {lines} lines; a backend has at most {TOY_LINES}");
    }
    let manifest = format!("{folder}/Cargo.toml");
    let command = |word| {
        let mut command = cargo(tree, [word, "--locked", "--manifest-path", &manifest]);
        command.env("CARGO_TARGET_DIR", target_dir(tree).join("toy"));
        command
    };
    run_tests(&mut command("test"))?;
    let said = quiet(&mut command("run"))?;
    match said.ok && said.out.contains(prints) {
        true => Ok(lines),
        false => bail!("{folder}: does not print `{prints}`: {}", said.err.trim()),
    }
}

/// The lines of the sources in a folder that are neither empty nor comments.
fn lines(tree: &Tree, folder: &str) -> Result<usize> {
    let mut count = 0;
    for path in tree.files(folder) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = tree.read(&path)?;
            let lines = text.lines().map(str::trim);
            count += lines
                .filter(|line| !line.is_empty() && !line.starts_with("//"))
                .count();
        }
    }
    Ok(count)
}

/// Runs the program with a setting that needs a feature it lacks: an error that names both.
fn refused(program: &Path, variable: &str, feature: &str) -> Result<()> {
    let run = quiet(Command::new(program).env(variable, "life.html"))?;
    match !run.ok && run.err.contains(variable) && run.err.contains(feature) {
        true => Ok(()),
        false => bail!(
            "{variable} without {feature}: not refused: {}",
            run.err.trim()
        ),
    }
}

/// The processor time, of the system and otherwise, of all programs that this one has started and
/// that have ended. Linux.
fn processor_seconds() -> Option<f64> {
    children_seconds(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Fields 16 and 17 of `/proc/PID/stat`, cutime and cstime: hundredths of a second, on all systems
/// (proc(5), USER_HZ).
fn children_seconds(stat: &str) -> Option<f64> {
    // The name of the program, field 2, may contain blanks.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let ticks: [u64; 2] = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    Some((ticks[0] + ticks[1]) as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::{children_seconds, lines, wrong};
    use crate::tree::sample::Sample;

    #[test]
    fn missing_licences_and_packaged_tests_are_found() {
        let good = "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\n";
        assert_eq!(wrong("x", good), [""; 0]);
        assert_eq!(wrong("x", &good.replace("LICENSE-MIT", "LICENSE")).len(), 1);
        assert_eq!(wrong("x", &format!("{good}tests/a.rs\n")).len(), 1);
    }

    #[test]
    fn lines_of_code_are_counted() {
        let tree = Sample::new(&[
            ("a/src/lib.rs", "//! A.\n\nfn a() {\n    // B.\n}\n"),
            ("a/tests/b.rs", "fn b() {}\n"),
            ("a/README.md", "C\n"),
        ]);
        assert_eq!(lines(&tree, "a").unwrap(), 3);
    }

    #[test]
    fn the_times_of_children_are_read() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4 9 9 0 0 100 50 1234 66 20 0 1 0 5 0 0";
        assert_eq!(children_seconds(stat), Some(13.0));
        assert_eq!(children_seconds("7 (a) S 1"), None);
    }
}
