//! All tests of the workspace: test programs two at a time, then the examples of the documentation.
//!
//! `cargo test` runs one program after the other, many of which wait for most of their time.
//! Programs that measure, or inspect the whole machine, run one at a time after everything else. At
//! the end, each system is within its [`budget`].

mod budget;

use super::Verdict;
use super::cargo::of_all;
use crate::context::{Output, current, lock, say};
use crate::shell::{cargo, failed_tests, keep, test, timed};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Plain `cargo test`, so that a machine with nothing but Rust can run it.
const BUILD: &str = "--no-fail-fast --no-run --message-format=json-render-diagnostics";

/// The number of programs that run at once; each of them has threads of its own.
const AT_ONCE: usize = 2;

/// Programs that run alone: package, target, reason.
const ALONE: &[(&str, &str, &str)] = &[
    ("apps", "bench", MEASURES),
    ("apps", "bench_figures", MEASURES),
    ("apps", "bench_suite", MEASURES),
    ("apps", "cost", MEASURES),
    ("apps", "kills", PUNCTUAL),
    (
        "apps",
        "launch_limits",
        "sets limits on the processes of a user",
    ),
    ("apps", "loss", PUNCTUAL),
    ("apps", "pinning", PINS),
    ("apps", "ranks_pinned", PINS),
    ("apps", "readme", PUNCTUAL),
    ("apps", "simulate", PUNCTUAL),
    ("apps", "topo", PINS),
    ("apps", "tuner", MEASURES),
    ("backends/node", "idle", MEASURES),
    ("backends/node", "quiet", MEASURES),
    ("backends/node", "soak", MEASURES),
    ("platforms", "attended", PUNCTUAL),
    ("platforms", "fork_shapes", MEASURES),
    ("platforms", "leaving", PUNCTUAL),
    ("platforms", "loops_progress", PUNCTUAL),
    ("platforms", "stalled", PUNCTUAL),
    ("platforms", "times", MEASURES),
    ("platforms", "unpinned", PINS),
    ("platforms/examples/server", "server", PUNCTUAL),
];
const MEASURES: &str = "measures time or processor time";
const PUNCTUAL: &str = "something must happen within seconds";
const PINS: &str = "depends on which processors others have claimed";

/// Processor time of the programs that have ended, of both parts of the job.
static SPENT: Mutex<budget::Spent> = Mutex::new(budget::Spent::new());

/// A program with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    /// The folder of its package, relative to the root.
    folder: String,
    target: String,
    file: PathBuf,
}

impl Program {
    fn name(&self) -> String {
        format!("{} {}", self.folder, self.target)
    }

    fn is_alone(&self) -> bool {
        let mut alone = ALONE.iter();
        alone.any(|(folder, target, _)| (*folder, *target) == (&self.folder, &self.target))
    }
}

/// All tests but those that need the machine for themselves.
pub(super) fn together(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let programs = build(tree)?;
    let missing = ALONE.iter().find(|(folder, target, _)| {
        let is_it = |p: &Program| (&*p.folder, &*p.target) == (*folder, *target);
        !programs.iter().any(is_it)
    });
    if let Some((folder, target, _)) = missing {
        bail!("`{target}` of {folder} is no test program, but is listed as one that runs alone");
    }
    let chosen = programs.iter().filter(|it| !it.is_alone());
    let run = run_all(tree, chosen.collect(), AT_ONCE);
    test(&mut of_all(tree, "test", "--no-fail-fast --doc")?)?;
    // Only an unstable rustdoc checks the error codes of `compile_fail` examples; only core's
    // examples name codes.
    let codes = "test -p tautline-core --doc";
    test(cargo(tree, codes.split(' ')).env("RUSTC_BOOTSTRAP", "1"))?;
    run
}

/// The others, one at a time.
pub(super) fn alone(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let programs = build(tree)?;
    let chosen = programs.iter().filter(|it| it.is_alone());
    let run = run_all(tree, chosen.collect(), 1);
    let (spent, slowness) = (lock(&SPENT).clone(), budget::slowness());
    say!(
        "\n{}limits are those of the reference x {slowness:.2}",
        budget::table(&spent)
    );
    let verdict = run?;
    match &budget::findings(&spent, slowness)[..] {
        [] => Ok(verdict),
        over => bail!(
            "{} systems over their limits\n{}",
            over.len(),
            over.join("\n")
        ),
    }
}

/// Builds all tests as `cargo test` does. Returns their programs.
fn build(tree: &Tree) -> Result<Vec<Program>> {
    let mut command = of_all(tree, "test", BUILD)?;
    let said = keep(&mut command)?;
    if !said.ok {
        bail!("the tests do not build");
    }
    let root = tree.root.canonicalize()?;
    programs(&said.out, &root)
}

/// Reads the test programs from cargo's messages, in cargo's order.
fn programs(messages: &str, root: &Path) -> Result<Vec<Program>> {
    let mut out = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("a message of cargo")?;
        if message["profile"]["test"] != Value::Bool(true) {
            continue;
        }
        let Some(file) = message["executable"].as_str() else {
            continue;
        };
        let at = |value: &Value| value.as_str().map(str::to_owned);
        let manifest = at(&message["manifest_path"]).context("a test program without a package")?;
        let folder = Path::new(&manifest).parent().unwrap_or(root);
        let folder = folder.strip_prefix(root).unwrap_or(folder);
        out.push(Program {
            folder: folder.to_string_lossy().into_owned(),
            target: at(&message["target"]["name"]).context("a test program without a name")?,
            file: file.into(),
        });
    }
    if out.is_empty() {
        bail!("cargo names no test programs");
    }
    Ok(out)
}

