//! The results of the measurements, as tables and as JSON.

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

const COLUMNS: &str = "min      median         max          sd";

impl Report<'_> {
    /// Returns the tables.
    pub(super) fn table(&self) -> String {
        let setting = self.setting;
        let mut text = format!(
            "{}, processors {}; {} samples each, in turn, ns\n",
            self.machine.model().unwrap_or("unknown processor"),
            ranges(&setting.cpus),
            setting.samples,
        );
        if setting.delay_ns > 0 {
            let _ = writeln!(text, "{} ns of work between two episodes", setting.delay_ns);
        }
        let _ = writeln!(text, "\n{:<34}{COLUMNS:>46}", "round trip of a cache line");
        for (distance, pairs) in &self.distances {
            for ([one, other], samples) in pairs {
                let name = format!("{distance}, CPUs {one} and {other}");
                let _ = writeln!(text, "  {name:<32}{}", figures(samples));
            }
        }
        if self.distances.is_empty() {
            text.push_str("  none: there is one processor\n");
        }
        for comparison in &self.comparisons {
            let name = format!("barrier of {} tasks", comparison.tasks);
            let _ = writeln!(text, "\n{name:<34}{COLUMNS:>46}  round trips",);
            for row in &comparison.rows {
                let ratio = comparison.ratio(row);
                let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
                let figures = figures(&row.samples);
                let _ = writeln!(text, "  {:<32}{figures}  {ratio:>11}", row.name);
            }
            let _ = writeln!(text, "  {}", judged(comparison));
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

fn figures(samples: &[f64]) -> String {
    Spread::of(samples).map_or(String::new(), |spread| {
        let all = [spread.least, spread.median, spread.most, spread.deviation];
        all.map(|ns| format!("{ns:>12.1}")).concat()
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
