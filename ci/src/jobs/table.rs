//! The tables of documents that list crates: each row is what `[package.metadata.tautline]` of a
//! crate has.

use super::{Verdict, judge};
use crate::crates::{Crate, Layer, crates};
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::fs;

/// The job that writes the tables.
pub(super) const WRITE: &str = "table";

/// Whether a table lists a crate.
type IsListed = fn(&Crate) -> bool;

/// The documents with a table, and the crates that it lists.
const DOCUMENTS: [(&str, IsListed); 3] = [
    ("README.md", |of| of.is_published),
    ("ARCHITECTURE.md", |of| of.is_member),
    ("backends/README.md", |of| {
        of.is_member && of.layer == Layer::Backend
    }),
];

/// The headings of their columns beside `crate` and `folder`, and the keys of the metadata.
const COLUMNS: [(&str, &str); 4] = [
    ("what it is", "is"),
    ("machine", "machine"),
    ("workers are", "workers"),
    ("has run on", "run-on"),
];

pub(super) fn check(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut findings = Vec::new();
    for (document, is_listed) in DOCUMENTS {
        if made(tree, document, is_listed)? != tree.read(document)? {
            findings.push(format!(
                "{document}: its table is not what the crates have; `cargo ci {WRITE}` writes it"
            ));
        }
    }
    judge(findings, format!("{} tables", DOCUMENTS.len()))
}

pub(super) fn write(tree: &Tree, _: &[String]) -> Result<Verdict> {
    for (document, is_listed) in DOCUMENTS {
        fs::write(tree.path(document), made(tree, document, is_listed)?)?;
    }
    Ok(Verdict::Holds(format!("{} tables", DOCUMENTS.len())))
}

/// Returns a document with its table as the crates have it.
fn made(tree: &Tree, document: &str, is_listed: IsListed) -> Result<String> {
    let text = tree.read(document)?;
    let lines: Vec<&str> = text.lines().collect();
    let found = lines.iter().enumerate();
    let found = found.filter_map(|(at, line)| Some((at, headings(line)?)));
    let (at, headings) = found.min().with_context(|| {
        let known = COLUMNS.map(|known| known.0).join(", ");
        format!("{document}: no table with the column folder and others of crate, {known}")
    })?;
    let mut all = crates(tree)?;
    all.retain(is_listed);
    // In the order of layers; of folders in a layer.
    all.sort_by_key(|of| of.layer);
    let above = document.strip_suffix("README.md").unwrap_or_default();
    // The headings, and the line below them.
    let (before, after) = lines.split_at((at + 2).min(lines.len()));
    let mut made: Vec<String> = before.iter().map(|line| (*line).to_owned()).collect();
    for of in &all {
        let cells = headings.iter().map(|heading| cell(of, heading, above));
        made.push(format!(
            "| {} |",
            cells.collect::<Result<Vec<_>>>()?.join(" | ")
        ));
    }
    let after = after.iter().skip_while(|line| line.starts_with('|'));
    made.extend(after.map(|line| (*line).to_owned()));
    Ok(made.join("\n") + "\n")
}

/// Returns the headings of a table of crates, if this line begins one: all are known, and one is
/// `folder`.
fn headings(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let headings: Vec<&str> = inside.split(" | ").collect();
    let known = ["folder", "crate"].into_iter();
    let known: Vec<&str> = known.chain(COLUMNS.map(|known| known.0)).collect();
    let is_known = headings.iter().all(|heading| known.contains(heading));
    (is_known && headings.contains(&"folder")).then_some(headings)
}

/// Returns a cell of a crate's row, in a document of the folder `above`.
fn cell(of: &Crate, heading: &str, above: &str) -> Result<String> {
    let folder = of.folder.strip_prefix(above).unwrap_or(&of.folder);
    let key = COLUMNS.iter().find(|known| known.0 == heading);
    match (heading, key) {
        (_, Some((_, key))) => of.text(key).map(str::to_owned).with_context(|| {
            let at = &of.folder;
            format!("{at}/Cargo.toml: no `{key}` in [package.metadata.tautline], which a table has")
        }),
        ("crate", _) => Ok(format!("`{}`", of.name)),
        _ => Ok(format!("[{folder}]({folder})")),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, write};
    use crate::tree::sample::Sample;

    const ARCHITECTURE: &str = "# A\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n\
        | folder | crate | what it is |\n|---|---|---|\n| old | old | old |\n\nB\n";
    const BACKENDS: &str = "| folder | machine | workers are | has run on |\n|---|---|---|---|\n";

    fn sample(backend: &str) -> Sample {
        let package = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\n[package.metadata.tautline]\n{rest}\n")
        };
        Sample::new(&[
            ("Cargo.toml", "[workspace]\nexclude = [\"b/toy\"]\n"),
            ("README.md", "| crate | folder |\n|---|---|"),
            ("ARCHITECTURE.md", ARCHITECTURE),
            ("backends/README.md", BACKENDS),
            ("backends/m/Cargo.toml", &package("t-m", backend)),
            ("b/toy/Cargo.toml", &package("toy", "layer = \"backend\"")),
            (
                "core/Cargo.toml",
                &package("t-core", "layer = \"core\"\nis = \"the core\""),
            ),
        ])
    }

    #[test]
    fn rows_are_what_crates_have() {
        let backend = "layer = \"backend\"\nis = \"m\"\nmachine = \"a chip\"\nworkers = \"harts\"\nrun-on = \"B\"";
        let tree = sample(backend);
        let error = check(&tree, &[]).unwrap_err().to_string();
        assert_eq!(error.matches("`cargo ci table` writes it").count(), 3);
        write(&tree, &[]).unwrap();
        check(&tree, &[]).unwrap();
        let read = |document| tree.read(document).unwrap();
        assert_eq!(
            read("README.md"),
            "| crate | folder |\n|---|---|\n| `t-core` | [core](core) |\n| `t-m` | [backends/m](backends/m) |\n"
        );
        let rows =
            "| [core](core) | `t-core` | the core |\n| [backends/m](backends/m) | `t-m` | m |";
        let expected = ARCHITECTURE.replace("| old | old | old |", rows);
        assert_eq!(read("ARCHITECTURE.md"), expected);
        let expected = format!("{BACKENDS}| [m](m) | a chip | harts | B |\n");
        assert_eq!(read("backends/README.md"), expected);
    }

    #[test]
    fn what_a_table_needs_is_named() {
        let tree = sample("layer = \"backend\"\nis = \"m\"\nmachine = \"chip\"");
        let error = write(&tree, &[]).unwrap_err().to_string();
        let expected =
            "backends/m/Cargo.toml: no `workers` in [package.metadata.tautline], which a table has";
        assert!(error.contains(expected), "{error}");
        tree.write("README.md", "| crate | x |\n|---|---|\n");
        let error = write(&tree, &[]).unwrap_err().to_string();
        assert!(
            error.contains("README.md: no table with the column folder and "),
            "{error}"
        );
    }
}
