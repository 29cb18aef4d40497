//! The comparison of a run on threads with the sequential program, in words and as data.

use super::Answer;
use super::baseline::{Missing, Sequential};
use crate::command::number::grouped;
use serde_json::{Map, Value, json};
use tautline_cli::program::Measured;

/// A finished run beside the sequential program.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    /// The result.
    pub answer: &'a Answer,
    /// The kind of problem.
    pub kind: &'static str,
    /// The settings and circumstances of the run.
    pub measured: &'a Measured,
    /// The sequential program.
    pub sequential: &'a Result<Sequential, Missing>,
}

impl Compared<'_> {
    /// Returns the share of the sequential program's rate that each processor reached; `None` if
    /// there was nothing to do.
    fn efficiency(&self) -> Option<f64> {
        let sequential = self.sequential.as_ref().ok()?;
        let rate = self.answer.rates(self.measured.seconds).work;
        let efficiency = rate / (sequential.rates.work * self.measured.processors as f64);
        efficiency.is_finite().then_some(efficiency)
    }

    /// Returns the efficiency in words.
    pub(super) fn line(&self) -> String {
        match (self.sequential, self.efficiency()) {
            (Ok(sequential), Some(efficiency)) => format!(
                "{:.1} % of {} x {}, the sequential program on {} ({}{} {}, {}){}",
                efficiency * 100.0,
                self.measured.processors,
                self.answer.spell(sequential.rates),
                sequential.problem,
                if sequential.whole { "" } else { "the first " },
                grouped(sequential.work),
                self.answer.unit,
                match sequential.runs {
                    1 => "one run".to_owned(),
                    runs => format!("median of {runs}"),
                },
                if sequential.bounded {
                    "; rates are compared, as how much a bound prunes differs from run to run"
                } else {
                    ""
                },
            ),
            (Ok(_), None) => "undefined, there was nothing to do".to_owned(),
            (Err(Missing::Because(reason)), _) => format!("no baseline, {reason}"),
            (Err(Missing::Interrupted), _) => "no baseline, interrupted".to_owned(),
            (Err(Missing::Unwanted), _) => "no baseline".to_owned(),
        }
    }

    /// Returns the comparison as data.
    pub(super) fn keys(&self) -> Map<String, Value> {
        let sequential = self.sequential.as_ref().ok();
        let rates = self
            .answer
            .sequential(sequential.map(|sequential| sequential.rates));
        let mut keys = Map::from_iter(rates);
        let name = json!(sequential.map(|sequential| &sequential.problem));
        keys.insert(format!("sequential_{}", self.kind), name.clone());
        keys.insert("sequential_problem".to_owned(), name);
        keys.insert("efficiency".to_owned(), self.efficiency().into());
        keys
    }
}
