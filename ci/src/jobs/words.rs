//! Comments, documents and messages use the field's words.
//!
//! A text that names threads, tasks and states otherwise than the literature does has to be
//! translated back by its readers. Each pattern is rejected with what to write instead; sentences
//! are best rewritten, not their words replaced.

use super::{Verdict, judge};
use crate::tree::Tree;
use anyhow::Result;
use std::path::Path;

/// Files and folders whose texts are checked. This list grows until it is the whole tree.
const CHECKED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "deny.toml",
    ".github",
    "docs",
    "core",
    "exhibits",
    "backends",
    "platforms",
    "apps",
    "conform",
    "ci",
    "verify",
    "benches",
];

/// Parts of these folders that are still to be swept, and the one file that must name the patterns.
const EXEMPT: &[&str] = &["ci/src/jobs/words.rs"];

/// Uses in another sense: a file, or the folder of files, and a part of the line.
const ALLOWED: &[(&str, &str)] = &[];

/// Files that are checked, by the ending of their name.
const ENDINGS: &[&str] = &["rs", "md", "toml", "sh", "yml"];

struct Pattern {
    /// Words in lower case, separated by single spaces. They match whole words only.
    words: &'static [&'static str],
    instead: &'static str,
}

const PATTERNS: &[Pattern] = &[
    Pattern {
        words: &["who", "whom", "whoever"],
        instead: "a thread that …, the waiting task, whichever worker …",
    },
    Pattern {
        words: &["nobody", "somebody", "everybody", "anybody"],
        instead: "no thread, another task, all workers, any caller",
    },
    Pattern {
        words: &[
            "that is none",
            "which is none",
            "that are none",
            "which are none",
            "is none to",
            "has none to",
        ],
        instead: "is ignored, is malformed, if there is no …",
    },
    Pattern {
        words: &[
            "lies down",
            "lie down",
            "lying down",
            "lay down",
            "falls asleep",
        ],
        instead: "parks, is parked, goes to sleep",
    },
    Pattern {
        words: &["rings for", "rings the", "rings it", "to ring"],
        instead: "unparks, notifies",
    },
    Pattern {
        words: &["desk", "desks"],
        instead: "the place's lock, the critical section",
    },
    Pattern {
        words: &["errand", "errands"],
        instead: "request, work item, the state for …",
    },
    Pattern {
        words: &["steward", "stewards", "staff", "bed", "beds"],
        instead: "server thread; threads; sleep state",
    },
    Pattern {
        words: &["seen off", "sees off", "lets in", "let in"],
        instead: "deregistered, left; registered, joined",
    },
    Pattern {
        words: &["forsake", "forsakes", "forsaken", "hinders", "hindered"],
        instead: "abandons, cancels; blocks",
    },
    Pattern {
        words: &["gives up the processor", "give up the processor"],
        instead: "yields",
    },
    Pattern {
        words: &["whatever comes of it", "others' business", "in vain"],
        instead: "regardless of the outcome; nothing is left to do; spurious",
    },
    Pattern {
        words: &[
            "says",
            "is told",
            "are told",
            "was told",
            "were told",
            "be told",
            "tells",
            "not to be seen",
        ],
        instead: "returns, reports, states, documents; is notified; is not visible",
    },
    Pattern {
        words: &[
            "asks for",
            "asked for",
            "is asked",
            "are asked",
            "had better",
        ],
        instead: "requests, requires; should",
    },
    Pattern {
        words: &["so many", "so much"],
        instead: "N, at most N, this number of …",
    },
    Pattern {
        words: &[
            "goes on",
            "went on",
            "goes over",
            "goes round",
            "comes back",
            "came back",
        ],
        instead: "continues, resumes; switches to; circulates; returns",
    },
    Pattern {
        words: &[
            "rides", "shuts", "astray", "anew", "at work", "a look", "hangs on", "hang on",
        ],
        instead: "is carried by; closes; lost; again; running, busy; poll; depends on",
    },
    Pattern {
        words: &["operation of all ranks", "operations of all ranks"],
        instead: "collective operations",
    },
    Pattern {
        words: &["look at", "looks at", "looking at"],
        instead: "polls, checks, reads",
    },
    Pattern {
        words: &["loops at a time"],
        instead: "concurrent loops",
    },
    Pattern {
        words: &["thread of the world"],
        instead: "the progress thread",
    },
    Pattern {
        words: &["standstill", "standstills"],
        instead: "deadlock; stall",
    },
    Pattern {
        words: &[
            "does without a rank",
            "do without a rank",
            "does without a lost",
            "do without a lost",
            "do without a member",
        ],
        instead: "tolerates the loss of a rank",
    },
];

/// Folders in which a doc comment begins with the verb or noun that it documents. `platforms` is
/// still to be swept.
const BEGINNING: &[&str] = &[
    "apps",
    "backends",
    "benches",
    "ci",
    "conform",
    "core",
    "exhibits",
    "platforms",
    "verify",
];

/// Files of these folders that are still to be swept. Those of `apps` have help texts of options
/// that begin so.
const BEGINNING_EXEMPT: &[&str] = &[
    "apps/src/command/app/threads.rs",
    "apps/src/command/launch/mod.rs",
    "apps/src/command/nqueens.rs",
    "apps/src/command/simulate/sweep/measure.rs",
    "apps/src/command/spmd/alignment.rs",
    "apps/src/command/spmd/stencil.rs",
    "apps/src/command/uts/mod.rs",
    "ci/src/jobs/words.rs",
];