/// Runs programs, some at once. The output of each is printed whole, when it has ended.
fn run_all(tree: &Tree, programs: Vec<&Program>, at_once: usize) -> Result<Verdict> {
    let number = programs.len();
    let (next, findings) = (Mutex::new(programs.into_iter()), Mutex::new(Vec::new()));
    let context = current();
    let lane = || {
        loop {
            let Some(program) = lock(&next).next() else {
                return;
            };
            let (output, text) = Output::collecting();
            let (failed, used) = context.with_output(output).enter(|| run(tree, program));
            context.output.text(&lock(&text));
            let system = budget::system(&program.target).to_owned();
            let key = (program.folder.clone(), system);
            *lock(&SPENT).entry(key).or_default() += used;
            lock(&findings).extend(failed);
        }
    };
    thread::scope(|scope| (0..at_once).for_each(|_| _ = scope.spawn(lane)));
    let findings = findings.into_inner().unwrap_or_default();
    match findings.len() {
        0 => Ok(Verdict::Holds(format!("{number} programs"))),
        n => bail!("{n} failed tests\n{}", findings.join("\n")),
    }
}

/// Runs a program as cargo does. Returns the names of tests that failed, and its processor time.
fn run(tree: &Tree, program: &Program) -> (Vec<String>, Duration) {
    say!("\n--- {}", program.name());
    let folder = tree.path(&program.folder);
    let mut command = Command::new(&program.file);
    // Set by the cargo that runs this, for this program.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    command
        .env("CARGO_MANIFEST_PATH", folder.join("Cargo.toml"))
        .env("CARGO_MANIFEST_DIR", &folder)
        .current_dir(&folder);
    let named = |what: &str| format!("{}: {what}", program.name());
    let start = Instant::now();
    let end = timed(&mut command);
    let used = end.as_ref().map_or(Duration::ZERO, |(_, used)| *used);
    let [wall, processors] = [start.elapsed(), used].map(|time| time.as_secs_f64());
    say!(
        "{}: {wall:.1} s, {processors:.1} s of processors",
        program.name()
    );
    let failed = match end {
        Err(error) => vec![named(&format!("{error:#}"))],
        Ok((said, _)) if said.ok => Vec::new(),
        Ok((said, _)) => match &failed_tests(&said.out)[..] {
            [] => vec![named("ended early")],
            names => names.iter().map(|name| named(name)).collect(),
        },
    };
    (failed, used)
}

#[cfg(test)]
mod tests {
    use super::{ALONE, Program, SPENT, programs, run_all};
    use crate::context::lock;
    use crate::jobs::Verdict;
    use crate::tree::sample::Sample;
    use std::path::Path;

    #[test]
    fn programs_with_tests_are_read_from_the_messages_of_cargo() {
        let message = |target: &str, test: bool, file: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/r/apps/Cargo.toml\",\
                 \"target\":{{\"name\":\"{target}\"}},\"profile\":{{\"test\":{test}}},\"executable\":{file}}}\n"
            )
        };
        let messages = message("tool", false, "\"/r/t/tool\"")
            + &message("lib", true, "null")
            + "a line of a build script\n"
            + &message("bench", true, "\"/r/t/bench-1\"")
            + "{\"reason\":\"build-finished\",\"success\":true}\n";
        let found = programs(&messages, Path::new("/r")).unwrap();
        let [program] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(program.name(), "apps bench");
        assert!(program.is_alone() && program.file.ends_with("bench-1"));
        assert!(programs("", Path::new("/r")).is_err());
        assert!(programs("{", Path::new("/r")).is_err());
    }

    #[test]
    fn a_program_is_listed_once() {
        for (at, row) in ALONE.iter().enumerate() {
            let is_same = |other: &&(&str, &str, &str)| (other.0, other.1) == (row.0, row.1);
            assert_eq!(ALONE.iter().position(|other| is_same(&other)), Some(at));
        }
    }

    #[cfg(unix)]
    #[test]
    fn all_programs_run_in_their_package_and_all_failed_tests_are_named() {
        use std::os::unix::fs::PermissionsExt;
        let files = [
            (
                "p/good",
                "#!/bin/sh\ntest -f here && test \"$CARGO_MANIFEST_DIR\" = \"$PWD\"",
            ),
            (
                "p/bad",
                "#!/bin/sh\nprintf 'failures:\\n    a::b\\n    c\\n'; exit 101",
            ),
            ("p/lost", "#!/bin/sh\nkill -9 $$"),
            ("p/here", ""),
        ];
        let tree = Sample::new(&files);
        let program = |name: &str| {
            let file = tree.path("p").join(name);
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&file, mode).unwrap();
            Program {
                folder: "p".to_owned(),
                target: name.to_owned(),
                file,
            }
        };
        let all = ["lost", "bad", "good"].map(program);
        let only = run_all(&tree, vec![&all[2]], 2).unwrap();
        assert!(matches!(only, Verdict::Holds(said) if said == "1 programs"));
        let key = |system: &str| ("p".to_owned(), system.to_owned());
        assert!(lock(&SPENT).contains_key(&key("good")) && !lock(&SPENT).contains_key(&key("bad")));
        let error = run_all(&tree, all.iter().collect(), 2)
            .unwrap_err()
            .to_string();
        let mut lines: Vec<&str> = error.lines().collect();
        lines.sort_unstable();
        let expected = [
            "3 failed tests",
            "p bad: a::b",
            "p bad: c",
            "p lost: ended early",
        ];
        assert_eq!(lines, expected);
    }
}
