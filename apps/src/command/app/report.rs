//! The report of a run on threads, as a table and as data.

use super::Answer;
use super::baseline::{Missing, Sequential};
use crate::command::number::grouped;
use crate::command::show::document;
use serde_json::json;
use tautline::balance::{PlaceRun, WorkerRun};
use tautline_cli::program::Measured;

/// A finished run with all that is reported of it.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// The result.
    pub answer: Answer,
    /// The kind of problem.
    pub kind: &'static str,
    /// The settings and circumstances of the run.
    pub measured: Measured,
    /// The counts of each place.
    pub places: &'a [PlaceRun],
    /// The counts of each worker.
    pub workers: &'a [WorkerRun],
    /// The sequential program with which it is compared.
    pub sequential: Result<Sequential, Missing>,
}

impl Report<'_> {
    /// Returns the share of the sequential program's rate that each processor reached; `None` if
    /// there was nothing to do.
    fn efficiency(&self) -> Option<f64> {
        let sequential = self.sequential.as_ref().ok()?;
        let rate = self.answer.rates(self.measured.seconds).work;
        let efficiency = rate / (sequential.rates.work * self.measured.processors as f64);
        efficiency.is_finite().then_some(efficiency)
    }

    /// Returns the run in a few words, for the head of the picture.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        self.measured.facts(&self.answer)
    }

    /// Returns the table.
    pub(super) fn table(&self) -> String {
        let mut rows = self.measured.rows(&self.answer);
        rows.push(("efficiency", self.efficiency_line()));
        rows.extend(self.measured.memory());
        self.measured.table(&rows, self.places, self.workers)
    }

    fn efficiency_line(&self) -> String {
        match (&self.sequential, self.efficiency()) {
            (Ok(sequential), Some(efficiency)) => format!(
                "{:.1} % of {} x {}, the sequential program on {} ({}{} {}, {}){}",
                efficiency * 100.0,
                self.measured.processors,
                self.answer.spell(sequential.rates),
                sequential.problem,
                if sequential.whole { "" } else { "the first " },
                grouped(sequential.work),
                self.answer.unit(),
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

    /// Returns the JSON object.
    pub(super) fn json(&self) -> String {
        let sequential = self.sequential.as_ref().ok();
        let mut object = self.measured.json(&self.answer, self.places, self.workers);
        let rates = sequential.map(|sequential| sequential.rates);
        object.extend(self.answer.sequential(rates));
        let name = json!(sequential.map(|sequential| &sequential.problem));
        object.insert(format!("sequential_{}", self.kind), name.clone());
        object.insert("sequential_problem".to_owned(), name);
        object.insert("efficiency".to_owned(), self.efficiency().into());
        document(object)
    }
}
