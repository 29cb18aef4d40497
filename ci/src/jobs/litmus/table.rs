//! The tables of litmus tests, one for each module: `verify/litmus/*.toml`. Its README describes
//! them.

use super::program::{Program, Values};
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use toml::{Table, Value};

pub(super) const FOLDER: &str = "verify/litmus";

/// The models, in the order of a report.
pub(super) const MODELS: [&str; 5] = ["RC20", "C20", "AArch64", "POWER", "RISC-V"];

/// One test: an outcome that is impossible as shipped, and possible with weaker orderings.
#[derive(Debug)]
pub(crate) struct Test {
    /// The table's name and the test's.
    pub name: String,
    init: BTreeMap<String, u32>,
    threads: Vec<String>,
    outcome: Vec<String>,
    pub orderings: Vec<Named>,
    shipped: Values,
    /// The variant as shipped, then those that are weaker.
    pub variants: Vec<Variant>,
}

/// An ordering or a fence of the code.
#[derive(Debug)]
pub(crate) struct Named {
    pub name: String,
    pub sites: Vec<Site>,
}

/// The place of an ordering or a fence in the sources.
#[derive(Debug)]
pub(crate) struct Site {
    pub file: String,
    pub bytes: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Variant {
    /// The orderings that differ from those of the code.
    pub with: Values,
    /// The models that allow the outcome.
    pub sometimes: Vec<String>,
}

impl Test {
    /// Returns what identifies a variant in a report.
    pub(super) fn label(&self, variant: &Variant) -> String {
        let changes = variant.with.iter();
        let changes: Vec<String> = changes.map(|(name, to)| format!("{name} {to}")).collect();
        match changes.is_empty() {
            true => self.name.clone(),
            false => format!("{} with {}", self.name, changes.join(", ")),
        }
    }

    /// Returns the programs that a variant consists of.
    pub(super) fn programs(&self, variant: &Variant) -> Result<Vec<Program>> {
        let mut values = self.shipped.clone();
        values.extend(variant.with.clone());
        Program::parse(&self.init, &self.threads, &self.outcome, &values)
            .with_context(|| self.label(variant))
    }

    /// Returns the orderings and fences that the test shows to be necessary: each is weakened alone
    /// in a variant that some model allows.
    pub(crate) fn necessary(&self) -> impl Iterator<Item = &Site> {
        let needed = self
            .orderings
            .iter()
            .filter(|named| self.needs(&named.name));
        needed.flat_map(|ordering| &ordering.sites)
    }

    fn needs(&self, ordering: &str) -> bool {
        let alone = |v: &&Variant| v.with.len() == 1 && v.with.contains_key(ordering);
        let mut alone = self.variants.iter().filter(alone);
        alone.any(|variant| !variant.sometimes.is_empty())
    }
}

/// Reads all tests. An error if one cites an id or a part of the code that is not there.
pub(crate) fn all(tree: &Tree) -> Result<Vec<Test>> {
    let mut tests: Vec<Test> = Vec::new();
    for path in tree.files(FOLDER) {
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let at = || path.display().to_string();
        let module = path.file_stem().unwrap_or_default().to_string_lossy();
        let table = tree.toml(&path)?;
        for entry in entries(&table, "test") {
            let test = test(tree, &table, &module, entry).with_context(at)?;
            let is_new = tests.iter().all(|t| t.name != test.name);
            ensure!(is_new, "{}: {}: this name came twice", at(), test.name);
            tests.push(test);
        }
    }
    ensure!(!tests.is_empty(), "{FOLDER}: no test");
    Ok(tests)
}

fn entries<'t>(table: &'t Table, key: &str) -> Vec<&'t Table> {
    let entries = table.get(key).and_then(Value::as_array);
    let entries = entries.into_iter().flatten();
    entries.filter_map(Value::as_table).collect()
}

fn text<'t>(table: &'t Table, key: &str) -> Result<&'t str> {
    let text = table.get(key).and_then(Value::as_str);
    text.with_context(|| format!("no text `{key}`"))
}

fn texts(table: &Table, key: &str) -> Result<Vec<String>> {
    let values = table.get(key).and_then(Value::as_array);
    let values = values.with_context(|| format!("no list `{key}`"))?;
    let texts = values.iter().map(|v| v.as_str().map(str::to_owned));
    let texts: Option<Vec<String>> = texts.collect();
    texts.with_context(|| format!("`{key}`: not only texts"))
}

