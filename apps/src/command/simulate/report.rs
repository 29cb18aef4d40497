//! The report of a simulated run, as a table and as data.

use super::engine::{Bound, Machine, On, Simulated};
use super::figures::Figures;
use super::shown;
use crate::command::app::{Answer, AnyProblem, Rates, Request};
use crate::command::number::grouped;
use crate::command::{balancer, place, show};
use serde_json::{Map, Value};
use tautline::balance::{Config, PlaceId, PlaceRun};

/// A simulated run with all that is reported of it.
pub(super) struct Report<'a> {
    /// The result.
    pub answer: Answer,
    config: Config,
    /// The reasons for the settings.
    pub explain: bool,
    /// The requested name of the machine.
    name: &'a str,
    machine: Machine,
    tasks: u64,
    /// The duration of the simulation itself.
    pub wall_seconds: f64,
    /// The requested faults.
    pub faults: Option<String>,
    lost: Option<PlaceId>,
    bytes: u64,
    reports: u64,
    /// The figures.
    pub figures: Figures,
    places: &'a [PlaceRun],
}

impl<'a> Report<'a> {
    /// Evaluates `run` of the `problem` of `request` on the machine of that `name`.
    pub(super) fn of(
        request: &Request,
        problem: &dyn AnyProblem,
        on: On,
        name: &'a str,
        run: &'a Simulated,
        bound: Option<Bound>,
    ) -> Self {
        let On {
            config, machine, ..
        } = on;
        let application = request.application().name();
        let answer = problem.answer(
            application,
            &run.output,
            run.tasks,
            run.complete,
            run.stopped,
        );
        let rate = answer.rates(run.virtual_seconds).work;
        Self {
            answer,
            config,
            explain: false,
            name,
            machine,
            tasks: run.tasks,
            wall_seconds: 0.0,
            faults: None,
            lost: run.lost,
            bytes: run.bytes,
            reports: run.reports,
            figures: Figures::of(run, bound, &config, rate),
            places: &run.places,
        }
    }

    fn rates(&self) -> Rates {
        self.answer.rates(self.figures.virtual_seconds)
    }

    /// Returns the rates of one worker that only does tasks.
    fn rates_alone(&self) -> Rates {
        let seconds = self.tasks as f64 * self.machine.task_ns as f64 / 1e9;
        self.answer.rates(seconds)
    }

    fn efficiency_line(&self) -> String {
        format!(
            "{:.1} % = {} tasks x {} ns / ({} places{} x virtual time)",
            self.figures.efficiency * 100.0,
            grouped(self.tasks),
            self.machine.task_ns,
            self.config.places,
            match self.config.workers {
                1 => String::new(),
                workers => format!(" x {workers} workers"),
            }
        )
    }

    /// Returns the run in a few words, for the head of the picture.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.answer.facts.clone();
        facts.extend([
            ("simulated places", self.config.places.to_string()),
            ("machine", shown::line(self.name, &self.machine)),
            ("balancer", balancer::line(&self.config)),
        ]);
        facts.extend(self.answer.told());
        facts.extend([
            (
                "virtual seconds",
                format!("{:.6}", self.figures.virtual_seconds),
            ),
            ("efficiency", self.efficiency_line()),
        ]);
        facts
    }

    /// Returns the table.
    pub(super) fn table(&self) -> String {
        let mut rows = self.answer.facts.clone();
        let Config {
            places, workers, ..
        } = self.config;
        let crew = format!("{places} x {workers}, simulated: rates and shares are of virtual time");
        rows.extend([
            ("places x workers", crew),
            ("machine", shown::line(self.name, &self.machine)),
            ("balancer", balancer::line(&self.config)),
        ]);
        rows.extend(self.faults.clone().map(|faults| ("faults", faults)));
        if self.explain {
            rows.extend(balancer::reasons(&self.config));
        }
        rows.extend(self.answer.rows());
        rows.extend(self.lost.map(|place| ("lost place", place.0.to_string())));
        let (messages, reports) = (grouped(self.figures.messages), grouped(self.reports));
        let (events, wall) = (grouped(self.figures.events), self.wall_seconds);
        rows.extend([
            (
                "virtual seconds",
                format!("{:.6}", self.figures.virtual_seconds),
            ),
            ("virtual rate", self.answer.spell(self.rates())),
            ("efficiency", self.efficiency_line()),
        ]);
        rows.extend(self.figures.losses.rows());
        rows.extend([(
            "messages",
            format!(
                "{messages}, {reports} of them to find the end; {} bytes",
                grouped(self.bytes)
            ),
        )]);
        rows.extend(self.figures.rows());
        rows.extend([(
            "events",
            format!("{events}, simulated in {wall:.2} s of real time"),
        )]);
        show::table(&rows) + "\n" + &place::table(&place::some(self.places))
    }

    /// Returns the JSON object.
    pub(super) fn json(&self) -> Map<String, Value> {
        let mut object = self.answer.json(self.rates());
        object.extend(self.answer.sequential(Some(self.rates_alone())));
        let config = balancer::json(&self.config, self.explain);
        for (key, value) in [
            ("simulated", true.into()),
            ("virtual_seconds", self.figures.virtual_seconds.into()),
            ("wall_seconds", self.wall_seconds.into()),
            ("efficiency", self.figures.efficiency.into()),
            ("messages", self.figures.messages.into()),
            ("bytes", self.bytes.into()),
            ("reports", self.reports.into()),
            ("faults", self.faults.clone().into()),
            ("lost_place", self.lost.map(|place| place.0).into()),
            ("events", self.figures.events.into()),
            ("places", self.config.places.into()),
            ("workers", self.config.workers.into()),
            ("config", config),
            ("machine", shown::json(self.name, &self.machine)),
            ("per_place", place::json(self.places)),
        ] {
            object.insert(key.to_owned(), value);
        }
        let losses = self.figures.losses.json();
        object.extend(losses.map(|(key, value)| (key.to_owned(), value)));
        let figures = self.figures.json();
        object.extend(figures.map(|(key, value)| (key.to_owned(), value)));
        object
    }
}
