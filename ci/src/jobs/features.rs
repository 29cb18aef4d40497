//! What a program builds that depends on the library: no warning with any feature alone, with none and with all; few crates.

use super::Verdict;
use super::cargo::all_features;
use crate::shell::{cargo, quiet, run as attached};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;

/// The crates with features that a program chooses, and their folders.
const CRATES: [(&str, &str); 4] = [
    ("tautline-core", "core"),
    ("tautline-conform", "conform"),
    ("tautline-node", "backends/node"),
    (LIBRARY, "platforms"),
];
const LIBRARY: &str = "tautline";
/// Compiles only where a library of MPI is installed; the job of that name checks it.
const MPI: &str = "mpi";
/// The most crates that a program builds for the library without features, the library included.
const MOST: usize = 6;
/// What the library must not bring by default.
const NOT_BY_DEFAULT: &[&str] = &["roxmltree", "serde", "tautline-sim", "toml"];
/// What the library must not bring with any feature. `serde_json` compares its values with every number, so that the type of `sum()` in
/// `sum == xs.iter().sum()` is not inferred beside it.
const NEVER: &[&str] = &["clap", "ctrlc", "indicatif", "serde_json", "sha1"];

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    for (name, folder) in CRATES {
        for set in sets(tree, folder)? {
            let words = ["clippy", "-p", name, "--lib", "--no-default-features"];
            let mut command = cargo(tree, words);
            command.args(["--features", &set, "--", "-D", "warnings"]);
            attached(&mut command)?;
        }
    }
    let none = built(tree, &["--no-default-features"])?;
    for (features, limits) in [
        (&[][..], [NOT_BY_DEFAULT, NEVER].concat()),
        (all_features(LIBRARY), NEVER.to_vec()),
    ] {
        let unwanted = unwanted(&built(tree, features)?, &limits);
        if !unwanted.is_empty() {
            bail!(
                "{LIBRARY} {} brings {}",
                features.join(""),
                unwanted.join(", ")
            );
        }
    }
    let list = none.iter().cloned().collect::<Vec<_>>().join(", ");
    if none.len() > MOST {
        bail!(
            "{} crates without features, at most {MOST}: {list}",
            none.len()
        );
    }
    println!("without features: {list}");
    Ok(Verdict::Holds(format!(
        "{} crates without features",
        none.len()
    )))
}

/// The sets of features that are checked: none, each alone, all; but for `mpi`.
fn sets(tree: &Tree, folder: &str) -> Result<Vec<String>> {
    let manifest = tree.toml(format!("{folder}/Cargo.toml"))?;
    let features = manifest.get("features").and_then(|f| f.as_table());
    let names = features.with_context(|| format!("{folder}/Cargo.toml: no features"))?;
    let names: Vec<String> = names
        .keys()
        .filter(|name| *name != "default" && *name != MPI)
        .cloned()
        .collect();
    let mut sets = vec![String::new()];
    sets.extend(names.iter().cloned());
    sets.push(names.join(","));
    Ok(sets)
}

/// The crates that a program builds for the library, on this system: names with versions.
fn built(tree: &Tree, features: &[&str]) -> Result<BTreeSet<String>> {
    let words =
        format!("tree -p {LIBRARY} -e normal,build --prefix none --no-dedupe --format {{p}}");
    let said = quiet(cargo(tree, words.split(' ')).args(features))?;
    if !said.ok {
        bail!("cargo tree: {}", said.err.trim());
    }
    Ok(said.out.lines().filter_map(named).collect())
}

/// `libc v0.2.1 (/path)` → `libc v0.2.1`.
fn named(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

fn unwanted<'a>(built: &BTreeSet<String>, names: &[&'a str]) -> Vec<&'a str> {
    let is_built = |name: &&&str| built.iter().any(|b| b.split(' ').next() == Some(name));
    names.iter().filter(is_built).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{named, sets, unwanted};
    use crate::tree::sample::Sample;
    use std::collections::BTreeSet;

    #[test]
    fn none_each_and_all_features_are_checked() {
        let tree = Sample::new(&[(
            "x/Cargo.toml",
            "[features]\ndefault = [\"b\"]\na = []\nb = [\"dep:c\"]\n",
        )]);
        assert_eq!(sets(&tree, "x").unwrap(), ["", "a", "b", "a,b"]);
        assert!(sets(&Sample::new(&[("x/Cargo.toml", "")]), "x").is_err());
    }

    #[test]
    fn crates_are_told_apart_by_name_and_version() {
        let lines = [
            "toml v1.2.1",
            "toml_parser v1.0.0 (/p)",
            "toml v1.2.1 (*)",
            "",
        ];
        let built: BTreeSet<String> = lines.into_iter().filter_map(named).collect();
        assert_eq!(built.len(), 2);
        assert_eq!(unwanted(&built, &["toml", "clap"]), ["toml"]);
        assert_eq!(unwanted(&built, &["toml_"]), [""; 0]);
    }
}
