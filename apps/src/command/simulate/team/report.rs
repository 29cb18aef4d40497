//! The results, as a table and as JSON.

use super::program::Program;
use crate::command::number::grouped;
use crate::command::quote::escaped;
use crate::command::show::{WIDTH, lines, object, wrapped};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline::balance::Reason;
use tautline_sim::teams::{CallCost, PhaseCost, StormCost};

/// A program at a number of ranks.
pub(super) struct Row {
    program: String,
    ranks: u32,
    ns: u64,
    bound_ns: u64,
    messages: u64,
    /// The messages that one rank sends, at most, if they are counted.
    most_sent: Option<u64>,
    /// Further keys and values.
    more: Vec<(&'static str, Value)>,
    /// The same for people.
    note: Option<String>,
}

impl Row {
    pub(super) fn of_call(program: Program, ranks: u32, cost: &CallCost) -> Self {
        Self {
            program: program.to_string(),
            ranks,
            ns: cost.ns,
            bound_ns: cost.bound_ns,
            messages: cost.messages,
            most_sent: Some(cost.most_sent),
            more: of_messages(cost),
            note: None,
        }
    }

    pub(super) fn of_storm(ranks: u32, cost: &StormCost) -> Self {
        let more = [
            ("activities", cost.activities),
            ("finishes", cost.finishes),
            ("quiet", cost.quiet),
            ("reports", cost.reports),
            ("report_messages", cost.report_messages),
            ("bytes", cost.bytes),
        ];
        Self {
            program: Program::Storm.to_string(),
            ranks,
            ns: cost.ns,
            bound_ns: cost.bound_ns,
            messages: cost.messages,
            most_sent: None,
            more: more.map(|(key, number)| (key, number.into())).into(),
            note: Some(format!(
                "{} activities, {} finishes; {} reports of {} quiet periods, in {} messages",
                grouped(cost.activities),
                grouped(cost.finishes),
                grouped(cost.reports),
                grouped(cost.quiet),
                grouped(cost.report_messages)
            )),
        }
    }

    pub(super) fn of_phase(node: &str, tasks: usize, ranks: u32, cost: &PhaseCost) -> Self {
        let mut more = of_messages(&cost.exchange);
        more.extend([
            ("node", node.into()),
            ("tasks", tasks.into()),
            ("local_us", us(cost.local_ns).into()),
            ("local_bound_us", us(cost.local_bound_ns).into()),
        ]);
        Self {
            program: Program::Phase.to_string(),
            ranks,
            ns: cost.ns(),
            bound_ns: cost.bound_ns(),
            messages: cost.exchange.messages,
            most_sent: Some(cost.exchange.most_sent),
            more,
            note: Some(format!(
                "{node}: {tasks} tasks take {:.2} us of it, their bound is {:.2} us",
                us(cost.local_ns),
                us(cost.local_bound_ns)
            )),
        }
    }

    /// Returns the time in bounds, if there is one.
    fn ratio(&self) -> Option<f64> {
        (self.bound_ns > 0).then(|| self.ns as f64 / self.bound_ns as f64)
    }

    fn json(&self) -> Value {
        let same = [
            ("program", self.program.as_str().into()),
            ("ranks", self.ranks.into()),
            ("time_us", us(self.ns).into()),
            ("bound_us", us(self.bound_ns).into()),
            ("ratio", self.ratio().into()),
            ("messages", self.messages.into()),
        ];
        Value::Object(object(same.into_iter().chain(self.more.iter().cloned())))
    }
}

fn of_messages(cost: &CallCost) -> Vec<(&'static str, Value)> {
    vec![
        ("bytes", cost.bytes.into()),
        ("most_sent", cost.most_sent.into()),
        ("most_received", cost.most_received.into()),
    ]
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// All results.
pub(super) struct Report<'a> {
    pub machine: &'a str,
    pub is_ideal: bool,
    pub rows: Vec<Row>,
    /// False if an interrupt came before the last program.
    pub complete: bool,
}

impl Report<'_> {
    /// Returns a line for each row.
    pub(super) fn table(&self) -> String {
        let costs = match self.is_ideal {
            true => "messages take their latency alone",
            false => "a rank a core",
        };
        let machine = escaped(self.machine);
        let mut text = lines(&format!("A team of ranks on {machine}, simulated; {costs}"));
        let head = [
            "ranks",
            "time, us",
            "bound, us",
            "ratio",
            "messages",
            "of one",
        ];
        let [r, t, b, q, m, o] = head;
        let _ = writeln!(
            text,
            "\n{:<17}{r:>8}{t:>12}{b:>11}{q:>7}{m:>13}{o:>9}",
            "program"
        );
        for row in &self.rows {
            let Row { program, ranks, .. } = row;
            let (time, bound) = (us(row.ns), us(row.bound_ns));
            let absent = || "-".to_owned();
            let ratio = row
                .ratio()
                .map_or_else(absent, |ratio| format!("{ratio:.2}"));
            let (messages, most) = (
                grouped(row.messages),
                row.most_sent.map_or_else(absent, grouped),
            );
            let _ = writeln!(
                text,
                "{program:<17}{ranks:>8}{time:>12.2}{bound:>11.2}{ratio:>7}{messages:>13}{most:>9}"
            );
            for line in row.note.iter().flat_map(|note| wrapped(note, WIDTH - 2)) {
                let _ = writeln!(text, "  {line}");
            }
        }
        if !self.complete {
            let _ = writeln!(text, "partial: interrupted after {} rows", self.rows.len());
        }
        text
    }

    /// Returns the same as data.
    pub(super) fn json(&self) -> Value {
        json!({
            "machine": self.machine,
            "simulated": true,
            "ideal": self.is_ideal,
            "rows": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "complete": self.complete,
            "stopped": (!self.complete).then(|| Reason::Interrupted.name()),
        })
    }
}
