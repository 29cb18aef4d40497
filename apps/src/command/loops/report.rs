//! The results, as a table and as JSON.

use crate::command::number::grouped;
use crate::command::quote::escaped;
use crate::command::show::lines;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline_cli::iterations::Times;

/// A policy on a number of processors.
pub(super) struct Row {
    pub policy: String,
    pub processors: u32,
    pub efficiency: f64,
    /// Microseconds from the start to the end of the last processor.
    pub time_us: f64,
    /// The mean number of chunks, where it is counted.
    pub chunks: Option<f64>,
}

/// The executor of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Threads,
    Queue,
    Ranks,
}

/// All results of a loop.
pub(super) struct Report<'a> {
    pub name: &'a str,
    pub times: &'a Times,
    pub chunk_ns: u64,
    pub on: On,
    pub rows: Vec<Row>,
}

impl Report<'_> {
    /// Returns the facts and a line for each row.
    pub(super) fn table(&self) -> String {
        let (mean, cv) = self.times.moments();
        let on = match self.on {
            On::Threads => "on threads of this machine",
            On::Queue => "simulated, a queue without contention",
            On::Ranks => "simulated, ranks that exchange messages",
        };
        let mut text = lines(&format!(
            "{}: {} iterations, mean {mean:.0} ns, σ/μ {cv:.2}; a chunk costs {} ns; {on}",
            escaped(self.name),
            grouped(self.times.len() as u64),
            grouped(self.chunk_ns),
        ));
        text.push('\n');
        let head = ["processors", "efficiency", "time, us", "chunks"];
        let [p, e, t, c] = head;
        let _ = writeln!(text, "{:<16}{p:>12}{e:>12}{t:>14}{c:>10}", "policy");
        for row in &self.rows {
            let Row {
                policy,
                processors,
                efficiency,
                time_us,
                chunks,
            } = row;
            let percent = format!("{:.1} %", efficiency * 100.0);
            let chunks = chunks.map_or("-".to_owned(), |chunks| format!("{chunks:.0}"));
            let _ = writeln!(
                text,
                "{policy:<16}{processors:>12}{percent:>12}{time_us:>14.1}{chunks:>10}"
            );
        }
        text
    }

    /// Returns the same as data.
    pub(super) fn json(&self) -> Value {
        let (mean, cv) = self.times.moments();
        let row = |row: &Row| {
            json!({
                "policy": row.policy,
                "processors": row.processors,
                "efficiency": row.efficiency,
                "time_us": row.time_us,
                "chunks": row.chunks,
            })
        };
        json!({
            "loop": self.name,
            "iterations": self.times.len(),
            "mean_ns": mean,
            "cv": cv,
            "chunk_ns": self.chunk_ns,
            "simulated": self.on != On::Threads,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}
