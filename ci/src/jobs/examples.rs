//! The programs a user would write, the README's first: each is built, run, and in the index of its
//! folder with what it prints.

use super::cargo::workspace;
use super::{Verdict, judge};
use crate::shell::{cargo, run as attached, target_dir, tee};
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeMap;
use std::process::Command;

const FOLDERS: [&str; 2] = ["platforms/examples", "apps/examples"];
/// Programs in texts: the text, and the files that its ```rust blocks repeat word for word.
const SHOWN: [(&str, &[&str]); 3] = [
    (
        "README.md",
        &["platforms/examples/first.rs", "platforms/examples/fib.rs"],
    ),
    ("platforms/README.md", &["platforms/examples/anywhere.rs"]),
    (
        "docs/backend.md",
        &[
            "conform/toy/src/lib.rs",
            "conform/toy/src/main.rs",
            "conform/toy/tests/conform.rs",
        ],
    ),
];
const LINES: usize = 60;
/// Of an example that is a folder, whose files are counted together: a whole small program.
const FOLDER_LINES: usize = 240;

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut findings = check(tree)?;
    let programs: Vec<_> = examples(tree)
        .into_iter()
        .filter(|example| !example.is_crate)
        .collect();
    if !programs.is_empty() {
        // With assertions, and with the features of the tests, which have built most of it.
        attached(cargo(tree, ["build", "--examples"]).args(workspace(tree)?))?;
    }
    let built = target_dir(tree).join("debug/examples");
    let indices = FOLDERS.map(|folder| (folder, index(tree, folder)));
    let indices = BTreeMap::from(indices);
    for Example {
        folder, name, file, ..
    } in &programs
    {
        let program = built.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let said = tee(Command::new(program).current_dir(&tree.root))?;
        let expected = indices[folder].get(name);
        if !said.ok {
            findings.push(format!("{file}: it failed"));
        } else if let Some(text) = expected.filter(|text| !said.out.contains(&***text)) {
            findings.push(format!("{file}: does not print `{text}`, as its index has"));
        }
    }
    judge(findings, format!("{} examples", programs.len()))
}

struct Example {
    folder: &'static str,
    name: String,
    /// The file with its `main`.
    file: String,
    /// Whether it is a crate of its own, whose tests are run with those of the workspace.
    is_crate: bool,
}

/// The examples: files, folders with a `main.rs`, and crates.
fn examples(tree: &Tree) -> Vec<Example> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let example = |name: String, path: &str, is_crate| Example {
            file: format!("{folder}/{name}{path}"),
            folder,
            name,
            is_crate,
        };
        let files = tree.programs(folder).into_iter();
        all.extend(files.map(|name| example(name, ".rs", false)));
        for name in tree.folders(folder) {
            let is_crate = tree.has(format!("{folder}/{name}/Cargo.toml"));
            let main = if is_crate { "/src/main.rs" } else { "/main.rs" };
            if tree.has(format!("{folder}/{name}{main}")) {
                all.push(example(name, main, is_crate));
            }
        }
    }
    all
}

