//! Nothing grows beyond what one reads in one sitting, and comments end at column 100.

pub(super) mod columns;

use super::{Verdict, judge};
use crate::source::{Skip, Source, close};
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

const FILE_LINES: usize = 600;
/// The core is what a porter reads whole.
const CORE_FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 60;
const FOLDER_FILES: usize = 8;
const README_LINES: usize = 100;
const FOLDER_README_LINES: usize = 60;
const MAP: &str = "ARCHITECTURE.md";
const MAP_WORDS: usize = 2500;
const DECISIONS: &str = "docs/decisions";
const DECISION_WORDS: usize = 200;

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let (findings, files) = check(tree)?;
    judge(findings, format!("{files} source files"))
}

fn check(tree: &Tree) -> Result<(Vec<String>, usize)> {
    let mut out = Vec::new();
    let mut files = 0;
    let mut folders: BTreeMap<&Path, usize> = BTreeMap::new();
    let sources = tree.sources("")?;
    for source in &sources {
        files += 1;
        columns::check(tree, source, &mut out)?;
        // Of an integration test the whole file counts, and its functions may be long: a scenario
        // is one function.
        let is_test = source.path.iter().any(|part| part == "tests");
        let lines = match is_test {
            true => source.lines,
            false => source.lines_without_tests(),
        };
        let most = match source.path.starts_with("core") {
            true => CORE_FILE_LINES,
            false => FILE_LINES,
        };
        if lines > most {
            out.push(source.at(1, format!("{lines} lines, {most} are allowed")));
        }
        if is_test {
            continue;
        }
        functions(source, &mut out);
        let live = !source.live(Skip::Tests).is_empty();
        if let (true, Some(folder)) = (live, source.path.parent()) {
            if folder.starts_with("core/src") {
                *folders.entry(folder).or_default() += 1;
            }
        }
    }
    for (folder, count) in folders {
        if count > FOLDER_FILES {
            out.push(format!(
                "{}: {count} files, {FOLDER_FILES} are allowed",
                folder.display()
            ));
        }
    }
    texts(tree, &mut out)?;
    Ok((out, files))
}

/// READMEs, the map, and decisions.
fn texts(tree: &Tree, out: &mut Vec<String>) -> Result<()> {
    for path in tree.files("") {
        let is_readme = path.ends_with("README.md");
        let (most, unit) = match path.parent() {
            Some(top) if is_readme && top.as_os_str().is_empty() => (README_LINES, "lines"),
            // An index: a line for each decision.
            Some(folder) if is_readme && folder == Path::new(DECISIONS) => continue,
            _ if is_readme => (FOLDER_README_LINES, "lines"),
            _ if path == Path::new(MAP) => (MAP_WORDS, "words"),
            Some(folder) if folder == Path::new(DECISIONS) => (DECISION_WORDS, "words"),
            _ => continue,
        };
        let text = tree.read(&path)?;
        let count = match unit {
            "lines" => text.lines().count(),
            _ => text.split_whitespace().count(),
        };
        if count > most {
            out.push(format!(
                "{}: {count} {unit}, {most} are allowed",
                path.display()
            ));
        }
    }
    Ok(())
}

fn functions(source: &Source, out: &mut Vec<String>) {
    let tokens = source.live(Skip::Tests);
    for (i, token) in tokens.iter().enumerate() {
        let Some(name) = tokens.get(i + 1).filter(|_| token.text == "fn") else {
            continue;
        };
        // `fn(` is a type.
        if name.text == "(" {
            continue;
        }
        let mut at = i + 2;
        let body = loop {
            match tokens.get(at).map(|t| t.text.as_str()) {
                Some("(" | "[") => at = close(&tokens, at),
                Some("{") => break Some(at),
                Some(";") | None => break None,
                Some(_) => {}
            }
            at += 1;
        };
        let Some(end) = body.and_then(|open| tokens.get(close(&tokens, open))) else {
            continue;
        };
        let lines = end.line + 1 - token.line;
        if lines > FUNCTION_LINES {
            let text = format!(
                "fn {} has {lines} lines, {FUNCTION_LINES} are allowed",
                name.text
            );
            out.push(source.at(token.line, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Sample::new(&[(path, text)])).unwrap().0
    }

    #[test]
    fn long_files_are_found_without_their_unit_tests() {
        for (path, most) in [
            ("core/src/deque/a.rs", 500),
            ("core/tests/deque.rs", 500),
            ("ci/src/a.rs", 600),
            ("platforms/tests/a.rs", 600),
        ] {
            assert_eq!(found(path, &"a;\n".repeat(most)), [""; 0]);
            assert_eq!(found(path, &"a;\n".repeat(most + 1)).len(), 1);
        }
        let tests = format!("a;\n#[cfg(test)]\nmod tests {{\n{}}}\n", "b;\n".repeat(700));
        assert_eq!(found("core/src/deque/a.rs", &tests), [""; 0]);
    }

    #[test]
    fn long_functions_are_found() {
        let body = |n: usize| format!("fn f(a: [u8; 2]) -> fn() {{\n{}}}\n", "g();\n".repeat(n));
        assert_eq!(found("ci/src/a.rs", &body(58)), [""; 0]);
        assert!(found("ci/src/a.rs", &body(59))[0].contains("fn f has 61 lines"));
        let declared = format!("trait T {{ fn f(); fn g(); }}\n{}", "a;\n".repeat(100));
        assert_eq!(found("ci/src/a.rs", &declared), [""; 0]);
    }

    #[test]
    fn full_folders_are_found() {
        let names: Vec<String> = (0..9).map(|i| format!("core/src/deque/f{i}.rs")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "a;")).collect();
        assert_eq!(check(&Sample::new(&files[..8])).unwrap().0.len(), 0);
        assert_eq!(check(&Sample::new(&files)).unwrap().0.len(), 1);
    }

    #[test]
    fn long_readmes_are_found() {
        assert_eq!(found("README.md", &"x\n".repeat(100)).len(), 0);
        assert_eq!(found("README.md", &"x\n".repeat(101)).len(), 1);
        assert_eq!(found("backends/README.md", &"x\n".repeat(61)).len(), 1);
    }

    #[test]
    fn a_long_map_and_long_decisions_are_found() {
        assert_eq!(found("ARCHITECTURE.md", &"x ".repeat(2500)).len(), 0);
        assert_eq!(found("ARCHITECTURE.md", &"x ".repeat(2501)).len(), 1);
        assert_eq!(found("docs/decisions/001-x.md", &"x ".repeat(201)).len(), 1);
        assert_eq!(found("docs/x.md", &"x ".repeat(2501)).len(), 0);
    }
}
