//! The build of a program that depends on the library: no warning with any feature alone, with none
//! and with all; few crates.

use super::Verdict;
use crate::context::say;
use crate::crates::{crates, named};
use crate::shell::{cargo, quiet, run as attached};
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::collections::BTreeSet;

const LIBRARY: &str = "tautline";
/// The most crates that a program builds for the library without features, the library included.
const MOST: usize = 7;
/// Crates that the library must not bring by default.
const NOT_BY_DEFAULT: &[&str] = &["roxmltree", "serde", "tautline-sim", "toml"];
/// Crates that the library must not bring with any feature. `serde_json` compares its values with
/// every number, so that the type of `sum()` in `sum == xs.iter().sum()` is not inferred beside it.
const NEVER: &[&str] = &[
    "clap",
    "ctrlc",
    "indicatif",
    "serde_json",
    "sha1",
    "tautline-exhibits",
];

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    // Those with features that a program chooses.
    for of in crates(tree)?
        .iter()
        .filter(|it| it.is_published && !it.needs_library && !it.features().is_empty())
    {
        for set in sets(&of.features()) {
            let words = ["clippy", "-p", &of.name, "--lib", "--no-default-features"];
            let mut command = cargo(tree, words);
            command.args(["--features", &set, "--", "-D", "warnings"]);
            attached(&mut command)?;
        }
    }
    let none = built(tree, &["--no-default-features".to_owned()])?;
    for (features, limits) in [
        (&[][..], [NOT_BY_DEFAULT, NEVER].concat()),
        (&named(tree, LIBRARY)?.all_features(), NEVER.to_vec()),
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
    say!("without features: {list}");
    Ok(Verdict::Holds(format!(
        "{} crates without features",
        none.len()
    )))
}

/// The sets of features that are checked: none, each alone, all.
fn sets(features: &[&str]) -> Vec<String> {
    let each = features.iter().map(|name| (*name).to_owned());
    let mut sets: Vec<String> = [String::new()].into_iter().chain(each).collect();
    sets.push(features.join(","));
    sets
}

/// The crates that a program builds for the library, on this system: names with versions.
fn built(tree: &Tree, features: &[String]) -> Result<BTreeSet<String>> {
    let words =
        format!("tree -p {LIBRARY} -e normal,build --prefix none --no-dedupe --format {{p}}");
    let said = quiet(cargo(tree, words.split(' ')).args(features))?;
    if !said.ok {
        bail!("cargo tree: {}", said.err.trim());
    }
    Ok(said.out.lines().filter_map(version).collect())
}

/// `libc v0.2.1 (/path)` → `libc v0.2.1`.
fn version(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?))
}

fn unwanted<'a>(built: &BTreeSet<String>, names: &[&'a str]) -> Vec<&'a str> {
    let is_built = |name: &&&str| built.iter().any(|b| b.split(' ').next() == Some(name));
    names.iter().filter(is_built).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{sets, unwanted, version};
    use std::collections::BTreeSet;

    #[test]
    fn none_each_and_all_features_are_checked() {
        assert_eq!(sets(&["a", "b"]), ["", "a", "b", "a,b"]);
    }

    #[test]
    fn crates_are_told_apart_by_name_and_version() {
        let lines = [
            "toml v1.2.1",
            "toml_parser v1.0.0 (/p)",
            "toml v1.2.1 (*)",
            "",
        ];
        let built: BTreeSet<String> = lines.into_iter().filter_map(version).collect();
        assert_eq!(built.len(), 2);
        assert_eq!(unwanted(&built, &["toml", "clap"]), ["toml"]);
        assert_eq!(unwanted(&built, &["toml_"]), [""; 0]);
    }
}
