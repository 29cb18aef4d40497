//! The facts that tests name are those of `verify/FACTS.md`: each that a test names is listed, and each that is listed is named
//! by a test.
//!
//! # Forms
//!
//! | comment | fact |
//! |---|---|
//! | `Saraswat, acceptance fact 4`, `Saraswat, acceptance facts 1, 3 and 4` | of the source that is named |
//! | `facts 12 to 14 of Chatterjee` | of the source that is named |
//! | `Fact 37`, `Facts 38 and 42` | of Chatterjee |
//!
//! In the file, each source has a section with its name and a table with the facts' numbers. A fact that no test names begins
//! with `Not applicable: ` and the reason.
//!
//! A test names the facts in the comment above it, and those in the head of its file, whose table has a row for each: the tests
//! and files in that row must exist, as must those in `verify/FACTS.md`.

use crate::source::Source;
use crate::tree::Tree;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

const FILE: &str = "verify/FACTS.md";
const FOLDERS: &[&str] = &[
    "core/tests",
    "backends",
    "verify/tests",
    "platforms",
    "apps",
];
const NOT_APPLICABLE: &str = "Not applicable: ";

/// The source of the facts that are named without one.
const DEFAULT: &str = "Chatterjee";

/// A source and the number of its fact.
type Fact = (String, u32);

/// A row of the file.
struct Row {
    line: usize,
    is_applicable: bool,
}

struct Function<'a> {
    line: usize,
    name: &'a str,
    is_test: bool,
}

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let text = tree.read(FILE)?;
    let rows = rows(&text);
    let (mut out, mut named, mut all) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for folder in FOLDERS {
        let sources = tree.sources(folder)?;
        let files = || sources.iter().map(|source| (source, functions(source)));
        let functions = files().flat_map(|(_, functions)| functions);
        let tests: BTreeSet<&str> = functions.filter(|f| f.is_test).map(|f| f.name).collect();
        for (source, functions) in files() {
            let cited = cited(source);
            out.extend(unlisted(source, &cited, &rows));
            out.extend(missing_in_head(tree, source, &cited, &tests));
            let of_tests = cited.into_iter();
            let of_tests = of_tests.filter(|(line, _)| is_of_test(source, *line, &functions));
            named.extend(of_tests.map(|(_, fact)| fact));
        }
        all.extend(tests.into_iter().map(str::to_owned));
    }
    for ((from, number), row) in &rows {
        if row.is_applicable && !named.contains(&(from.clone(), *number)) {
            let line = row.line;
            out.push(format!(
                "{FILE}:{line}: no test names {from}, fact {number}"
            ));
        }
    }
    for (n, line) in text.lines().enumerate() {
        for code in codes(line) {
            let is_missing = match code.ends_with(".rs") {
                true => !tree.has(code),
                false => code.contains('_') && is_name(code) && !all.contains(code),
            };
            if is_missing {
                out.push(format!("{FILE}:{}: there is no `{code}`", n + 1));
            }
        }
    }
    Ok(out)
}

/// The facts of the file.
fn rows(text: &str) -> BTreeMap<Fact, Row> {
    let mut section = "";
    let mut out = BTreeMap::new();
    for (n, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim();
        }
        let cells = line
            .strip_prefix("| ")
            .and_then(|row| row.split_once(" | "));
        let Some((number, promise)) = cells else {
            continue;
        };
        if let Ok(number) = number.parse() {
            let row = Row {
                line: n + 1,
                is_applicable: !promise.starts_with(NOT_APPLICABLE),
            };
            out.insert((section.to_owned(), number), row);
        }
    }
    out
}

/// The functions of a file, in order.
fn functions(source: &Source) -> Vec<Function<'_>> {
    let mut is_test = false;
    let mut out = Vec::new();
    for four in source.lexed.tokens.windows(4) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| four[i].text.as_str());
        is_test |= [a, b, c, d] == ["#", "[", "test", "]"];
        if a == "fn" {
            out.push(Function {
                line: four[0].line,
                name: b,
                is_test: std::mem::take(&mut is_test),
            });
        }
    }
    out
}

