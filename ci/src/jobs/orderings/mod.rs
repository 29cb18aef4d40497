//! Every atomic access names the access that it pairs with.
//!
//! An access is `Ordering::{Relaxed, Acquire, Release, AcqRel}`, `fence(…)` or one of [`FENCES`].
//! Its `// ORDERING:` stands on a line of its statement or in the comment directly above one.
//! `SeqCst` is allowed in fences only: loom takes a `SeqCst` access for an `AcqRel` one; and in
//! [`SHUTTLE`], which loom does not see. Ids that comments cite must be in a table ([`ids`]).

mod ids;

use super::{Verdict, judge};
use crate::source::{Skip, Source};
use crate::syntax::Token;
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

/// The file whose accesses shuttle schedules, all as if they were `SeqCst`.
const SHUTTLE: &str = "core/src/sync/watched.rs";

/// The file whose algorithm is wrong as printed: its orderings are as strong as an access may be,
/// and none is claimed to be needed.
const PRINTED: &str = "exhibits/src/printed.rs";

/// The fences of the core's `sync` and of its ports.
pub(super) const FENCES: &[&str] = &["full_fence", "light_fence", "heavy_fence"];

const WEAK: &[&str] = &["Relaxed", "Acquire", "Release", "AcqRel"];

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut seen = 0;
    let mut findings = Vec::new();
    for source in &sources(tree)? {
        seen += check(source, &mut findings);
    }
    let wrong = cited(tree)?;
    findings.extend(wrong);
    judge(findings, format!("{seen} orderings"))
}

/// Findings in the ids that comments cite, crate by crate.
fn cited(tree: &Tree) -> Result<Vec<String>> {
    let mut folders = ["core/src", "exhibits/src"].map(str::to_owned).to_vec();
    let backends = tree.folders("backends");
    folders.extend(backends.iter().map(|name| format!("backends/{name}/src")));
    let mut out = Vec::new();
    for folder in folders {
        let sources = tree.sources(folder)?;
        let tables = ids::Tables::of(&sources, &mut out);
        for source in &sources {
            tables.check(source, &mut out);
        }
    }
    Ok(out)
}

/// The files whose atomics are looked at.
pub(super) fn sources(tree: &Tree) -> Result<Vec<Source>> {
    let mut sources = tree.sources("core/src")?;
    let exhibits = tree.sources("exhibits/src")?.into_iter();
    sources.extend(exhibits.filter(|source| source.path != Path::new(PRINTED)));
    for name in tree.folders("backends") {
        sources.extend(tree.sources(format!("backends/{name}/src"))?);
    }
    for folder in ["platforms/src", "apps/src"] {
        sources.extend(tree.sources(folder)?);
    }
    Ok(sources)
}

/// Adds what is missing in a file; returns how many orderings it has.
fn check(source: &Source, out: &mut Vec<String>) -> usize {
    let tokens = source.live(Skip::Tests);
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text.as_str());
    let code: BTreeSet<usize> = source.lexed.tokens.iter().map(|t| t.line).collect();
    let mut seen = 0;
    let mut at = 0;
    while at < tokens.len() {
        let line = tokens[at].line;
        // Not the captures of a type, `use<…>`.
        if text(at) == "use" && text(at + 1) != "<" {
            let end = (at..tokens.len()).find(|i| text(*i) == ";");
            let end = end.unwrap_or(tokens.len());
            if let Some(why) = import(&tokens[at..end]) {
                out.push(source.at(line, why));
            }
            at = end;
        } else if text(at) == "Ordering" && text(at + 1) == "::" {
            let variant = text(at + 2);
            if variant == "SeqCst" && !in_fence(&tokens, at) && source.path != Path::new(SHUTTLE) {
                out.push(source.at(line, "SeqCst in an access: use fence(Ordering::SeqCst)"));
            } else if variant == "SeqCst" || WEAK.contains(&variant) {
                seen += 1;
                if !argued(source, &tokens, at, &code) {
                    let why = format!("Ordering::{variant} without `// ORDERING:`");
                    out.push(source.at(line, why));
                }
            }
            at += 2;
        } else if FENCES.contains(&text(at))
            && text(at + 1) == "("
            && (at == 0 || text(at - 1) != "fn")
        {
            seen += 1;
            if !argued(source, &tokens, at, &code) {
                let why = format!("{} without `// ORDERING:`", text(at));
                out.push(source.at(line, why));
            }
        }
        at += 1;
    }
    seen
}

/// Whether the path that `Ordering` at `at` ends is the argument of `fence(…)`.
fn in_fence(tokens: &[&Token], mut at: usize) -> bool {
    while at >= 2 && tokens[at - 1].text == "::" {
        at -= 2;
    }
    let name = |at: usize| tokens[at].text.as_str();
    at >= 2 && name(at - 1) == "(" && ["fence", "compiler_fence"].contains(&name(at - 2))
}

/// Returns the reason for which an import would hide orderings from this check.
fn import(tokens: &[&Token]) -> Option<&'static str> {
    let names = |word: &str| tokens.iter().any(|t| t.text == word);
    if names("SeqCst") || WEAK.iter().any(|w| names(w)) {
        return Some("import `Ordering`, not its variants");
    }
    let pairs = tokens.windows(3);
    let hides = |w: &[&Token]| {
        w[0].text == "Ordering" && (w[1].text == "as" || (w[1].text == "::" && w[2].text == "*"))
    };
    let hidden = pairs.into_iter().any(hides) && !names("cmp");
    hidden.then_some("import `Ordering` under its own name")
}

fn argued(source: &Source, tokens: &[&Token], at: usize, code: &BTreeSet<usize>) -> bool {
    comment(source, tokens, at, code, "ORDERING:")
}

