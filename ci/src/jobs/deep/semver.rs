//! Public items with their signatures, against the last release: what a program can name or call
//! may be removed or changed only with a version that announces it.
//!
//! One compiler lists both sides, so that each difference is one of the library.

use super::super::{Verdict, judge};
use super::tool::Tool;
use crate::context::say;
use crate::crates::{Crate, crates};
use crate::shell::{git, keep, quiet, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use toml::Value;

const LISTS: Tool = Tool {
    name: "cargo-public-api",
    version: "0.52.0",
};
/// The baseline until there is a tag of a release. Moved on when the public items are meant to
/// change before it.
const BASELINE: &str = "899e561b07b4";

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let program = match LISTS.ready(tree)? {
        Ok(program) => program,
        Err(why) => return Ok(Verdict::CannotRun(why)),
    };
    // The lists come from an unstable output of rustdoc.
    let nightly = quiet(Command::new("rustup").args(["run", "nightly", "rustc", "--version"]));
    if !nightly.is_ok_and(|said| said.ok) {
        let why = "Rust nightly is missing: rustup toolchain install nightly --profile minimal";
        return Ok(Verdict::CannotRun(why.to_owned()));
    }
    let tag = git(tree, &["describe", "--tags", "--abbrev=0", "--match", "v*"]);
    let base = tag.map_or(BASELINE.to_owned(), |tag| tag.trim().to_owned());
    let old = checkout(tree, &base)?;
    let versions = [version(tree)?, version(&old)?];
    let (mut findings, mut items) = (Vec::new(), 0);
    for of in crates(tree)?.iter().filter(|it| it.is("api")) {
        let now = listed(tree, tree, of, &program)?;
        items += now.len();
        if !old.has(format!("{}/Cargo.toml", of.folder)) {
            say!("{}: not in {base}", of.name);
            continue;
        }
        let before = listed(tree, &old, of, &program)?;
        for item in now.difference(&before) {
            say!("{}: new: {item}", of.name);
        }
        let gone = before.difference(&now);
        findings.extend(gone.map(|item| format!("{}: removed or changed: {item}", of.name)));
    }
    let [now, before] = &versions;
    let holds = format!(
        "{items} items; {} of {base} removed or changed",
        findings.len()
    );
    if announces(now, before) {
        findings.iter().for_each(|finding| say!("{finding}"));
        return Ok(Verdict::Holds(holds));
    }
    if !findings.is_empty() {
        findings.push(format!(
            "version {now} does not announce that after {before} of {base}"
        ));
    }
    judge(findings, holds)
}

/// Unpacks the tree of a commit.
fn checkout(tree: &Tree, base: &str) -> Result<Tree> {
    let name = git(
        tree,
        &["rev-parse", "--verify", &format!("{base}^{{commit}}")],
    );
    let name = name.with_context(|| format!("no commit {base}: is this a shallow clone?"))?;
    let root = target_dir(tree).join("semver").join(name.trim());
    let old = Tree { root };
    if !old.has("Cargo.toml") {
        std::fs::create_dir_all(&old.root)?;
        let file = old.root.with_extension("tar");
        let packed = file.to_str().context("a path that is not UTF-8")?;
        git(tree, &["archive", "-o", packed, name.trim()]).context("git archive")?;
        let unpacked = Command::new("tar")
            .arg("-xf")
            .arg(&file)
            .arg("-C")
            .arg(&old.root)
            .status();
        ensure!(
            unpacked.context("tar")?.success(),
            "{base} cannot be unpacked"
        );
    }
    Ok(old)
}

/// The public items of a crate in one of the trees.
fn listed(here: &Tree, tree: &Tree, of: &Crate, program: &Path) -> Result<BTreeSet<String>> {
    let mut command = Command::new(program);
    command.current_dir(&tree.root);
    // Without blanket and automatic implementations, which no line of the crate states.
    command.args([
        "--simplified",
        "--simplified",
        "--color",
        "never",
        "-p",
        &of.name,
    ]);
    command.args(of.all_features());
    command.env("CARGO_TARGET_DIR", target_dir(here).join("semver/target"));
    let said = keep(&mut command)?;
    if !said.ok {
        bail!(
            "the public items of {} cannot be listed in {}",
            of.name,
            tree.root.display()
        );
    }
    Ok(said.out.lines().map(str::to_owned).collect())
}

fn version(tree: &Tree) -> Result<String> {
    let manifest = tree.toml("Cargo.toml")?;
    let package = manifest.get("workspace").and_then(|it| it.get("package"));
    let version = package
        .and_then(|it| it.get("version"))
        .and_then(Value::as_str);
    Ok(version
        .context("Cargo.toml: no workspace.package.version")?
        .to_owned())
}

/// Whether users of `before` get `now` only when they request it: the first number that is not 0
/// differs, or one before it.
fn announces(now: &str, before: &str) -> bool {
    let significant = |version: &str| {
        let mut parts: Vec<u64> = version.split('.').map_while(|n| n.parse().ok()).collect();
        let first = parts.iter().position(|n| *n != 0).unwrap_or(parts.len());
        parts.truncate(first + 1);
        parts
    };
    significant(now) != significant(before)
}

#[cfg(test)]
mod tests {
    use super::announces;

    #[test]
    fn a_version_announces_by_its_first_number_that_is_not_zero() {
        for (before, now) in [
            ("0.1.0", "0.2.0"),
            ("0.9.9", "1.0.0"),
            ("1.9.0", "2.0.0"),
            ("0.0.1", "0.0.2"),
        ] {
            assert!(announces(now, before), "{before} {now}");
        }
        for (before, now) in [("0.1.0", "0.1.0"), ("0.1.0", "0.1.9"), ("1.2.0", "1.3.0")] {
            assert!(!announces(now, before), "{before} {now}");
        }
    }
}
