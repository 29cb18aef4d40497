//! `verify/FACTS.md` lists every fact of the sources once, with its state, and the facts that tests
//! name are in it ([`list`]).
//!
//! # Forms
//!
//! | comment | fact |
//! |---|---|
//! | `Saraswat, acceptance fact 4`, `Saraswat, acceptance facts 1, 3 and 4` | of the source that is named |
//! | `Paudel, acceptance fact A-16` | the same, as Paudel's are written |
//! | `facts 12 to 14 of Chatterjee` | of the source that is named |
//! | `Fact 37`, `Facts 38 and 42` | of Chatterjee |
//!
//! A test names the facts in the comment above it, and those in the head of its file, whose table
//! has a row for each: the tests and files in that row must exist, as must those in
//! `verify/FACTS.md`.

mod list;

use crate::source::Source;
use crate::tree::Tree;
use anyhow::Result;
use list::{List, State};
use std::collections::BTreeSet;

const FILE: &str = "verify/FACTS.md";
const FOLDERS: &[&str] = &[
    "core/tests",
    "exhibits/tests",
    "backends",
    "verify/tests",
    "platforms",
    "apps",
];

/// The source of the facts that are named without one.
const DEFAULT: &str = "Chatterjee";

/// A source and the number of its fact.
type Fact = (String, u32);