/// Whether a comment of the statement around token `at` has that word. `code`: the lines that have
/// any.
pub(super) fn comment(
    source: &Source,
    tokens: &[&Token],
    at: usize,
    code: &BTreeSet<usize>,
    word: &str,
) -> bool {
    let has_mark = |line: usize| {
        let comment = source.lexed.comments.get(&line);
        comment.is_some_and(|c| c.contains(word))
    };
    let lines = statement_lines(tokens, at);
    lines.iter().any(|line| {
        let mut above = (1..*line)
            .rev()
            .take_while(|l| !code.contains(l) && source.lexed.comments.contains_key(l));
        has_mark(*line) || above.any(has_mark)
    })
}

/// The lines from the start of the statement to token `at`, without those of blocks on the way.
fn statement_lines(tokens: &[&Token], at: usize) -> BTreeSet<usize> {
    let mut lines = BTreeSet::from([tokens[at].line]);
    // Lines seen since a comma that ends the statement, unless the comma turns out to be inside a
    // call.
    let mut beyond: Option<BTreeSet<usize>> = None;
    let mut depth = 0usize;
    let mut i = at;
    while i > 0 {
        i -= 1;
        match tokens[i].text.as_str() {
            ")" | "]" => depth += 1,
            "(" | "[" if depth > 0 => depth -= 1,
            "(" | "[" => lines.extend(beyond.take().into_iter().flatten()),
            "}" if depth > 0 || continues(tokens, i) => {
                i = open(tokens, i);
                continue;
            }
            ";" | "{" | "}" if depth == 0 => break,
            "," if depth == 0 && beyond.is_none() => beyond = Some(BTreeSet::new()),
            _ => {}
        }
        beyond.as_mut().unwrap_or(&mut lines).insert(tokens[i].line);
    }
    lines
}

/// Whether the expression continues after the block that ends at `i`.
fn continues(tokens: &[&Token], i: usize) -> bool {
    let next = tokens.get(i + 1).map_or("", |t| t.text.as_str());
    matches!(next, ")" | "]" | "," | "." | "?" | "else")
}

/// The index of the brace that the one at `end` closes.
fn open(tokens: &[&Token], end: usize) -> usize {
    let mut depth = 0usize;
    for i in (0..=end).rev() {
        match tokens[i].text.as_str() {
            "}" => depth += 1,
            "{" => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return i;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::source::Source;

    fn found(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        check(&Source::new("x.rs", text), &mut out);
        out
    }

    #[test]
    fn argued_accesses_are_silent() {
        let text = "
fn f(&self) {
    // ORDERING: Acquire, pairs with Release in g (D1): the slot is written
    // before back moves.
    let a = self.a.load(Ordering::Acquire);
    self.b.store(1, Ordering::Relaxed); // ORDERING: Relaxed, only the owner reads it.
    // ORDERING: both ends.
    if self
        .c
        .compare_exchange(
            pack(S { x: 1 }),
            a + 1,
            Ordering::AcqRel,
            Ordering::Relaxed,
        )
        .is_ok()
    {
        // ORDERING: SeqCst, take against steal (D2).
        fence(Ordering::SeqCst);
    }
    Self {
        // ORDERING: Relaxed, a count.
        d: self.d.load(Ordering::Relaxed),
    }
}
use core::sync::atomic::{AtomicBool, Ordering};
fn g(o: core::cmp::Ordering) { match o { Ordering::Less => {}, _ => {} } }
#[cfg(test)]
mod tests { fn h() { A.load(Ordering::SeqCst); } }";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_bare_access_is_found_where_it_is() {
        let text = "fn f() {\n    A.load(Ordering::Acquire);\n    fence(Ordering::SeqCst);\n}";
        let bare = found(text);
        assert_eq!(bare.len(), 2);
        assert!(bare[0].starts_with("x.rs:2: Ordering::Acquire"));
        assert_eq!(
            found("fn full_fence() {}\nfn f() {\nfull_fence();\n}").len(),
            1
        );
    }

    #[test]
    fn a_comment_counts_for_one_statement_only() {
        for text in [
            "fn f() {\n// ORDERING: a\nA.load(Ordering::Acquire);\nB.load(Ordering::Acquire);\n}",
            "fn f() {\n// ORDERING: a\n\nA.load(Ordering::Acquire);\n}",
            "fn f() {\n// ORDERING: a\nlet x = loop {\nA.load(Ordering::Acquire);\n};\n}",
            "fn f() {\nif x {\n// ORDERING: a\nA.load(Ordering::Acquire);\n} else if B.load(Ordering::Acquire) {\n}\n}",
            "fn f() {\nmatch x {\n// ORDERING: a\n1 => A.load(Ordering::Acquire),\n_ => B.load(Ordering::Acquire),\n}\n}",
            "fn f() {\n// because\nA.load(Ordering::Acquire);\n}",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn seqcst_only_in_a_fence() {
        let text = "fn f() {\n// ORDERING: a\nA.swap(1, Ordering::SeqCst);\n}";
        assert!(found(text)[0].contains("SeqCst in an access"));
        let path = "fn f() {\n// ORDERING: a\nsuper::fence(super::Ordering::SeqCst);\n}";
        assert_eq!(found(path), [""; 0]);
    }

    #[test]
    fn imports_cannot_hide_an_ordering() {
        assert_eq!(
            found("use core::sync::atomic::Ordering::{self, Relaxed};").len(),
            1
        );
        assert_eq!(found("use core::sync::atomic::Ordering::*;").len(), 1);
        assert_eq!(found("use core::sync::atomic::Ordering as O;").len(), 1);
        assert_eq!(found("use core::cmp::Ordering::*;").len(), 0);
    }
}
