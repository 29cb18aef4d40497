//! Results of verification whose inputs have not changed since: `verify/PROVED.toml`.
//!
//! A file of verify/tests is run if the hash of everything that its result depends on differs from
//! the one with which it passed. So that a dependency that is missing there is found, a random
//! tenth of the other files is run as well.

mod depends;

pub(super) use depends::{Hash, folders};

use super::counted::Counted;
use crate::context::{lock, say};
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};
use toml::Value;

const FILE: &str = "verify/PROVED.toml";
const HEAD: &str = "\
# What has passed: of each file of verify/tests, the hash of all that its result depends on, and how far each of its programs looked.
# Written by `cargo ci models schedules explore`, which run a file whose hash differs, and by `cargo ci deep proofs`, which runs all.
";
/// Of the files without a change, one in this many is run.
const SAMPLE: u64 = 10;
/// Fixes which of them.
pub(super) const SEED: &str = "TAUTLINE_CI_SEED";

/// The files that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Those that changed, and a sample.
    Changed,
    /// All of them.
    All,
    /// All of them, in a way that proves something else.
    Other,
}

/// The executions and states of the programs of a file when they passed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Proof {
    hash: String,
    counts: BTreeMap<String, u64>,
}

type Proofs = BTreeMap<String, Proof>;

/// Files to be run, and their results.
pub(super) struct Plan {
    choice: Choice,
    files: Vec<(String, Command)>,
    hashes: BTreeMap<String, String>,
    /// Files that need not be run.
    proved: Proofs,
    /// New results: `None` where a file failed.
    results: BTreeMap<String, Option<Proof>>,
}

impl Plan {
    /// Chooses among `files`, each with the command that runs it. Those in `always` are run anyway.
    pub(super) fn new(
        tree: &Tree,
        files: Vec<(String, Command)>,
        always: &[&str],
        choice: Choice,
    ) -> Result<Self> {
        let mut plan = Self {
            choice,
            files,
            hashes: BTreeMap::new(),
            proved: Proofs::new(),
            results: BTreeMap::new(),
        };
        if choice == Choice::Other {
            return Ok(plan);
        }
        plan.hashes = depends::hashes(tree, &plan.files)?;
        if choice == Choice::All {
            return Ok(plan);
        }
        let mut proved = read(tree)?;
        let seed = seed();
        for (file, hash) in &plan.hashes {
            let proof = proved.remove(file).filter(|proof| proof.hash == *hash);
            match proof {
                _ if always.contains(&&**file) => say!("{file}: always run"),
                None => say!("{file}: changed since it passed, or never passed"),
                Some(_) if is_sampled(seed, file) => say!("{file}: of the sample"),
                Some(proof) => _ = plan.proved.insert(file.clone(), proof),
            }
        }
        say!(
            "{} of {} files are run; {SEED}={seed} repeats the sample",
            plan.hashes.len() - plan.proved.len(),
            plan.hashes.len()
        );
        Ok(plan)
    }

    /// Whether a file is to be run.
    pub(super) fn runs(&self, file: &str) -> bool {
        !self.proved.contains_key(file)
    }

    /// Whether all files are run.
    pub(super) fn all_run(&self) -> bool {
        self.proved.is_empty()
    }

    /// Notes how a file ended.
    pub(super) fn ended(&mut self, file: &str, passed: bool, lines: &[Counted]) {
        let Some(hash) = self.hashes.get(file).cloned() else {
            return;
        };
        let counts = lines.iter().map(|line| (line.name.clone(), line.count));
        let counts = counts.collect();
        let result = passed.then_some(Proof { hash, counts });
        self.results.insert(file.to_owned(), result);
    }

    /// Describes what was not run; empty if all was.
    pub(super) fn unchanged(&self, unit: &str) -> String {
        if self.proved.is_empty() {
            return String::new();
        }
        let counts = self.proved.values().flat_map(|proof| proof.counts.values());
        let (programs, sum) = counts.fold((0, 0), |(n, sum), count| (n + 1, sum + count));
        format!(
            "; {programs} with {sum} {unit} unchanged since they passed, in {} files",
            self.proved.len()
        )
    }

