//! Lines that no test runs, by cargo-llvm-cov: a table by folder, and a floor for each crate.
//!
//! A floor finds code that came without a test. It is no aim: what a line computes is judged by
//! models, mutants and facts.

use super::super::{Verdict, cargo::workspace, judge};
use super::tool::{Tool, component};
use crate::context::say;
use crate::crates::crates;
use crate::shell::{run as attached, target_dir};
use crate::source::Skip;
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};

const COVERS: Tool = Tool {
    name: "cargo-llvm-cov",
    version: "0.9.1",
};
const FLOORS: &str = "ci/coverage.toml";

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let program = match COVERS.ready(tree)? {
        Ok(program) => program,
        Err(why) => return Ok(Verdict::CannotRun(why)),
    };
    if let Some(why) = component("llvm-tools") {
        return Ok(Verdict::CannotRun(why));
    }
    let folder = target_dir(tree).join("coverage");
    fs::create_dir_all(&folder)?;
    let cover = |words: &str| {
        let mut command = Command::new(&program);
        command
            .current_dir(&tree.root)
            .arg("llvm-cov")
            .args(words.split(' '));
        // Processes of a test add to one of a few files: some tests start thousands.
        command.env("LLVM_PROFILE_FILE_NAME", "tautline-%8m.profraw");
        command
    };
    attached(&mut cover("clean --profraw-only"))?;
    // A test that fails because it is slow here is no finding of this step.
    let mut tests = cover("test --no-report --ignore-run-fail");
    attached(tests.args(workspace(tree)?))?;
    let file = folder.join("lines.info");
    attached(cover("report --lcov --output-path").arg(&file))?;
    let lines = lines(tree, &fs::read_to_string(&file)?)?;
    let list = folder.join("unrun.txt");
    fs::write(&list, unrun(&lines))?;
    let (table, crates) = table(tree, &lines)?;
    say!("{table}no test runs the lines of {}", list.display());
    judge(findings(&tree.toml(FLOORS)?, &crates)?, sum(&crates))
}

/// For each file its lines, and whether each of them was run.
type Lines = BTreeMap<PathBuf, BTreeMap<usize, bool>>;

/// Lines of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    run: usize,
    all: usize,
}

impl Count {
    fn percent(self) -> f64 {
        100.0 * self.run as f64 / self.all.max(1) as f64
    }
}

/// Reads the format of lcov: `SF:` and a file, `DA:` and a line with the number of its runs. Lines
/// of unit tests are excluded.
fn lines(tree: &Tree, text: &str) -> Result<Lines> {
    let root = tree.root.canonicalize()?;
    let mut out = Lines::new();
    let mut file = PathBuf::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            let path = Path::new(path);
            file = path.strip_prefix(&root).unwrap_or(path).to_path_buf();
        } else if let Some((line, runs)) =
            line.strip_prefix("DA:").and_then(|it| it.split_once(','))
        {
            let line = line.parse().context("a line of lcov")?;
            // A generic function is listed once for each of its instances.
            let was_run = out
                .entry(file.clone())
                .or_default()
                .entry(line)
                .or_default();
            *was_run |= !matches!(runs.split(',').next(), Some("0"));
        }
    }
    for source in tree.sources("")? {
        if let Some(of) = out.get_mut(&source.path) {
            let live = source.live(Skip::Tests).into_iter();
            let live: BTreeSet<usize> = live.map(|token| token.line).collect();
            of.retain(|line, _| live.contains(line));
        }
    }
    out.retain(|_, of| !of.is_empty());
    Ok(out)
}

/// A line for each run of lines that no test runs.
fn unrun(lines: &Lines) -> String {
    let mut out = String::new();
    for (path, of) in lines {
        let mut open: Option<[usize; 2]> = None;
        let mut close = |open: Option<[usize; 2]>| match open {
            Some([first, last]) if first == last => _ = writeln!(out, "{}:{first}", path.display()),
            Some([first, last]) => _ = writeln!(out, "{}:{first}-{last}", path.display()),
            None => {}
        };
        for (line, was_run) in of {
            match (&mut open, was_run) {
                (_, true) => close(open.take()),
                (Some(range), false) => range[1] = *line,
                (None, false) => open = Some([*line; 2]),
            }
        }
        close(open);
    }
    out
}