/// Whether a comment is that of a test, or in the head of a file of tests.
fn is_of_test(source: &Source, line: usize, functions: &[Function<'_>]) -> bool {
    let is_head = source.lexed.comments[&line].starts_with("//!");
    let of_tests = source.path.iter().any(|part| part == "tests");
    let next = functions.iter().find(|function| function.line > line);
    is_head && of_tests || next.is_some_and(|function| function.is_test)
}

/// The facts that a file names and the list does not have, or not for tests.
fn unlisted(source: &Source, cited: &[(usize, Fact)], rows: &BTreeMap<Fact, Row>) -> Vec<String> {
    let fault = |(line, fact): &(usize, Fact)| {
        let why = match rows.get(fact) {
            None => "not in",
            Some(row) if !row.is_applicable => "not applicable in",
            Some(_) => return None,
        };
        let (from, number) = fact;
        Some(source.at(*line, format!("{from}, fact {number}: {why} {FILE}")))
    };
    cited.iter().filter_map(fault).collect()
}

/// The tests and files that do not exist, in the rows of facts in a head.
fn missing_in_head(
    tree: &Tree,
    source: &Source,
    cited: &[(usize, Fact)],
    tests: &BTreeSet<&str>,
) -> Vec<String> {
    let folder = source.path.parent();
    let exists = |code: &str| match code.strip_suffix('*') {
        Some(start) => tests.iter().any(|test| test.starts_with(start)),
        None if code.ends_with(".rs") => {
            tree.has(code) || folder.is_some_and(|folder| tree.has(folder.join(code)))
        }
        None => !is_name(code) || tests.contains(code),
    };
    let lines: BTreeSet<usize> = cited.iter().map(|(line, _)| *line).collect();
    let mut out = Vec::new();
    for line in lines {
        let row = source.lexed.comments[&line].strip_prefix("//! | ");
        let Some((_, tests)) = row.and_then(|row| row.split_once(" | ")) else {
            continue;
        };
        let missing = codes(tests).filter(|code| !exists(code));
        out.extend(missing.map(|code| source.at(line, format!("there is no `{code}`"))));
    }
    out
}

/// The texts in backquotes.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_name(code: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    code.chars().all(is_part)
}

/// The facts that the comments of a file name, each with its line.
fn cited(source: &Source) -> Vec<(usize, Fact)> {
    // One text, so that a name may stand on one line and its number on the next.
    let mut text = String::new();
    let mut starts = Vec::new();
    for (line, comment) in &source.lexed.comments {
        starts.push((text.len(), *line));
        text.push_str(comment.trim_start_matches(['/', '!', ' ']));
        text.push(' ');
    }
    let mut out = Vec::new();
    let words = text.match_indices("fact").chain(text.match_indices("Fact"));
    for (at, word) in words {
        let rest = &text[at + word.len()..];
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let (numbers, after) = numbers(rest);
        let before = text[..at].trim_end();
        let name = |text: &str| {
            let end = text.find(|c: char| !c.is_alphabetic());
            text[..end.unwrap_or(text.len())].to_owned()
        };
        let from = match (
            before.strip_suffix(", acceptance"),
            after.strip_prefix("of "),
        ) {
            (Some(before), _) => before
                .rsplit(|c: char| !c.is_alphabetic())
                .next()
                .map(str::to_owned),
            (None, Some(after)) => Some(name(after)),
            (None, None) if word == "Fact" => Some(DEFAULT.to_owned()),
            (None, None) => None,
        };
        let Some(from) = from else { continue };
        let line = starts.iter().rev().find(|(start, _)| *start <= at);
        let line = line.map_or(1, |(_, line)| *line);
        out.extend(
            numbers
                .into_iter()
                .map(|number| (line, (from.clone(), number))),
        );
    }
    out
}

