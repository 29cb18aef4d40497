//! The recorded mutants: each breaks one line of the code, and its model must notice.
//!
//! The table is verify/mutants.toml, whose head describes an entry. The tree is copied to
//! target/mutants, once for each processor, so that the one that is worked on stays as it is.

use super::counted::passed;
use super::models::{EXPLORE, test_command};
use super::{Verdict, judge};
use crate::context::{self, say};
use crate::crates::named;
use crate::shell::{cargo, quiet, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;
use toml::{Table, Value};

const TABLE: &str = "verify/mutants.toml";
/// Seconds for a test that is no model, its compilation included.
const LIMIT: &str = "900";

#[derive(Clone, Debug, Default)]
pub(super) struct Mutant {
    pub name: String,
    pub file: String,
    pub find: String,
    pub replace: String,
    pub model: String,
    pub filter: Option<String>,
    /// The crate whose test `model` is, if that is no model.
    pub package: Option<String>,
}

/// All that are recorded.
pub(super) fn recorded(tree: &Tree) -> Result<Vec<Mutant>> {
    parse(&tree.read(TABLE)?)
}

pub(super) fn run(tree: &Tree, words: &[String]) -> Result<Verdict> {
    let all = recorded(tree)?;
    let chosen: Vec<&Mutant> = all
        .iter()
        .filter(|m| words.is_empty() || words.iter().any(|w| m.name.contains(w)))
        .collect();
    if chosen.is_empty() {
        bail!("{TABLE}: no mutant's name contains {}", words.join(" or "));
    }
    for m in &chosen {
        broken(m, &tree.read(&m.file)?)?;
    }
    let width = chosen.iter().map(|m| m.name.len()).max().unwrap_or(0);
    let groups = groups(&chosen);
    let lanes = thread::available_parallelism().map_or(1, NonZero::get);
    let lanes = lanes.min(groups.len());
    let next = Mutex::new(groups.iter());
    let take = || next.lock().expect("no lane panics with the lock").next();
    let lane = |number: usize| -> Result<Vec<String>> {
        let root = target_dir(tree).join(format!("mutants/{number}/tree"));
        let copy = copy(tree, root)?;
        let mut findings = Vec::new();
        while let Some(group) = take() {
            findings.extend(run_group(&copy, group, width)?);
        }
        Ok(findings)
    };
    let context = context::current();
    let findings: Result<Vec<Vec<String>>> = thread::scope(|scope| {
        let (lane, context) = (&lane, &context);
        let started: Vec<_> = (0..lanes)
            .map(|n| scope.spawn(move || context.enter(|| lane(n))))
            .collect();
        let ended = started.into_iter().map(ScopedJoinHandle::join);
        ended
            .map(|findings| findings.expect("a lane returns its errors"))
            .collect()
    });
    judge(
        findings?.concat(),
        format!("{} mutants killed", chosen.len()),
    )
}

/// Returns the mutants of each model and filter, which is run once without a mutant.
fn groups<'m>(chosen: &[&'m Mutant]) -> Vec<Vec<&'m Mutant>> {
    let mut groups: Vec<Vec<&Mutant>> = Vec::new();
    for m in chosen {
        let is_of = |group: &&mut Vec<&Mutant>| {
            let first = group[0];
            (&first.package, &first.model, &first.filter) == (&m.package, &m.model, &m.filter)
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(m),
            None => groups.push(vec![m]),
        }
    }
    groups
}

/// Runs mutants with the same model and filter in `copy`. Returns those that were not killed.
fn run_group(copy: &Tree, group: &[&Mutant], width: usize) -> Result<Vec<String>> {
    let holds = holds_unbroken(copy, group[0])?;
    let mut findings = Vec::new();
    for m in group {
        let start = Instant::now();
        let end = if holds { one(copy, m)? } else { End::Unsound };
        let seconds = start.elapsed().as_secs_f64();
        say!(
            "{:<width$}  {:<10}  {}  {seconds:>6.1} s",
            m.name,
            m.model,
            end.text()
        );
        if !matches!(end, End::Killed(_)) {
            findings.push(format!("{}: {}", m.name, end.text()));
        }
    }
    Ok(findings)
}