    /// Writes what passed, and removes what failed. Not on a server, and not where variables change
    /// what is run.
    pub(super) fn store(self, tree: &Tree) -> Result<()> {
        // Jobs of two lanes write the same file.
        static WRITING: Mutex<()> = Mutex::new(());
        if !is_storing() || self.choice == Choice::Other {
            return Ok(());
        }
        // A file that was changed while it was run has not passed.
        let hashes = depends::hashes(tree, &self.files)?;
        let _alone = lock(&WRITING);
        let old = read(tree)?;
        let mut proofs = old.clone();
        for (file, result) in self.results {
            match result {
                Some(proof) if hashes.get(&file) == Some(&proof.hash) => proofs.insert(file, proof),
                _ => proofs.remove(&file),
            };
        }
        proofs.retain(|file, _| tree.has(format!("verify/tests/{file}.rs")));
        if proofs != old {
            fs::write(tree.path(FILE), shown(&proofs)).context(FILE)?;
        }
        Ok(())
    }
}

/// Whether results are written.
pub(super) fn is_storing() -> bool {
    let is_server = std::env::var_os("CI").is_some_and(|v| v == "true");
    !is_server && changes().is_empty()
}

/// The variables that change what models do.
fn changes() -> Vec<(String, String)> {
    let ours = |(name, _): &(String, String)| name.starts_with("TAUTLINE_") && name != SEED;
    std::env::vars().filter(ours).collect()
}

/// Set, or the time.
pub(super) fn seed() -> u64 {
    let set = std::env::var(SEED).ok().and_then(|set| set.parse().ok());
    set.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |now| u64::from(now.subsec_nanos()) ^ now.as_secs())
    })
}

pub(super) fn is_sampled(seed: u64, file: &str) -> bool {
    let mut hash = depends::Hash::default();
    hash.add(&seed.to_le_bytes());
    hash.add(file.as_bytes());
    hash.folded() % SAMPLE == 0
}

/// Returns the executions and states of each program when it passed.
pub(super) fn counts(tree: &Tree) -> Result<BTreeMap<String, u64>> {
    let proofs = read(tree)?.into_values();
    Ok(proofs.flat_map(|proof| proof.counts).collect())
}

fn read(tree: &Tree) -> Result<Proofs> {
    if !tree.has(FILE) {
        return Ok(Proofs::new());
    }
    let one = |(file, value): (String, Value)| {
        let hash = value.get("hash")?.as_str()?.to_owned();
        let counts = value.get("counts")?.as_table()?.iter();
        let counts = counts.map(|(name, n)| Some((name.clone(), n.as_integer()?.try_into().ok()?)));
        let counts = counts.collect::<Option<_>>()?;
        Some((file, Proof { hash, counts }))
    };
    let proofs = tree.toml(FILE)?.into_iter().map(one);
    proofs
        .collect::<Option<_>>()
        .with_context(|| format!("{FILE}: not as it is written"))
}

