//! Every ordering that is more than Relaxed, and every fence, is needed: a model fails with a
//! weaker one ([`weaken`](super::weaken)), or a recorded mutant weakens it, or a litmus test then
//! allows the outcome. Otherwise the list of survivors has the reason, or, outside of the core and
//! the exhibits, its comment.
//!
//! A mutant that deletes a statement shows that the statement is needed, not its ordering.

use super::litmus;
use super::mutants::{Mutant, recorded};
use super::orderings::sources;
use super::weaken::results::{All, Outcome, REASONS, Reason, read, reasons};
use super::weaken::sites::{Weaker, sites};
use super::{Verdict, judge};
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// In the `// ORDERING:` of a site without a mutant: what follows is the reason.
const MARK: &str = "no mutant:";

/// The folders in which no reason in a comment counts, since models run them.
const MODELLED: [&str; 2] = ["core/src/", "exhibits/src/"];

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    judged(tree, &read(tree)?)
}

/// Judges with these results of models.
pub(super) fn judged(tree: &Tree, results: &All) -> Result<Verdict> {
    let mutants = recorded(tree)?;
    let tests = litmus::all(tree)?;
    let reasons = reasons(tree)?;
    let mut used = BTreeSet::new();
    let (mut modelled, mut others) = (Tally::default(), Tally::default());
    let mut findings = Vec::new();
    for source in sources(tree)? {
        let text = tree.read(&source.path)?;
        let file = source.path.to_string_lossy();
        let own = mutants.iter().filter(|m| m.file == file);
        let own: Vec<&Mutant> = own.collect();
        let necessary = tests.iter().flat_map(|test| test.necessary());
        let necessary = necessary.filter(|site| site.file == file);
        let necessary: Vec<Range<usize>> = necessary.map(|site| site.bytes.clone()).collect();
        let is_modelled = MODELLED.iter().any(|folder| file.starts_with(folder));
        let tally = match is_modelled {
            true => &mut modelled,
            false => &mut others,
        };
        for site in sites(&source, &text, MARK) {
            let weaker = site.weaker(&file);
            let open = survivors(&weaker, results);
            let is_weakened = !weaker.is_empty() && open.is_empty()
                || own.iter().any(|m| weakens(m, &text, &site.bytes));
            match (is_weakened, necessary.contains(&site.bytes)) {
                (true, true) => tally.both += 1,
                (true, false) => tally.weakened += 1,
                (false, true) => tally.litmus += 1,
                (false, false) if site.is_marked && !is_modelled => tally.excused += 1,
                (false, false) => match excused(&weaker, &open, &reasons) {
                    Some(own) => {
                        used.extend(own);
                        tally.excused += 1;
                    }
                    None => {
                        let what = &text[site.bytes];
                        findings.push(source.at(site.line, why(what, &weaker, results)));
                    }
                },
            }
        }
    }
    let unused = reasons.difference(&used);
    findings.extend(unused.map(|reason| {
        let Reason { file, weaker } = reason;
        format!("{REASONS}: {file}: {weaker}: needs no reason: it is judged, or not in the code")
    }));
    judge(
        findings,
        format!("core and exhibits: {modelled}; others: {others}"),
    )
}

/// The orderings to which a site can be weakened, of all its accesses, without a model that fails.
fn survivors(weaker: &[Weaker], results: &All) -> BTreeSet<&'static str> {
    let is_killed = |w: &&Weaker| matches!(outcome(w, results), Some(Outcome::Killed(_)));
    let killed: BTreeSet<_> = weaker.iter().filter(is_killed).map(|w| w.to).collect();
    let all = weaker.iter().map(|w| w.to);
    all.filter(|to| !killed.contains(to)).collect()
}

fn outcome<'a>(weaker: &Weaker, results: &'a All) -> Option<&'a Outcome> {
    results.get(&weaker.file)?.outcomes.get(&weaker.name)
}

/// The reasons of a site, if each of its survivors has one.
fn excused(
    weaker: &[Weaker],
    open: &BTreeSet<&str>,
    reasons: &BTreeSet<Reason>,
) -> Option<Vec<Reason>> {
    let of = |w: &Weaker| Reason {
        file: w.file.clone(),
        weaker: w.name.clone(),
    };
    let listed = weaker.iter().filter(|w| open.contains(w.to));
    let listed: Vec<&Weaker> = listed.filter(|w| reasons.contains(&of(w))).collect();
    let has = |to: &&str| listed.iter().any(|w| w.to == *to);
    let is_excused = !open.is_empty() && open.iter().all(has);
    is_excused.then(|| listed.into_iter().map(of).collect())
}

