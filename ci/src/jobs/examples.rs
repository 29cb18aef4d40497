//! The programs a user would write, the README's first.

use super::{Verdict, judge};
use crate::shell::{cargo, run as attached};
use crate::tree::Tree;
use anyhow::Result;

const FOLDER: &str = "platforms/examples";
/// The README's program, word for word.
const FIRST: &str = "platforms/examples/first.rs";
const LINES: usize = 60;

pub fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut findings = check(tree)?;
    let names = tree.programs(FOLDER);
    if !names.is_empty() {
        let build = ["build", "--release", "--examples", "-p", "tautline"];
        attached(&mut cargo(tree, build))?;
    }
    for name in &names {
        let words = ["run", "--release", "-p", "tautline", "--example", name];
        if let Err(error) = attached(&mut cargo(tree, words)) {
            findings.push(format!("{FOLDER}/{name}.rs: {error:#}"));
        }
    }
    judge(findings, format!("{} examples", names.len()))
}

/// What can be said without running anything.
fn check(tree: &Tree) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for name in tree.programs(FOLDER) {
        let file = format!("{FOLDER}/{name}.rs");
        let lines = tree.read(&file)?.lines().count();
        if lines >= LINES {
            out.push(format!(
                "{file}: {lines} lines, an example has fewer than {LINES}"
            ));
        }
    }
    if !tree.has(FIRST) {
        out.push(format!("{FIRST}: missing; it is the README's program"));
        return Ok(out);
    }
    let readme = tree.read("README.md").unwrap_or_default();
    match first_block(&readme) {
        None => out
            .push("README.md: no ```rust block to compare with platforms/examples/first.rs".into()),
        Some(block) if code(&block) != code(&tree.read(FIRST)?) => {
            out.push(format!("README.md: its first ```rust block is not {FIRST}"));
        }
        Some(_) => {}
    }
    Ok(out)
}

fn first_block(readme: &str) -> Option<String> {
    let fence = |l: &&str| l.trim_end().starts_with("```rust");
    let inside = readme.lines().skip_while(|l| !fence(l)).skip(1);
    let block: Vec<&str> = inside.take_while(|l| l.trim_end() != "```").collect();
    (!block.is_empty()).then(|| block.join("\n"))
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

    const FIRST: &str = "//! The first program.\n\nfn main() {}\n";
    const README: &str = "# X\n```sh\nls\n```\n```rust\nfn main() {}\n```\n";

    fn found(readme: &str, first: &str) -> Vec<String> {
        let files = [("README.md", readme), (super::FIRST, first)];
        check(&Sample::new(&files)).unwrap()
    }

    #[test]
    fn the_same_program_is_silent() {
        assert_eq!(found(README, FIRST), [""; 0]);
    }

    #[test]
    fn another_program_or_none_is_found() {
        assert_eq!(found(README, "fn main() { }").len(), 1);
        assert_eq!(found("# X\n", FIRST).len(), 1);
        assert_eq!(
            check(&Sample::new(&[("README.md", README)])).unwrap().len(),
            1
        );
    }

    #[test]
    fn a_long_example_is_found() {
        let tree = Sample::new(&[("README.md", README), (super::FIRST, FIRST)]);
        tree.write("platforms/examples/long.rs", &"\n".repeat(59));
        assert_eq!(check(&tree).unwrap().len(), 0);
        tree.write("platforms/examples/long.rs", &"\n".repeat(60));
        assert_eq!(check(&tree).unwrap().len(), 1);
    }
}
