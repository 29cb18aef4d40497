//! Orderings weakened without a build: each access of a model can have a weaker one at run time,
//! and a model must notice.
//!
//! The models are built once. Each access with a strong ordering runs with every next weaker one in
//! the tests that reach it, those of its module and short ones first, until one fails. To learn
//! what a test reaches, it runs once with a list of accesses. A fence that may be weaker is left
//! out, too. Of an access that a litmus test or a recorded mutant judges as well, only the tests of
//! its module run.
//!
//! A result counts until the code of its file changes: a tenth of the others is repeated, to notice
//! that a model became weaker. It begins with the test that failed last time, so that few repeat
//! more than one run.

mod learned;
pub(super) mod results;
mod runs;
pub(super) mod sites;

use super::Verdict;
use super::covered;
use super::litmus;
use super::mutants::recorded;
use super::orderings::sources;
use super::proofs::{self, Hash, SEED, is_sampled, is_storing, seed};
use crate::context::{lock, say};
use crate::parallel::each;
use crate::source::{Skip, Source};
use crate::tree::Tree;
use anyhow::Result;
use learned::Learned;
use results::{All, Outcome, Results, read, write};
use runs::{Ended, Test, tests};
use sites::{Site, Weaker, sites};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Instant;

/// Runs those whose file or name contains one of the words; without words, those that changed, and
/// a sample.
pub(super) fn run(tree: &Tree, words: &[String]) -> Result<Verdict> {
    let seed = seed();
    let chosen = |w: &Weaker, is_known: bool| match words {
        [] => !is_known || is_sampled(seed, &format!("{}: {}", w.file, w.name)),
        words => words
            .iter()
            .any(|word| w.file.contains(word) || w.name.contains(word)),
    };
    say!("{SEED}={seed} repeats the sample");
    all(tree, chosen)
}

/// Runs all of them.
pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    all(tree, |_, _| true)
}

/// The code of a file: its hash, and all that can be weakened.
struct Code {
    hash: String,
    weaker: Vec<Weaker>,
    /// The names of those that a litmus test or a recorded mutant judges.
    judged: BTreeSet<String>,
}

/// A weaker ordering to be run, and the test that failed last time.
struct Due {
    weaker: Weaker,
    killer: Option<Test>,
}

/// Results, written as they come.
struct Kept<'a> {
    tree: &'a Tree,
    code: &'a BTreeMap<String, Code>,
    all: Mutex<All>,
}

impl Kept<'_> {
    fn add(&self, weaker: &Weaker, outcome: Outcome) -> Result<()> {
        let mut all = lock(&self.all);
        let results = all.entry(weaker.file.clone()).or_default();
        results.code.clone_from(&self.code[&weaker.file].hash);
        results.outcomes.insert(weaker.name.clone(), outcome);
        match is_storing() {
            true => write(self.tree, &all),
            false => Ok(()),
        }
    }

    /// Removes the results of a site that is no longer noticed.
    fn remove(&self, weaker: &Weaker) {
        if let Some(results) = lock(&self.all).get_mut(&weaker.file) {
            results.outcomes.remove(&weaker.name);
            if let Some(none) = weaker.left_out() {
                results.outcomes.remove(&none.name);
            }
        }
    }
}

fn all(tree: &Tree, chosen: impl Fn(&Weaker, bool) -> bool) -> Result<Verdict> {
    let tests = tests(tree)?;
    let code = code(tree)?;
    let (due, kept) = plan(&code, &read(tree)?, &tests, chosen);
    say!("{} weaker orderings to be run", due.len());
    let kept = Kept {
        tree,
        code: &code,
        all: Mutex::new(kept),
    };
    let is_open = each(&due, |due| Ok(!fails_again(tree, &kept, due)?))?;
    let open = due.into_iter().zip(is_open).filter(|(_, is_open)| *is_open);
    let open = open.map(|(due, _)| due.weaker);
    let open = open.map(|weaker| Open {
        is_judged: code[&weaker.file].judged.contains(&weaker.name),
        weaker,
        passed: 0,
        cut: 0,
    });
    let known = code.values().flat_map(|code| &code.weaker);
    let learned = Learned::new(tree, &tests, known)?;
    search(&kept, open.collect(), &learned)?;
    let kept = lock(&kept.all);
    covered::judged(tree, &kept)
}

/// All code that models may reach.
fn code(tree: &Tree) -> Result<BTreeMap<String, Code>> {
    let litmus = litmus::all(tree)?;
    let mutants = recorded(tree)?;
    let folders = proofs::folders(tree)?;
    let mut out = BTreeMap::new();
    for source in sources(tree)? {
        if !folders.iter().any(|folder| source.path.starts_with(folder)) {
            continue;
        }
        let file = source.path.to_string_lossy().into_owned();
        let text = tree.read(&source.path)?;
        let is_judged = |site: &&Site| {
            let mut necessary = litmus.iter().flat_map(|test| test.necessary());
            let mut own = mutants.iter().filter(|m| m.file == file);
            necessary.any(|of| of.file == file && of.bytes == site.bytes)
                || own.any(|m| covered::weakens(m, &text, &site.bytes))
        };
        let sites = sites(&source, &text, "");
        let judged = sites.iter().filter(is_judged);
        let judged = judged.flat_map(|site| site.weaker(&file));
        let code = Code {
            hash: hash(&source),
            judged: judged.map(|weaker| weaker.name).collect(),
            weaker: sites.iter().flat_map(|site| site.weaker(&file)).collect(),
        };
        out.insert(file, code);
    }
    Ok(out)
}

