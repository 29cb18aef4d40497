//! Results of the contenders of a row, and whether the bounds hold.

use crate::measure::Better;
use crate::measure::Sample;
use crate::rows::{OURS, Row, Wanted};
use tautline_bench::figures::{Figures, Record, Value, digits};
use tautline_bench::markdown;

/// The measurements of one contender in one row.
pub(crate) struct Cell {
    pub contender: String,
    pub program: Option<String>,
    pub samples: Vec<Sample>,
    /// Measurements that are ignored: other programs used the processors meanwhile.
    pub disturbed: Vec<Sample>,
    /// A crash, or no end in time.
    pub failure: Option<&'static str>,
}

/// One row with its contenders, ours first.
pub(crate) struct Line {
    pub row: &'static Row,
    pub cells: Vec<Cell>,
}

impl Cell {
    pub(crate) fn new(contender: &str, program: Option<&str>) -> Self {
        Self {
            contender: contender.to_owned(),
            program: program.map(str::to_owned),
            samples: Vec::new(),
            disturbed: Vec::new(),
            failure: None,
        }
    }

    /// The undisturbed measurements, else all.
    fn value(&self) -> Option<Value> {
        let shown = match &self.samples[..] {
            [] => &self.disturbed,
            samples => samples,
        };
        let all: Vec<f64> = shown.iter().map(|sample| sample.figure).collect();
        Value::of(&all)
    }

    fn record(&self, row: &Row, rounds: usize) -> Option<Record> {
        let failure = self.failure.map(|failure| Value::Text(failure.into()));
        let processors = self.disturbed.iter().map(|sample| sample.processors);
        Some(Record {
            counted: Some([self.samples.len(), rounds]),
            beside: processors.max_by(f64::total_cmp),
            ..Record::new(row.name, &self.contender, failure.or(self.value())?)
        })
    }
}

impl Line {
    pub(crate) fn new(row: &'static Row, cells: Vec<Cell>) -> Self {
        Self { row, cells }
    }

    /// The failure of ours, not of a peer.
    pub(crate) fn failure(&self) -> Option<&'static str> {
        self.cells.first()?.failure
    }

    pub(crate) fn records(&self, rounds: usize) -> impl Iterator<Item = Record> {
        let cells = self.cells.iter();
        cells.filter_map(move |cell| cell.record(self.row, rounds))
    }
}

/// Whether a bound holds.
pub(crate) enum Verdict {
    Yes(String),
    No(String),
    None(String),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Yes(by) => write!(f, "{}, {by}", markdown::verdict(true)),
            Self::No(by) => write!(f, "{}, {by}", markdown::verdict(false)),
            Self::None(why) => f.write_str(why),
        }
    }
}

/// Returns the reason for which a record is no base of a verdict: more than half of its rounds were
/// disturbed.
fn doubt(record: &Record) -> Option<Verdict> {
    let [counted, rounds] = record.counted?;
    let failed = matches!(record.value, Value::Text(_));
    (!failed && 2 * counted < rounds).then(|| {
        let processors = record
            .beside
            .map_or("?".into(), |value| format!("{value:.2}"));
        Verdict::None(format!(
            "no verdict: {} undisturbed {counted} of {rounds} times, else at most {processors} processors",
            record.contender
        ))
    })
}

/// The ratio by which `ours` is better than `other`.
pub(crate) fn ratio(better: Better, ours: f64, other: f64) -> f64 {
    match better {
        Better::Less => other / ours,
        Better::More => ours / other,
    }
}

/// Whether a bound of a row holds by these figures.
pub(crate) fn judge(row: &Row, wanted: &Wanted, figures: &Figures) -> Verdict {
    let not_measured = || Verdict::None("not measured".into());
    let Some(own) = figures.find(row.name, OURS) else {
        return not_measured();
    };
    let Some(ours) = own.median() else {
        return Verdict::No("it failed".into());
    };
    if let Some(none) = doubt(own) {
        return none;
    }
    let (other, least, by_ratio) = match *wanted {
        Wanted::Bound(bound) => {
            let good = ours == bound || ratio(row.better, ours, bound) >= 1.0;
            return verdict(good, digits(ours, 3));
        }
        Wanted::Beats(contender) => (figures.find(row.name, contender), 1.0, true),
        Wanted::Within(contender, times) => (figures.find(row.name, contender), 1.0 / times, true),
        Wanted::Scales(row, times) => (figures.find(row, OURS), times, false),
    };
    let Some(other) = other else {
        return not_measured();
    };
    let Some(theirs) = other.median() else {
        return Verdict::Yes(format!("{} fails", other.contender));
    };
    let times = ratio(row.better, ours, theirs);
    if let Some(none) = doubt(other) {
        return none;
    }
    let by = if by_ratio && times < 1.0 {
        format!("takes x{:.2}", 1.0 / times)
    } else {
        format!("x{times:.2}")
    };
    verdict(times >= least, by)
}

fn verdict(good: bool, by: String) -> Verdict {
    if good {
        Verdict::Yes(by)
    } else {
        Verdict::No(by)
    }
}
