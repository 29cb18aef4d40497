//! Programs that are launched.

use crate::bounds::bound;
use crate::launch::Library;
use tautline::Machine;
use tautline_bench::programs::Program;
use tautline_bench::samples::Samples;

/// Nodes of a chunk and nodes between two polls: those published, and larger ones.
pub(crate) const PACES: [[&str; 2]; 4] = [["8", "4"], ["15", "8"], ["4", "16"], ["32", "256"]];
/// The contender that all others of a tree are judged by.
pub(crate) const EACH: &str = "sequential on each processor";

/// Returns how a library calls itself, its name and version, if this line of a program states it.
fn library_of(line: &str) -> Option<String> {
    let name = line.strip_prefix("library\t")?;
    // "Open MPI v4.1.4, package: …" and "MPICH Version:\t4.0.2".
    let end = name.find([',', ';']).unwrap_or(name.len());
    Some(name[..end].replace("Version:\t", "").trim().to_string())
}

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
    /// The paces of ranks that steal.
    paces: &'static [[&'static str; 2]],
}

/// All of them, for the processors that are found; ranks that steal take the last `paces` of
/// [`PACES`].
pub(crate) fn jobs(quick: bool, paces: usize) -> Vec<Job> {
    let found = Machine::discover().allowed().len();
    let half = (found / 2).max(1);
    let pair = |name: &'static str, threads: usize, words: &[&str]| Job {
        name,
        ranks: 2,
        threads,
        each: half,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        paces: &[],
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
            paces: &PACES[PACES.len().saturating_sub(paces)..],
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
            if let Some(library) = library_of(line) {
                samples.library = library;
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
            let judged = bound(name, self.threads).judged(plain, ours);
            samples.add(&row, "MPI", plain, None);
            samples.add(&row, "Tautline", ours, Some(judged));
        }
        Ok(())
    }

    /// The sequential program alone; ours; ranks that poll; ranks of threads. Before and after each
    /// of the latter the sequential program runs on all of their processors at once, so that the
    /// clock is that of the run.
    fn search(
        &self,
        library: &Library,
        peers: &[Program],
        samples: &mut Samples,
    ) -> Result<(), String> {
        let row = self.row();
        let alone = sum(&library.launch([1, 1], &self.sequential())?, "nodes_per_s")?;
        samples.add(&row, "sequential", alone, None);
        let mut beside = Beside::new(self, library, samples)?;
        let ours = self.ours(library)?;
        self.searched("Tautline", ours, &mut beside, samples)?;
        for pace in self.paces {
            for (name, place, words) in self.rivals(*pace) {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let text = library.launch(place, &words)?;
                if let Some(library) = text.lines().find_map(library_of) {
                    samples.library = library;
                }
                let [rate, failed, overhead, search] =
                    ["nodes_per_s", "failed", "overhead", "search"].map(|key| sum(&text, key));
                let figures = [rate?, failed?, overhead?, search?];
                self.searched(&name, figures, &mut beside, samples)?;
            }
        }
        let listed = format!("ranks/{}", self.name);
        for peer in peers
            .iter()
            .filter(|peer| peer.row == listed && self.row().starts_with("2x1/"))
        {
            let rate = 1e6 * peer.figure()?;
            let share = rate / beside.after(samples)?;
            samples.add(&row, &peer.contender, rate, Some(share));
        }
        Ok(())
    }

    fn sequential(&self) -> [&'static str; 4] {
        ["searches", self.name, "--way", "sequential"]
    }

    /// Ranks that poll and ranks of threads, at this pace: their names, ranks and processors, and
    /// words.
    fn rivals(&self, [chunk, interval]: [&str; 2]) -> [(String, [usize; 2], Vec<String>); 2] {
        let words = |rest: &[&str]| {
            let tree = [
                "searches",
                self.name,
                "--chunk",
                chunk,
                "--interval",
                interval,
            ];
            let all = tree.iter().chain(rest);
            all.map(|word| (*word).to_owned()).collect()
        };
        let pace = format!("chunk {chunk}, interval {interval}");
        let threads = ["--way", "threads", "--workers", &self.threads.to_string()];
        [
            (
                format!("ranks that poll, {pace}"),
                [self.ranks * self.threads, 1],
                words(&["--way", "polling"]),
            ),
            (
                format!("ranks of threads, {pace}"),
                [self.ranks, self.threads],
                words(&threads),
            ),
        ]
    }

    /// Stores a search that has just ended: its rate, failed steals, and the shares of overhead and
    /// search.
    fn searched(
        &self,
        contender: &str,
        [rate, details @ ..]: [f64; 4],
        beside: &mut Beside,
        samples: &mut Samples,
    ) -> Result<(), String> {
        let share = rate / beside.after(samples)?;
        samples.add(&self.row(), contender, rate, Some(share));
        for (what, figure) in ["failed", "overhead", "search"].into_iter().zip(details) {
            samples.add(&format!("{}/{what}", self.row()), contender, figure, None);
        }
        Ok(())
    }

    fn ours(&self, library: &Library) -> Result<[f64; 4], String> {
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
        Ok([
            rate,
            asked - answered,
            share(["distributing", "probing"]),
            share(["stealing", "idle"]),
        ])
    }
}

/// The sequential program on each processor of a job's runs, measured before the first run and
/// after each.
struct Beside<'a> {
    job: &'a Job,
    library: &'a Library,
    /// The sum of the rates of all processes, when measured last.
    last: f64,
}

impl<'a> Beside<'a> {
    fn new(job: &'a Job, library: &'a Library, samples: &mut Samples) -> Result<Self, String> {
        let mut own = Self {
            job,
            library,
            last: 0.0,
        };
        own.last = own.measure(samples)?;
        Ok(own)
    }

    fn measure(&self, samples: &mut Samples) -> Result<f64, String> {
        let all = self.job.ranks * self.job.threads;
        let text = self.library.launch([all, 1], &self.job.sequential())?;
        let rate = sum(&text, "nodes_per_s")?;
        samples.add(&self.job.row(), EACH, rate, None);
        Ok(rate)
    }

    /// Measures once more. Returns the mean of the rates before and after the run that has just
    /// ended.
    fn after(&mut self, samples: &mut Samples) -> Result<f64, String> {
        let now = self.measure(samples)?;
        let before = std::mem::replace(&mut self.last, now);
        Ok((before + self.last) / 2.0)
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
