//! The programs a user would write, the README's first.

use super::cargo::WORKSPACE;
use super::{Verdict, judge};
use crate::shell::{cargo, run as attached, target_dir};
use crate::tree::Tree;
use anyhow::Result;
use std::process::Command;

const FOLDERS: [&str; 2] = ["platforms/examples", "apps/examples"];
/// What the READMEs show, word for word: the text, which of its programs, the example.
const SHOWN: [(&str, usize, &str); 3] = [
    ("README.md", 1, "platforms/examples/first.rs"),
    ("README.md", 2, "platforms/examples/forks_and_spawns.rs"),
    ("platforms/README.md", 1, "platforms/examples/anywhere.rs"),
];
const LINES: usize = 60;

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut findings = check(tree)?;
    let files = files(tree);
    if !files.is_empty() {
        // With assertions, and with the features of the tests, which have built most of it.
        attached(cargo(tree, ["build", "--examples"]).args(WORKSPACE))?;
    }
    let folder = target_dir(tree).join("debug/examples");
    for (file, name) in &files {
        let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        if let Err(error) = attached(Command::new(program).current_dir(&tree.root)) {
            findings.push(format!("{file}: {error:#}"));
        }
    }
    judge(findings, format!("{} examples", files.len()))
}

/// The examples: the file and the name of each.
fn files(tree: &Tree) -> Vec<(String, String)> {
    let of = |folder: &str| {
        let names = tree.programs(folder).into_iter();
        let file = |name| (format!("{folder}/{name}.rs"), name);
        names.map(file).collect::<Vec<_>>()
    };
    FOLDERS.into_iter().flat_map(of).collect()
}

/// What can be said without running anything.
fn check(tree: &Tree) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for (file, _) in files(tree) {
        let lines = tree.read(&file)?.lines().count();
        if lines >= LINES {
            out.push(format!(
                "{file}: {lines} lines, an example has fewer than {LINES}"
            ));
        }
    }
    for (text, number, file) in SHOWN {
        if !tree.has(file) {
            out.push(format!("{file}: missing; it is a program of {text}"));
            continue;
        }
        match blocks(&tree.read(text).unwrap_or_default()).get(number - 1) {
            None => out.push(format!("{text}: no ```rust block that shows {file}")),
            Some(block) if code(block) != code(&tree.read(file)?) => {
                out.push(format!("{text}: its ```rust block {number} is not {file}"));
            }
            Some(_) => {}
        }
    }
    Ok(out)
}

/// The ```rust blocks of a text.
fn blocks(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut all = Vec::new();
    while lines.any(|line| line.trim_end().starts_with("```rust")) {
        let inside = lines.by_ref().take_while(|line| line.trim_end() != "```");
        all.push(inside.collect::<Vec<_>>().join("\n"));
    }
    all
}

/// Without the `//!` head, which a file needs and a reader of the README does not.
fn code(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let head = lines
        .iter()
        .take_while(|l| l.is_empty() || l.starts_with("//!"));
    let mut rest = lines[head.count()..].to_vec();
    while rest.last().is_some_and(|l| l.is_empty()) {
        rest.pop();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    const PROGRAM: &str = "//! A program.\n\nfn main() {}\n";
    const README: &str =
        "# X\n```sh\nls\n```\n```rust\nfn main() {}\n```\n```rust\nfn main() {}\n```\n";

    fn sample(readme: &str, program: &str) -> Sample {
        let shown = super::SHOWN.map(|(_, _, file)| (file, program));
        let mut files = vec![("README.md", readme), ("platforms/README.md", README)];
        files.extend(shown);
        Sample::new(&files)
    }

    fn found(readme: &str, program: &str) -> Vec<String> {
        check(&sample(readme, program)).unwrap()
    }

    #[test]
    fn the_same_program_is_silent() {
        assert_eq!(found(README, PROGRAM), [""; 0]);
    }

    #[test]
    fn another_program_or_none_is_found() {
        assert_eq!(found(README, "fn main() { }").len(), 3);
        assert_eq!(found("# X\n```rust\nfn main() {}\n```\n", PROGRAM).len(), 1);
        let tree = Sample::new(&[("README.md", README)]);
        assert_eq!(check(&tree).unwrap().len(), 3);
    }

    #[test]
    fn a_long_example_is_found() {
        let tree = sample(README, PROGRAM);
        for (n, folder) in super::FOLDERS.into_iter().enumerate() {
            tree.write(&format!("{folder}/long.rs"), &"\n".repeat(59));
            assert_eq!(check(&tree).unwrap().len(), n);
            tree.write(&format!("{folder}/long.rs"), &"\n".repeat(60));
            assert_eq!(check(&tree).unwrap().len(), n + 1);
        }
    }
}
