//! The results of the measurements, as tables and as JSON.

use super::outputs::Opened;
use super::table::{NAME, REMARK, figures, head};
use crate::command::show::{WIDTH, lines, wrapped};
use crate::command::{Failure, Outcome, deliver};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline::Machine;
use tautline::balance::Reason;
use tautline::pinning::ranges;
use tautline_cli::bench::{
    Comparison, Distance, Record, RoundTrip, RoundTrips, Row, Setting, Spread,
};

/// The benchmark, as the command names it.
const BENCH: &str = "barrier";

/// The results, printed as they come, or as one JSON object at the end.
pub(super) struct Report<'a> {
    machine: &'a Machine,
    setting: &'a Setting,
    outputs: Opened,
    record: Record,
    distances: Vec<Distances>,
    comparisons: Vec<Comparison>,
}

/// Pairs of processors of one distance, with samples of a round trip.
type Distances = (Distance, Vec<RoundTrip>);

impl<'a> Report<'a> {
    /// Prints the head of the tables.
    pub(super) fn start(
        machine: &'a Machine,
        setting: &'a Setting,
        record: Record,
        outputs: Opened,
    ) -> Result<Self, Failure> {
        let report = Self {
            machine,
            setting,
            outputs,
            record,
            distances: Vec::new(),
            comparisons: Vec::new(),
        };
        let mut text = lines(&format!(
            "{}, processors {}; {} samples each, in turn, ns",
            machine.model().unwrap_or("unknown processor"),
            ranges(&setting.cpus),
            setting.samples,
        ));
        if setting.delay_ns > 0 {
            let _ = writeln!(text, "{} ns of work between two episodes", setting.delay_ns);
        }
        report.print(&text)?;
        Ok(report)
    }

    /// Adds the round trips, and prints their table.
    pub(super) fn round_trips(&mut self, all: &RoundTrips) -> Outcome {
        self.record
            .add_round_trips(self.machine, [BENCH, "round trip, "], all);
        for pair in &all.pairs {
            let distance = Distance::between(self.machine, pair.cpus);
            match self
                .distances
                .iter_mut()
                .find(|(known, _)| *known == distance)
            {
                Some((_, pairs)) => pairs.push(pair.clone()),
                None => self.distances.push((distance, vec![pair.clone()])),
            }
        }
        let mut text = format!("\n{}\n", head("round trip of a cache line", NAME));
        let wide = NAME - 2;
        for (distance, pairs) in &self.distances {
            for pair in pairs {
                let [one, other] = pair.cpus;
                let name = format!("{distance}, CPUs {one} and {other}");
                let figures = figures(&pair.samples);
                let remark = if pair.is_disturbed() { DISTURBED } else { "" };
                let row = format!("  {name:<wide$}{figures}{remark:>REMARK$}");
                let _ = writeln!(text, "{}", row.trim_end());
            }
        }
        if self.distances.is_empty() {
            text.push_str("  none: there is one processor\n");
        }
        self.print(&text)
    }

    /// Adds a comparison, and prints its table.
    pub(super) fn compared(&mut self, comparison: Comparison) -> Outcome {
        let text = table(&comparison);
        let prefix = format!("{} tasks: ", comparison.tasks);
        self.record.add_rows([BENCH, &prefix], &comparison);
        self.comparisons.push(comparison);
        self.print(&text)
    }

    /// Prints why the measurements ended early, if they did, and fills the outputs.
    pub(super) fn end(self) -> Outcome {
        if let Some(reason) = self.setting.stop.reason() {
            self.print(&format!("\npartial: {}\n", reason.name()))?;
        }
        let more = self.json();
        self.outputs.finish(&self.record, more)
    }

    fn print(&self, text: &str) -> Outcome {
        match self.outputs.json {
            true => Ok(()),
            false => deliver(text),
        }
    }

