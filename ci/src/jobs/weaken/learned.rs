//! Sites that tests reach, learned by running them as shipped, when it is first of interest.

use super::runs::{Reached, Test};
use super::sites::Weaker;
use crate::context::lock;
use crate::jobs::proofs;
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

/// A test, and what it reaches once that is known.
pub(super) struct Known<'a> {
    pub test: &'a Test,
    /// Executions when it passed last time; 0 if that is not known.
    executions: u64,
    reached: Mutex<Option<Reached>>,
}

/// All tests.
pub(super) struct Learned<'a> {
    tree: &'a Tree,
    tests: Vec<Known<'a>>,
    /// Sites with a strong ordering in the text, and their files.
    sites: BTreeSet<&'a str>,
    files: BTreeSet<&'a str>,
}

impl<'a> Learned<'a> {
    pub(super) fn new(
        tree: &'a Tree,
        tests: &'a [Test],
        known: impl Iterator<Item = &'a Weaker>,
    ) -> Result<Self> {
        let counts = proofs::counts(tree)?;
        let tests = tests.iter().map(|test| Known {
            test,
            executions: counts.get(test.leaf()).copied().unwrap_or(0),
            reached: Mutex::new(None),
        });
        let known: Vec<&Weaker> = known.collect();
        Ok(Self {
            tree,
            tests: tests.collect(),
            sites: known.iter().map(|weaker| &*weaker.site).collect(),
            files: known.iter().map(|weaker| &*weaker.file).collect(),
        })
    }

    /// Returns the tests of the module of this site, or all others: those with few executions
    /// first.
    pub(super) fn in_order(&self, weaker: &Weaker, is_own: bool) -> Vec<&Known<'a>> {
        let folders = Path::new(&weaker.file).iter();
        let folders: Vec<_> = folders.map(|name| name.to_string_lossy()).collect();
        let is_in = |known: &&Known| folders.iter().any(|name| *name == known.test.program());
        let all = self.tests.iter().filter(|known| is_in(known) == is_own);
        let mut all: Vec<&Known> = all.collect();
        all.sort_by_key(|known| known.executions);
        all
    }

    /// Returns how many seconds a test takes, if it reaches this site.
    pub(super) fn usual(&self, known: &Known, weaker: &Weaker) -> Result<Option<u64>> {
        let mut reached = lock(&known.reached);
        if reached.is_none() {
            let new = known.test.reached(self.tree)?;
            let unnamed = self.unnamed(&new);
            if !unnamed.is_empty() {
                let (name, list) = (&known.test.name, unnamed.join("\n"));
                bail!("{name}: reaches accesses that are not found in the code:\n{list}");
            }
            *reached = Some(new);
        }
        let reached = reached.as_ref().filter(|r| r.sites.contains(&weaker.site));
        Ok(reached.map(|reached| reached.seconds))
    }

    /// Strong orderings that a test reaches and the text does not have.
    fn unnamed<'r>(&self, reached: &'r Reached) -> Vec<&'r str> {
        let is_unnamed = |site: &&str| {
            let (file, _) = site.split_once(':').unwrap_or_default();
            let is_strong = !site.ends_with(" Relaxed");
            is_strong && self.files.contains(file) && !self.sites.contains(site)
        };
        let all = reached.sites.iter().map(String::as_str);
        all.filter(is_unnamed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs::{Reached, Test};
    use super::{Learned, Weaker};
    use crate::tree::sample::Sample;

    const PROVED: &str = "[sync]\nhash = \"1\"\n[sync.counts]\na = 3\nb = 2\nc = 1\n";

    fn weaker(file: &str) -> Weaker {
        Weaker {
            file: file.to_owned(),
            name: String::new(),
            site: format!("{file}:1:2 order Acquire"),
            to: "Relaxed",
        }
    }

    #[test]
    fn tests_of_the_module_are_apart_and_short_ones_come_first() {
        let tree = Sample::new(&[("verify/PROVED.toml", PROVED)]);
        let tests = ["sync::x::a", "task::b", "sync::b", "glb::c"].map(Test::named);
        let learned = Learned::new(&tree, &tests, [].into_iter()).unwrap();
        let names = |is_own| -> Vec<&str> {
            let order = learned.in_order(&weaker("core/src/sync/lock.rs"), is_own);
            order.iter().map(|known| &*known.test.name).collect()
        };
        assert_eq!(names(true), ["sync::b", "sync::x::a"]);
        assert_eq!(names(false), ["glb::c", "task::b"]);
    }

    #[test]
    fn an_access_that_the_text_does_not_have_is_found() {
        let tree = Sample::new(&[("x", "")]);
        let known = [weaker("core/src/a.rs")];
        let learned = Learned::new(&tree, &[], known.iter()).unwrap();
        let sites = [
            "core/src/a.rs:1:2 order Acquire",
            "core/src/a.rs:1:9 order Relaxed",
            "core/src/a.rs:1:9 order Acquire",
            "verify/tests/x.rs:1:1 order Acquire",
        ];
        let reached = Reached {
            sites: sites.map(str::to_owned).into(),
            seconds: 1,
        };
        assert_eq!(learned.unnamed(&reached), [sites[2]]);
    }
}