fn shown(proofs: &Proofs) -> String {
    let mut out = HEAD.to_owned();
    for (file, Proof { hash, counts }) in proofs {
        _ = writeln!(out, "\n[{file}]\nhash = \"{hash}\"\n[{file}.counts]");
        for (name, count) in counts {
            _ = writeln!(out, "\"{name}\" = {count}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Choice, FILE, Plan, depends, is_sampled, read};
    use crate::jobs::counted::Counted;
    use crate::tree::sample::Sample;
    use std::process::Command;

    fn sample() -> Sample {
        let package = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nmetadata.tautline.layer = \"core\"\n{rest}")
        };
        let models = package("tautline-verify", "[dependencies]\ntautline-core = \"1\"\n");
        let files: [(&str, &str); 13] = [
            ("Cargo.toml", "[workspace]\n"),
            ("Cargo.lock", "x"),
            ("core/Cargo.toml", &package("tautline-core", "")),
            (
                "core/src/lib.rs",
                "pub mod a; pub mod b; mod c; mod far; mod apart;",
            ),
            ("core/src/a.rs", "pub use crate::b::*; pub use crate::c::C;"),
            ("core/src/b.rs", "pub struct B;"),
            ("core/src/c.rs", "pub struct C;"),
            ("core/src/apart.rs", "pub struct Apart;"),
            ("verify/Cargo.toml", &models),
            ("verify/src/lib.rs", "pub mod model;"),
            ("verify/src/model.rs", "pub struct Model;"),
            (
                "verify/tests/one.rs",
                "#[path = \"one/part.rs\"]\nmod part;\nuse tautline_core::a::{B, C};",
            ),
            (
                "verify/tests/one/part.rs",
                "use tautline_verify::model::Model;",
            ),
        ];
        Sample::new(&files)
    }

    fn command() -> Command {
        let mut command = Command::new("cargo");
        command.env("CARGO_TARGET_DIR", "anywhere").arg("test");
        command
    }

    fn hash(tree: &Sample) -> String {
        let hashes = depends::hashes(tree, &[("one".to_owned(), command())]).unwrap();
        hashes["one"].clone()
    }

    #[test]
    fn the_hash_changes_with_what_is_reached_and_with_nothing_else() {
        let tree = sample();
        let first = hash(&tree);
        assert_eq!(hash(&tree), first);
        for (file, text) in [
            // Reached by a glob, by a re-export, by the test, and above them.
            ("core/src/b.rs", "pub struct B; struct Changed;"),
            ("core/src/c.rs", "pub struct C; struct Changed;"),
            (
                "core/src/a.rs",
                "pub use crate::b::*; pub use crate::c::C; struct Changed;",
            ),
            (
                "core/src/lib.rs",
                "pub mod a; pub mod b; mod c; mod far; mod apart; struct Changed;",
            ),
            ("verify/src/model.rs", "pub struct Model; struct Changed;"),
            // A literal, and a mark that is divided.
            ("verify/src/model.rs", "const A: &str = \"a\"; f(a && b);"),
            ("verify/src/model.rs", "const A: &str = \"b\"; f(a && b);"),
            ("verify/src/model.rs", "const A: &str = \"b\"; f(a & &b);"),
            ("verify/tests/one/part.rs", "struct Changed;"),
            ("verify/tests/one/data.txt", "new"),
            ("Cargo.lock", "y"),
            ("Cargo.toml", "[workspace]\n[profile.release]\n"),
            ("core/src/far.rs", "impl Drop for crate::b::B {}"),
        ] {
            let before = hash(&tree);
            tree.write(file, text);
            assert_ne!(hash(&tree), before, "{file}");
        }
        let before = hash(&tree);
        tree.write("core/src/apart.rs", "pub struct Apart; struct Changed;");
        tree.write(
            "core/src/far.rs",
            "// Why.\nimpl Drop for\n    crate::b::B {}",
        );
        tree.write("core/tests/x.rs", "// new");
        tree.write("verify/tests/two.rs", "// new");
        assert_eq!(hash(&tree), before);
        let mut other = command();
        other.env("RUSTFLAGS", "--cfg other");
        let other = depends::hashes(&tree, &[("one".to_owned(), other)]).unwrap();
        assert_ne!(other["one"], before);
        tree.write(
            "core/src/b.rs",
            "pub struct B; const X: &str = include_str!(\"x\");",
        );
        assert!(depends::hashes(&tree, &[("one".to_owned(), command())]).is_err());
    }

    #[test]
    fn files_run_until_they_pass_and_again_when_they_change() {
        let tree = sample();
        let plan = |always: &[&str], choice| {
            let files = vec![("one".to_owned(), command())];
            Plan::new(&tree, files, always, choice).unwrap()
        };
        let line = Counted {
            name: "m-1".to_owned(),
            count: 7,
            floor: 1,
            bound: None,
            seconds: 0.0,
        };
        let mut first = plan(&[], Choice::Changed);
        assert!(first.runs("one") && first.unchanged("states").is_empty());
        first.ended("one", true, std::slice::from_ref(&line));
        let proof = first.results["one"].clone().unwrap();
        let text = super::shown(&[("one".to_owned(), proof.clone())].into());
        tree.write(FILE, &text);
        assert_eq!(read(&tree).unwrap()["one"], proof);
        // Some seed leaves it out.
        let left_out = (0..100).any(|_| !plan(&[], Choice::Changed).runs("one"));
        assert!(left_out);
        assert!(plan(&["one"], Choice::Changed).runs("one"));
        assert!(plan(&[], Choice::All).runs("one") && plan(&[], Choice::Other).runs("one"));
        tree.write("core/src/b.rs", "pub struct B; struct Changed;");
        assert!(plan(&[], Choice::Changed).runs("one"));
        tree.write(FILE, "[one]\nhash = 1\n");
        assert!(read(&tree).is_err());
    }

    #[test]
    fn a_tenth_is_sampled() {
        let sampled = (0..10_000)
            .filter(|seed| is_sampled(*seed, "deque"))
            .count();
        assert!((800..1200).contains(&sampled), "{sampled}");
        let both =
            (0..10_000).filter(|seed| is_sampled(*seed, "deque") && is_sampled(*seed, "sync"));
        assert!(both.count() < 300);
    }
}