    fn json(&self) -> Value {
        let pair = |pair: &RoundTrip| {
            let named = json!({"cpus": pair.cpus, "disturbed": pair.disturbed});
            with(named, &pair.samples)
        };
        let distance = |(distance, pairs): &Distances| {
            let level = match distance {
                Distance::SharedCache(level) => Some(level),
                _ => None,
            };
            json!({
                "distance": distance.name(),
                "cache_level": level,
                "pairs": pairs.iter().map(pair).collect::<Vec<_>>(),
            })
        };
        let stopped = self.setting.stop.reason().map(Reason::name);
        json!({
            "model": self.machine.model(),
            "samples": self.setting.samples,
            "complete": stopped.is_none(),
            "stopped": stopped,
            "delay_ns": self.setting.delay_ns,
            "round_trips": self.distances.iter().map(distance).collect::<Vec<_>>(),
            "barriers": self.comparisons.iter().map(compared).collect::<Vec<_>>(),
        })
    }
}

/// Returns the table of a comparison.
fn table(comparison: &Comparison) -> String {
    let name = format!("barrier of {} tasks", comparison.tasks);
    let mut text = format!("\n{}{:>REMARK$}\n", head(&name, NAME), "trips");
    let wide = NAME - 2;
    for row in &comparison.rows {
        let ratio = comparison.ratio(row);
        let ratio = match row.is_disturbed() {
            true => DISTURBED.to_owned(),
            false => ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        };
        let figures = figures(&row.samples);
        let _ = writeln!(text, "  {:<wide$}{figures}{ratio:>REMARK$}", row.name);
    }
    for line in wrapped(&judged(comparison), WIDTH - 2) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn compared(comparison: &Comparison) -> Value {
    let row = |row: &Row| {
        let named = json!({
            "kind": row.name,
            "iterations": row.iterations,
            "samples": row.samples.len(),
            "disturbed": row.disturbed,
            "round_trips": comparison.ratio(row),
        });
        with(named, &row.samples)
    };
    let name = |row: usize| comparison.rows[row].name.as_str();
    let verdict = comparison.verdict().map(|verdict| {
        let level: Vec<&str> = verdict.level.iter().map(|&row| name(row)).collect();
        json!({"fastest": name(verdict.fastest), "level": level})
    });
    let doubts = comparison.doubts.iter().map(ToString::to_string);
    json!({
        "tasks": comparison.tasks,
        "round_trip": with(json!({}), &comparison.round_trips),
        "kinds": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "verdict": verdict,
        "doubts": doubts.collect::<Vec<_>>(),
    })
}

/// Returns the object with the spread of `samples`.
fn with(mut object: Value, samples: &[f64]) -> Value {
    Spread::describe(&mut object, samples);
    object
}

/// In place of round trips, in rows whose threads had to wait for their processors.
const DISTURBED: &str = "disturbed";

/// Returns the verdict, or why the samples do not support one.
fn judged(comparison: &Comparison) -> String {
    let name = |row: usize| comparison.rows[row].name.as_str();
    match comparison.verdict() {
        Some(verdict) if verdict.level.is_empty() => format!("fastest: {}", name(verdict.fastest)),
        Some(verdict) => {
            let level: Vec<&str> = verdict.level.iter().map(|&row| name(row)).collect();
            let fastest = name(verdict.fastest);
            format!(
                "fastest: {fastest}; not shown to be slower: {}",
                level.join("; ")
            )
        }
        None => {
            let doubts: Vec<String> = comparison.doubts.iter().map(ToString::to_string).collect();
            format!("no verdict: {}", doubts.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_that_they_are_disturbed() {
        let row = |name: &str, samples: &[f64], disturbed| Row {
            name: name.into(),
            iterations: 1,
            samples: samples.into(),
            disturbed,
        };
        let comparison = Comparison {
            tasks: 2,
            round_trips: vec![2.0, 2.0],
            rows: vec![
                row("one", &[4.0, 8.0], 0),
                row("other", &[4.0, 4e7], 1),
                row("cut", &[], 0),
            ],
            doubts: Vec::new(),
        };
        let text = table(&comparison);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        let ends = ["      3.00", " disturbed", "         -"];
        for (row, end) in rows.iter().zip(ends) {
            assert!(row.len() == WIDTH && row.ends_with(end), "{text}");
        }
        let disturbed: Vec<&str> = rows[1].split_whitespace().collect();
        let figures = ["4.0", "20000002", "40000000", "28284268"];
        assert_eq!(disturbed[1..5], figures, "{text}");
        assert_eq!(compared(&comparison)["kinds"][1]["disturbed"], 1);
    }
}
