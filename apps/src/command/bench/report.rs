//! The results of the measurements, as tables and as JSON.

use crate::command::show::{WIDTH, lines, wrapped};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline::Machine;
use tautline::pinning::ranges;
use tautline_cli::bench::{Comparison, Distance, Row, Setting, Spread};

/// A pair of processors, and samples of a round trip between them.
type Pair = ([usize; 2], Vec<f64>);

/// All results.
pub(super) struct Report<'a> {
    pub machine: &'a Machine,
    pub setting: &'a Setting,
    pub distances: Vec<(Distance, Vec<Pair>)>,
    pub comparisons: Vec<Comparison>,
}

/// The width of the names of rows.
const NAME: usize = 32;
/// The width of each of the four figures.
const FIGURE: usize = 10;
/// The width of the number of round trips that an episode takes, which is the rest of that of a terminal.
const RATIO: usize = WIDTH - NAME - 4 * FIGURE;

impl Report<'_> {
    /// Returns the tables.
    pub(super) fn table(&self) -> String {
        let setting = self.setting;
        let mut text = lines(&format!(
            "{}, processors {}; {} samples each, in turn, ns",
            self.machine.model().unwrap_or("unknown processor"),
            ranges(&setting.cpus),
            setting.samples,
        ));
        if setting.delay_ns > 0 {
            let _ = writeln!(text, "{} ns of work between two episodes", setting.delay_ns);
        }
        let _ = writeln!(text, "\n{}", head("round trip of a cache line"));
        let wide = NAME - 2;
        for (distance, pairs) in &self.distances {
            for ([one, other], samples) in pairs {
                let name = format!("{distance}, CPUs {one} and {other}");
                let _ = writeln!(text, "  {name:<wide$}{}", figures(samples));
            }
        }
        if self.distances.is_empty() {
            text.push_str("  none: there is one processor\n");
        }
        for comparison in &self.comparisons {
            let name = format!("barrier of {} tasks", comparison.tasks);
            let _ = writeln!(text, "\n{}{:>RATIO$}", head(&name), "trips");
            for row in &comparison.rows {
                let ratio = comparison.ratio(row);
                let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
                let figures = figures(&row.samples);
                let _ = writeln!(text, "  {:<wide$}{figures}{ratio:>RATIO$}", row.name);
            }
            for line in wrapped(&judged(comparison), WIDTH - 2) {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }

    /// Returns the JSON object.
    pub(super) fn json(&self) -> Value {
        let pair = |(cpus, samples): &Pair| with(json!({"cpus": cpus}), samples);
        let distance = |(distance, pairs): &(Distance, Vec<Pair>)| {
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
        json!({
            "model": self.machine.model(),
            "processors": self.setting.cpus,
            "samples": self.setting.samples,
            "delay_ns": self.setting.delay_ns,
            "round_trips": self.distances.iter().map(distance).collect::<Vec<_>>(),
            "barriers": self.comparisons.iter().map(compared).collect::<Vec<_>>(),
        })
    }
}

fn compared(comparison: &Comparison) -> Value {
    let row = |row: &Row| {
        let named = json!({
            "kind": row.name,
            "iterations": row.iterations,
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

/// Returns the spread of `samples` as data.
fn with(mut object: Value, samples: &[f64]) -> Value {
    if let Some(spread) = Spread::of(samples) {
        for (key, ns) in [
            ("min_ns", spread.least),
            ("median_ns", spread.median),
            ("max_ns", spread.most),
            ("sd_ns", spread.deviation),
        ] {
            object[key] = ns.into();
        }
    }
    object
}

/// Returns the names of the columns of figures, after that of their rows.
fn head(name: &str) -> String {
    let columns = ["min", "median", "max", "sd"];
    format!(
        "{name:<NAME$}{}",
        columns.map(|column| format!("{column:>FIGURE$}")).concat()
    )
}

fn figures(samples: &[f64]) -> String {
    Spread::of(samples).map_or(String::new(), |spread| {
        let all = [spread.least, spread.median, spread.most, spread.deviation];
        all.map(|ns| format!("{ns:>FIGURE$.1}")).concat()
    })
}

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
