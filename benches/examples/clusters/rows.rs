//! What is launched.

use crate::bounds::bound;
use crate::launch::Library;
use crate::programs::Program;
use crate::samples::Samples;
use tautline::Machine;

/// Nodes of a chunk and nodes between two polls: those published, and larger ones.
const PACES: [[&str; 2]; 4] = [["8", "4"], ["15", "8"], ["4", "16"], ["32", "256"]];

/// One launch of a pair, or the programs that search one tree in turn.
pub(crate) struct Job {
    /// The program, or the tree.
    pub name: &'static str,
    ranks: usize,
    /// Threads or workers a rank.
    threads: usize,
    /// Processors a rank.
    each: usize,
    /// The words of a program; none for a tree.
    words: Vec<String>,
}

/// All of them, for the processors that are found.
pub(crate) fn jobs(quick: bool) -> Vec<Job> {
    let found = Machine::discover().allowed().len();
    let half = (found / 2).max(1);
    let pair = |name: &'static str, threads: usize, words: &[&str]| Job {
        name,
        ranks: 2,
        threads,
        each: half,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let seconds = if quick { "0.5" } else { "10" };
    let mut all = vec![
        pair("messages", 1, &["messages"]),
        pair("messages", 4, &["messages", "--threads", "4"]),
        pair("overlap", 1, &["overlap"]),
        pair("waits", 1, &["waits", "--seconds", seconds]),
    ];
    let mut shapes = vec![[2, 1]];
    if found > 2 {
        shapes.extend([[found, 1], [2, half]]);
    }
    for name in if quick { ["T1", "T3"] } else { ["T1L", "T3L"] } {
        let job = |[ranks, threads]: [usize; 2]| Job {
            name,
            ranks,
            threads,
            each: threads,
            words: Vec::new(),
        };
        all.extend(shapes.iter().copied().map(job));
    }
    all
}

impl Job {
    /// The first words of the names of its rows.
    pub(crate) fn row(&self) -> String {
        format!("{}x{}/{}", self.ranks, self.threads, self.name)
    }

    /// Launches everything once.
    ///
    /// # Errors
    /// A launch failed, or printed something else: in words.
    pub(crate) fn run(
        &self,
        library: &Library,
        peers: &[Program],
        samples: &mut Samples,
    ) -> Result<(), String> {
        if self.words.is_empty() {
            self.search(library, peers, samples)
        } else {
            self.pair(library, samples)
        }
    }

