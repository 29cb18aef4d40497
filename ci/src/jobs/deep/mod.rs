//! Checks that take too long for every change: all tests marked `#[ignore = "cargo ci deep: …"]`,
//! with optimised code, and the long jobs. `cargo ci deep NAME…` runs the steps whose name contains
//! one of the words.
//!
//! [`ledger`] keeps when each step last passed; `cargo ci deep --list` shows it.
//!
//! A test is marked by its reason and named in [`STEPS`]; a unit test of this crate fails if either
//! is missing, so that no ignored test is forgotten.

mod coverage;
mod dense;
mod deny;
mod ignored;
mod ledger;
mod semver;
mod tool;

use super::cargo as cargo_jobs;
use super::counted::passed;
use super::{
    Verdict, cost, cross, litmus, models, mpi, mutants, native, package, sanitizers, soak,
    static_file, systems, weaken,
};
use crate::context::{self, say};
use crate::crates::named;
use crate::shell::{cargo, quiet, tee};
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::process::Command;
use std::time::Instant;

/// One line of the job.
struct Step {
    name: &'static str,
    what: What,
    /// Run only if one of the words names it: takes hours.
    hours: bool,
    needs: Needs,
}

enum Needs {
    Nothing,
    /// A program that must be installed.
    Program(&'static str),
    /// A variable that must name something that the repository does not contain.
    Variable(&'static str),
}

enum What {
    Ignored(Ignored),
    Job(fn(&Tree, &[String]) -> Result<Verdict>),
}

/// Ignored tests of one program.
struct Ignored {
    package: &'static str,
    target: &'static str,
    /// Part of the tests' names, with their module where the program has several.
    filter: &'static str,
}

impl Ignored {
    /// The filter without modules.
    fn leaf(&self) -> &'static str {
        self.filter.rsplit("::").next().unwrap_or(self.filter)
    }
}

const fn tests(
    name: &'static str,
    package: &'static str,
    target: &'static str,
    filter: &'static str,
) -> Step {
    let row = Ignored {
        package,
        target,
        filter,
    };
    Step {
        name,
        what: What::Ignored(row),
        hours: false,
        needs: Needs::Nothing,
    }
}

const fn job(name: &'static str, run: fn(&Tree, &[String]) -> Result<Verdict>) -> Step {
    Step {
        name,
        what: What::Job(run),
        hours: false,
        needs: Needs::Nothing,
    }
}

const STEPS: &[Step] = &[
    tests("uts", "tautline-cli", "uts_engines", "large_trees"),
    tests(
        "uts-table",
        "tautline-cli",
        "",
        "rule::tests::table_is_the_formula",
    ),
    tests("counts", "tautline-cli", "counts", "large_trees"),
    tests("queens", "tautline-cli", "nqueens", "large_boards"),
    tests("boards", "tautline-cli", "pentomino", "large_boards"),
    tests("trees", "tautline-cli", "counts", "long_trees"),
    tests("p7", "tautline-cli", "counts", "the_longest_tree"),
    tests(
        "combinations",
        "tautline-cli",
        "counts",
        "every_combination",
    ),
    tests(
        "chunked",
        "tautline-cli",
        "ranks",
        "every_chunk_and_interval",
    ),
    tests("lifelines", "tautline-core", "lifeline", "every_radix"),
    tests(
        "chunks",
        "tautline-core",
        "taper",
        "policies::every_policy_covers_every_loop",
    ),
    tests(
        "parcels",
        "tautline-core",
        "wire",
        "hostile::many_spoilt_parcels",
    ),
    tests(
        "bodies",
        "tautline-core",
        "wire",
        "hostile::many_spoilt_bodies",
    ),
    tests("fuzz", "tautline-core", "wire_fuzz", "ten_million_changed"),
    tests(
        "tsplib",
        "tautline-cli",
        "tsplib_mutated",
        "a_million_mutated",
    ),
    tests("readers", "tautline-cli", "readers", "a_million_mutated"),
    tests("pentomino", "tautline-cli", "pentomino", "longer_one_sided"),
    tests(
        "programs",
        "tautline-cli",
        "selftest",
        "many_programs_over_ranks",
    ),
    tests(
        "fuzzed-finishes",
        "tautline",
        "",
        "fuzz::ten_million_records",
    ),
    tests(
        "fuzzed-accesses",
        "tautline",
        "",
        "fuzz::ten_million_messages",
    ),
    tests(
        "spawns",
        "tautline",
        "team_bounds",
        "memory_of_ten_million_spawns",
    ),
    tests(
        "teams",
        "tautline",
        "team_bounds",
        "memory_of_ten_thousand_teams",
    ),
    tests(
        "ordered-objects",
        "tautline",
        "globals_litmus",
        "a_million_rounds",
    ),
    tests(
        "object-histories",
        "tautline",
        "globals_histories",
        "ten_million_accesses",
    ),
    tests(
        "histories-of-processes",
        "tautline-cli",
        "globals",
        "ten_million_accesses",
    ),
    tests(
        "graph-files",
        "tautline-cli",
        "graph_files",
        "a_million_mutated_files",
    ),
    tests(
        "frozen",
        "tautline-cli",
        "tuner",
        "frozen::a_frozen_tuner_costs",
    ),
    tests(
        "curves",
        "tautline-cli",
        "tuner",
        "curves::curves_of_a_large",
    ),
    tests(
        "deferred",
        "tautline-sim",
        "loops",
        "larger_shares_are_compared",
    ),
    tests("rules", "tautline-cli", "tuner", "rules::rules_on_a_real"),
    tests("direct", "tautline-cli", "tuner", "rules::direct_is_near"),
    tests(
        "merge-empty",
        "tautline-cli",
        "tuner",
        "rules::merge_empty_is_near",
    ),
    Step {
        needs: Needs::Variable("TAUTLINE_TREES"),
        ..tests(
            "trees-of-machines",
            "tautline-node",
            "machine",
            "gathered_trees",
        )
    },
    tests(
        "named-cells",
        "tautline-core",
        "space_memory",
        "ten_million_cells",
    ),
    tests(
        "lost-objects",
        "tautline-verify",
        "explore",
        "coherence::one_of_three_ranks_is_lost",
    ),
    tests("simulator", "tautline-sim", "sim", "a_thousand_places"),
    tests("faults", "tautline-sim", "engine", "ten_thousand_seeds"),
    tests("tables", "tautline-cli", "tables", "the_papers_own_trees"),
    tests(
        "memory",
        "tautline-cli",
        "memory",
        "a_hundred_thousand_places",
    ),
    tests("model", "tautline-cli", "cost", "the_model_is_near"),
    Step {
        needs: Needs::Program("valgrind"),
        ..tests("cost", "tautline-cli", "cost", "the_balancer_adds_few")
    },
    job("core-cost", cost::check),
    job("cross", cross::run_all),
    job("native", native::run_all),
    job("mpi", mpi::run_all),
    job("coverage", coverage::run),
    job("dense", dense::run),
    job("deny", deny::run),
    job("package", package::run),
    job("semver", semver::run),
    job("soak", soak::run_all),
    job("static", static_file::run_all),
    job("systems", systems::run_all),
    tests(
        "launches",
        "tautline-process",
        "launch",
        "a_thousand_launches",
    ),
    tests(
        "launched-apps",
        "tautline-cli",
        "launch",
        "a_thousand_launches",
    ),
    tests(
        "killed-ranks",
        "tautline-cli",
        "kills",
        "two_hundred_killed_ranks",
    ),
    tests(
        "killed-results",
        "tautline-cli",
        "kills",
        "two_hundred_results_without_a_rank",
    ),
    tests(
        "killed-finishes",
        "tautline-cli",
        "kills_in_finishes",
        "two_hundred_kills_in_finishes",
    ),
    tests(
        "killed-accesses",
        "tautline-cli",
        "kills_in_globals",
        "two_hundred_kills_in_accesses",
    ),
    tests(
        "stopped-finishes",
        "tautline-cli",
        "kills_in_finishes",
        "ranks_stopped_for_five_seconds",
    ),
    tests(
        "killed-launchers",
        "tautline-cli",
        "kills",
        "fifty_killed_launchers",
    ),
    job("wrapping", cargo_jobs::wrapping),
    job("asan", sanitizers::asan_all),
    job("tsan", sanitizers::tsan),
    job("tsan-ranks", sanitizers::tsan_ranks),
    job("mutants", all_mutants),
    job("weaken", weaken::run_all),
    job("litmus", litmus::run),
    job("proofs", models::proofs),
    Step {
        hours: true,
        ..job("models-wider", models::wider)
    },
    Step {
        hours: true,
        ..tests(
            "pentomino-9x10",
            "tautline-cli",
            "pentomino",
            "longest_one_sided",
        )
    },
];

/// The word that lists the steps instead of running them.
const LIST: &str = "--list";

/// The words name steps of this job, not mutants.
fn all_mutants(tree: &Tree, _: &[String]) -> Result<Verdict> {
    mutants::run(tree, &[])
}

/// The steps that the words ask for.
fn asked(words: &[String]) -> Vec<&'static Step> {
    let named = |step: &Step| words.iter().any(|word| step.name.contains(&**word));
    let all = STEPS.iter();
    all.filter(|step| named(step) || words.is_empty() && !step.hours)
        .collect()
}

