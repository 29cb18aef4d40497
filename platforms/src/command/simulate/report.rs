//! The report of a simulated run, as a table and as data.

use super::engine::{Machine, Simulated};
use super::figures::Figures;
use super::setting;
use crate::command::app::{Answer, AnyProblem, Rates, Request};
use crate::command::number::grouped;
use crate::command::{balancer, place, show};
use serde_json::{Map, Value};
use std::time::Duration;
use tautline::glb::{Config, PlaceRun};

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
    wall_seconds: f64,
    reports: u64,
    /// The figures.
    pub figures: Figures,
    places: &'a [PlaceRun],
}

impl<'a> Report<'a> {
    /// Evaluates `run` of the `problem` of `request` on the machine of that `name`; `wall` is the duration of the
    /// simulation.
    pub(super) fn of(
        request: &Request,
        problem: &dyn AnyProblem,
        (config, machine): (Config, Machine),
        name: &'a str,
        run: &'a Simulated,
        wall: Duration,
    ) -> Self {
        let application = request.application().name();
        let answer = Answer::of(
            application,
            problem,
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
            wall_seconds: wall.as_secs_f64(),
            reports: run.reports,
            figures: Figures::of(run, &config, rate),
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
            ("machine", setting::line(self.name, &self.machine)),
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
            ("machine", setting::line(self.name, &self.machine)),
            ("balancer", balancer::line(&self.config)),
        ]);
        if self.explain {
            rows.extend(balancer::reasons(&self.config));
        }
        rows.extend(self.answer.rows());
        let (messages, reports) = (grouped(self.figures.messages), grouped(self.reports));
        let (events, wall) = (grouped(self.figures.events), self.wall_seconds);
        rows.extend([
            (
                "virtual seconds",
                format!("{:.6}", self.figures.virtual_seconds),
            ),
            ("virtual rate", self.answer.spell(self.rates())),
            ("efficiency", self.efficiency_line()),
            (
                "messages",
                format!("{messages}, {reports} of them to find the end"),
            ),
        ]);
        rows.extend(self.figures.rows());
        rows.extend([(
            "events",
            format!("{events}, simulated in {wall:.2} s of real time"),
        )]);
        show::table(&rows) + "\n" + &place::table(&place::some(self.places))
    }

    /// Returns the JSON object.
    pub(super) fn json(&self) -> Map<String, Value> {
        let mut object = self.answer.json(self.rates(), Some(self.rates_alone()));
        let config = balancer::json(&self.config, self.explain);
        for (key, value) in [
            ("simulated", true.into()),
            ("virtual_seconds", self.figures.virtual_seconds.into()),
            ("wall_seconds", self.wall_seconds.into()),
            ("efficiency", self.figures.efficiency.into()),
            ("messages", self.figures.messages.into()),
            ("reports", self.reports.into()),
            ("events", self.figures.events.into()),
            ("places", self.config.places.into()),
            ("workers", self.config.workers.into()),
            ("config", config),
            ("machine", setting::json(self.name, &self.machine)),
            ("per_place", place::json(self.places)),
        ] {
            object.insert(key.to_owned(), value);
        }
        let figures = self.figures.json();
        object.extend(figures.map(|(key, value)| (key.to_owned(), value)));
        object
    }
}
