//! `cargo ci [JOB…]`: the same checks on a laptop and on a server.
//!
//! Depends on no crate of the workspace, so that it works when they do not compile.
#![forbid(unsafe_code)]

mod context;
mod crates;
mod imports;
mod jobs;
mod lanes;
mod limit;
mod parallel;
mod shell;
mod source;
mod syntax;
mod times;
mod tree;

use jobs::{JOBS, Job, WITH_WORDS};
use lanes::Mark;
use std::process::ExitCode;
use std::time::Instant;
use tree::Tree;

const USAGE: &str = "\
usage: cargo ci              all jobs that `cargo ci list` marks with *, in two lanes at once
       cargo ci JOB…         these jobs, one after the other
       cargo ci mutants [NAME…]
                             the recorded mutants, or those whose name contains one of the words
       cargo ci weaken [NAME…]
                             weaker orderings in the models, or those whose file or name contains one of the words
       cargo ci litmus [NAME…]
                             the litmus tests, or those whose name contains one of the words
       cargo ci cross [TARGET…]
                             the processors of ci/cross.toml, or those whose target contains one of the words
       cargo ci deep [NAME…] what takes minutes to hours, or the steps whose name contains a word
       cargo ci deep --list  on which commit and day each step last passed
       cargo ci list         what the jobs are
       cargo ci --help       this

Exit status: 0 all held, 1 a job failed, 2 the command line was not understood.
Under CI=true a job that this machine cannot run is a failure.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let asked = match understand(&words) {
        Ok(Asked::Help) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Ok(Asked::List) => {
            print!("{}", listing());
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Jobs(asked)) => asked,
        Err(line) => {
            eprintln!("{line}");
            return ExitCode::from(2);
        }
    };
    let tree = match Tree::here() {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("cargo ci: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let strict = std::env::var_os("CI").is_some_and(|v| v == "true");
    let start = Instant::now();
    let ends = match words.is_empty() {
        true => lanes::in_lanes(&tree, &asked, strict),
        false => lanes::in_sequence(&tree, &asked, strict),
    };
    print!("\n{}", lanes::table(&ends, start.elapsed()));
    ExitCode::from(u8::from(ends.iter().any(|e| e.mark == Mark::Failed)))
}

enum Asked {
    Help,
    List,
    Jobs(Vec<(&'static Job, Vec<String>)>),
}

/// Parses the command line. Returns the error message if it is invalid.
fn understand(words: &[String]) -> Result<Asked, String> {
    match words.first().map(String::as_str) {
        Some("--help" | "-h" | "help") => return Ok(Asked::Help),
        Some("list") if words.len() == 1 => return Ok(Asked::List),
        None => {
            let default = JOBS.iter().filter(|j| j.default);
            return Ok(Asked::Jobs(default.map(|j| (j, Vec::new())).collect()));
        }
        Some(_) => {}
    }
    let mut asked = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let Some(job) = JOBS.iter().find(|j| j.name == word) else {
            let names: Vec<_> = JOBS.iter().map(|j| j.name).collect();
            return Err(format!(
                "cargo ci: no job `{word}`; allowed: {}, list, --help",
                names.join(", ")
            ));
        };
        if WITH_WORDS.contains(&job.name) {
            asked.push((job, words[i + 1..].to_vec()));
            break;
        }
        asked.push((job, Vec::new()));
    }
    Ok(Asked::Jobs(asked))
}

fn listing() -> String {
    let line = |j: &Job| {
        let mark = if j.default { '*' } else { ' ' };
        format!("{mark} {:<12} {}\n", j.name, j.about)
    };
    JOBS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{Asked, JOBS, listing, understand};

    fn names(words: &[&str]) -> Result<Vec<(&'static str, Vec<String>)>, String> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        match understand(&words)? {
            Asked::Jobs(asked) => Ok(asked.into_iter().map(|(j, w)| (j.name, w)).collect()),
            _ => Ok(Vec::new()),
        }
    }

    #[test]
    fn without_words_all_default_jobs_run() {
        let asked = names(&[]).unwrap();
        let on_demand = [
            "api-list",
            "asan",
            "cost",
            "cost-list",
            "cross",
            "cross-turn",
            "deep",
            "litmus",
            "mpi",
            "mutants",
            "native",
            "package",
            "soak",
            "static",
            "systems",
            "table",
            "tsan",
            "tsan-ranks",
            "weaken",
            "wrap",
        ];
        assert_eq!(asked.len(), JOBS.len() - on_demand.len());
        assert!(asked.iter().all(|(name, _)| !on_demand.contains(name)));
    }

    #[test]
    fn an_unknown_job_is_named_in_one_line() {
        let line = names(&["fmt", "fnt"]).unwrap_err();
        assert!(line.contains("`fnt`") && line.contains("clippy") && !line.contains('\n'));
    }

    #[test]
    fn mutants_takes_what_follows() {
        let asked = names(&["fmt", "mutants", "lock"]).unwrap();
        assert_eq!(asked[1], ("mutants", vec!["lock".to_owned()]));
        let asked = names(&["deep", "soak", "tsan"]).unwrap();
        assert_eq!(
            asked,
            [("deep", vec!["soak".to_owned(), "tsan".to_owned()])]
        );
    }

    #[test]
    fn names_are_unique_and_listed() {
        for job in JOBS {
            assert_eq!(JOBS.iter().filter(|j| j.name == job.name).count(), 1);
            assert!(listing().contains(job.about));
        }
    }
}
