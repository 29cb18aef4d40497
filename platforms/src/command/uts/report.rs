//! What a run has to say, as a table and as data.

use super::super::balancer;
use super::super::number::{grouped, ranges, rate};
use super::super::sha_hardware;
use super::baseline::{Missing, Sequential};
use super::tree::{self, Chosen};
use serde_json::json;
use std::fmt::Write as _;
use tautline::glb::{Config, PlaceRun, State, Tally, Times};
use tautline::uts::Counts;
use tautline::uts::named::Named;

/// How the counts of a run compare with the published ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They agree.
    Verified,
    /// Nothing was published.
    Unknown,
    /// The run was stopped: there is nothing to compare.
    Partial,
    /// They differ, and how.
    Wrong(String),
}

impl Verdict {
    /// Compares what was counted with what is known.
    pub fn of(counts: &Counts, known: Option<&Named>, complete: bool) -> Self {
        let Some(known) = known.filter(|_| complete) else {
            return if complete {
                Self::Unknown
            } else {
                Self::Partial
            };
        };
        let expected = [
            ("nodes", counts.nodes, Some(known.nodes)),
            ("leaves", counts.leaves, known.leaves),
            (
                "maximum depth",
                counts.max_depth.into(),
                known.depth.map(u64::from),
            ),
        ];
        let wrong = expected.iter().find_map(|&(what, counted, published)| {
            let published = published.filter(|&published| published != counted)?;
            let (counted, published) = (grouped(counted), grouped(published));
            Some(format!(
                "{}: {what} {counted}, published are {published}",
                known.name
            ))
        });
        wrong.map_or(Self::Verified, Self::Wrong)
    }

    fn json(&self) -> Option<bool> {
        match self {
            Self::Verified => Some(true),
            Self::Wrong(_) => Some(false),
            Self::Unknown | Self::Partial => None,
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Self::Verified => "   verified",
            Self::Unknown => "   no published count",
            Self::Partial => "   partial: interrupted",
            Self::Wrong(_) => "   WRONG",
        }
    }
}

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

    /// Which nodes were hashed.
    fn rule(&self) -> &'static str {
        match self.chosen.params.count_last_level {
            false => "every node hashed",
            true => "last level counted, not hashed",
        }
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
        format!("{}; SHA-1 {hash}", self.rule())
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let Counts {
            nodes,
            leaves,
            max_depth,
            ..
        } = self.counts;
        let tree = tree::describe(&self.chosen.params);
        let counted = [grouped(nodes), grouped(leaves), grouped(max_depth.into())];
        let wide = counted.iter().map(String::len).max().unwrap_or_default();
        let [nodes, leaves, depth] = counted.map(|count| format!("{count:>wide$}"));
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<16}  {value}");
        };
        row("tree", &format!("{}: {tree}", self.chosen.name));
        row("rule", &self.hashing());
        row("places x workers", &self.crew());
        row("balancer", &balancer::line(&self.config));
        row("nodes", &format!("{nodes}{}", self.verdict.words()));
        row("leaves", &leaves);
        row("maximum depth", &depth);
        row("seconds", &format!("{:.3}", self.seconds));
        row("rate", &format!("{}nodes/s", rate(self.rate())));
        row("efficiency", &self.efficiency_line());
        text.push('\n');
        text + &self.place_table()
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

    /// A row a place, and one for all if there are several.
    fn place_table(&self) -> String {
        let mut rows: Vec<[String; 14]> = Vec::new();
        for (number, place) in self.places.iter().enumerate() {
            rows.push(cells(number.to_string(), place));
        }
        if self.places.len() > 1 {
            rows.push(cells("all".to_owned(), &all(self.places)));
        }
        let groups = [
            (1, ""),
            (1, ""),
            (2, "random"),
            (2, "lifeline"),
            (3, "loot received"),
            (5, "share of time, %"),
        ];
        let names = [
            "place",
            "tasks",
            "asked",
            "got",
            "asked",
            "got",
            "count",
            "mean",
            "largest",
            "computing",
            "stealing",
            "distributing",
            "probing",
            "idle",
        ];
        let wide = |column: usize| {
            let cells = rows.iter().map(|row| row[column].len());
            cells.max().unwrap_or_default().max(names[column].len())
        };
        let widths: Vec<usize> = (0..names.len()).map(wide).collect();
        let mut text = String::new();
        let mut column = 0;
        for (columns, name) in groups {
            let range = column..column + columns;
            let wide = widths[range].iter().map(|width| width + 2).sum::<usize>();
            let _ = write!(text, "{name:>wide$}");
            column += columns;
        }
        text.push('\n');
        let mut line = |cells: &[&str]| {
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(text, "{cell:>width$}  ");
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        };
        line(&names);
        for row in &rows {
            line(&row.each_ref().map(String::as_str));
        }
        text
    }

    /// The object for programs.
    pub fn json(&self) -> String {
        let sequential = self.sequential.as_ref().ok();
        let places = self.places.iter().enumerate().map(|(number, place)| {
            let PlaceRun { tally, times } = place;
            let share = |state| (State::name(state).to_owned(), json!(share(times, state)));
            json!({
                "place": number, "tasks": tally.tasks, "messages": tally.messages,
                "random": {"asked": tally.random.asked, "answered": tally.random.answered},
                "lifeline": {"asked": tally.lifeline.asked, "answered": tally.lifeline.answered},
                "received": loot(&tally.received), "sent": loot(&tally.sent),
                "time": State::ALL.map(share).into_iter().collect::<serde_json::Map<_, _>>(),
            })
        });
        let object = json!({
            "tree": tree::json(self.chosen), "rule": self.rule(),
            "sha_hardware": sha_hardware(),
            "nodes": self.counts.nodes, "leaves": self.counts.leaves,
            "max_depth": self.counts.max_depth,
            "expected_nodes": self.chosen.known.map(|known| known.nodes),
            "verified": self.verdict.json(), "complete": self.complete,
            "seconds": self.seconds, "nodes_per_s": self.rate(),
            "sequential_nodes_per_s": sequential.map(|sequential| sequential.rate),
            "sequential_tree": sequential.map(|sequential| &sequential.tree),
            "efficiency": self.efficiency(), "processors": self.processors,
            "places": self.config.places, "workers": self.config.workers,
            "config": balancer::json(&self.config, !self.pinned.is_empty()),
            "per_place": places.collect::<Vec<_>>(),
        });
        format!("{object:#}\n")
    }
}

