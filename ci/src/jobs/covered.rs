//! Every ordering that is more than Relaxed is weakened, and every fence removed, by a recorded
//! mutant or in a litmus test that then allows the outcome; or, outside of the core, it documents
//! why none can show it.
//!
//! A mutant that deletes a statement shows that the statement is needed, not its ordering.

use super::litmus;
use super::mutants::{Mutant, recorded};
use super::orderings::{FENCES, comment, sources};
use super::{Verdict, judge};
use crate::source::{Skip, Source};
use crate::syntax::Token;
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// In the `// ORDERING:` of a site without a mutant: what follows is the reason.
const MARK: &str = "no mutant:";

const STRONG: &[&str] = &["Acquire", "Release", "AcqRel", "SeqCst"];

/// Where no reason counts, since models run it.
const CORE: &str = "core/src/";

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mutants = recorded(tree)?;
    let tests = litmus::all(tree)?;
    let (mut core, mut others) = (Tally::default(), Tally::default());
    let mut findings = Vec::new();
    for source in sources(tree)? {
        let text = tree.read(&source.path)?;
        let file = source.path.to_string_lossy();
        let own = mutants.iter().filter(|m| m.file == file);
        let own: Vec<&Mutant> = own.collect();
        let necessary = tests.iter().flat_map(|test| test.necessary());
        let necessary = necessary.filter(|site| site.file == file);
        let necessary: Vec<Range<usize>> = necessary.map(|site| site.bytes.clone()).collect();
        let is_core = file.starts_with(CORE);
        let tally = if is_core { &mut core } else { &mut others };
        for (site, is_marked) in sites(&source, &text) {
            let is_weakened = own.iter().any(|m| weakens(m, &text, &site.bytes));
            match (is_weakened, necessary.contains(&site.bytes)) {
                (true, true) => tally.both += 1,
                (true, false) => tally.mutants += 1,
                (false, true) => tally.litmus += 1,
                (false, false) if is_marked && !is_core => tally.excused += 1,
                (false, false) => {
                    let what = &text[site.bytes];
                    let why = format!("{what} is weakened by no recorded mutant or litmus test");
                    findings.push(source.at(site.line, why));
                }
            }
        }
    }
    judge(findings, format!("core: {core}; others: {others}"))
}

/// How many sites are weakened by what.
#[derive(Debug, Default)]
struct Tally {
    mutants: usize,
    litmus: usize,
    both: usize,
    excused: usize,
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (mutants, litmus, both) = (self.mutants, self.litmus, self.both);
        let (excused, all) = (self.excused, mutants + litmus + both + self.excused);
        write!(
            f,
            "{all} sites, {mutants} in mutants, {litmus} in litmus tests, {both} in both, {excused} in neither"
        )
    }
}

#[derive(Debug)]
struct Site {
    line: usize,
    bytes: Range<usize>,
}

/// The strong orderings and fences of a file; whether each documents that no mutant of it can be
/// killed.
fn sites(source: &Source, text: &str) -> Vec<(Site, bool)> {
    let tokens = source.live(Skip::TestsAndModels);
    let code: BTreeSet<usize> = source.lexed.tokens.iter().map(|t| t.line).collect();
    let found = (0..tokens.len()).filter_map(|at| {
        let what = strong(&tokens, at)?;
        let line = tokens[at].line;
        let same =
            |i: &usize| tokens[*i].line == line && strong(&tokens, *i).as_ref() == Some(&what);
        let nth = (0..at).filter(same).count();
        let bytes = place(text, line, &what, nth)?;
        let marked = comment(source, &tokens, at, &code, MARK);
        Some((Site { line, bytes }, marked))
    });
    found.collect()
}

/// What is written at a token if a strong ordering or a call of a fence begins there.
fn strong(tokens: &[&Token], at: usize) -> Option<String> {
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text.as_str());
    if text(at) == "Ordering" && text(at + 1) == "::" && STRONG.contains(&text(at + 2)) {
        return Some(format!("Ordering::{}", text(at + 2)));
    }
    let defined = at > 0 && text(at - 1) == "fn";
    let call = FENCES.contains(&text(at)) && text(at + 1) == "(" && !defined;
    call.then(|| format!("{}()", text(at)))
}

/// Where the `nth` occurrence of `what` is in a line.
fn place(text: &str, line: usize, what: &str, nth: usize) -> Option<Range<usize>> {
    let start: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let end = text[start..].find('\n').map_or(text.len(), |n| start + n);
    let (at, _) = text[start..end].match_indices(what).nth(nth)?;
    Some(start + at..start + at + what.len())
}

/// Whether a mutant replaces an ordering by another one, or takes a fence away.
fn weakens(m: &Mutant, text: &str, site: &Range<usize>) -> bool {
    let Some((at, changed)) = changed(m, text) else {
        return false;
    };
    let is_hit = changed.start < site.end && site.start < changed.end;
    let ordering = &text[site.clone()];
    // `SeqCst` is the ordering of a fence.
    if !is_hit || ordering.ends_with("()") || ordering.ends_with("SeqCst") {
        return is_hit;
    }
    let (old, new) = (orderings(&m.find), orderings(&m.replace));
    let mut pairs = old.iter().zip(&new);
    let is_replaced = pairs.any(|((start, a), (_, b))| at + start == site.start && a != b);
    old.len() == new.len() && is_replaced
}