struct Function<'a> {
    line: usize,
    name: &'a str,
    is_test: bool,
}

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let text = tree.read(FILE)?;
    let mut list = List::new(&text);
    let mut out = std::mem::take(&mut list.faults);
    let (mut named, mut all) = (BTreeSet::new(), BTreeSet::new());
    for folder in FOLDERS {
        let sources = tree.sources(folder)?;
        let files = || sources.iter().map(|source| (source, functions(source)));
        let functions = files().flat_map(|(_, functions)| functions);
        let tests: BTreeSet<&str> = functions.filter(|f| f.is_test).map(|f| f.name).collect();
        for (source, functions) in files() {
            let cited = cited(source);
            out.extend(unlisted(source, &cited, &list));
            out.extend(missing_in_head(tree, source, &cited, &tests));
            let of_tests = cited.into_iter();
            let of_tests = of_tests.filter(|(line, _)| is_of_test(source, *line, &functions));
            named.extend(of_tests.map(|(_, fact)| fact));
        }
        all.extend(tests.into_iter().map(str::to_owned));
    }
    for (fact, row) in &list.rows {
        let needs_test = row.state == State::Holds { by_job: false };
        if needs_test && !named.contains(fact) {
            let (line, name) = (row.line, list.name(fact));
            out.push(format!("{FILE}:{line}: no test names {name}"));
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

/// The facts that a file names and the list does not have, or has as not built.
fn unlisted(source: &Source, cited: &[(usize, Fact)], list: &List<'_>) -> Vec<String> {
    let fault = |(line, fact): &(usize, Fact)| {
        let why = match list.rows.get(fact) {
            None => "not in",
            Some(row) if row.state == State::NotBuilt => "named by a test, but not built by",
            Some(_) => return None,
        };
        Some(source.at(*line, format!("{}: {why} {FILE}", list.name(fact))))
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

/// Splits off numbers as in ` 1, 3 and 5 to 7`, ` A-1 to A-3` and ` T-1`.
fn numbers(text: &str) -> (Vec<u32>, &str) {
    let mut out: Vec<u32> = Vec::new();
    let (mut rest, mut is_range) = (text, false);
    while let Some(begun) = rest.strip_prefix(' ') {
        let begun = begun.trim_start_matches("A-").trim_start_matches("T-");
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

    const FACTS: &str = "# F
## Sources
| source | facts | title |
|---|---|---|
| Saraswat | 1 to 2 | s |
| Finnerty | 1 to 2 | f |
| Paudel | A-1 to A-2 | p |
| Chatterjee | 1 to 4 | c |
## Saraswat
| fact | promise | state |
|---|---|---|
| 1 | a | holds (`it_holds`) |
| 2 | b | holds |
## Finnerty
| fact | promise | state |
|---|---|---|
| 1 | c | **not met**: 0.9 (`core/tests/a.rs`, `Cx`) |
| 2 | d | holds: `cargo ci mirror` |
## Paudel
| fact | promise | state |
|---|---|---|
| A-1 | e | **not built**: no place |
| A-2 | f | holds |
## Chatterjee
| fact | promise | state |
|---|---|---|
| 1 | g | holds |
| 2 | h | **not met**: 7 |
| 3 | i | holds |
| 4 | j | holds |
## Users
| requirement | tests |
|---|---|
| k | `it_holds` |
";
    const TEST: &str = "//! | fact | test |
//! |---|---|
//! | Saraswat, acceptance fact 2, Finnerty, acceptance fact 1: `a` | `it_holds`, `a.rs`, `it_*` |

/// See Saraswat,
/// acceptance facts 1 and 2: 9 times.
#[test]
fn it_holds() {}
/// Facts 3 to 4, and in fact 9. Paudel, acceptance fact A-2.
#[test]
fn it_also_holds() {}
//! See fact 1 of Chatterjee.
";

    fn found(facts: &str, test: &str) -> Vec<String> {
        check(&Sample::new(&[
            ("verify/FACTS.md", facts),
            ("core/tests/a.rs", test),
        ]))
        .unwrap()
    }

    /// Findings in the test if a part of it is another text.
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

    /// The findings if a part of the list is another text.
    fn listed(old: &str, new: &str) -> Vec<String> {
        assert!(FACTS.contains(old), "{old}");
        found(&FACTS.replace(old, new), TEST)
    }

    #[test]
    fn numbers_are_listed() {
        assert_eq!(numbers(" 1, 3 and 5 to 7: 9"), (vec![1, 3, 5, 6, 7], ": 9"));
        assert_eq!(numbers(" 12 to 14 of X"), (vec![12, 13, 14], "of X"));
        assert_eq!(numbers(" A-2 to A-4 of X"), (vec![2, 3, 4], "of X"));
        assert_eq!(numbers(" 4, Finnerty"), (vec![4], "Finnerty"));
        assert_eq!(numbers("s and"), (vec![], "s and"));
    }

    #[test]
    fn a_fact_that_is_missing_or_doubled_is_found() {
        for (row, what) in [
            ("| 2 | b | holds |\n", "Saraswat, fact 2: missing"),
            (
                "| A-1 | e | **not built**: no place |\n",
                "Paudel, fact A-1: missing",
            ),
        ] {
            let missing = listed(row, "");
            assert!(missing[0].ends_with(what), "{missing:?}");
            let doubled = row.repeat(2);
            one(&listed(row, &doubled), "verify/FACTS.md:", ": listed twice");
        }
        one(
            &listed("| 2 | h |", "| 5 | h | **not met**: 7 |\n| 2 | h |"),
            "verify/FACTS.md:",
            "`5`: Chatterjee has the facts 1 to 4",
        );
        let more = listed("Chatterjee | 1 to 4", "Chatterjee | 1 to 5");
        one(&more, "verify/FACTS.md: Chatterjee, fact 5", "missing");
        let other = listed("| A-1 | e", "| 1 | e");
        assert!(
            other[0].ends_with("`1`: Paudel has the facts A-1 to A-2"),
            "{other:?}"
        );
    }

    #[test]
    fn a_source_is_in_the_table_of_sources() {
        let gone = listed("| Finnerty | 1 to 2 | f |\n", "");
        assert!(
            gone[0].ends_with("`Finnerty` is not in the table of the sources"),
            "{gone:?}"
        );
        let odd = listed("| Finnerty | 1 to 2 | f |", "| Finnerty | 2 | f |");
        assert!(odd[0].contains(":6: a source has a name"), "{odd:?}");
        let lost = listed("## Finnerty", "## Users");
        assert!(
            lost.iter()
                .any(|f| f.ends_with("Finnerty, fact 2: missing")),
            "{lost:?}"
        );
    }

    #[test]
    fn a_state_has_a_marker_and_a_reason() {
        for (state, what) in [
            ("**not met**: ", "needs a reason"),
            ("**not built**: ", "needs a reason"),
            ("not met: 7", "a state begins with"),
            ("Not applicable: no", "a state begins with"),
            ("holds; **not met** at 9", "holds in part does not hold"),
        ] {
            let odd = listed("**not met**: 7", state);
            assert!(odd[0].contains(what), "{state}: {odd:?}");
            assert!(odd[1].ends_with("Chatterjee, fact 2: missing"), "{odd:?}");
        }
        let promise = listed("| 2 | h |", "| 2 | h, **not met** at 9 |");
        one(
            &promise,
            "verify/FACTS.md:",
            "the state has what is not met of it",
        );
        let short = listed("| 2 | h | **not met**: 7 |", "| 2 | h |");
        assert!(
            short[0].ends_with("a number, a promise and a state"),
            "{short:?}"
        );
    }

    #[test]
    fn a_fact_that_is_not_built_and_named_is_found() {
        one(
            &changed("fact A-2", "facts A-1 and A-2"),
            "core/tests/a.rs:9: Paudel, fact A-1: named by a test, but not built by",
            "FACTS.md",
        );
    }

    #[test]
    fn a_fact_that_is_not_listed_is_found() {
        one(
            &changed("1 and 2", "1, 2 and 5"),
            "core/tests/a.rs:6: Saraswat, fact 5: not in",
            "FACTS.md",
        );
        one(&changed("Finnerty", "Lace"), "core/tests/a.rs:3: Lace", "");
        one(
            &changed("3 to 4", "3 to 5"),
            "core/tests/a.rs:9: Chatterjee, fact 5",
            "",
        );
    }

    #[test]
    fn a_fact_that_holds_and_no_test_names_is_found() {
        one(
            &changed("1 and 2", "2"),
            "verify/FACTS.md:12: ",
            "Saraswat, fact 1",
        );
        assert_eq!(changed("acceptance fact 1:", "1:"), [""; 0], "not met");
        one(
            &changed("3 to 4", "3"),
            "verify/FACTS.md:30: ",
            "Chatterjee, fact 4",
        );
        one(
            &changed("fact A-2", "A-2"),
            "verify/FACTS.md:23: ",
            "Paudel, fact A-2",
        );
        let untested = changed("#[test]\nfn it_also", "fn it_also");
        assert_eq!(untested.len(), 3, "the comment of a function: {untested:?}");
        for job in ["`cargo ci deep`", "`cargo ci mirrors`", ""] {
            one(
                &listed("`cargo ci mirror`", job),
                "verify/FACTS.md:18: ",
                "Finnerty, fact 2",
            );
        }
    }

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let gone = changed("fn it_holds", "fn it_held");
        assert_eq!(gone.len(), 3, "{gone:?}");
        assert!(gone[0].starts_with("core/tests/a.rs:3: ") && gone[0].contains("`it_holds`"));
        assert!(gone[1].starts_with("verify/FACTS.md:12: ") && gone[1].contains("`it_holds`"));
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
            "verify/FACTS.md:17: ",
            "`core/tests/b.rs`",
        );
    }
}
