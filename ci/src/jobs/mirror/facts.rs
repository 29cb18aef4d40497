//! The facts that tests name: each is in `verify/FACTS.md`, and the tests that it names exist.
//!
//! A test names a fact in a comment: `Saraswat, acceptance fact 4`, `acceptance facts 1 and 4`. In
//! the file each source has a section with its name and a table with the facts' numbers.

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
const NAMED: &str = "acceptance fact";

/// The numbers of each source's facts.
type Facts = BTreeMap<String, BTreeSet<u32>>;

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let text = tree.read(FILE)?;
    let facts = facts(&text);
    let mut functions = BTreeSet::new();
    let mut out = Vec::new();
    for folder in FOLDERS {
        for source in tree.sources(folder)? {
            for (line, from, number) in cited(&source) {
                if !facts
                    .get(&from)
                    .is_some_and(|known| known.contains(&number))
                {
                    let why = format!("{from}, {NAMED} {number}: not in {FILE}");
                    out.push(source.at(line, why));
                }
            }
            let pairs = source.lexed.tokens.windows(2);
            let names = pairs.filter(|pair| pair[0].text == "fn");
            functions.extend(names.map(|pair| pair[1].text.clone()));
        }
    }
    for (n, line) in text.lines().enumerate() {
        for code in line.split('`').skip(1).step_by(2) {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let is_test = code.contains('_') && code.chars().all(is_name);
            let is_file = code.ends_with(".rs");
            if (is_test && !functions.contains(code)) || (is_file && !tree.has(code)) {
                out.push(format!("{FILE}:{}: there is no `{code}`", n + 1));
            }
        }
    }
    Ok(out)
}

fn facts(text: &str) -> Facts {
    let mut section = "";
    let mut out = Facts::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim();
        }
        let cell = line
            .strip_prefix("| ")
            .and_then(|row| row.split(" |").next());
        if let Some(number) = cell.and_then(|cell| cell.parse().ok()) {
            out.entry(section.to_owned()).or_default().insert(number);
        }
    }
    out
}

/// The facts that the comments of a file name: the line, the source, the number.
fn cited(source: &Source) -> Vec<(usize, String, u32)> {
    // One text, so that a name may stand on one line and its number on the next.
    let mut text = String::new();
    let mut starts = Vec::new();
    for (line, comment) in &source.lexed.comments {
        starts.push((text.len(), *line));
        text.push_str(comment.trim_start_matches(['/', '!', ' ']));
        text.push(' ');
    }
    let mut out = Vec::new();
    for (at, _) in text.match_indices(NAMED) {
        let before = text[..at].trim_end_matches([',', ' ']);
        let from = before.rsplit(|c: char| !c.is_alphabetic()).next();
        let line = starts.iter().rev().find(|(start, _)| *start <= at);
        let numbers = text[at + NAMED.len()..].trim_start_matches('s');
        let words = numbers.split([' ', ',']).filter(|word| !word.is_empty());
        for word in words.filter(|word| *word != "and") {
            let digits = word.trim_end_matches([':', '.', ';', ')']);
            let Ok(number) = digits.parse() else { break };
            out.push((
                line.map_or(1, |l| l.1),
                from.unwrap_or("").to_owned(),
                number,
            ));
            if digits != word {
                break;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    const FACTS: &str = "# F\n## Saraswat\n| fact | promise |\n|---|---|\n| 1 | a (`it_holds`). |\n| 4 | b |\n## Finnerty\n| 7 | c (`core/tests/a.rs`, `Cx`) |\n";
    const TEST: &str = "//! | Saraswat, acceptance fact 4, Finnerty, acceptance fact 7: a |\n/// See Saraswat,\n/// acceptance facts 1 and 4: 9 times.\nfn it_holds() {}";

    fn found(facts: &str, test: &str) -> Vec<String> {
        check(&Sample::new(&[
            ("verify/FACTS.md", facts),
            ("core/tests/a.rs", test),
        ]))
        .unwrap()
    }

    #[test]
    fn listed_facts_and_existing_tests_are_silent() {
        assert_eq!(found(FACTS, TEST), [""; 0]);
    }

    #[test]
    fn a_fact_that_is_not_listed_is_found() {
        let found = |old: &str, new: &str| found(FACTS, &TEST.replace(old, new));
        assert!(found("1 and 4", "1 and 5")[0].starts_with("core/tests/a.rs:3: Saraswat"));
        assert_eq!(found("fact 7", "fact 4").len(), 1);
        assert_eq!(found("Finnerty", "Lace").len(), 1);
    }

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let gone = found(FACTS, &TEST.replace("it_holds", "it_held"));
        assert!(gone[0].starts_with("verify/FACTS.md:5: ") && gone[0].contains("`it_holds`"));
        assert_eq!(found(&FACTS.replace("a.rs", "b.rs"), TEST).len(), 1);
    }
}
