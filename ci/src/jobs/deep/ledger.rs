//! The last success of each step: `ci/DEEP.toml`, which a success updates.
//!
//! A step that takes an hour is run rarely; the file states on which commit, and how far back that
//! is can be counted.

use crate::shell::git;
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZero;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use toml::Value;

const FILE: &str = "ci/DEEP.toml";
const HEAD: &str = "\
# On which commit, day and machine each step of `cargo ci deep` last passed, and the seconds it took.
# Written by `cargo ci deep` in a checkout without changes; `cargo ci deep --list` shows the age.
";
/// Files that steps write: a change there is no change of what was checked.
const WRITTEN: [&str; 2] = [FILE, "verify/PROVED.toml"];
/// A variable that repeats a sample, and changes nothing else.
const SEED: &str = "TAUTLINE_CI_SEED";

/// One success.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Passed {
    commit: String,
    date: String,
    machine: String,
    seconds: i64,
}

type Ledger = BTreeMap<String, Passed>;

/// The commit that is checked out, if the files are those of the commit and no variable changes
/// what steps do. `needed` is a variable that the step needs.
pub(super) fn commit(tree: &Tree, needed: Option<&str>) -> Option<String> {
    let changes = git(tree, &["status", "--porcelain", "--untracked-files=all"])?;
    let changed = changes.lines().filter_map(|line| line.get(3..));
    let ours = |name: &str| name.starts_with("TAUTLINE_") && name != SEED && Some(name) != needed;
    let is_set = std::env::vars().any(|(name, _)| ours(&name));
    let is_clean = changed.into_iter().all(|path| WRITTEN.contains(&path));
    let head = git(tree, &["rev-parse", "--short=12", "HEAD"])?;
    (is_clean && !is_set).then(|| head.trim().to_owned())
}

/// Notes that a step passed on a commit.
pub(super) fn note(tree: &Tree, step: &str, commit: String, seconds: f64) -> Result<()> {
    let mut ledger = read(tree)?;
    let passed = Passed {
        commit,
        date: date(SystemTime::now()),
        machine: machine(),
        seconds: seconds.ceil() as i64,
    };
    ledger.insert(step.to_owned(), passed);
    fs::write(tree.path(FILE), shown(&ledger)).context(FILE)
}

/// Returns a line for each step: when it passed, and the number of commits since.
pub(super) fn listing<'a>(tree: &Tree, steps: impl Iterator<Item = &'a str>) -> Result<String> {
    let ledger = read(tree)?;
    let line = |step| {
        let Some(it) = ledger.get(step) else {
            return format!("{step:<18} not recorded\n");
        };
        let range = format!("{}..HEAD", it.commit);
        let age = git(tree, &["rev-list", "--count", &range]);
        let age = age.map_or("on a commit that is not in this history".to_owned(), |n| {
            format!("{} commits ago", n.trim())
        });
        let Passed {
            date,
            machine,
            commit,
            seconds,
        } = it;
        format!("{step:<18} {age}: {commit}, {date}, {seconds} s, {machine}\n")
    };
    Ok(steps.map(line).collect())
}

/// The names of recorded steps.
#[cfg(test)]
pub(super) fn recorded(tree: &Tree) -> Vec<String> {
    read(tree).unwrap().into_keys().collect()
}

fn read(tree: &Tree) -> Result<Ledger> {
    if !tree.has(FILE) {
        return Ok(Ledger::new());
    }
    let one = |(step, row): (String, Value)| {
        let text = |key| Some(row.get(key)?.as_str()?.to_owned());
        let passed = Passed {
            commit: text("commit")?,
            date: text("date")?,
            machine: text("machine")?,
            seconds: row.get("seconds")?.as_integer()?,
        };
        Some((step, passed))
    };
    let rows = tree.toml(FILE)?.into_iter().map(one);
    rows.collect::<Option<_>>()
        .with_context(|| format!("{FILE}: not as it is written"))
}

fn shown(ledger: &Ledger) -> String {
    let mut out = HEAD.to_owned();
    for (
        step,
        Passed {
            commit,
            date,
            machine,
            seconds,
        },
    ) in ledger
    {
        _ = writeln!(out, "\n[{step}]\ncommit = \"{commit}\"\ndate = \"{date}\"");
        _ = writeln!(out, "machine = \"{machine}\"\nseconds = {seconds}");
    }
    out
}

/// The processor, their number, and the system.
fn machine() -> String {
    let table = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = table.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':'));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let number = thread::available_parallelism().map_or(1, NonZero::get);
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    format!("{number} x {}, {system}", model.replace(['"', '\\'], ""))
}

/// The day in the Gregorian calendar, at Greenwich.
fn date(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |past| past.as_secs());
    // Days since the first of March of the year 0: leap days end the years.
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leaps = day_of_era / 1_460 + day_of_era / 146_096;
    let year_of_era = (day_of_era + day_of_era / 36_524 - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next)
}

#[cfg(test)]
mod tests {
    use super::{FILE, commit, date, git, listing, note, read};
    use crate::tree::sample::Sample;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn days_are_dates() {
        for (day, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_782, "2024-02-29"),
            (20_786, "2026-11-29"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(day * 86_400 + 86_399);
            assert_eq!(date(time), expected);
        }
    }

    #[test]
    fn a_success_is_kept_with_its_commit_and_ages() {
        let tree = Sample::new(&[("a", "1"), (FILE, "")]);
        let run = |words: &[&str]| git(&tree, words).unwrap();
        run(&["init", "--quiet"]);
        let store = || {
            run(&["add", "a"]);
            let author = ["-c", "user.name=x", "-c", "user.email=x"];
            run(&[&author[..], &["commit", "--quiet", "-m", "x"]].concat());
        };
        store();
        let first = commit(&tree, None).unwrap();
        note(&tree, "soak", first.clone(), 1.5).unwrap();
        // What a step writes is no change.
        assert_eq!(commit(&tree, None), Some(first.clone()));
        assert_eq!(
            (
                &read(&tree).unwrap()["soak"].commit,
                read(&tree).unwrap()["soak"].seconds
            ),
            (&first, 2)
        );
        tree.write("a", "2");
        assert_eq!(commit(&tree, None), None);
        store();
        let lines = listing(&tree, ["soak", "tsan"].into_iter()).unwrap();
        assert!(
            lines.contains("1 commits ago") && lines.contains("not recorded"),
            "{lines}"
        );
        note(&tree, "soak", "0123456789ab".to_owned(), 1.0).unwrap();
        let lines = listing(&tree, ["soak"].into_iter()).unwrap();
        assert!(lines.contains("not in this history"), "{lines}");
        tree.write(FILE, "[soak]\ncommit = 1\n");
        assert!(read(&tree).is_err());
    }
}
