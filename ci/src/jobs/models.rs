//! Loom over the words, random schedules of them, and the explorer over the protocols.

use super::proofs::{Choice, Plan};
use super::{Verdict, counted, judge};
use crate::context::say;
use crate::shell::{Said, cargo, failed_tests, long_run, target_dir, tee, with_loom, with_shuttle};
use crate::tree::Tree;
use anyhow::{Result, anyhow};
use std::process::Command;

const TESTS: &str = "verify/tests";
/// The file whose model must be caught by loom.
const CANARY: &str = "canary";
/// The explorer's file.
pub(super) const EXPLORE: &str = "explore";
/// The files without models, which run without loom.
const WITHOUT_LOOM: &[&str] = &[EXPLORE, "conform"];

/// The files that run with shuttle: words and phasers under random schedules, and in virtual time.
const SCHEDULES: &[&str] = &["schedules", "phased", "virtual_time"];

/// The one of them that has a canary.
const WITH_CANARY: &str = "schedules";
/// Parts of the names of explorations of protocols with a mistake, which must be found.
const MISTAKES: &[&str] = &["found", "detected", "is_seen", "too_early"];

/// `cargo test` of one file of verify/tests, with loom unless the file holds no models or runs with
/// shuttle.
pub(super) fn test_command(tree: &Tree, file: &str) -> Command {
    let words = ["test", "--release", "-p", "tautline-verify", "--test", file];
    let mut command = cargo(tree, words);
    long_run(&mut command);
    let own = |folder| target_dir(tree).join(folder);
    if SCHEDULES.contains(&file) {
        with_shuttle(&mut command)
            .env("CARGO_TARGET_DIR", own("schedules"))
            // Few programs, which run long: this saves more than it costs.
            .env("CARGO_PROFILE_RELEASE_LTO", "thin");
    } else if !WITHOUT_LOOM.contains(&file) {
        with_loom(&mut command).env("CARGO_TARGET_DIR", own("models"));
    }
    command
}

/// Compiles `files`, which are all with loom or all with shuttle, at once: one after the other they
/// would leave processors idle. A file that does not compile is found when it is run.
fn build(tree: &Tree, files: &[&str]) -> Result<()> {
    let [first, others @ ..] = files else {
        return Ok(());
    };
    let mut command = test_command(tree, first);
    for file in others {
        command.args(["--test", file]);
    }
    tee(command.arg("--no-run"))?;
    Ok(())
}

fn said(tree: &Tree, file: &str, bound: Option<&str>) -> Result<Said> {
    let words = ["--", "--nocapture"];
    let mut command = test_command(tree, file);
    if let Some(bound) = bound {
        command.env("TAUTLINE_BOUND", bound);
    }
    tee(command.args(words))
}

pub(super) fn models(tree: &Tree, _: &[String]) -> Result<Verdict> {
    all_models(tree, None, Choice::Changed)
}

/// Runs all models, each with one preemption more than its own bound.
pub(super) fn wider(tree: &Tree, _: &[String]) -> Result<Verdict> {
    all_models(tree, Some("+1"), Choice::Other)
}

/// Runs everything, whatever has passed before.
pub(super) fn proofs(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut said = Vec::new();
    for verdict in [
        all_models(tree, None, Choice::All)?,
        all_schedules(tree, Choice::All)?,
        all_explorations(tree, Choice::All)?,
    ] {
        match verdict {
            Verdict::Holds(one) => said.push(one),
            cannot @ Verdict::CannotRun(_) => return Ok(cannot),
        }
    }
    Ok(Verdict::Holds(said.join("; ")))
}

/// Chooses which of these files are run.
fn plan(tree: &Tree, files: &[&str], always: &[&str], choice: Choice) -> Result<Plan> {
    let command = |file: &&str| ((*file).to_owned(), test_command(tree, file));
    Plan::new(tree, files.iter().map(command).collect(), always, choice)
}

/// The files that run with loom.
fn loom_files(tree: &Tree) -> Vec<String> {
    let mut programs = tree.programs(TESTS);
    programs.retain(|name| !WITHOUT_LOOM.contains(&&**name) && !SCHEDULES.contains(&&**name));
    programs
}

/// `cargo test` of all files that run with loom, as one command.
pub(super) fn loom_command(tree: &Tree) -> Command {
    let mut command = test_command(tree, CANARY);
    for file in loom_files(tree).iter().filter(|file| *file != CANARY) {
        command.args(["--test", file]);
    }
    command
}