fn table<'t>(table: &'t Table, key: &str) -> Result<&'t Table> {
    let inner = table.get(key).and_then(Value::as_table);
    inner.with_context(|| format!("no table `{key}`"))
}

fn test(tree: &Tree, head: &Table, module: &str, entry: &Table) -> Result<Test> {
    let file = text(head, "file")?;
    let name = text(entry, "name")?;
    let read = || {
        text(entry, "claim")?;
        let code = tree.read(file)?;
        for id in texts(entry, "ids")? {
            let is_there = code.contains(&format!("| {id} |"));
            ensure!(is_there, "{id} is in no table of {file}");
        }
        let mut orderings = Vec::new();
        let mut shipped = Values::new();
        for (name, sites) in table(entry, "orderings")? {
            let (value, named) = ordering(tree, file, name, sites).with_context(|| name.clone())?;
            shipped.insert(name.clone(), value);
            orderings.push(named);
        }
        let mut variants = vec![Variant {
            with: Values::new(),
            sometimes: Vec::new(),
        }];
        for weaker in entries(entry, "weaker") {
            variants.push(variant(weaker, &shipped)?);
        }
        let init = table(entry, "init")?.iter().map(|(at, value)| {
            let value = value.as_integer().and_then(|v| u32::try_from(v).ok());
            Ok((
                at.clone(),
                value.with_context(|| format!("`init.{at}`: no small number"))?,
            ))
        });
        Ok(Test {
            name: format!("{module}.{name}"),
            init: init.collect::<Result<_>>()?,
            threads: texts(entry, "threads")?,
            outcome: texts(entry, "never")?,
            orderings,
            shipped,
            variants,
        })
    };
    let test: Test = read().with_context(|| name.to_owned())?;
    let is_possible = test.variants.iter().any(|v| !v.sometimes.is_empty());
    ensure!(
        is_possible,
        "{name}: no weaker variant shows that the outcome can be reached"
    );
    for (ordering, value) in &test.shipped {
        ensure!(
            value == "Relaxed" || test.needs(ordering),
            "{name}: `{ordering}` is weakened alone by no variant that is possible"
        );
    }
    for variant in &test.variants {
        test.programs(variant)?;
    }
    Ok(test)
}

fn variant(entry: &Table, shipped: &Values) -> Result<Variant> {
    let mut with = Values::new();
    for (name, value) in table(entry, "with")? {
        let value = value
            .as_str()
            .with_context(|| format!("`{name}`: no text"))?;
        let known = shipped.get(name);
        let known = known.with_context(|| format!("ordering `{name}` is not in the table"))?;
        ensure!(known != value, "{name}: {value} is what the code has");
        with.insert(name.clone(), value.to_owned());
    }
    let sometimes = texts(entry, "sometimes")?;
    for model in &sometimes {
        let is_known = MODELS.contains(&model.as_str());
        ensure!(is_known, "model `{model}`; allowed: {}", MODELS.join(", "));
    }
    Ok(Variant { with, sometimes })
}

/// Reads an ordering: its sites, all with the same value. A site is a text of a file with the
/// ordering, or the call of a fence, in braces.
fn ordering(tree: &Tree, file: &str, name: &str, sites: &Value) -> Result<(String, Named)> {
    let sites = sites.as_array().context("no list of sites")?;
    let mut value = None;
    let mut found = Vec::new();
    for entry in sites {
        let (file, marked) = match entry {
            Value::String(marked) => (file, marked.as_str()),
            Value::Table(entry) => (text(entry, "file")?, text(entry, "at")?),
            _ => bail!("a site is a text, or a table of `file` and `at`"),
        };
        let (this, bytes) =
            site(&tree.read(file)?, marked).with_context(|| format!("`{marked}` in {file}"))?;
        match &value {
            Some(other) if *other != this => bail!("sites with {other} and {this}"),
            _ => value = Some(this),
        }
        let file = Path::new(file).to_string_lossy().into_owned();
        found.push(Site { file, bytes });
    }
    let value = value.context("no site")?;
    let name = name.to_owned();
    Ok((value, Named { name, sites: found }))
}