/// Of the code alone: a comment or a line break changes no result.
fn hash(source: &Source) -> String {
    let mut hash = Hash::default();
    for token in source.live(Skip::Tests) {
        hash.add(token.text.as_bytes());
    }
    hash.text()
}

/// Chooses what to run, and the results that remain.
fn plan(
    code: &BTreeMap<String, Code>,
    old: &All,
    tests: &[Test],
    chosen: impl Fn(&Weaker, bool) -> bool,
) -> (Vec<Due>, All) {
    let (mut due, mut kept) = (Vec::new(), All::new());
    for (file, Code { hash, weaker, .. }) in code {
        let old = old.get(file).cloned().unwrap_or_default();
        let is_same = old.code == *hash;
        let killer = |weaker: &Weaker| match old.outcomes.get(&weaker.name) {
            Some(Outcome::Killed(test)) => tests.iter().find(|t| t.name == *test).cloned(),
            _ => None,
        };
        let is_chosen = |weaker: &Weaker| {
            let outcome = old.outcomes.get(&weaker.name);
            let is_survivor = matches!(outcome, Some(Outcome::Survived { .. }));
            chosen(weaker, is_same && (is_survivor || killer(weaker).is_some()))
        };
        // Results are those of one state of the code.
        let is_whole = !is_same && weaker.iter().any(is_chosen);
        let mut outcomes = BTreeMap::new();
        for weaker in weaker {
            let is_due = is_whole || is_chosen(weaker);
            if is_due {
                let (weaker, killer) = (weaker.clone(), killer(weaker));
                due.push(Due { weaker, killer });
            }
            // Until there is a new one, the old result holds, unless the code has changed.
            if is_same || !is_due {
                let names = [Some(weaker.clone()), weaker.left_out()];
                let names = names.into_iter().flatten().map(|weaker| weaker.name);
                let known = names.filter_map(|name| old.outcomes.get_key_value(&name));
                outcomes.extend(known.map(|(name, outcome)| (name.clone(), outcome.clone())));
            }
        }
        if !outcomes.is_empty() {
            let code = old.code;
            kept.insert(file.clone(), Results { code, outcomes });
        }
    }
    (due, kept)
}

/// Whether the test that failed last time fails again.
fn fails_again(tree: &Tree, kept: &Kept, due: &Due) -> Result<bool> {
    if let Some(killer) = &due.killer
        && timed(tree, killer, &due.weaker, 0)? == Ended::Failed
    {
        kept.add(&due.weaker, Outcome::Killed(killer.name.clone()))?;
        return Ok(true);
    }
    kept.remove(&due.weaker);
    Ok(false)
}

/// A weaker ordering that no test has noticed yet, and how its tests ended.
#[derive(Clone)]
struct Open {
    weaker: Weaker,
    /// Whether more than models judge it: then the tests of its module are enough.
    is_judged: bool,
    passed: usize,
    cut: usize,
}

impl Open {
    /// Returns what is to be tried after this has survived.
    fn next(self) -> Option<Self> {
        let is_reached = self.passed + self.cut > 0;
        let weaker = self.weaker.left_out().filter(|_| is_reached)?;
        Some(Self {
            weaker,
            passed: 0,
            cut: 0,
            ..self
        })
    }
}

/// Runs tests that reach a site until one fails, all sites with those of their modules before any
/// with the others. A fence that survives is left out.
fn search(kept: &Kept, mut open: Vec<Open>, learned: &Learned) -> Result<()> {
    while !open.is_empty() {
        for is_own in [true, false] {
            let tried = each(&open, |open| match open.is_judged && !is_own {
                true => Ok(Some(open.clone())),
                false => tried(kept, open.clone(), learned, is_own),
            });
            open = tried?.into_iter().flatten().collect();
        }
        for Open {
            weaker,
            passed,
            cut,
            ..
        } in &open
        {
            let (passed, cut) = (*passed, *cut);
            let outcome = Outcome::Survived { passed, cut };
            say!("{}: {}: {}", weaker.file, weaker.name, outcome.text());
            kept.add(weaker, outcome)?;
        }
        open = open.into_iter().filter_map(Open::next).collect();
    }
    Ok(())
}

/// Runs the tests of the module of a site, or all others. Returns what remains if none fails.
fn tried(kept: &Kept, mut open: Open, learned: &Learned, is_own: bool) -> Result<Option<Open>> {
    for known in learned.in_order(&open.weaker, is_own) {
        let Some(usual) = learned.usual(known, &open.weaker)? else {
            continue;
        };
        match timed(kept.tree, known.test, &open.weaker, usual)? {
            Ended::Failed => {
                kept.add(&open.weaker, Outcome::Killed(known.test.name.clone()))?;
                return Ok(None);
            }
            Ended::Passed => open.passed += 1,
            Ended::CutOff => open.cut += 1,
        }
    }
    Ok(Some(open))
}