/// The orderings in the text of a mutant, and where each begins.
fn orderings(text: &str) -> Vec<(usize, &str)> {
    const PATH: &str = "Ordering::";
    let found = text.match_indices(PATH).map(|(start, _)| {
        let name = &text[start + PATH.len()..];
        let end = name.find(|c: char| !c.is_alphanumeric());
        (start, &name[..end.unwrap_or(name.len())])
    });
    found.collect()
}

/// Where the text of a mutant begins, and the bytes that it takes away or replaces.
fn changed(m: &Mutant, text: &str) -> Option<(usize, Range<usize>)> {
    let at = text.find(&m.find)?;
    let (old, new) = (m.find.as_bytes(), m.replace.as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_tail, new_tail) = (&old[head..], &new[head..]);
    let tail = old_tail.iter().rev().zip(new_tail.iter().rev());
    let tail = tail.take_while(same).count();
    Some((at, at + head..at + old.len() - tail))
}

#[cfg(test)]
mod tests {
    use super::{Verdict, run, sites, weakens};
    use crate::jobs::mutants::Mutant;
    use crate::source::Source;
    use crate::tree::sample::Sample;

    const TEXT: &str = "
fn f() {
    // ORDERING: Release on success, Acquire on failure.
    let (yes, no) = (Ordering::Release, Ordering::Acquire);
    // ORDERING: AcqRel; no mutant: its partner carries the same.
    A.swap(1, Ordering::AcqRel);
    // ORDERING: Relaxed.
    A.load(Ordering::Relaxed);
    full_fence();
}
#[cfg(tautline_loom)]
fn model() { A.load(Ordering::Acquire); }
fn full_fence() { fence(Ordering::SeqCst) }
";

    fn mutant(find: &str, replace: &str) -> Mutant {
        Mutant {
            find: find.into(),
            replace: replace.into(),
            ..Mutant::default()
        }
    }

    #[test]
    fn what_ships_and_is_strong_is_a_site() {
        let sites = sites(&Source::new("x.rs", TEXT), TEXT);
        let said =
            |(site, marked): &(super::Site, bool)| (TEXT[site.bytes.clone()].to_owned(), *marked);
        let said: Vec<_> = sites.iter().map(said).collect();
        let expected = [
            ("Ordering::Release", false),
            ("Ordering::Acquire", false),
            ("Ordering::AcqRel", true),
            ("full_fence()", false),
            ("Ordering::SeqCst", false),
        ];
        assert_eq!(
            said,
            expected.map(|(text, marked)| (text.to_owned(), marked))
        );
    }

    #[test]
    fn only_what_a_mutant_weakens_is_covered() {
        let covers = |find: &str, replace: &str, what: &str| {
            let start = TEXT.find(what).unwrap();
            weakens(&mutant(find, replace), TEXT, &(start..start + what.len()))
        };
        let both = "(Ordering::Release, Ordering::Acquire)";
        let one = "(Ordering::Relaxed, Ordering::Acquire)";
        assert!(covers(both, one, "Ordering::Release"));
        assert!(!covers(both, one, "Ordering::Acquire"));
        assert!(covers("full_fence();\n}", "}", "full_fence()"));
        assert!(!covers("A.swap", "B.swap", "Ordering::AcqRel"));
    }

    #[test]
    fn a_deletion_covers_no_ordering() {
        let find = "A.swap(1, Ordering::AcqRel);";
        let start = TEXT.find("Ordering::AcqRel").unwrap();
        let site = start..start + "Ordering::AcqRel".len();
        assert!(!weakens(&mutant(find, ""), TEXT, &site));
        assert!(!weakens(&mutant(find, "let _ = A;"), TEXT, &site));
        let weaker = "A.swap(1, Ordering::Acquire);";
        assert!(weakens(&mutant(find, weaker), TEXT, &site));
    }

    #[test]
    fn a_reason_counts_outside_of_the_core_alone() {
        let code = "// ORDERING: Release; no mutant: a reason.\nfn f() { A.store(1, Ordering::Release); }\n";
        let judged = r#"
file = "core/src/judged.rs"
[[test]]
name = "swapped"
ids = ["J1"]
claim = "The first value is read."
init = { a = 0 }
threads = ["was = swap a 1 $o", "store a 2 Relaxed"]
never = ["0:was = 2"]
orderings = { o = ["A.swap(1, Ordering::{Release})"] }
weaker = [{ with = { o = "Relaxed" }, sometimes = ["C20"] }]
"#;
        let table = "//! | J1 |\nfn f() { A.swap(1, Ordering::Release); }\n";
        let tree = |path| {
            Sample::new(&[
                (path, code),
                ("core/src/judged.rs", table),
                ("verify/litmus/judged.toml", judged),
                ("verify/mutants.toml", ""),
            ])
        };
        let error = run(&tree("core/src/a.rs"), &[]).unwrap_err().to_string();
        assert!(error.contains("core/src/a.rs:2"), "{error}");
        let holds = run(&tree("backends/node/src/a.rs"), &[]).unwrap();
        let Verdict::Holds(text) = holds else {
            panic!("not run")
        };
        assert!(text.starts_with("core: 1 sites, 0 in mutants, 1 in litmus tests, 0 in both, 0 in neither; others: 1 sites"), "{text}");
    }
}
