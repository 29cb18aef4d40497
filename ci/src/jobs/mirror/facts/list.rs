//! The list: a table of the sources with the numbers of their facts, and for each source a table
//! with a row for each fact.
//!
//! # States
//!
//! | a state begins with | of the fact |
//! |---|---|
//! | `holds` | a test names it, or the state names the default job of `cargo ci` that checks it |
//! | `**not met**: ` and a reason | tests may name it |
//! | `**not built**: ` and a reason | no test names it |

use super::{FILE, Fact};
use crate::jobs::JOBS;
use std::collections::BTreeMap;

const SOURCES: &str = "Sources";
const HOLDS: &str = "holds";
const NOT_MET: &str = "**not met**: ";
const NOT_BUILT: &str = "**not built**: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// `by_job` is whether a default job checks it.
    Holds {
        by_job: bool,
    },
    NotMet,
    NotBuilt,
}

#[derive(Debug)]
pub(super) struct Row {
    pub line: usize,
    pub state: State,
}

/// The facts of a source: 1 to `last`, each written with `prefix`.
#[derive(Debug)]
struct Numbers<'a> {
    prefix: &'a str,
    last: u32,
}

impl<'a> Numbers<'a> {
    /// Parses `1 to 10` or `A-1 to A-55`.
    fn of(text: &'a str) -> Option<Self> {
        let (first, last) = text.split_once(" to ")?;
        let prefix = first.strip_suffix('1')?;
        let last = last.strip_prefix(prefix)?.parse().ok()?;
        Some(Self { prefix, last })
    }

    fn parse(&self, cell: &str) -> Option<u32> {
        let number = cell.strip_prefix(self.prefix)?.parse().ok()?;
        (1..=self.last).contains(&number).then_some(number)
    }
}

#[derive(Debug, Default)]
pub(super) struct List<'a> {
    sources: BTreeMap<&'a str, Numbers<'a>>,
    pub rows: BTreeMap<Fact, Row>,
    pub faults: Vec<String>,
}

impl<'a> List<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (mut out, mut section) = (Self::default(), "");
        for (at, line) in text.lines().enumerate() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = heading.trim();
            }
            let row = line
                .strip_prefix("| ")
                .and_then(|row| row.strip_suffix(" |"));
            if let Some(row) = row {
                let cells: Vec<&str> = row.split(" | ").collect();
                out.read(section, at + 1, &cells);
            }
        }
        out.look_for_all();
        out
    }

    /// Returns how the fact is written.
    pub(super) fn name(&self, (from, number): &Fact) -> String {
        let source = self.sources.get(from.as_str());
        let prefix = source.map_or("", |numbers| numbers.prefix);
        format!("{from}, fact {prefix}{number}")
    }

    fn fault(&mut self, line: usize, what: impl std::fmt::Display) {
        self.faults.push(format!("{FILE}:{line}: {what}"));
    }

    fn read(&mut self, section: &'a str, line: usize, cells: &[&'a str]) {
        if section == SOURCES {
            return self.source(line, cells);
        }
        let Some(numbers) = self.sources.get(section) else {
            if cells[0] == "fact" {
                self.fault(
                    line,
                    format_args!("`{section}` is not in the table of the sources"),
                );
            }
            return;
        };
        if cells[0] == "fact" {
            return;
        }
        let [number, promise, state] = *cells else {
            return self.fault(line, "a fact has a number, a promise and a state");
        };
        let Some(number) = numbers.parse(number) else {
            let Numbers { prefix, last } = numbers;
            let all = format!("{section} has the facts {prefix}1 to {prefix}{last}");
            return self.fault(line, format_args!("`{number}`: {all}"));
        };
        if promise.contains("**not") {
            self.fault(
                line,
                "a promise is the source's; the state has what is not met of it",
            );
        }
        match state_of(state) {
            Ok(state) => {
                let fact = (section.to_owned(), number);
                let name = self.name(&fact);
                if self.rows.insert(fact, Row { line, state }).is_some() {
                    self.fault(line, format_args!("{name}: listed twice"));
                }
            }
            Err(why) => self.fault(line, why),
        }
    }

    fn source(&mut self, line: usize, cells: &[&'a str]) {
        match *cells {
            ["source", ..] => {}
            [name, numbers, _] if Numbers::of(numbers).is_some() => {
                self.sources.extend(Numbers::of(numbers).map(|n| (name, n)));
            }
            _ => self.fault(
                line,
                "a source has a name, its facts as in `1 to 9`, and a title",
            ),
        }
    }

    fn look_for_all(&mut self) {
        let of = |(name, numbers): (&&str, &Numbers<'_>)| {
            let name = (*name).to_owned();
            (1..=numbers.last).map(move |n| (name.clone(), n))
        };
        let mut facts: Vec<Fact> = self.sources.iter().flat_map(of).collect();
        facts.retain(|fact| !self.rows.contains_key(fact));
        let missing = facts
            .iter()
            .map(|fact| format!("{FILE}: {}: missing", self.name(fact)));
        let missing: Vec<String> = missing.collect();
        self.faults.extend(missing);
    }
}

fn state_of(text: &str) -> Result<State, String> {
    let kinds = [(NOT_MET, State::NotMet), (NOT_BUILT, State::NotBuilt)];
    for (marker, state) in kinds {
        if let Some(reason) = text.strip_prefix(marker) {
            return match reason.trim().is_empty() {
                true => Err(format!("`{marker}` needs a reason")),
                false => Ok(state),
            };
        }
    }
    if !text.starts_with(HOLDS) {
        let markers = format!("`{HOLDS}`, `{NOT_MET}…` or `{NOT_BUILT}…`");
        return Err(format!("`{text}`: a state begins with {markers}"));
    }
    if text.contains("**not") {
        return Err(format!("`{text}`: a fact that holds in part does not hold"));
    }
    let is_default = |name: &str| JOBS.iter().any(|job| job.name == name && job.default);
    let jobs = text.split("`cargo ci ").skip(1);
    let mut jobs = jobs.filter_map(|rest| rest.split('`').next());
    let by_job = jobs.any(is_default);
    Ok(State::Holds { by_job })
}
