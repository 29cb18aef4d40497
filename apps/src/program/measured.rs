//! The settings and circumstances of a balanced run, as rows of a table and as data.

use super::show::number::{bytes, grouped, ranges, seconds};
use super::show::{self, place, worker};
use super::{Answer, balancer};
use crate::bench::Doubt;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::time::Duration;
use tautline::balance::{Config, PlaceRun, WorkerRun};

/// The settings and circumstances of a finished run, without its result.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The balancer's settings.
    pub config: Config,
    /// Whether the reasons for them are shown.
    pub explain: bool,
    /// The processors that workers were pinned to; empty if not pinned.
    pub pinned: Vec<usize>,
    /// The number of processors that the workers of all ranks could use at once.
    pub processors: usize,
    /// The number of threads that worked, of all ranks.
    pub threads: usize,
    /// The number of ranks, which have these settings each.
    pub ranks: u32,
    /// The maximum error between the clocks of the ranks, if that is of interest.
    pub clocks: Option<Duration>,
    /// The messages between ranks, and their bytes.
    pub sent: (u64, u64),
    /// By what the run was disturbed, as far as the system reports it.
    pub doubts: Vec<Doubt>,
    /// The duration.
    pub seconds: f64,
    /// The number of tasks.
    pub tasks: u64,
    /// The maximum memory of the processes until the end of the run, in sum, if the system reports
    /// it.
    pub peak_memory_kib: Option<u64>,
}

impl Measured {
    /// Returns the places and workers, and their processors.
    fn crew(&self) -> String {
        let pinned = match self.pinned.as_slice() {
            [] => "not pinned".to_owned(),
            cpus => format!("pinned to CPUs {}", ranges(cpus)),
        };
        let (threads, workers) = (
            self.threads,
            self.config.all_workers() * self.ranks as usize,
        );
        let crowded = match threads > self.processors {
            true => format!(", {threads} threads on {} CPUs", self.processors),
            // The system refused the others.
            false if threads < workers => match threads {
                1 => ", 1 thread".to_owned(),
                _ => format!(", {threads} threads"),
            },
            false => String::new(),
        };
        let crews = balancer::crews(&self.config);
        format!("{crews}, {pinned}{crowded}")
    }

    /// Returns the problem and how it was run.
    fn setting(&self, answer: &Answer) -> Vec<(&'static str, String)> {
        let mut rows = answer.facts.clone();
        if self.ranks > 1 {
            rows.push((
                "ranks",
                format!("{} processes, with these places each", self.ranks),
            ));
        }
        rows.push(("places x workers", self.crew()));
        rows.push(("balancer", balancer::line(&self.config)));
        if self.explain {
            rows.extend(balancer::reasons(&self.config));
        }
        rows
    }

    fn times(&self, answer: &Answer) -> [(&'static str, String); 2] {
        let rates = answer.rates(self.seconds);
        [
            ("seconds", seconds(self.seconds)),
            ("rate", answer.spell(rates)),
        ]
    }

    /// Returns the run in a few words, for the head of the picture.
    pub fn facts(&self, answer: &Answer) -> Vec<(&'static str, String)> {
        let mut facts = self.setting(answer);
        facts.extend(answer.told());
        if let Some(error) = self.clocks {
            facts.push(("clocks", format!("aligned to {error:.1?}")));
        }
        facts.extend(self.times(answer));
        facts.extend(self.disturbance().map(|by| ("disturbed", by)));
        facts
    }

    /// Takes over which processors the workers of all ranks use, those that they are pinned to, or
    /// else how many; and their threads. Ranks other than the first do not know.
    pub fn add_ranks(&mut self, ranks: Vec<(Vec<usize>, usize, usize)>) {
        if ranks.is_empty() {
            return;
        }
        self.ranks = ranks.len() as u32;
        self.threads = ranks.iter().map(|(.., threads)| threads).sum();
        let pinned = ranks.iter().flat_map(|(pinned, ..)| pinned.iter().copied());
        let pinned: BTreeSet<usize> = pinned.collect();
        self.processors = match pinned.len() {
            0 => ranks.iter().map(|(_, processors, _)| processors).sum(),
            processors => processors,
        };
        self.pinned = pinned.into_iter().collect();
    }

    /// Returns the setting, the result and the times, as rows of the table.
    pub fn rows(&self, answer: &Answer) -> Vec<(&'static str, String)> {
        let mut rows = self.setting(answer);
        rows.extend(answer.rows());
        rows.extend(self.times(answer));
        if self.ranks > 1 {
            let (messages, sent) = self.sent;
            let (messages, sent) = (grouped(messages), bytes(sent));
            rows.push(("between ranks", format!("{messages} messages, {sent}")));
        }
        rows
    }

    /// Returns the row of the memory.
    pub fn memory(&self) -> Option<(&'static str, String)> {
        let kib = self.peak_memory_kib?;
        Some(("peak memory", bytes(kib * 1024)))
    }

    /// Returns the table of the `rows`, of the places or workers, and of what disturbed the run.
    pub fn table(
        &self,
        rows: &[(&str, String)],
        places: &[PlaceRun],
        workers: &[WorkerRun],
    ) -> String {
        let text = show::table(rows) + "\n" + &worker::or_places(workers, places);
        text + &self.disturbed().unwrap_or_default()
    }

    /// Returns the line of what disturbed the run.
    fn disturbed(&self) -> Option<String> {
        let by = self.disturbance()?;
        Some(show::lines(&format!("disturbed: {by}")))
    }

    /// Returns what disturbed the run.
    fn disturbance(&self) -> Option<String> {
        let doubts: Vec<String> = self.doubts.iter().map(Doubt::to_string).collect();
        (!doubts.is_empty()).then(|| doubts.join("; "))
    }

    /// Returns the JSON object, without the version of its keys.
    pub fn json(
        &self,
        answer: &Answer,
        places: &[PlaceRun],
        workers: &[WorkerRun],
    ) -> Map<String, Value> {
        let mut object = answer.json(answer.rates(self.seconds));
        let mut config = balancer::json(&self.config, self.explain);
        config["pinned"] = (!self.pinned.is_empty()).into();
        let doubts: Vec<String> = self.doubts.iter().map(Doubt::to_string).collect();
        for (key, value) in [
            ("seconds", self.seconds.into()),
            ("processors", self.processors.into()),
            ("threads", self.threads.into()),
            ("peak_memory_kib", self.peak_memory_kib.into()),
            ("ranks", self.ranks.into()),
            ("messages", self.sent.0.into()),
            ("bytes", self.sent.1.into()),
            ("places", self.config.places.into()),
            ("workers", self.config.workers.into()),
            ("smaller_places", self.config.smaller.into()),
            ("config", config),
            ("per_place", place::json(places)),
            ("per_worker", worker::json(workers)),
            ("doubts", doubts.into()),
        ] {
            object.insert(key.to_owned(), value);
        }
        object
    }
}
