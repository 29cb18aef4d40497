//! The comparison, as a table and as JSON.

use super::MessageCosts;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline::balance::Reason;
use tautline_cli::bench::Spread;

/// The largest difference of a prediction that holds, in percent.
const WITHIN_PERCENT: f64 = 15.0;

/// A call that gives costs.
pub(super) struct Calibration {
    pub(super) call: &'static str,
    pub(super) ranks: u32,
    pub(super) measured: Spread,
    pub(super) gives: &'static str,
}

/// A call beside the model.
pub(super) struct Row {
    pub(super) call: &'static str,
    pub(super) ranks: u32,
    pub(super) measured: Spread,
    pub(super) predicted_ns: u64,
}

/// All results.
#[derive(Default)]
pub(super) struct Report {
    pub(super) rounds: u64,
    pub(super) calls: u64,
    pub(super) processors: usize,
    pub(super) calibrations: Vec<Calibration>,
    pub(super) costs: Option<MessageCosts>,
    pub(super) rows: Vec<Row>,
    /// Numbers of ranks for which there are not enough processors.
    pub(super) needing: Vec<u32>,
    /// False if an interrupt came before the last round.
    pub(super) complete: bool,
}

impl Row {
    /// Returns the difference of the prediction from the measured time, in percent.
    fn difference(&self) -> f64 {
        100.0 * (self.predicted_ns as f64 / self.measured.median - 1.0)
    }

    fn is_within(&self) -> bool {
        self.difference().abs() <= WITHIN_PERCENT
    }

    fn json(&self) -> Value {
        json!({
            "call": self.call, "ranks": self.ranks, "measured_ns": spread(&self.measured),
            "predicted_ns": self.predicted_ns, "difference_percent": self.difference(),
            "within": self.is_within(), "needs_processors": null,
        })
    }
}

fn spread(spread: &Spread) -> Value {
    json!({"min": spread.least, "median": spread.median, "max": spread.most})
}

/// Formats the median and its range as cells.
fn cells(measured: &Spread) -> String {
    let Spread {
        least,
        median,
        most,
        ..
    } = measured;
    format!("{median:.0} ns | {least:.0} ns | {most:.0} ns")
}

impl Report {
    /// Returns a line for each call.
    pub(super) fn table(&self) -> String {
        let Self {
            rounds,
            calls,
            processors,
            ..
        } = self;
        let mut text = format!(
            "Calls of real ranks, beside the model; {processors} processors; medians of {rounds} rounds, \
             each of {calls} calls\n\n\
             | calibrates | ranks | real | from | to | gives |\n|---|---|---|---|---|---|\n"
        );
        for of in &self.calibrations {
            let (call, ranks, gives) = (of.call, of.ranks, of.gives);
            let _ = writeln!(
                text,
                "| {call} | {ranks} | {} | {gives} |",
                cells(&of.measured)
            );
        }
        if let Some(costs) = self.costs {
            let parts = match costs.latency_ns().zip(costs.serve_ns) {
                Some((latency, serve)) => format!("latency {latency} ns, serve {serve} ns"),
                None => format!("latency + serve {} ns", costs.sum_ns),
            };
            let _ = writeln!(text, "\nCosts of a message: {parts}");
        }
        let _ = write!(
            text,
            "\n| call | ranks | real | from | to | model | difference | within {WITHIN_PERCENT} % |\n\
             |---|---|---|---|---|---|---|---|\n"
        );
        for row in &self.rows {
            let (call, ranks, model) = (row.call, row.ranks, row.predicted_ns);
            let _ = writeln!(
                text,
                "| {call} | {ranks} | {} | {model} ns | {:+.1} % | {} |",
                cells(&row.measured),
                row.difference(),
                if row.is_within() { "yes" } else { "no" },
            );
        }
        for ranks in &self.needing {
            let _ = writeln!(
                text,
                "| all | {ranks} | needs {ranks} processors, has {processors} | | | | | |"
            );
        }
        if !self.complete {
            let _ = writeln!(text, "\npartial: interrupted after {rounds} rounds");
        }
        text
    }

    /// Returns the same as data.
    pub(super) fn json(&self) -> Value {
        let calibration = |of: &Calibration| {
            json!({
                "call": of.call, "ranks": of.ranks, "measured_ns": spread(&of.measured), "gives": of.gives,
            })
        };
        let needing = |ranks: &u32| {
            json!({
                "call": null, "ranks": ranks, "measured_ns": null, "predicted_ns": null,
                "difference_percent": null, "within": null, "needs_processors": ranks,
            })
        };
        let rows = self.rows.iter().map(Row::json);
        let costs = self.costs.map(|costs| {
            json!({
                "sum_ns": costs.sum_ns, "latency_ns": costs.latency_ns(), "serve_ns": costs.serve_ns,
            })
        });
        json!({
            "rounds": self.rounds,
            "calls": self.calls,
            "processors": self.processors,
            "calibrations": self.calibrations.iter().map(calibration).collect::<Vec<_>>(),
            "costs": costs,
            "rows": rows.chain(self.needing.iter().map(needing)).collect::<Vec<_>>(),
            "complete": self.complete,
            "stopped": (!self.complete).then(|| Reason::Interrupted.name()),
        })
    }
}