pub(super) fn run(tree: &Tree, words: &[String]) -> Result<Verdict> {
    let forgotten = ignored::check(tree)?;
    if !forgotten.is_empty() {
        bail!("{}", forgotten.join("\n"));
    }
    if words == [LIST] {
        let names = STEPS.iter().map(|step| step.name);
        context::text(&ledger::listing(tree, names)?);
        return Ok(Verdict::Holds(format!("{} steps", STEPS.len())));
    }
    let steps = asked(words);
    if steps.is_empty() {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("no step is named so; allowed: {}", names.join(", "));
    }
    let mut lines = String::new();
    let (mut failed, mut cannot) = (Vec::new(), Vec::new());
    for step in &steps {
        say!("\n--- deep: {}", step.name);
        let start = Instant::now();
        let (mark, said) = match recorded(tree, step) {
            Ok(Verdict::Holds(said)) => ("ok", said),
            Ok(Verdict::CannotRun(why)) => {
                cannot.push(format!("{}: {why}", step.name));
                ("not run", why)
            }
            Err(error) => {
                failed.push(step.name);
                ("FAILED", format!("{error:#}"))
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let line = format!(
            "DEEP {:<14} {mark:<8} {seconds:>8.1} s  {said}\n",
            step.name
        );
        context::text(&line);
        lines += &line;
    }
    context::text(&format!("\n{lines}"));
    for step in STEPS.iter().filter(|step| step.hours && words.is_empty()) {
        say!("DEEP {:<14} by its name only: takes hours", step.name);
    }
    match (failed.is_empty(), cannot.is_empty()) {
        (false, _) => bail!("failed: {}", failed.join(", ")),
        (_, false) => Ok(Verdict::CannotRun(cannot.join("; "))),
        _ => Ok(Verdict::Holds(format!("{} steps", steps.len()))),
    }
}

/// Runs a step, and notes its success unless this is a server or the checkout has changes.
fn recorded(tree: &Tree, step: &Step) -> Result<Verdict> {
    let needed = match step.needs {
        Needs::Variable(name) => Some(name),
        _ => None,
    };
    let (start, commit) = (Instant::now(), ledger::commit(tree, needed));
    let verdict = perform(tree, step)?;
    let is_server = std::env::var_os("CI").is_some_and(|v| v == "true");
    if let (Verdict::Holds(_), false) = (&verdict, is_server) {
        let after = ledger::commit(tree, needed);
        match commit.filter(|commit| after.as_ref() == Some(commit)) {
            Some(commit) => ledger::note(tree, step.name, commit, start.elapsed().as_secs_f64())?,
            None => say!("not recorded: the checkout has changes, or variables are set"),
        }
    }
    Ok(verdict)
}

fn perform(tree: &Tree, step: &Step) -> Result<Verdict> {
    if let Some(missing) = missing(&step.needs) {
        return Ok(Verdict::CannotRun(missing));
    }
    match &step.what {
        What::Ignored(row) => ignored_tests(tree, row),
        What::Job(run) => run(tree, &[]),
    }
}

/// Returns what a step needs and this machine does not have.
fn missing(needs: &Needs) -> Option<String> {
    match needs {
        Needs::Nothing => None,
        Needs::Program(program) => {
            let found = quiet(Command::new(program).arg("--version"));
            let is_found = found.is_ok_and(|said| said.ok);
            (!is_found).then(|| format!("{program} is not installed"))
        }
        Needs::Variable(name) => {
            let is_set = std::env::var_os(name).is_some();
            (!is_set).then(|| format!("{name} is not set"))
        }
    }
}

/// Optimised as a release is, but for the whole-program pass, and without assertions: some measure.
fn ignored_tests(tree: &Tree, row: &Ignored) -> Result<Verdict> {
    // All features: some test programs exist with theirs only.
    let mut words = vec!["test", "--release", "-p", row.package];
    let features = named(tree, row.package)?.all_features();
    words.extend(features.iter().map(String::as_str));
    match row.target {
        "" => words.push("--lib"),
        target => words.extend(["--test", target]),
    }
    let mut command = cargo(tree, words);
    command
        .args([row.filter, "--", "--ignored", "--nocapture"])
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    let said = tee(&mut command)?;
    let tests = passed(&said.out);
    match (said.ok, tests) {
        (false, _) => bail!("tests failed"),
        (true, 0) => bail!("no test is named so"),
        (true, n) => Ok(Verdict::Holds(format!("{n} tests"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{STEPS, asked, ledger};
    use crate::tree::Tree;

    #[test]
    fn words_choose_and_hours_are_only_by_name() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&w| w.to_owned()).collect();
            asked(&words)
                .iter()
                .map(|step| step.name)
                .collect::<Vec<_>>()
        };
        assert!(names(&[]).contains(&"soak") && !names(&[]).contains(&"pentomino-9x10"));
        assert_eq!(names(&["9x10"]), ["pentomino-9x10"]);
        assert_eq!(names(&["soak", "tsan"]), ["soak", "tsan", "tsan-ranks"]);
        assert!(names(&["unheard of"]).is_empty());
        for step in ledger::recorded(&Tree::here().unwrap()) {
            assert!(STEPS.iter().any(|it| it.name == step), "{step}");
        }
        for step in STEPS {
            assert_eq!(
                names(&[step.name])
                    .iter()
                    .filter(|n| **n == step.name)
                    .count(),
                1
            );
        }
    }
}