/// Splits off numbers as in ` 1, 3 and 5 to 7`.
fn numbers(text: &str) -> (Vec<u32>, &str) {
    let mut out: Vec<u32> = Vec::new();
    let (mut rest, mut is_range) = (text, false);
    while let Some(begun) = rest.strip_prefix(' ') {
        let end = begun.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, after) = begun.split_at(end.unwrap_or(begun.len()));
        match (word, word.parse(), out.last().copied()) {
            ("and", ..) => {}
            ("to", _, Some(_)) => is_range = true,
            (_, Ok(to), Some(last)) if is_range => {
                out.extend(last + 1..=to);
                is_range = false;
            }
            (_, Ok(number), _) => out.push(number),
            _ => return (out, begun),
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    (out, rest)
}

#[cfg(test)]
mod tests {
    use super::{check, numbers};
    use crate::tree::sample::Sample;

    const FACTS: &str = "# F\n## Saraswat\n| fact | promise |\n|---|---|\n| 1 | a (`it_holds`). |\n| 4 | b |\n## Finnerty\n| 7 | c (`core/tests/a.rs`, `Cx`) |\n| 8 | Not applicable: d |\n## Chatterjee\n| 37 | e |\n| 38 | f |\n| 39 | g |\n";
    const TEST: &str = "//! | fact | test |\n//! |---|---|\n//! | Saraswat, acceptance fact 4, Finnerty, acceptance fact 7: `a` | `it_holds`, `a.rs`, `it_*` |\n\n/// See Saraswat,\n/// acceptance facts 1 and 4: 9 times.\n#[test]\nfn it_holds() {}\n/// Facts 38 to 39, and in fact 3.\n#[test]\nfn it_also_holds() {}\n//! See fact 37 of Chatterjee.\n";

    fn found(facts: &str, test: &str) -> Vec<String> {
        check(&Sample::new(&[
            ("verify/FACTS.md", facts),
            ("core/tests/a.rs", test),
        ]))
        .unwrap()
    }

    /// What is found in the test if a part of it is another text.
    fn changed(old: &str, new: &str) -> Vec<String> {
        assert!(TEST.contains(old), "{old}");
        found(FACTS, &TEST.replace(old, new))
    }

    fn one(found: &[String], starts: &str, ends: &str) {
        let [line] = found else { panic!("{found:?}") };
        assert!(line.starts_with(starts) && line.ends_with(ends), "{line}");
    }

    #[test]
    fn listed_facts_and_existing_tests_are_silent() {
        assert_eq!(found(FACTS, TEST), [""; 0]);
    }

    #[test]
    fn numbers_are_listed() {
        assert_eq!(numbers(" 1, 3 and 5 to 7: 9"), (vec![1, 3, 5, 6, 7], ": 9"));
        assert_eq!(numbers(" 12 to 14 of X"), (vec![12, 13, 14], "of X"));
        assert_eq!(numbers(" 4, Finnerty"), (vec![4], "Finnerty"));
        assert_eq!(numbers("s and"), (vec![], "s and"));
    }

    #[test]
    fn a_fact_that_is_not_listed_is_found() {
        let more = changed("1 and 4", "1 and 5");
        one(
            &more,
            "core/tests/a.rs:6: Saraswat, fact 5: not in",
            "FACTS.md",
        );
        assert_eq!(changed("Finnerty", "Lace").len(), 2, "and no test names 7");
        one(
            &changed("38 to 39", "37 to 40"),
            "core/tests/a.rs:9: Chatterjee, fact 40",
            "",
        );
        one(
            &changed("See fact 37 of", "See facts 36 and 37 of"),
            "core/tests/a.rs:12:",
            "",
        );
    }

    #[test]
    fn a_fact_that_no_test_names_is_found() {
        one(
            &changed("1 and 4", "4"),
            "verify/FACTS.md:5: ",
            "Saraswat, fact 1",
        );
        one(
            &changed("acceptance fact 7", "7"),
            "verify/FACTS.md:8: ",
            "Finnerty, fact 7",
        );
        one(
            &changed("38 to 39", "38"),
            "verify/FACTS.md:13: ",
            "Chatterjee, fact 39",
        );
        one(
            &changed("fact 37 of", "37 of"),
            "verify/FACTS.md:11: ",
            "Chatterjee, fact 37",
        );
        let untested = changed("#[test]\nfn it_also", "fn it_also");
        assert_eq!(untested.len(), 2, "the comment of a function: {untested:?}");
        let applicable = FACTS.replace("Not applicable: ", "");
        one(
            &found(&applicable, TEST),
            "verify/FACTS.md:9: ",
            "Finnerty, fact 8",
        );
    }

    #[test]
    fn a_fact_that_is_not_applicable_and_named_is_found() {
        let both = changed("acceptance fact 7", "acceptance facts 7 and 8");
        one(
            &both,
            "core/tests/a.rs:3: Finnerty, fact 8: not applicable",
            "FACTS.md",
        );
    }

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let gone = changed("fn it_holds", "fn it_held");
        assert_eq!(gone.len(), 2, "{gone:?}");
        assert!(gone[0].starts_with("core/tests/a.rs:3: ") && gone[0].contains("`it_holds`"));
        assert!(gone[1].starts_with("verify/FACTS.md:5: ") && gone[1].contains("`it_holds`"));
        one(
            &changed("`a.rs`", "`b.rs`"),
            "core/tests/a.rs:3: ",
            "`b.rs`",
        );
        one(
            &changed("`it_*`", "`is_*`"),
            "core/tests/a.rs:3: ",
            "`is_*`",
        );
        let facts = FACTS.replace("a.rs", "b.rs");
        one(
            &found(&facts, TEST),
            "verify/FACTS.md:8: ",
            "`core/tests/b.rs`",
        );
    }
}