fn parse(text: &str) -> Result<Vec<Mutant>> {
    let table: Table = toml::from_str(text).with_context(|| format!("parsing {TABLE}"))?;
    let entries = table.get("mutant").and_then(Value::as_array);
    let mut out: Vec<Mutant> = Vec::new();
    for entry in entries.into_iter().flatten() {
        let field = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = field("name").with_context(|| format!("{TABLE}: a mutant without name"))?;
        let must = |key: &str| field(key).with_context(|| format!("{TABLE}: {name}: no {key}"));
        let mutant = Mutant {
            file: must("file")?,
            find: must("find")?,
            replace: must("replace")?,
            model: must("model")?,
            filter: field("filter"),
            package: field("package"),
            name: name.clone(),
        };
        if out.iter().any(|m| m.name == name) {
            bail!("{TABLE}: {name}: this name came twice");
        }
        out.push(mutant);
    }
    Ok(out)
}

/// `text` with the mutant in it; what it looks for must be there exactly once.
fn broken(m: &Mutant, text: &str) -> Result<String> {
    match text.matches(&m.find).count() {
        1 if m.find != m.replace => Ok(text.replacen(&m.find, &m.replace, 1)),
        1 => bail!("{TABLE}: {}: changes nothing", m.name),
        n => bail!(
            "{TABLE}: {}: `{}` is {n} times in {}",
            m.name,
            m.find,
            m.file
        ),
    }
}

/// The tree beside the tree. Files that did not change keep their time, so that little is rebuilt.
fn copy(tree: &Tree, root: PathBuf) -> Result<Tree> {
    let copy = Tree { root };
    let files = tree.files("");
    for old in copy.files("") {
        if files.binary_search(&old).is_err() {
            fs::remove_file(copy.path(&old))?;
        }
    }
    for path in &files {
        write(&copy, path, &fs::read(tree.path(path))?)?;
    }
    Ok(copy)
}

fn write(tree: &Tree, path: &Path, content: &[u8]) -> Result<()> {
    let to = tree.path(path);
    if fs::read(&to).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&to, content).with_context(|| format!("writing {}", to.display()))
}

fn model(copy: &Tree, m: &Mutant, words: &[&str]) -> Result<Command> {
    let (mut command, folder) = match &m.package {
        Some(package) => (ordinary_test(copy, package, &m.model)?, "tests"),
        None if m.model == EXPLORE => (test_command(copy, EXPLORE), "plain"),
        None => (test_command(copy, &m.model), "loom"),
    };
    // Beside the copy: what the tree itself builds stays fresh.
    let target = copy.root.with_file_name(folder);
    // Compilation takes most of a mutant's time, and each mutant changes one line: with many units,
    // few are compiled again.
    command.env("CARGO_INCREMENTAL", "1");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "256");
    // The other processors have mutants of their own.
    command.env("CARGO_BUILD_JOBS", "1");
    command.args(words).env("CARGO_TARGET_DIR", target);
    Ok(command)
}

/// Runs a test of a crate, which a mutant may make endless: after a while it counts as failed.
fn ordinary_test(copy: &Tree, package: &str, file: &str) -> Result<Command> {
    let words = ["test", "-p", package, "--test", file];
    let mut cargo = cargo(copy, words);
    cargo.args(named(copy, package)?.all_features());
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(cargo.get_program());
    command.args(cargo.get_args());
    for (key, value) in cargo.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.current_dir(&copy.root);
    Ok(command)
}

fn words(m: &Mutant) -> Vec<&str> {
    let filter = m.filter.as_deref();
    ["--"]
        .into_iter()
        .chain(filter)
        .chain(["--test-threads=1"])
        .collect()
}

/// Whether the model passes, with at least one test, while nothing is broken.
fn holds_unbroken(copy: &Tree, m: &Mutant) -> Result<bool> {
    let said = quiet(&mut model(copy, m, &words(m))?)?;
    let holds = said.ok && passed(&said.out) > 0;
    if !holds {
        say!("{}{}", said.out, said.err);
    }
    Ok(holds)
}

#[derive(Debug)]
pub(super) enum End {
    /// The model failed, and what it said first.
    Killed(String),
    Survived,
    /// Only the floor noticed: the mutant left less to explore, and nothing wrong was seen.
    Hollow,
    /// The mutant does not compile, so nothing looked at it.
    Void,
    /// The model fails, or has no test of that name, without the mutant.
    Unsound,
}

impl End {
    fn text(&self) -> String {
        match self {
            Self::Killed(how) => format!("killed    {how}"),
            Self::Survived => "SURVIVED".into(),
            Self::Hollow => "HOLLOW: only the floor noticed".into(),
            Self::Void => "VOID: it does not compile".into(),
            Self::Unsound => "UNSOUND: without the mutant the model fails or is empty".into(),
        }
    }
}