fn all_models(tree: &Tree, bound: Option<&str>, choice: Choice) -> Result<Verdict> {
    let with_loom = loom_files(tree);
    let with_loom: Vec<&str> = with_loom.iter().map(String::as_str).collect();
    let mut plan = plan(tree, &with_loom, &[CANARY], choice)?;
    let running = with_loom.iter().copied().filter(|file| plan.runs(file));
    build(tree, &running.collect::<Vec<_>>())?;
    let mut found = Found::default();
    for file in with_loom {
        if file != CANARY && plan.runs(file) {
            found.run(tree, file, bound, MODEL, &mut plan);
        }
    }
    if tree.has(format!("{TESTS}/{CANARY}.rs")) {
        let said = said(tree, CANARY, None)?;
        found.findings.extend(judge_canary(&said));
        match counted::parse(&said.out, MODEL.word, MODEL.unit) {
            Ok(own) => found.lines.extend(own),
            Err(error) => found.findings.push(format!("{TESTS}/{CANARY}.rs: {error}")),
        }
    } else {
        found.findings.push(format!(
            "{TESTS}/{CANARY}.rs: missing, so nothing shows that loom sees the atomics"
        ));
    }
    found.end(tree, MODEL, plan)
}

/// Report of a file on each of its programs: the first word of its line, the unit, and the name of
/// a program.
#[derive(Clone, Copy)]
struct Report {
    word: &'static str,
    unit: &'static str,
    what: &'static str,
}

const MODEL: Report = Report {
    word: "MODEL",
    unit: "executions",
    what: "model",
};
const SCHEDULE: Report = Report {
    word: "SCHEDULES",
    unit: "schedules",
    what: "program",
};
const EXPLORATION: Report = Report {
    word: "EXPLORE",
    unit: "states",
    what: "exploration",
};

/// The results of all files that were run.
#[derive(Default)]
struct Found {
    lines: Vec<counted::Counted>,
    findings: Vec<String>,
}

impl Found {
    /// Runs a file.
    fn run(
        &mut self,
        tree: &Tree,
        file: &str,
        bound: Option<&str>,
        report: Report,
        plan: &mut Plan,
    ) {
        let (own, mut wrong) = match said(tree, file, bound) {
            Ok(said) => judge_file(file, &said, report.word, report.unit),
            Err(error) => (Vec::new(), vec![format!("{TESTS}/{file}.rs: {error:#}")]),
        };
        let floors = counted::findings(&own, report.what, report.unit);
        plan.ended(file, wrong.is_empty() && floors.is_empty(), &own);
        self.lines.extend(own);
        self.findings.append(&mut wrong);
    }

    /// Judges all lines, and stores what passed.
    fn end(mut self, tree: &Tree, report: Report, plan: Plan) -> Result<Verdict> {
        let Report { unit, what, .. } = report;
        if !self.lines.is_empty() || plan.all_run() {
            let wrong = counted::findings(&self.lines, what, unit);
            self.findings.extend(wrong);
        }
        say!("\n{}", counted::table(&self.lines, what, unit));
        let total = counted::total(&self.lines);
        let number = self.lines.len();
        let said = format!("{number} {what}s, {total} {unit}{}", plan.unchanged(unit));
        plan.store(tree)?;
        judge(self.findings, said)
    }
}

pub(super) fn schedules(tree: &Tree, _: &[String]) -> Result<Verdict> {
    all_schedules(tree, Choice::Changed)
}

/// The canary is among them: a barrier with a bug, which fails its test when no schedule shows it.
fn all_schedules(tree: &Tree, choice: Choice) -> Result<Verdict> {
    for file in SCHEDULES {
        if !tree.has(format!("{TESTS}/{file}.rs")) {
            return Err(anyhow!("{TESTS}/{file}.rs: missing"));
        }
    }
    let mut plan = plan(tree, SCHEDULES, &[WITH_CANARY], choice)?;
    let running = SCHEDULES.iter().copied().filter(|file| plan.runs(file));
    let running: Vec<&str> = running.collect();
    build(tree, &running)?;
    let mut found = Found::default();
    for file in running {
        found.run(tree, file, None, SCHEDULE, &mut plan);
    }
    found.findings.extend(schedules_canary(&found.lines));
    found.end(tree, SCHEDULE, plan)
}

fn schedules_canary(lines: &[counted::Counted]) -> Option<String> {
    let caught = lines.iter().any(|line| line.name == CANARY);
    (!caught).then(|| format!("{TESTS}: no `SCHEDULES {CANARY} …`: shuttle sees no atomics"))
}

pub(super) fn explore(tree: &Tree, _: &[String]) -> Result<Verdict> {
    all_explorations(tree, Choice::Changed)
}