fn loot(loot: &tautline::glb::Loot) -> serde_json::Value {
    json!({"count": loot.count, "tasks": loot.tasks, "largest": loot.largest})
}

fn share(times: &Times, state: State) -> f64 {
    times.of(state) as f64 / times.total().max(1) as f64
}

fn cells(name: String, PlaceRun { tally, times }: &PlaceRun) -> [String; 14] {
    let received = &tally.received;
    let mean = received.tasks / received.count.max(1);
    let [computing, stealing, distributing, probing, idle] =
        State::ALL.map(|state| format!("{:.2}", share(times, state) * 100.0));
    [
        name,
        grouped(tally.tasks),
        grouped(tally.random.asked),
        grouped(tally.random.answered),
        grouped(tally.lifeline.asked),
        grouped(tally.lifeline.answered),
        grouped(received.count),
        grouped(mean),
        grouped(received.largest),
        computing,
        stealing,
        distributing,
        probing,
        idle,
    ]
}

/// The sums over all places.
fn all(places: &[PlaceRun]) -> PlaceRun {
    let mut sum = PlaceRun::default();
    for PlaceRun { tally, times } in places {
        sum.times.merge(times);
        let Tally {
            tasks,
            random,
            lifeline,
            received,
            ..
        } = &mut sum.tally;
        *tasks += tally.tasks;
        for (to, from) in [(random, tally.random), (lifeline, tally.lifeline)] {
            to.asked += from.asked;
            to.answered += from.answered;
        }
        received.count += tally.received.count;
        received.tasks += tally.received.tasks;
        received.largest = received.largest.max(tally.received.largest);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline::uts::named;

    fn counts(nodes: u64, leaves: u64, max_depth: u32) -> Counts {
        Counts {
            nodes,
            leaves,
            max_depth,
        }
    }

    #[test]
    fn the_verdict_compares_everything_published() {
        let t1 = named::find("T1").ok();
        let of = |counts: &Counts| Verdict::of(counts, t1, true);
        assert_eq!(of(&counts(4_130_071, 3_305_118, 10)), Verdict::Verified);
        let Verdict::Wrong(line) = of(&counts(4_130_070, 3_305_118, 10)) else {
            panic!("a node too few was accepted");
        };
        assert_eq!(line, "T1: nodes 4 130 070, published are 4 130 071");
        assert!(matches!(
            of(&counts(4_130_071, 3_305_119, 10)),
            Verdict::Wrong(_)
        ));
        assert!(matches!(
            of(&counts(4_130_071, 3_305_118, 11)),
            Verdict::Wrong(_)
        ));
    }

    #[test]
    fn nothing_to_compare_is_not_verified() {
        let counts = counts(1, 1, 0);
        assert_eq!(Verdict::of(&counts, None, true), Verdict::Unknown);
        let partial = Verdict::of(&counts, named::find("T1").ok(), false);
        assert_eq!(partial, Verdict::Partial);
        assert_eq!(partial.json(), None);
    }
}
