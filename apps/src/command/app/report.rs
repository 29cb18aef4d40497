//! The report of a run on threads, as a table and as data.

use super::Answer;
use super::baseline::{Missing, Sequential};
use crate::command::number::{bytes, grouped, ranges, seconds};
use crate::command::show::document;
use crate::command::{balancer, place, show};
use serde_json::json;
use tautline::glb::{Config, PlaceRun};

/// A finished run with all that is reported of it.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// The result.
    pub answer: Answer,
    /// The kind of problem.
    pub kind: &'static str,
    /// The balancer's settings.
    pub config: Config,
    /// The reasons for them.
    pub explain: bool,
    /// The processors that workers were pinned to; empty if not pinned.
    pub pinned: Vec<usize>,
    /// The number of processors that the workers could use at once.
    pub processors: usize,
    /// The duration.
    pub seconds: f64,
    /// The maximum memory of the process until the end of the run, if the system reports it.
    pub peak_memory_kib: Option<u64>,
    /// What each place counted.
    pub places: &'a [PlaceRun],
    /// The sequential program with which it is compared.
    pub sequential: Result<Sequential, Missing>,
}

impl Report<'_> {
    /// Returns the share of the sequential program's rate that each processor reached.
    fn efficiency(&self) -> Option<f64> {
        let sequential = self.sequential.as_ref().ok()?;
        let rate = self.answer.rates(self.seconds).work;
        Some(rate / (sequential.rates.work * self.processors as f64))
    }

    /// Returns the places and workers, and their processors.
    fn crew(&self) -> String {
        let pinned = match self.pinned.as_slice() {
            [] => "not pinned".to_owned(),
            cpus => format!("pinned to CPUs {}", ranges(cpus)),
        };
        let threads = self.config.all_workers();
        let crowded = match threads > self.processors {
            true => format!(", {threads} threads on {} CPUs", self.processors),
            false => String::new(),
        };
        let crews = balancer::crews(&self.config);
        format!("{crews}, {pinned}{crowded}")
    }

    /// Returns the problem and how it was run.
    fn setting(&self) -> Vec<(&'static str, String)> {
        let mut rows = self.answer.facts.clone();
        rows.push(("places x workers", self.crew()));
        rows.push(("balancer", balancer::line(&self.config)));
        if self.explain {
            rows.extend(balancer::reasons(&self.config));
        }
        rows
    }

    fn times(&self) -> [(&'static str, String); 2] {
        let rates = self.answer.rates(self.seconds);
        [
            ("seconds", seconds(self.seconds)),
            ("rate", self.answer.spell(rates)),
        ]
    }

    /// Returns the run in a few words, for the head of the picture.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.setting();
        facts.extend(self.answer.told());
        facts.extend(self.times());
        facts
    }

    /// Returns the table.
    pub(super) fn table(&self) -> String {
        let mut rows = self.setting();
        rows.extend(self.answer.rows());
        rows.extend(self.times());
        rows.push(("efficiency", self.efficiency_line()));
        if let Some(kib) = self.peak_memory_kib {
            rows.push(("peak memory", bytes(kib * 1024)));
        }
        show::table(&rows) + "\n" + &place::table(&place::every(self.places))
    }

    fn efficiency_line(&self) -> String {
        match (&self.sequential, self.efficiency()) {
            (Ok(sequential), Some(efficiency)) => format!(
                "{:.1} % of {} x {}, the sequential program on {} ({}{} {}, {}){}",
                efficiency * 100.0,
                self.processors,
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
            (Err(Missing::Because(reason)), _) => format!("no baseline, {reason}"),
            (Err(Missing::Interrupted), _) => "no baseline, interrupted".to_owned(),
            _ => "no baseline".to_owned(),
        }
    }

    /// Returns the JSON object.
    pub(super) fn json(&self) -> String {
        let sequential = self.sequential.as_ref().ok();
        let rates = self.answer.rates(self.seconds);
        let mut object = self.answer.json(rates, sequential.map(|it| it.rates));
        let mut config = balancer::json(&self.config, self.explain);
        config["pinned"] = (!self.pinned.is_empty()).into();
        let name = json!(sequential.map(|sequential| &sequential.problem));
        object.insert(format!("sequential_{}", self.kind), name.clone());
        for (key, value) in [
            ("seconds", self.seconds.into()),
            ("sequential_problem", name),
            ("efficiency", self.efficiency().into()),
            ("processors", self.processors.into()),
            ("peak_memory_kib", self.peak_memory_kib.into()),
            ("places", self.config.places.into()),
            ("workers", self.config.workers.into()),
            ("smaller_places", self.config.smaller.into()),
            ("config", config),
            ("per_place", place::json(self.places)),
        ] {
            object.insert(key.to_owned(), value);
        }
        document(object)
    }
}
