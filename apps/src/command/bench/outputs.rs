//! The figures of all benchmarks: a document, a comparison with an earlier one, a page.

use crate::command::show::story::Pending;
use crate::command::show::{document, lines};
use crate::command::{Failure, Outcome, deliver};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tautline_cli::bench::{Against, Change, Record};

/// The outputs of the figures.
#[derive(Args, Debug)]
#[group(skip)]
pub(super) struct Outputs {
    /// One JSON object instead of tables, at the end, with all samples
    #[arg(long)]
    json: bool,
    /// Compare with the FILE that --json printed before; exit code 1 if a figure is worse
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Write a page with the figures, and a map of the round trips between processors
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
}

/// The outputs, opened before anything is measured, so that a refusal comes first.
pub(super) struct Opened {
    pub json: bool,
    before: Option<(PathBuf, Record)>,
    page: Option<Pending>,
}

impl Outputs {
    /// Reads the earlier figures and opens the page; `now` is the record of this run, without
    /// figures yet.
    pub(super) fn open(&self, now: &Record) -> Result<Opened, Failure> {
        let before = self.against.as_deref().map(|path| {
            let before = read("--against", path)?;
            match Against::check(&before, now) {
                Ok(()) => Ok((path.to_owned(), before)),
                Err(why) => Err(refusal("--against", path, &why)),
            }
        });
        Ok(Opened {
            json: self.json,
            before: before.transpose()?,
            page: Pending::open("--html", self.html.as_deref())?,
        })
    }
}

/// Reads the figures in the file that `option` names.
pub(super) fn read(option: &str, path: &Path) -> Result<Record, Failure> {
    Record::read(path).map_err(|why| refusal(option, path, &why))
}

fn refusal(option: &str, path: &Path, why: &str) -> Failure {
    Failure::Usage(format!("{option} {}: {why}", path.display()))
}

impl Opened {
    /// Prints or writes what was requested of `record`; the document has the keys of `more`, too.
    pub(super) fn finish(self, record: &Record, more: Value) -> Outcome {
        let found = self
            .before
            .map(|(path, before)| match Against::compare(&before, record) {
                Ok(found) => Ok((path, found)),
                Err(why) => Err(refusal("--against", &path, &why)),
            });
        let found = found.transpose()?;
        if self.json {
            let mut content = record.json();
            for (key, value) in more.as_object().into_iter().flatten() {
                content[key] = value.clone();
            }
            if let Some((_, found)) = &found {
                content["against"] = compared(found);
            }
            deliver(&document(content))?;
        } else if let Some((path, found)) = &found {
            deliver(&changes(path, found))?;
        }
        if let Some(page) = self.page {
            page.write(|out| record.page(out))?;
        }
        match found {
            Some((path, found)) if !found.worse.is_empty() => {
                let (count, path) = (found.worse.len(), path.display());
                let are = if count == 1 { " is" } else { "s are" };
                Err(Failure::Check(format!(
                    "--against {path}: {count} figure{are} worse by more than the samples explain"
                )))
            }
            _ => Ok(()),
        }
    }
}

fn changes(path: &Path, found: &Against) -> String {
    let changes = found.worse.iter().chain(&found.better);
    let changes = changes.map(|change| format!("{change}\n"));
    let refusals = found.refused.iter().map(|one| format!("{one}\n"));
    let (equal, unmatched, path) = (found.equal, found.unmatched, path.display());
    let unmatched = match unmatched {
        0 => String::new(),
        count => format!("; {count} in one of the two alone"),
    };
    let summary = lines(&format!(
        "against {path}: {equal} figures equal within the noise, {} worse, {} better{unmatched}",
        found.worse.len(),
        found.better.len(),
    ));
    format!("\n{}{summary}", changes.chain(refusals).collect::<String>())
}

fn compared(found: &Against) -> Value {
    let words = |all: &[Change]| -> Vec<Value> {
        let all = all.iter();
        all.map(|change| {
            json!({
                "bench": change.bench, "figure": change.figure,
                "median_ns": change.medians_ns, "interval_ns": change.intervals_ns,
            })
        })
        .collect()
    };
    let refused = found
        .refused
        .iter()
        .map(|one| json!({"bench": one.bench, "figures": one.figures, "reason": one.reason}));
    json!({
        "worse": words(&found.worse),
        "better": words(&found.better),
        "equal": found.equal,
        "refused": refused.collect::<Vec<_>>(),
        "unmatched": found.unmatched,
    })
}
