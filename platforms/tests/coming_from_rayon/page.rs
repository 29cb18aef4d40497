//! The page of the guide has each name of rayon, and what it maps names to is there.

use std::collections::BTreeSet;
use std::fs;

const PAGE: &str = include_str!("../../guide/coming_from.md");
const NAMES: &str = include_str!("names.txt");
const API: &str = include_str!("../../API.txt");

/// The rows of the tables on rayon.
fn rows() -> Vec<(&'static str, &'static str)> {
    let from = PAGE.find("### All verbs of rayon").expect("the section");
    let section = &PAGE[from..];
    let section = &section[..section.find("\n## ").expect("a next one")];
    let rows = section.lines().filter_map(|line| {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        // Bars of closures are escaped.
        let bar = line.find(" | ").expect("two columns");
        Some((&line[..bar], &line[bar + 3..]))
    });
    rows.filter(|(left, _)| !left.starts_with("rayon"))
        .collect()
}

/// The identifiers in the code of a cell.
fn identifiers(cell: &str) -> BTreeSet<&str> {
    let code = cell.split('`').skip(1).step_by(2);
    let words = code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| !word.is_empty()).collect()
}

fn names() -> BTreeSet<&'static str> {
    let names = NAMES.lines().filter(|line| !line.starts_with('#'));
    names
        .map(|name| name.rsplit("::").next().expect("a name"))
        .collect()
}

/// The last parts of the public items.
fn public() -> BTreeSet<&'static str> {
    API.lines()
        .filter_map(|item| item.rsplit("::").next())
        .collect()
}

#[test]
fn each_name_has_a_row() {
    let listed: BTreeSet<&str> = rows()
        .iter()
        .flat_map(|(left, _)| identifiers(left))
        .collect();
    let missing: Vec<_> = names()
        .into_iter()
        .filter(|name| !listed.contains(name))
        .collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    assert!(names().len() > 150);
}

#[test]
fn each_row_leads_to_something() {
    let public = public();
    for (left, right) in rows() {
        if right == "the same names" {
            for name in identifiers(left) {
                let method = format!("tautline::loops::Par::{name}");
                assert!(API.lines().any(|item| item == method), "{name} is no verb");
            }
        } else if let Some(reason) = right.strip_prefix("left out") {
            assert!(reason.split_whitespace().count() > 5, "{left}: no reason");
        } else {
            let found = identifiers(right)
                .into_iter()
                .any(|name| public.contains(name));
            assert!(found, "{left}: {right} calls nothing public");
        }
    }
}

/// A new version may have further names.
#[test]
fn the_names_are_those_of_the_locked_versions() {
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
    let lock = fs::read_to_string(lock).expect("the lock file");
    let version = |package: &str| {
        let from = lock
            .find(&format!("name = \"{package}\"\n"))
            .expect("a package");
        let version = lock[from..].lines().nth(1).expect("its version");
        version
            .trim_start_matches("version = ")
            .trim_matches('"')
            .to_string()
    };
    let (rayon, core) = (version("rayon"), version("rayon-core"));
    let head =
        format!("# The public functions and methods of rayon {rayon} and rayon-core {core}.");
    assert_eq!(
        NAMES.lines().next(),
        Some(head.as_str()),
        "take the names of the new version"
    );
}