/// Keys of marks, and their values.
const MARKS: [(&str, &str); 8] = [
    ("Relaxed", "Relaxed"),
    ("Acquire", "Acquire"),
    ("Release", "Release"),
    ("AcqRel", "AcqRel"),
    ("SeqCst", "SeqCst"),
    ("full_fence()", "SeqCst"),
    ("light_fence()", "light"),
    ("heavy_fence()", "heavy"),
];

/// Returns the value of the marked ordering, and where it is written.
fn site(code: &str, marked: &str) -> Result<(String, Range<usize>)> {
    let mark = MARKS.iter().find_map(|(word, value)| {
        let (before, after) = marked.split_once(&format!("{{{word}}}"))?;
        Some((before, *word, after, *value))
    });
    let (before, word, after, value) = mark.context("no ordering is marked by braces")?;
    let plain = format!("{before}{word}{after}");
    let count = code.matches(&plain).count();
    ensure!(count == 1, "{count} times; must be there once");
    let at = code.find(&plain).unwrap_or_default() + before.len();
    // An ordering is named by its path.
    let start = at
        - if before.ends_with("Ordering::") {
            "Ordering::".len()
        } else {
            0
        };
    Ok((value.to_owned(), start..at + word.len()))
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::tree::sample::Sample;

    const CODE: &str = "
//! | F1 | `set` | `get` | the data | none |
fn set(&self) { self.flag.store(1, Ordering::Release); }
fn get(&self) { self.flag.load(Ordering::Acquire) }
";

    const TABLE: &str = r#"
file = "core/flag.rs"
[[test]]
name = "passed"
ids = ["F1"]
claim = "The data is visible."
init = { data = 0, flag = 0 }
threads = [
    """
    store data 1 Relaxed
    store flag 1 $set
    """,
    """
    seen = load flag $get
    when seen == 1
    value = load data Relaxed
    """,
]
never = ["1:value = 0"]
orderings = { set = ["store(1, Ordering::{Release})"], get = ["flag.load(Ordering::{Acquire})"] }
weaker = [
    { with = { set = "Relaxed" }, sometimes = ["RC20", "POWER"] },
    { with = { get = "Relaxed" }, sometimes = ["C20"] },
]
"#;

    fn tree(table: &str, code: &str) -> Sample {
        Sample::new(&[("verify/litmus/flag.toml", table), ("core/flag.rs", code)])
    }

    fn error(from: &str, to: &str) -> String {
        assert!(TABLE.contains(from));
        let tree = tree(&TABLE.replace(from, to), CODE);
        format!("{:#}", all(&tree).unwrap_err())
    }

    #[test]
    fn orderings_that_are_weakened_alone_are_necessary() {
        let tests = all(&tree(TABLE, CODE)).unwrap();
        let [test] = tests.as_slice() else { panic!() };
        let labels: Vec<String> = test.variants.iter().map(|v| test.label(v)).collect();
        let expected = [
            "flag.passed",
            "flag.passed with set Relaxed",
            "flag.passed with get Relaxed",
        ];
        assert_eq!(labels, expected);
        let necessary: Vec<&str> = test.necessary().map(|s| &CODE[s.bytes.clone()]).collect();
        assert_eq!(necessary, ["Ordering::Acquire", "Ordering::Release"]);
    }

    #[test]
    fn orderings_are_those_of_the_code() {
        let weaker = CODE.replace("store(1, Ordering::Release)", "store(1, Ordering::Relaxed)");
        let error = format!("{:#}", all(&tree(TABLE, &weaker)).unwrap_err());
        assert!(
            error.contains("flag.toml") && error.contains("0 times"),
            "{error}"
        );
    }

    #[test]
    fn errors_name_the_test_and_what_is_wrong() {
        for (from, to, why) in [
            ("F1", "F2", "passed: F2 is in no table of core/flag.rs"),
            (
                "POWER",
                "PPC",
                "model `PPC`; allowed: RC20, C20, AArch64, POWER, RISC-V",
            ),
            (
                "{ set = \"Relaxed\" }",
                "{ set = \"Release\" }",
                "set: Release is what the code has",
            ),
            (
                "{ set = \"Relaxed\" }",
                "{ sat = \"Relaxed\" }",
                "`sat` is not in the table",
            ),
            ("{Release}", "Release", "no ordering is marked by braces"),
            (
                "[\"C20\"]",
                "[]",
                "passed: `get` is weakened alone by no variant",
            ),
            ("claim", "clame", "no text `claim`"),
        ] {
            let error = error(from, to);
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }
}