    fn pair(&self, library: &Library, samples: &mut Samples) -> Result<(), String> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let text = library.launch([self.ranks, self.each], &words)?;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("library\t") {
                samples.set_library(name);
                continue;
            }
            let fault = || format!("{}: printed {line:?}", self.name);
            let mut parts = line.split('\t');
            let name = parts.next().unwrap_or_default();
            let figures: Option<Vec<f64>> = parts.map(|part| part.parse().ok()).collect();
            let &[plain, ours] = figures.as_deref().ok_or_else(fault)? else {
                return Err(fault());
            };
            let row = format!("{}x{}/{name}", self.ranks, self.threads);
            samples.add_pair(&row, [plain, ours], bound(name, self.threads));
        }
        Ok(())
    }

    /// The sequential program, alone and on all processors at once; ours; ranks that poll; ranks of threads.
    fn search(
        &self,
        library: &Library,
        peers: &[Program],
        samples: &mut Samples,
    ) -> Result<(), String> {
        let row = self.row();
        let all = self.ranks * self.threads;
        let one = ["searches", self.name, "--way", "sequential"];
        let alone = sum(&library.launch([1, 1], &one)?, "nodes_per_s")?;
        samples.add(&row, "sequential", alone, None);
        let ideal = all as f64 * alone;
        let at_once = sum(&library.launch([all, 1], &one)?, "nodes_per_s")?;
        samples.add(
            &row,
            "sequential on each processor",
            at_once,
            Some(at_once / ideal),
        );
        self.ours(library, ideal, samples)?;

        self.rivals(library, ideal, samples)?;
        let listed = format!("ranks/{}", self.name);
        for peer in peers
            .iter()
            .filter(|peer| peer.row == listed && self.row().starts_with("2x1/"))
        {
            let rate = 1e6 * peer.figure()?;
            samples.add(&row, &peer.contender, rate, Some(rate / ideal));
        }
        Ok(())
    }

    /// Ranks that poll and ranks of threads, at each pace.
    fn rivals(&self, library: &Library, ideal: f64, samples: &mut Samples) -> Result<(), String> {
        let (row, workers) = (self.row(), self.threads.to_string());
        let all = self.ranks * self.threads;
        for [chunk, interval] in PACES {
            let words = |way| {
                [
                    "searches",
                    self.name,
                    "--chunk",
                    chunk,
                    "--interval",
                    interval,
                    "--way",
                    way,
                ]
            };
            let polling = words("polling");
            let mut threads = words("threads").to_vec();
            threads.extend(["--workers", &workers]);
            let ways = [
                ("ranks that poll", [all, 1], &polling[..]),
                ("ranks of threads", [self.ranks, self.threads], &threads[..]),
            ];
            for (name, place, words) in ways {
                let text = library.launch(place, words)?;
                if let Some(name) = text.lines().find_map(|line| line.strip_prefix("library\t")) {
                    samples.set_library(name);
                }
                let contender = format!("{name}, chunk {chunk}, interval {interval}");
                let figures =
                    ["nodes_per_s", "failed", "overhead", "search"].map(|key| sum(&text, key));
                let [rate, failed, overhead, search] = figures;
                samples.add(&row, &contender, rate.clone()?, Some(rate? / ideal));
                self.details([failed?, overhead?, search?], &contender, samples);
            }
        }
        Ok(())
    }

    fn details(&self, figures: [f64; 3], contender: &str, samples: &mut Samples) {
        for (what, figure) in ["failed", "overhead", "search"].into_iter().zip(figures) {
            samples.add(&format!("{}/{what}", self.row()), contender, figure, None);
        }
    }

    fn ours(&self, library: &Library, ideal: f64, samples: &mut Samples) -> Result<(), String> {
        let workers = self.threads.to_string();
        let words = [
            "tautline",
            "uts",
            self.name,
            "--workers",
            &workers,
            "--baseline",
            "none",
            "--json",
            "--quiet",
        ];
        let text = library.launch([self.ranks, self.threads], &words)?;
        let fault = |key: &str| format!("tautline: no {key} in what it printed");
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let rate = json["nodes_per_s"]
            .as_f64()
            .ok_or_else(|| fault("nodes_per_s"))?;
        let places = json["per_place"]
            .as_array()
            .ok_or_else(|| fault("per_place"))?;
        let total = |keys: &[[&str; 2]]| -> f64 {
            let one = |place: &serde_json::Value| -> f64 {
                keys.iter()
                    .filter_map(|[part, key]| place[part][key].as_f64())
                    .sum()
            };
            places.iter().map(one).sum()
        };
        let asked = total(&[["random", "asked"], ["lifeline", "asked"]]);
        let answered = total(&[["random", "answered"], ["lifeline", "answered"]]);
        let share = |keys: [&str; 2]| total(&keys.map(|key| ["time", key])) / places.len() as f64;
        samples.add(&self.row(), "Tautline", rate, Some(rate / ideal));
        let figures = [
            asked - answered,
            share(["distributing", "probing"]),
            share(["stealing", "idle"]),
        ];
        self.details(figures, "Tautline", samples);
        Ok(())
    }
}

/// The sum of the figures of a key, of which each process prints one.
fn sum(text: &str, key: &str) -> Result<f64, String> {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let figures: Result<Vec<f64>, _> = lines
        .filter(|line| line.0 == key)
        .map(|line| line.1.parse())
        .collect();
    match figures {
        Ok(figures) if !figures.is_empty() => Ok(figures.iter().sum()),
        _ => Err(format!("searches: no {key} in what it printed")),
    }
}
