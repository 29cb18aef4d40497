//! Tests of models: built once, run one at a time, each in a process of its own.

use crate::jobs::models;
use crate::jobs::mutants::{End, how};
use crate::jobs::proofs::Hash;
use crate::shell::{keep, quiet, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The folder in which cargo runs these tests.
const FOLDER: &str = "verify";
/// A weaker ordering leaves more to explore: seconds, and multiples of the usual time, after which
/// a test is cut off. It has not failed then.
const LIMIT: (u64, u64) = (60, 5);
/// The status of `timeout` is not kept; it is at least this late.
const LATE: Duration = Duration::from_millis(1);

/// A test of a program of models.
#[derive(Clone, Debug)]
pub(super) struct Test {
    /// `PROGRAM::TEST`.
    pub name: String,
    binary: PathBuf,
    /// In the program.
    path: String,
}

/// Sites that the executions of a test reach, as the models write them, and how long the test took.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    pub sites: BTreeSet<String>,
    pub seconds: u64,
}

/// The outcome of a run with a weaker ordering.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Failed,
    Passed,
    CutOff,
}

/// Builds all models, and lists their tests.
pub(super) fn tests(tree: &Tree) -> Result<Vec<Test>> {
    let mut command = models::loom_command(tree);
    let said = keep(command.args(["--no-run", "--message-format=json-render-diagnostics"]))?;
    if !said.ok {
        bail!("the models do not build");
    }
    let mut out = Vec::new();
    for (program, binary) in said.out.lines().filter_map(artifact) {
        for path in listed(tree, &binary)? {
            let name = format!("{program}::{path}");
            let binary = binary.clone();
            out.push(Test { name, binary, path });
        }
    }
    if out.is_empty() {
        bail!("no model is a test");
    }
    Ok(out)
}

/// The name and the file of a test program that a line of cargo reports.
fn artifact(line: &str) -> Option<(String, PathBuf)> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let target = line.get("target")?;
    let is_test = target.get("kind")?.as_array()?.iter().any(|k| k == "test");
    let binary = line.get("executable")?.as_str()?.into();
    is_test.then_some((target.get("name")?.as_str()?.to_owned(), binary))
}

/// The names of the tests of a program, but for those that are ignored.
fn listed(tree: &Tree, binary: &Path) -> Result<Vec<String>> {
    let list = |words: &[&str]| -> Result<Vec<String>> {
        let mut command = Command::new(binary);
        command.current_dir(tree.path(FOLDER)).args(words);
        let said = quiet(&mut command)?;
        if !said.ok {
            bail!("{}: cannot list its tests", binary.display());
        }
        let names = said.out.lines().filter_map(|l| l.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    };
    let ignored = list(&["--list", "--ignored"])?;
    let mut all = list(&["--list"])?;
    all.retain(|name| !ignored.contains(name));
    Ok(all)
}

impl Test {
    pub(super) fn program(&self) -> &str {
        self.name.split("::").next().unwrap_or(&self.name)
    }

    /// The name without modules, which is that of the model.
    pub(super) fn leaf(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }

    fn command(&self, tree: &Tree, limit: u64) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg(limit.to_string())
            .arg(&self.binary)
            .args([&*self.path, "--exact", "--nocapture", "--test-threads=1"])
            .current_dir(tree.path(FOLDER))
            .env("CARGO_MANIFEST_DIR", tree.path(FOLDER));
        command
    }

    /// Runs the test as shipped, and keeps what it reaches, beside the programs, until they are
    /// built again.
    pub(super) fn reached(&self, tree: &Tree) -> Result<Reached> {
        let folder = target_dir(tree).join("weaken").join(hash(&self.binary)?);
        fs::create_dir_all(&folder)?;
        let name = self.path.replace("::", "-");
        let kept = folder.join(format!("{name}.sites"));
        if !kept.exists() {
            let part = kept.with_extension("part");
            fs::write(&part, "")?;
            let start = Instant::now();
            let said = quiet(self.command(tree, 3600).env("TAUTLINE_SITES", &part))?;
            if !said.ok {
                bail!("{}: fails as shipped:\n{}{}", self.name, said.out, said.err);
            }
            let seconds = start.elapsed().as_secs();
            let sites = fs::read_to_string(&part)?;
            fs::write(&part, format!("{seconds}\n{sites}"))?;
            fs::rename(&part, &kept)?;
        }
        let text = fs::read_to_string(&kept)?;
        let mut lines = text.lines();
        let seconds = lines.next().and_then(|line| line.parse().ok());
        Ok(Reached {
            seconds: seconds.with_context(|| format!("reading {}", kept.display()))?,
            sites: lines.map(str::to_owned).collect(),
        })
    }

    /// Runs the test with a weaker ordering; `seconds`: how long it takes without.
    pub(super) fn weakened(&self, tree: &Tree, weaker: &str, seconds: u64) -> Result<Ended> {
        let limit = LIMIT.0 + LIMIT.1 * seconds;
        let start = Instant::now();
        let said = quiet(self.command(tree, limit).env("TAUTLINE_WEAKEN", weaker))?;
        if said.ok {
            return Ok(Ended::Passed);
        }
        if start.elapsed() + LATE >= Duration::from_secs(limit) {
            return Ok(Ended::CutOff);
        }
        Ok(match how(&format!("{}\n{}", said.out, said.err)) {
            End::Killed(_) => Ended::Failed,
            // Only the floor noticed.
            _ => Ended::Passed,
        })
    }
}

fn hash(binary: &Path) -> Result<String> {
    let mut hash = Hash::default();
    hash.add(&fs::read(binary).with_context(|| binary.display().to_string())?);
    Ok(hash.text())
}

#[cfg(test)]
mod tests {
    use super::{Test, artifact};
    use std::path::PathBuf;

    impl Test {
        pub(in crate::jobs::weaken) fn named(name: &str) -> Self {
            Self {
                name: name.to_owned(),
                binary: PathBuf::new(),
                path: String::new(),
            }
        }
    }

    #[test]
    fn test_programs_are_found_in_the_report_of_cargo() {
        let line = |kind: &str| {
            format!(r#"{{"target":{{"kind":["{kind}"],"name":"sync"}},"executable":"/x/sync-1"}}"#)
        };
        let found = artifact(&line("test"));
        assert_eq!(found, Some(("sync".to_owned(), PathBuf::from("/x/sync-1"))));
        assert_eq!(artifact(&line("lib")), None);
        assert_eq!(artifact("   Compiling x"), None);
    }
}