/// Runs a test with a weaker ordering, and reports it.
fn timed(tree: &Tree, test: &Test, weaker: &Weaker, usual: u64) -> Result<Ended> {
    let start = Instant::now();
    let ended = test.weakened(tree, &format!("{}={}", weaker.site, weaker.to), usual)?;
    let seconds = start.elapsed().as_secs_f64();
    let Weaker { file, name, .. } = weaker;
    say!("{ended:?}  {seconds:>6.1} s  {file}: {name}  {}", test.name);
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::runs::Test;
    use super::{All, Code, Outcome, code, hash, plan};
    use crate::source::Source;
    use crate::tree::sample::Sample;
    use std::collections::BTreeMap;

    const FILE: &str = "core/src/a.rs";
    const TEXT: &str = "fn f() { a.load(Ordering::Acquire); fence(Ordering::SeqCst); }";
    const LOAD: &str = "f: a.load Acquire -> Relaxed";
    const FENCE: &str = "f: fence SeqCst -> AcqRel";
    const NONE: &str = "f: fence SeqCst -> none";

    const MUTANT: &str = "[[mutant]]\nname = \"a\"\nfile = \"core/src/a.rs\"\nmodel = \"sync\"\n\
        find = \"fence(Ordering::SeqCst);\"\nreplace = \"\"\n";
    const LITMUS: &str = r#"
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

    fn package(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\nmetadata.tautline.layer = \"core\"\n{rest}")
    }

    fn read() -> BTreeMap<String, Code> {
        let tree = Sample::new(&[
            ("Cargo.toml", "[workspace]\n"),
            (FILE, TEXT),
            ("core/Cargo.toml", &package("tautline-core", "")),
            (
                "verify/Cargo.toml",
                &package("tautline-verify", "[dependencies]\ntautline-core = \"1\"\n"),
            ),
            ("apps/Cargo.toml", &package("tautline-cli", "")),
            ("apps/src/b.rs", TEXT),
            ("verify/mutants.toml", MUTANT),
            ("verify/litmus/a.toml", LITMUS),
            (
                "core/src/judged.rs",
                "//! | J1 |\nfn f() { A.swap(1, Ordering::Release); }\n",
            ),
        ]);
        code(&tree).unwrap()
    }

    fn old(code: &BTreeMap<String, Code>) -> All {
        let survived = Outcome::Survived { passed: 1, cut: 0 };
        let killed = |test: &str| Outcome::Killed(test.to_owned());
        let outcomes = [
            (LOAD, killed("sync::x")),
            (FENCE, survived),
            (NONE, killed("sync::y")),
            ("g: gone", killed("sync::x")),
        ];
        let outcomes = outcomes.map(|(name, outcome)| (name.to_owned(), outcome));
        let results = super::Results {
            code: code[FILE].hash.clone(),
            outcomes: outcomes.into(),
        };
        All::from([(FILE.to_owned(), results)])
    }

    fn due(old: &All, tests: &[Test], is_chosen: bool) -> (Vec<String>, usize, usize) {
        let chosen = |_: &_, is_known: bool| !is_known || is_chosen;
        let mut code = read();
        code.retain(|file, _| file == FILE);
        let (due, kept) = plan(&code, old, tests, chosen);
        let killers = due.iter().filter(|due| due.killer.is_some()).count();
        let names = due.into_iter().map(|due| due.weaker.name).collect();
        let kept = kept.get(FILE).map_or(0, |results| results.outcomes.len());
        (names, killers, kept)
    }

    #[test]
    fn results_are_kept_until_the_code_changes() {
        let code = read();
        assert_eq!(code[FILE].judged, [FENCE.to_owned()].into());
        assert_eq!(code["core/src/judged.rs"].judged.len(), 1);
        assert_eq!(code.len(), 2);
        let mut old = old(&code);
        let tests = [Test::named("sync::x"), Test::named("sync::y")];
        assert_eq!(due(&old, &tests, false), (vec![], 0, 3));
        let all = vec![LOAD.to_owned(), FENCE.to_owned()];
        assert_eq!(due(&old, &tests, true), (all.clone(), 1, 3));
        // Its test is gone.
        assert_eq!(due(&old, &tests[1..], false), (all[..1].to_vec(), 0, 3));
        old.get_mut(FILE).unwrap().code.clear();
        assert_eq!(due(&old, &tests, false), (all.clone(), 1, 0));
        assert_eq!(due(&All::new(), &tests, false), (all, 0, 0));
    }

    #[test]
    fn comments_do_not_change_code() {
        let hash = |text: &str| hash(&Source::new("x.rs", text));
        assert_eq!(hash("f(a); // b"), hash("f(a);\n"));
        assert_ne!(hash("f(a);"), hash("f(b);"));
    }
}
