//! Finds the tests marked `#[ignore]` and checks that each is run by a job, or gives a reason.

use super::{Ignored, STEPS, What};
use crate::jobs::sanitizers::is_canary;
use crate::source::Source;
use crate::tree::Tree;
use anyhow::Result;
use std::path::Path;

/// One test marked `#[ignore]`.
#[derive(Debug, PartialEq, Eq)]
struct Test {
    /// `path:line`.
    at: String,
    package: String,
    /// The integration test that contains it, empty for the library.
    target: String,
    name: String,
    /// The reason given, empty if there is none.
    reason: String,
}

/// Returns one line for each ignored test that no job runs, and for each row that runs none.
pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let tests = tests(tree)?;
    let mut out: Vec<String> = tests.iter().filter_map(finding).collect();
    for step in STEPS {
        if let What::Ignored(row) = &step.what {
            if !tests.iter().any(|test| covers(row, test)) {
                out.push(format!("deep: `{}` runs no ignored test", step.name));
            }
        }
    }
    Ok(out)
}

/// Returns the finding in this test's reason, if there is one.
fn finding(test: &Test) -> Option<String> {
    let said = |words: &str| test.reason.starts_with(words);
    let holds = if said("cargo ci deep: ") {
        let rows = STEPS.iter().filter_map(|step| match &step.what {
            What::Ignored(row) => Some(row),
            _ => None,
        });
        rows.filter(|row| covers(row, test)).count() > 0
    } else if said("cargo ci tsan: ") || said("cargo ci asan: ") {
        is_canary(&test.name)
    } else {
        said("by hand: ")
    };
    (!holds).then(|| {
        format!(
            "{}: {} is ignored with the reason {:?}; begin it with `cargo ci deep: ` and add a row to \
             ci/src/jobs/deep/mod.rs, or with `by hand: ` if it prints a table and asserts nothing",
            test.at, test.name, test.reason
        )
    })
}

fn covers(row: &Ignored, test: &Test) -> bool {
    row.package == test.package && row.target == test.target && test.name.contains(row.leaf())
}

fn tests(tree: &Tree) -> Result<Vec<Test>> {
    let mut out = Vec::new();
    for source in tree.sources("")? {
        let Some((package, inside)) = package(tree, &source.path)? else {
            continue;
        };
        let target = target(&inside);
        let text = tree.read(&source.path)?;
        for (line, name, reason) in marked(&source, &text) {
            out.push(Test {
                at: format!("{}:{line}", source.path.display()),
                package: package.clone(),
                target: target.clone(),
                name,
                reason,
            });
        }
    }
    Ok(out)
}

/// The package of a file and the file's path inside it.
fn package(tree: &Tree, path: &Path) -> Result<Option<(String, String)>> {
    for folder in path.ancestors().skip(1) {
        let manifest = folder.join("Cargo.toml");
        if tree.has(&manifest) {
            let table = tree.toml(&manifest)?;
            let name = table.get("package").and_then(|p| p.get("name"));
            let inside = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            return Ok(name
                .and_then(|n| n.as_str())
                .map(|n| (n.to_owned(), inside)));
        }
    }
    Ok(None)
}

/// The integration test that a file inside a package belongs to.
fn target(inside: &str) -> String {
    let rest = inside.strip_prefix("tests/").unwrap_or_default();
    let first = rest.split('/').next().unwrap_or_default();
    first.trim_end_matches(".rs").to_owned()
}

/// Line, name and reason of each test marked `ignore`, by an attribute of its own or conditionally.
fn marked(source: &Source, text: &str) -> Vec<(usize, String, String)> {
    let tokens = &source.lexed.tokens;
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let attribute = tokens[..i]
            .windows(2)
            .rposition(|pair| pair[0].text == "#" && pair[1].text == "[");
        let open = attribute.is_some_and(|at| tokens[at..i].iter().all(|t| t.text != "]"));
        if token.text != "ignore" || !open {
            continue;
        }
        let named = tokens[i..].windows(2).find(|pair| pair[0].text == "fn");
        let name = named.map_or(String::new(), |pair| pair[1].text.clone());
        let given = tokens.get(i + 1).is_some_and(|next| next.text == "=");
        let reason = if given {
            quoted(text, token.line)
        } else {
            String::new()
        };
        out.push((token.line, name, reason));
    }
    out
}

/// The first string literal after `ignore`, from this line on; the token list leaves strings out.
fn quoted(text: &str, line: usize) -> String {
    let from: Vec<&str> = text.lines().skip(line - 1).collect();
    let from = from.join("\n");
    let after = from.split_once("ignore").map_or("", |(_, after)| after);
    after.split('"').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Test, check, finding, tests};
    use crate::tree::{Tree, sample::Sample};

    #[test]
    fn every_ignored_test_of_this_repository_is_run_by_a_job_or_says_why_not() {
        let found = check(&Tree::here().unwrap()).unwrap();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    const TEXT: &str = "
        // #[ignore = \"in a comment\"]
        #[test]
        #[ignore]
        fn bare() {}
        #[test]
        #[cfg_attr(
            debug_assertions,
            ignore = \"cargo ci deep: slow\"
        )]
        fn conditional() { let ignore = [1]; }
        #[test]
        fn usual() { let s = \"#[ignore]\"; }
    ";

    #[test]
    fn ignored_tests_are_found_with_their_reasons() {
        let manifest = "[package]\nname = \"x\"";
        let tree = Sample::new(&[
            ("a/Cargo.toml", manifest),
            ("a/tests/long/part.rs", TEXT),
            (
                "a/src/lib.rs",
                "#[ignore = \"by hand: a table\"] fn printed() {}",
            ),
        ]);
        let found = tests(&tree).unwrap();
        let seen: Vec<_> = found
            .iter()
            .map(|t| (&*t.target, &*t.name, &*t.reason))
            .collect();
        assert_eq!(
            seen,
            [
                ("", "printed", "by hand: a table"),
                ("long", "bare", ""),
                ("long", "conditional", "cargo ci deep: slow"),
            ]
        );
        assert!(found.iter().all(|t| t.package == "x"));
    }

    #[test]
    fn an_ignored_test_without_a_job_is_a_finding() {
        let test = |target: &str, name: &str, reason: &str| Test {
            at: String::new(),
            package: "tautline-cli".to_owned(),
            target: target.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        for (target, name, reason) in [
            ("uts", "large", ""),
            ("uts", "unheard_of", "cargo ci deep: minutes"),
            ("uts", "large", "cargo ci tsan: a race"),
            ("uts", "large", "minutes"),
        ] {
            assert!(
                finding(&test(target, name, reason)).is_some(),
                "{name} {reason}"
            );
        }
        for (target, name, reason) in [
            (
                "uts_engines",
                "every_engine_counts_large_trees",
                "cargo ci deep: minutes",
            ),
            (
                "counts",
                "large_trees_count_exactly",
                "cargo ci deep: seconds",
            ),
            ("tuner", "table", "by hand: a table"),
        ] {
            assert_eq!(finding(&test(target, name, reason)), None);
        }
    }
}