/// Beginnings of a clause.
const CLAUSES: &[&str] = &[
    "What",
    "How",
    "Why",
    "Which",
    "When",
    "Where",
    "Whether no",
    "That",
];

pub(crate) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let (findings, files) = check(tree, CHECKED)?;
    judge(findings, format!("{files} files"))
}

fn check(tree: &Tree, checked: &[&str]) -> Result<(Vec<String>, usize)> {
    let mut out = Vec::new();
    let mut files = 0;
    for path in tree.files("") {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let is_within = |list: &[&str]| list.iter().any(|start| path.starts_with(start));
        if !ENDINGS.contains(&ending) || !is_within(checked) || is_within(EXEMPT) {
            continue;
        }
        files += 1;
        let text = tree.read(&path)?;
        out.extend(found(&path, &text));
        if is_within(BEGINNING) && !is_within(BEGINNING_EXEMPT) {
            out.extend(clauses(&path, &text));
        }
    }
    Ok((out, files))
}

/// The patterns in a text, with their lines.
fn found(path: &Path, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    // The end of the line before, so that a pattern may be broken between lines.
    let mut before: Vec<String> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let own = words(line);
        let known = before.len();
        let all: Vec<&str> = before.iter().chain(&own).map(String::as_str).collect();
        let is_allowed =
            |allowed: &&(&str, &str)| path.starts_with(allowed.0) && line.contains(allowed.1);
        for pattern in PATTERNS {
            for phrase in pattern.words {
                let parts: Vec<&str> = phrase.split(' ').collect();
                let ends =
                    |(at, window): (usize, &[&str])| window == parts && at + window.len() > known;
                let hit = all.windows(parts.len()).enumerate().any(ends);
                if hit && !ALLOWED.iter().any(|a| is_allowed(&a)) {
                    let (path, instead) = (path.display(), pattern.instead);
                    out.push(format!("{path}:{}: `{phrase}`; write: {instead}", n + 1));
                }
            }
        }
        let keep = own.len().saturating_sub(3);
        before = own[keep..].to_vec();
    }
    out
}

/// The doc comments that begin with a clause.
fn clauses(path: &Path, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut is_inside = false;
    for (n, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
        let doc = doc.map(|doc| doc.trim_start());
        let clause = CLAUSES.iter().find(|clause| {
            let rest = doc.and_then(|doc| doc.strip_prefix(**clause));
            rest.is_some_and(|rest| rest.starts_with(' '))
        });
        if let (Some(clause), false) = (clause, is_inside) {
            out.push(format!(
                "{}:{}: begins with `{clause}`; write: the noun or verb that it documents",
                path.display(),
                n + 1
            ));
        }
        is_inside = doc.is_some();
    }
    out
}

/// The words of a line in lower case. Identifiers with underscores are one word each, and code in
/// backticks is no word.
fn words(line: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’' | '`');
    let words = line.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    words
        .map(|word| word.trim_matches('\'').to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{check, clauses, found};
    use crate::tree::sample::Sample;
    use std::path::Path;

    fn count(text: &str) -> usize {
        found(Path::new("core/src/a.rs"), text).len()
    }

    #[test]
    fn whole_words_are_found_in_any_case() {
        assert_eq!(count("/// Whoever waits."), 1);
        assert_eq!(count("// a task, who_knows, whose node"), 0);
        assert_eq!(count("let line = \"nobody is there\";"), 1);
        assert_eq!(count("// embedded, a whole bedrock, Desktop"), 0);
    }

    #[test]
    fn phrases_are_found_across_lines_and_once() {
        assert_eq!(count("// a signal that is\n// none. It\n// continues"), 1);
        assert_eq!(count("// it is `None`"), 0);
        assert_eq!(count("// it is one\n// of none, if there is none"), 0);
    }

    #[test]
    fn a_finding_says_where_and_what_instead() {
        let found = found(Path::new("core/src/a.rs"), "\n// it lies down");
        assert!(found[0].starts_with("core/src/a.rs:2: `lies down`; write: parks"));
    }

    #[test]
    fn a_doc_comment_begins_with_no_clause() {
        let count = |text: &str| clauses(Path::new("ci/src/a.rs"), text).len();
        assert_eq!(count("/// What it does."), 1);
        assert_eq!(count("//! Whether no thread waits.\n//! What else."), 1);
        assert_eq!(count("/// Returns\n/// What it has.\n// What else\n"), 0);
        assert_eq!(count("/// Whatever.\nx\n/// Whether a thread waits."), 0);
        assert_eq!(count("/// A.\nx,\n    /// Where it is.\ny,"), 1);
    }

    #[test]
    fn only_texts_in_checked_folders_count() {
        let tree = Sample::new(&[
            ("core/src/a.rs", "// nobody"),
            ("core/a.bin", "nobody"),
            ("ci/README.md", "nobody"),
            ("ci/src/jobs/words.rs", "nobody"),
        ]);
        assert_eq!(check(&tree, &["core/src"]).unwrap().0.len(), 1);
        assert_eq!(check(&tree, &[""]).unwrap().0.len(), 2);
    }
}