/// The rows of the index of a folder, its README: `| [name](file) | … | `what it prints` |`.
fn index(tree: &Tree, folder: &str) -> BTreeMap<String, String> {
    let text = tree.read(format!("{folder}/README.md")).unwrap_or_default();
    let row = |line: &str| {
        let (name, _) = line.strip_prefix("| [")?.split_once("](")?;
        let last = line.strip_suffix('|')?.rsplit_once('|')?.1.trim();
        Some((name.to_owned(), last.trim_matches('`').to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// Findings without running anything.
fn check(tree: &Tree) -> Result<Vec<String>> {
    let examples = examples(tree);
    let mut out = long(tree, &examples)?;
    for folder in FOLDERS {
        let here = examples.iter().filter(|example| example.folder == folder);
        listed(
            folder,
            &index(tree, folder),
            &here.collect::<Vec<_>>(),
            &mut out,
        );
    }
    for (text, files) in SHOWN {
        let blocks = blocks(&tree.read(text).unwrap_or_default());
        if blocks.len() != files.len() {
            let (is, shown) = (blocks.len(), files.len());
            out.push(format!(
                "{text}: {is} ```rust blocks, {shown} are files that are built"
            ));
            continue;
        }
        for (block, file) in blocks.iter().zip(files) {
            if !tree.has(file) {
                out.push(format!("{file}: missing; it is a program of {text}"));
            } else if code(block) != code(&tree.read(file)?) {
                out.push(format!("{text}: a ```rust block is not {file}"));
            }
        }
    }
    Ok(out)
}

/// The examples that are too long.
fn long(tree: &Tree, examples: &[Example]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for example in examples.iter().filter(|example| !example.is_crate) {
        let Example {
            folder, name, file, ..
        } = example;
        let (lines, most) = match file.ends_with("/main.rs") {
            false => (tree.read(file)?.lines().count(), LINES),
            true => {
                let sources = tree.sources(format!("{folder}/{name}"))?;
                (
                    sources.iter().map(|source| source.lines).sum(),
                    FOLDER_LINES,
                )
            }
        };
        if lines >= most {
            out.push(format!(
                "{file}: {lines} lines, an example has fewer than {most}"
            ));
        }
    }
    Ok(out)
}

/// Compares the index of a folder with what is there.
fn listed(
    folder: &str,
    index: &BTreeMap<String, String>,
    here: &[&Example],
    out: &mut Vec<String>,
) {
    for example in here.iter().filter(|e| !index.contains_key(&e.name)) {
        let (file, name) = (&example.file, &example.name);
        out.push(format!(
            "{file}: no row `| [{name}](…) |` in {folder}/README.md"
        ));
    }
    for (name, prints) in index {
        match here.iter().find(|example| example.name == *name) {
            None => out.push(format!("{folder}/README.md: there is no example {name}")),
            Some(example) if prints.is_empty() != example.is_crate => out.push(format!(
                "{folder}/README.md: the last cell of {name} is what it prints, of a crate empty"
            )),
            Some(_) => {}
        }
    }
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
    use super::{FOLDERS, SHOWN, check};
    use crate::tree::sample::Sample;

    const PROGRAM: &str = "//! A program.\n\nfn main() {}\n";
    const BLOCK: &str = "```rust\nfn main() {}\n```\n";

    /// A tree in which each text shows its programs, and each index has its examples.
    fn sample() -> Sample {
        let tree = Sample::new(&[("apps/examples/README.md", "# Index\n")]);
        for (text, files) in SHOWN {
            tree.write(
                text,
                &format!("# X\n```sh\nls\n```\n{}", BLOCK.repeat(files.len())),
            );
            files.iter().for_each(|file| tree.write(file, PROGRAM));
        }
        let rows =
            ["first", "fib", "anywhere"].map(|name| format!("| [{name}](x) | is | `it` |\n"));
        tree.write("platforms/examples/README.md", &rows.concat());
        tree
    }

    fn found(tree: &Sample) -> Vec<String> {
        check(tree).unwrap()
    }

    #[test]
    fn the_same_programs_are_silent() {
        assert_eq!(found(&sample()), [""; 0]);
    }

    #[test]
    fn another_program_or_none_or_a_further_one_is_found() {
        for (text, files) in SHOWN {
            let tree = sample();
            tree.write(text, &"```rust\nfn main() { }\n```\n".repeat(files.len()));
            assert_eq!(found(&tree).len(), files.len());
            tree.write(text, "# X\n");
            assert_eq!(found(&tree).len(), 1);
            tree.write(text, &BLOCK.repeat(files.len() + 1));
            assert!(found(&tree)[0].contains("blocks"));
        }
    }

    #[test]
    fn a_long_example_is_found() {
        for folder in FOLDERS {
            let tree = sample();
            let row = "| [long](long.rs) | is | `it` |\n";
            let index = tree.read(format!("{folder}/README.md")).unwrap() + row;
            tree.write(&format!("{folder}/README.md"), &index);
            tree.write(&format!("{folder}/long.rs"), &"\n".repeat(59));
            assert_eq!(found(&tree), [""; 0]);
            tree.write(&format!("{folder}/long.rs"), &"\n".repeat(60));
            assert_eq!(found(&tree).len(), 1);
        }
        let tree = sample();
        let index = tree.read("platforms/examples/README.md").unwrap();
        let row = "| [whole](whole/main.rs) | is | `it` |\n";
        tree.write("platforms/examples/README.md", &(index + row));
        tree.write("platforms/examples/whole/main.rs", PROGRAM);
        tree.write("platforms/examples/whole/more.rs", &"\n".repeat(240));
        assert!(found(&tree)[0].contains("whole/main.rs"));
    }

    #[test]
    fn an_index_has_a_row_for_each_example_and_no_other() {
        let tree = sample();
        tree.write("apps/examples/new.rs", PROGRAM);
        assert!(found(&tree)[0].starts_with("apps/examples/new.rs: no row"));
        tree.write("apps/examples/README.md", "| [new](new.rs) | is |  |\n");
        assert!(found(&tree)[0].contains("what it prints"));
        tree.write(
            "apps/examples/README.md",
            "| [new](new.rs) | is | `it` |\n| [old](old.rs) | is | `it` |\n",
        );
        assert!(found(&tree)[0].contains("there is no example old"));
    }

    #[test]
    fn an_example_that_is_a_crate_prints_nothing_here() {
        let tree = sample();
        tree.write("apps/examples/server/Cargo.toml", "");
        tree.write("apps/examples/server/src/main.rs", PROGRAM);
        tree.write("apps/examples/README.md", "| [server](server) | is | |\n");
        assert_eq!(found(&tree), [""; 0]);
        tree.write(
            "apps/examples/README.md",
            "| [server](server) | is | `it` |\n",
        );
        assert_eq!(found(&tree).len(), 1);
    }
}