fn all_explorations(tree: &Tree, choice: Choice) -> Result<Verdict> {
    if !tree.has(format!("{TESTS}/{EXPLORE}.rs")) {
        return Err(anyhow!("{TESTS}/{EXPLORE}.rs: missing"));
    }
    let mut plan = plan(tree, &[EXPLORE], &[], choice)?;
    let mut found = Found::default();
    if plan.runs(EXPLORE) {
        found.run(tree, EXPLORE, None, EXPLORATION, &mut plan);
    } else {
        // Unchanged; that the explorer finds mistakes is seen anyway.
        let mut command = test_command(tree, EXPLORE);
        let said = tee(command.arg("--").args(MISTAKES))?;
        if !said.ok || counted::passed(&said.out) == 0 {
            let names = failed_tests(&said.out).join(", ");
            let finding = format!("{TESTS}/{EXPLORE}.rs: mistakes are not found: {names}");
            found.findings.push(finding);
            plan.ended(EXPLORE, false, &[]);
        }
    }
    found.end(tree, EXPLORATION, plan)
}

/// The lines of one test file, and what is wrong with the file as a whole. A model is a test, so
/// fewer lines than tests means that one of them has no floor.
fn judge_file(
    file: &str,
    said: &Said,
    word: &str,
    unit: &str,
) -> (Vec<counted::Counted>, Vec<String>) {
    let at = format!("{TESTS}/{file}.rs");
    let mut findings = Vec::new();
    if !said.ok {
        match &failed_tests(&said.out)[..] {
            [] => findings.push(format!("{at}: did not build, or ended early")),
            names => findings.push(format!("{at}: failed: {}", names.join(", "))),
        }
    }
    let lines = counted::parse(&said.out, word, unit).unwrap_or_else(|error| {
        findings.push(format!("{at}: {error}"));
        Vec::new()
    });
    let tests = counted::passed(&said.out);
    if said.ok && (lines.len() as u64) < tests.max(1) {
        findings.push(format!(
            "{at}: {tests} tests, but {} lines `{word} …`: which one has no floor?",
            lines.len()
        ));
    }
    (lines, findings)
}

/// The canary is a race through `tautline_core::sync`: where loom does not catch it, loom sees no
/// atomics, and no other model means anything.
fn judge_canary(said: &Said) -> Vec<String> {
    let start = "CANARY caught executions=";
    let count = said.out.lines().find_map(|line| {
        let at = line.find(start)?;
        line[at + start.len()..].trim().parse::<u64>().ok()
    });
    match count {
        Some(n) if n > 0 && said.ok => Vec::new(),
        Some(_) if !said.ok => vec![format!("{TESTS}/{CANARY}.rs: the test failed")],
        _ => vec![format!(
            "{TESTS}/{CANARY}.rs: not caught: the gate is wrong: loom sees no atomics"
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::{judge_canary, judge_file, schedules_canary};
    use crate::jobs::counted;
    use crate::shell::Said;

    fn said(ok: bool, out: &str) -> Said {
        Said {
            ok,
            out: out.to_owned(),
            err: String::new(),
        }
    }

    const LINE: &str = "test a ... MODEL a executions=9 floor=9 bound=3 seconds=0.1\nok\n";

    fn wrong(said: &Said) -> usize {
        judge_file("deque", said, "MODEL", "executions").1.len()
    }

    #[test]
    fn a_file_needs_a_line_for_each_test() {
        let one = format!("{LINE}test result: ok. 1 passed; 0 failed");
        let two = format!("{LINE}test result: ok. 2 passed; 0 failed");
        assert_eq!(wrong(&said(true, &one)), 0);
        assert_eq!(wrong(&said(true, &two)), 1);
        assert_eq!(wrong(&said(true, "test result: ok. 0 passed; 0 failed")), 1);
        assert_eq!(wrong(&said(false, &one)), 1);
    }

    #[test]
    fn the_canary_of_the_schedules_must_be_caught() {
        let lines = |name: &str| {
            let line = format!("SCHEDULES {name} schedules=9 floor=1 seconds=0.1");
            counted::parse(&line, "SCHEDULES", "schedules").unwrap()
        };
        assert_eq!(schedules_canary(&lines("canary")), None);
        assert!(schedules_canary(&lines("lock")).is_some());
    }

    #[test]
    fn the_canary_must_be_caught() {
        let caught = "test store_buffering ... CANARY caught executions=4\n";
        assert!(judge_canary(&said(true, caught)).is_empty());
        assert_eq!(judge_canary(&said(true, "ok")).len(), 1);
        assert_eq!(judge_canary(&said(false, caught)).len(), 1);
        let never = "CANARY caught executions=0\n";
        assert!(judge_canary(&said(true, never))[0].contains("loom sees no atomics"));
    }
}