fn one(copy: &Tree, m: &Mutant) -> Result<End> {
    let path = Path::new(&m.file);
    let whole = copy.read(path)?;
    write(copy, path, broken(m, &whole)?.as_bytes())?;
    let end = judge_broken(copy, m);
    write(copy, path, whole.as_bytes())?;
    end
}

fn judge_broken(copy: &Tree, m: &Mutant) -> Result<End> {
    if !quiet(&mut model(copy, m, &["--no-run"])?)?.ok {
        return Ok(End::Void);
    }
    let said = quiet(&mut model(copy, m, &words(m))?)?;
    if said.ok {
        return Ok(End::Survived);
    }
    Ok(how(&format!("{}\n{}", said.out, said.err)))
}

/// Returns the message of the first panic that is not about a floor, short enough for a table.
pub(super) fn how(out: &str) -> End {
    let lines: Vec<&str> = out.lines().collect();
    let panics = lines.windows(2).filter(|w| w[0].contains("panicked at"));
    let mut said: Vec<&str> = panics.map(|w| w[1].trim()).collect();
    let all = said.len();
    said.retain(|s| !s.contains("checks nothing"));
    match said.first() {
        Some(first) => End::Killed(first.chars().take(60).collect()),
        None if all > 0 => End::Hollow,
        None => End::Killed("without a panic".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{End, broken, copy, groups, how, parse};
    use crate::tree::sample::Sample;

    const ONE: &str = "[[mutant]]\nname = \"a\"\nfile = \"f\"\nfind = \"Acquire\"\n\
        replace = \"Relaxed\"\nmodel = \"sync\"\n";

    #[test]
    fn an_entry_is_read_whole_or_refused() {
        let read = parse(ONE).unwrap();
        assert_eq!((read[0].model.as_str(), &read[0].filter), ("sync", &None));
        assert!(parse(&ONE.replace("model", "modle")).is_err());
        assert!(parse(&format!("{ONE}{ONE}")).is_err());
    }

    #[test]
    fn a_mutant_fits_in_exactly_one_place() {
        let m = &parse(ONE).unwrap()[0];
        assert_eq!(broken(m, "x(Acquire)").unwrap(), "x(Relaxed)");
        assert!(broken(m, "x(Release)").is_err());
        assert!(broken(m, "Acquire, Acquire").is_err());
        let idle = &parse(&ONE.replace("Relaxed", "Acquire")).unwrap()[0];
        assert!(broken(idle, "Acquire").is_err());
    }

    #[test]
    fn mutants_with_one_model_and_filter_share_a_group() {
        let other = ONE.replace("\"a\"", "\"b\"");
        let third = ONE.replace("\"a\"", "\"c\"") + "filter = \"x\"\n";
        let fourth = ONE.replace("\"a\"", "\"d\"") + "package = \"p\"\n";
        let all = parse(&format!("{ONE}{third}{other}{fourth}")).unwrap();
        let groups = groups(&all.iter().collect::<Vec<_>>());
        let names = groups.iter().map(|g| g.iter().map(|m| m.name.as_str()));
        let names: Vec<String> = names.map(Iterator::collect).collect();
        assert_eq!(names, ["ab", "c", "d"]);
    }

    #[test]
    fn the_recorded_mutants_fit_the_code() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = std::fs::read_to_string(root.join(super::TABLE)).unwrap();
        for m in parse(&text).unwrap() {
            let code = std::fs::read_to_string(root.join(&m.file)).unwrap();
            broken(&m, &code).unwrap();
        }
    }

    #[test]
    fn the_copy_follows_the_tree() {
        let tree = Sample::new(&[("a/x.rs", "1"), ("b.toml", "2")]);
        let to = copy(&tree, tree.path("target/mutants/tree")).unwrap();
        assert_eq!(to.read("a/x.rs").unwrap(), "1");
        tree.write("a/x.rs", "3");
        std::fs::remove_file(tree.path("b.toml")).unwrap();
        let to = copy(&tree, tree.path("target/mutants/tree")).unwrap();
        assert_eq!(to.read("a/x.rs").unwrap(), "3");
        assert!(!to.has("b.toml"));
    }

    #[test]
    fn the_first_panic_is_quoted_and_floors_kill_nothing() {
        let floor =
            "thread 'b' panicked at m.rs:1:\nmodel b explored 1; below 9 it checks nothing\n";
        assert!(matches!(how(floor), End::Hollow));
        let both = format!("{floor}thread 'a' panicked at x.rs:1:\nboth took it\nnote");
        assert_eq!(how(&both).text(), "killed    both took it");
    }
}
