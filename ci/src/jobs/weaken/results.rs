//! Results of weakened orderings, and the reasons for those that no model notices.

use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use toml::Value;

pub(crate) const FILE: &str = "verify/WEAKENED.toml";
pub(crate) const REASONS: &str = "verify/survivors.toml";
const HEAD: &str = "\
# Strong orderings of the words, each executed with a weaker one in the models that reach it: the model that failed, or how many passed.
# Written by `cargo ci weaken`, which repeats those of a file whose code has changed; reasons for survivors are in survivors.toml.
";
const SURVIVED: &str = "survived ";
const CUT: &str = " cut off";

/// The outcome of a weaker ordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This test failed: `PROGRAM::TEST`.
    Killed(String),
    /// Numbers of tests that passed, and that did not end in their time.
    Survived { passed: usize, cut: usize },
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Killed(test) => test.clone(),
            Self::Survived { passed, cut: 0 } => format!("{SURVIVED}{passed}"),
            Self::Survived { passed, cut } => format!("{SURVIVED}{passed}, {cut}{CUT}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let Some(rest) = text.strip_prefix(SURVIVED) else {
            return Some(Self::Killed(text.to_owned()));
        };
        let (passed, cut) = rest.split_once(", ").unwrap_or((rest, "0 cut off"));
        Some(Self::Survived {
            passed: passed.parse().ok()?,
            cut: cut.strip_suffix(CUT)?.parse().ok()?,
        })
    }
}

/// The results of a file's sites, by the names of their weakenings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Results {
    /// Hash of the code that was run.
    pub code: String,
    pub outcomes: BTreeMap<String, Outcome>,
}

/// Those of all files.
pub(crate) type All = BTreeMap<String, Results>;

pub(crate) fn read(tree: &Tree) -> Result<All> {
    if !tree.has(FILE) {
        return Ok(All::new());
    }
    let one = |(file, value): (String, Value)| {
        let mut results = Results::default();
        for (name, value) in value.as_table()? {
            let text = value.as_str()?;
            match name.as_str() {
                "code" => text.clone_into(&mut results.code),
                _ => _ = results.outcomes.insert(name.clone(), Outcome::parse(text)?),
            }
        }
        Some((file, results))
    };
    let all = tree.toml(FILE)?.into_iter().map(one);
    all.collect::<Option<_>>()
        .with_context(|| format!("{FILE}: not as it is written"))
}

pub(crate) fn write(tree: &Tree, all: &All) -> Result<()> {
    fs::write(tree.path(FILE), shown(all)).context(FILE)
}

fn shown(all: &All) -> String {
    let mut out = HEAD.to_owned();
    let run = all
        .iter()
        .filter(|(_, results)| !results.outcomes.is_empty());
    for (file, Results { code, outcomes }) in run {
        _ = writeln!(out, "\n[\"{file}\"]\ncode = \"{code}\"");
        for (name, outcome) in outcomes {
            _ = writeln!(out, "\"{name}\" = \"{}\"", outcome.text());
        }
    }
    out
}

/// A survivor that is listed with a reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reason {
    pub file: String,
    pub weaker: String,
}

/// Reads the survivors that are listed.
pub(crate) fn reasons(tree: &Tree) -> Result<BTreeSet<Reason>> {
    if !tree.has(REASONS) {
        return Ok(BTreeSet::new());
    }
    let table = tree.toml(REASONS)?;
    let entries = table.get("survivor").and_then(Value::as_array);
    let mut out = BTreeSet::new();
    for entry in entries.into_iter().flatten() {
        let field = |key: &str| entry.get(key).and_then(Value::as_str);
        let (Some(file), Some(weaker), Some(reason)) =
            (field("file"), field("weaker"), field("reason"))
        else {
            bail!("{REASONS}: a survivor needs file, weaker and reason: {entry:?}");
        };
        if reason.trim().is_empty() {
            bail!("{REASONS}: {weaker}: no reason");
        }
        let is_new = out.insert(Reason {
            file: file.to_owned(),
            weaker: weaker.to_owned(),
        });
        if !is_new {
            bail!("{REASONS}: {file}: {weaker}: came twice");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{All, FILE, Outcome, REASONS, Reason, Results, read, reasons, write};
    use crate::tree::sample::Sample;

    #[test]
    fn what_is_written_is_read() {
        let tree = Sample::new(&[("verify/x", "")]);
        assert_eq!(read(&tree).unwrap(), All::new());
        let outcomes = [
            (
                "a: b.load Acquire -> Relaxed",
                Outcome::Killed("sync::x".into()),
            ),
            ("a: b.swap", Outcome::Survived { passed: 3, cut: 0 }),
            ("c", Outcome::Survived { passed: 0, cut: 2 }),
        ];
        let outcomes = outcomes.map(|(name, outcome)| (name.to_owned(), outcome));
        let results = Results {
            code: "12".into(),
            outcomes: outcomes.into(),
        };
        let all = All::from([("core/src/a.rs".to_owned(), results)]);
        write(&tree, &all).unwrap();
        assert_eq!(read(&tree).unwrap(), all);
        tree.write(FILE, "[\"a\"]\ncode = 1\n");
        assert!(read(&tree).is_err());
        tree.write(FILE, "[\"a\"]\nx = \"survived many\"\n");
        assert!(read(&tree).is_err());
    }

    #[test]
    fn a_survivor_has_a_reason_and_is_listed_once() {
        let one = "[[survivor]]\nfile = \"f\"\nweaker = \"w\"\nreason = \"r\"\n";
        let tree = Sample::new(&[(REASONS, one)]);
        let listed = Reason {
            file: "f".into(),
            weaker: "w".into(),
        };
        assert_eq!(reasons(&tree).unwrap(), [listed].into());
        for wrong in [
            one.replace("\"r\"", "\" \""),
            one.repeat(2),
            one.replace("file", "fiel"),
        ] {
            tree.write(REASONS, &wrong);
            assert!(reasons(&tree).is_err(), "{wrong}");
        }
    }
}
