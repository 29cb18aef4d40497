//! What a run has to say, as a table and as data.

use super::baseline::{Missing, Sequential};
use super::tree::{self, Chosen};
use super::verdict::{self, Verdict};
use crate::command::number::{bytes, grouped, ranges, rate};
use crate::command::{balancer, place, sha_hardware};
use serde_json::json;
use std::fmt::Write as _;
use tautline::glb::{Config, PlaceRun};
use tautline::uts::Counts;

/// A finished run and everything to be said about it.
#[derive(Debug)]
pub struct Report<'a> {
    /// The tree.
    pub chosen: &'a Chosen,
    /// The balancer's settings.
    pub config: Config,
    /// The processors that workers were pinned to; none if not pinned.
    pub pinned: Vec<usize>,
    /// How many processors the workers could use at once.
    pub processors: usize,
    /// What was counted.
    pub counts: Counts,
    /// How it compares.
    pub verdict: Verdict,
    /// All work was done.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
    /// Most memory that the process held until the run was over, where the system says so.
    pub peak_memory_kib: Option<u64>,
    /// What each place counted.
    pub places: &'a [PlaceRun],
    /// What it is measured against.
    pub sequential: Result<Sequential, Missing>,
}

impl Report<'_> {
    /// Nodes a second.
    pub fn rate(&self) -> f64 {
        self.counts.nodes as f64 / self.seconds.max(1e-9)
    }

    /// Share of the sequential program's rate that each processor reached.
    fn efficiency(&self) -> Option<f64> {
        let sequential = self.sequential.as_ref().ok()?;
        Some(self.rate() / (sequential.rate * self.processors as f64))
    }

    /// Who ran, and where.
    pub fn crew(&self) -> String {
        let Config {
            places, workers, ..
        } = self.config;
        let pinned = match self.pinned.as_slice() {
            [] => "not pinned".to_owned(),
            cpus => format!("pinned to CPUs {}", ranges(cpus)),
        };
        let threads = places as usize * workers;
        let crowded = match threads > self.processors {
            true => format!(", {threads} threads on {} CPUs", self.processors),
            false => String::new(),
        };
        format!("{places} x {workers}, {pinned}{crowded}")
    }

    /// The hash, and which nodes it was spent on.
    pub fn hashing(&self) -> String {
        let hash = sha_hardware().unwrap_or("in software");
        format!("{}; SHA-1 {hash}", self.chosen.rule())
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let tree = tree::describe(&self.chosen.params);
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<16}  {value}");
        };
        row("tree", &format!("{}: {tree}", self.chosen.name));
        row("rule", &self.hashing());
        row("places x workers", &self.crew());
        row("balancer", &balancer::line(&self.config));
        for (name, value) in verdict::rows(&self.counts, &self.verdict) {
            row(name, &value);
        }
        row("seconds", &format!("{:.3}", self.seconds));
        row("rate", &format!("{}nodes/s", rate(self.rate())));
        row("efficiency", &self.efficiency_line());
        if let Some(kib) = self.peak_memory_kib {
            row("peak memory", &bytes(kib * 1024));
        }
        text.push('\n');
        text + &place::table(&place::every(self.places))
    }

    fn efficiency_line(&self) -> String {
        match (&self.sequential, self.efficiency()) {
            (Ok(sequential), Some(efficiency)) => format!(
                "{:.1} % of {} x {}nodes/s, the sequential program on {} ({} nodes, {})",
                efficiency * 100.0,
                self.processors,
                rate(sequential.rate),
                sequential.tree,
                grouped(sequential.nodes),
                match sequential.runs {
                    1 => "one run".to_owned(),
                    runs => format!("median of {runs}"),
                },
            ),
            (Err(Missing::Because(reason)), _) => format!("no baseline, {reason}"),
            (Err(Missing::Interrupted), _) => "no baseline, interrupted".to_owned(),
            _ => "no baseline".to_owned(),
        }
    }

    /// The object for programs.
    pub fn json(&self) -> String {
        let sequential = self.sequential.as_ref().ok();
        let mut config = balancer::json(&self.config);
        config["pinned"] = (!self.pinned.is_empty()).into();
        let object = json!({
            "tree": tree::json(self.chosen), "rule": self.chosen.rule(),
            "sha_hardware": sha_hardware(),
            "nodes": self.counts.nodes, "leaves": self.counts.leaves,
            "max_depth": self.counts.max_depth,
            "expected_nodes": self.chosen.known.map(|known| known.nodes),
            "verified": self.verdict.json(), "complete": self.complete,
            "seconds": self.seconds, "nodes_per_s": self.rate(),
            "sequential_nodes_per_s": sequential.map(|sequential| sequential.rate),
            "sequential_tree": sequential.map(|sequential| &sequential.tree),
            "efficiency": self.efficiency(), "processors": self.processors,
            "peak_memory_kib": self.peak_memory_kib,
            "places": self.config.places, "workers": self.config.workers,
            "config": config,
            "per_place": place::json(self.places),
        });
        format!("{object:#}\n")
    }
}