/// The table by folder, and the counts of crates.
fn table(tree: &Tree, lines: &Lines) -> Result<(String, BTreeMap<String, Count>)> {
    let mut folders: Vec<String> = crates(tree)?.into_iter().map(|it| it.folder).collect();
    // The longest first: a crate may be inside the folder of another one.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    let (mut modules, mut of_crates) = (BTreeMap::new(), BTreeMap::new());
    for (path, of) in lines {
        let Some(folder) = folders.iter().find(|folder| path.starts_with(folder)) else {
            continue;
        };
        let inside = path.strip_prefix(folder)?;
        let depth = if inside.components().count() > 2 {
            2
        } else {
            1
        };
        let module: PathBuf = inside.iter().take(depth).collect();
        let module = Path::new(folder).join(module).display().to_string();
        let counts: [&mut Count; 2] = [
            modules.entry(module).or_default(),
            of_crates.entry(folder.clone()).or_default(),
        ];
        for count in counts {
            count.all += of.len();
            count.run += of.values().filter(|was_run| **was_run).count();
        }
    }
    let mut out = format!(
        "{:<36} {:>7} {:>7} {:>7}\n",
        "folder", "lines", "not run", "run"
    );
    for (name, count) in &modules {
        let (all, not) = (count.all, count.all - count.run);
        _ = writeln!(
            out,
            "{name:<36} {all:>7} {not:>7} {:>5.1} %",
            count.percent()
        );
    }
    Ok((out, of_crates))
}

/// Crates below their floor, and those without one.
fn findings(floors: &Table, crates: &BTreeMap<String, Count>) -> Result<Vec<String>> {
    let floors = floors.get("floors").and_then(Value::as_table);
    let floors = floors.with_context(|| format!("{FLOORS}: no [floors]"))?;
    let mut out = Vec::new();
    for (name, count) in crates {
        let percent = count.percent();
        match floors.get(name).and_then(Value::as_integer) {
            Some(floor) if percent < floor as f64 => out.push(format!(
                "{name}: tests run {percent:.1} % of the lines; the floor is {floor} %"
            )),
            Some(floor) => say!("{name}: {percent:.1} %, floor {floor} %"),
            None => out.push(format!("{name}: {percent:.1} %, but no floor in {FLOORS}")),
        }
    }
    Ok(out)
}

fn sum(crates: &BTreeMap<String, Count>) -> String {
    let add = |a: Count, b: &Count| Count {
        run: a.run + b.run,
        all: a.all + b.all,
    };
    let sum = crates.values().fold(Count::default(), add);
    format!("{:.1} % of {} lines", sum.percent(), sum.all)
}

#[cfg(test)]
mod tests {
    use super::{Count, findings, lines, table, unrun};
    use crate::tree::sample::Sample;

    fn sample() -> Sample {
        let manifest = "[package]\nname = \"c\"\nmetadata.tautline.layer = \"core\"";
        let text = "fn a() {\n  b();\n  c();\n\n  d();\n}\n#[cfg(test)]\nmod t {\n  fn e() {}\n}\n";
        Sample::new(&[
            ("Cargo.toml", "[workspace]\n"),
            ("c/Cargo.toml", manifest),
            ("c/src/lib.rs", "mod m;\nfn f() {}\n"),
            ("c/src/m/mod.rs", text),
        ])
    }

    fn info(tree: &Sample) -> String {
        let root = tree.root.canonicalize().unwrap();
        let at = root.display();
        format!(
            "SF:{at}/c/src/m/mod.rs\nDA:1,4\nDA:2,0\nDA:3,0\nDA:5,0\nDA:6,1\nDA:9,0\n\
             DA:2,0\nend_of_record\nSF:{at}/c/src/lib.rs\nDA:2,0\nDA:2,7\n"
        )
    }

    #[test]
    fn lines_of_tests_are_excluded_and_instances_united() {
        let tree = sample();
        let lines = lines(&tree, &info(&tree)).unwrap();
        assert_eq!(unrun(&lines), "c/src/m/mod.rs:2-5\n");
        let (table, crates) = table(&tree, &lines).unwrap();
        assert_eq!(crates["c"], Count { run: 3, all: 6 });
        assert!(
            table.contains("c/src/m ") && table.contains("c/src "),
            "{table}"
        );
    }

    #[test]
    fn a_crate_below_its_floor_or_without_one_is_a_finding() {
        let crates = [("c".to_owned(), Count { run: 3, all: 6 })].into();
        let found = |floors: &str| findings(&toml::from_str(floors).unwrap(), &crates);
        assert_eq!(found("[floors]\nc = 50").unwrap(), [""; 0]);
        assert!(found("[floors]\nc = 51").unwrap()[0].contains("the floor is 51 %"));
        assert!(found("[floors]\nd = 50").unwrap()[0].contains("no floor"));
        assert!(found("c = 50").is_err());
    }
}