/// Returns the finding for a site: the weakenings that are missing.
fn why(what: &str, weaker: &[Weaker], results: &All) -> String {
    let mut out = format!("{what} is weakened by no model, recorded mutant or litmus test");
    for weaker in weaker {
        let ended = match outcome(weaker, results) {
            Some(outcome) => outcome.text(),
            None => "not run: cargo ci weaken".into(),
        };
        out += &format!("\n    {}: {ended}", weaker.name);
    }
    out
}

/// The number of sites by what weakens them.
#[derive(Debug, Default)]
struct Tally {
    weakened: usize,
    litmus: usize,
    both: usize,
    excused: usize,
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (weakened, litmus, both) = (self.weakened, self.litmus, self.both);
        let (excused, all) = (self.excused, weakened + litmus + both + self.excused);
        write!(
            f,
            "{all} sites, {weakened} in models, {litmus} in litmus tests, {both} in both, {excused} with a reason"
        )
    }
}

/// Whether a mutant replaces an ordering by another one, or takes a fence away.
pub(super) fn weakens(m: &Mutant, text: &str, site: &Range<usize>) -> bool {
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

/// Returns the position of the text of a mutant, and the bytes that it takes away or replaces.
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
    use super::{Verdict, run, weakens};
    use crate::jobs::mutants::Mutant;
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

    const JUDGED: &str = r#"
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

    fn mutant(find: &str, replace: &str) -> Mutant {
        Mutant {
            find: find.into(),
            replace: replace.into(),
            ..Mutant::default()
        }
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
    fn a_reason_counts_where_no_models_run() {
        let code = "// ORDERING: Release; no mutant: a reason.\nfn f() { A.store(1, Ordering::Release); }\n";
        let table = "//! | J1 |\nfn f() { A.swap(1, Ordering::Release); }\n";
        let tree = |path| {
            Sample::new(&[
                (path, code),
                ("core/src/judged.rs", table),
                ("verify/litmus/judged.toml", JUDGED),
                ("verify/mutants.toml", ""),
            ])
        };
        for path in ["core/src/a.rs", "exhibits/src/a.rs"] {
            let error = run(&tree(path), &[]).unwrap_err().to_string();
            assert!(error.contains(&format!("{path}:2")), "{error}");
        }
        let holds = run(&tree("backends/node/src/a.rs"), &[]).unwrap();
        let Verdict::Holds(text) = holds else {
            panic!("not run")
        };
        assert!(text.starts_with("core and exhibits: 1 sites, 0 in models, 1 in litmus tests, 0 in both, 0 with a reason; others: 1 sites"), "{text}");
    }

    #[test]
    fn a_survivor_needs_a_reason_and_nothing_else_has_one() {
        let code = "fn f() { A.swap(1, Ordering::AcqRel); }\n";
        let results = |release: &str| {
            format!(
                "[\"core/src/a.rs\"]\ncode = \"1\"\n\"f: A.swap AcqRel -> Acquire\" = \"sync::x\"\n\
                 \"f: A.swap AcqRel -> Release\" = \"{release}\"\n"
            )
        };
        let reason = |to: &str| {
            format!(
                "[[survivor]]\nfile = \"core/src/a.rs\"\nweaker = \"f: A.swap AcqRel -> {to}\"\nreason = \"r\"\n"
            )
        };
        let end = |results: &str, reasons: &str| {
            let tree = Sample::new(&[
                ("core/src/a.rs", code),
                (
                    "core/src/judged.rs",
                    "//! | J1 |\nfn f() { A.swap(1, Ordering::Release); }\n",
                ),
                ("verify/litmus/judged.toml", JUDGED),
                ("verify/mutants.toml", ""),
                ("verify/WEAKENED.toml", results),
                ("verify/survivors.toml", reasons),
            ]);
            match run(&tree, &[]) {
                Ok(Verdict::Holds(text)) => text,
                Ok(Verdict::CannotRun(why)) => why,
                Err(error) => error.to_string(),
            }
        };
        let said = end(&results("sync::y"), "");
        assert!(
            said.contains("2 sites, 1 in models, 1 in litmus tests"),
            "{said}"
        );
        let said = end(&results("survived 3"), "");
        assert!(said.contains("-> Release: survived 3"), "{said}");
        let said = end("", "");
        assert!(said.contains("not run"), "{said}");
        let said = end(&results("survived 3"), &reason("Release"));
        assert!(said.contains("1 with a reason"), "{said}");
        for (release, to) in [("survived 3", "Acquire"), ("sync::y", "Release")] {
            let said = end(&results(release), &reason(to));
            assert!(said.contains("needs no reason"), "{said}");
        }
    }
}
