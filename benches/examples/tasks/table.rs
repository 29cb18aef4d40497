//! The table, and whether what is wanted holds.

use crate::Program;
use crate::measure::Sample;
use crate::rows::{Better, Row, Wanted};
use std::fmt::Write;

/// Of each worker's processor, if all are busy all the time: below it somebody else had the rest.
const BUSY: f64 = 0.85;

/// What one contender gave in one row.
pub struct Cell {
    pub who: String,
    pub program: Option<String>,
    pub samples: Vec<Sample>,
}

/// One row with its contenders, ours first.
pub struct Line {
    pub row: &'static Row,
    pub cells: Vec<Cell>,
}

impl Cell {
    pub fn new(who: &str, program: Option<&str>) -> Self {
        Self {
            who: who.to_owned(),
            program: program.map(str::to_owned),
            samples: Vec::new(),
        }
    }

    /// Least, median and most of what `which` says.
    fn spread(&self, which: impl Fn(&Sample) -> f64) -> Option<[f64; 3]> {
        let mut all: Vec<f64> = self.samples.iter().map(which).collect();
        all.sort_by(f64::total_cmp);
        Some([*all.first()?, all[all.len() / 2], *all.last()?])
    }

    fn median(&self) -> Option<f64> {
        self.spread(|sample| sample.figure)
            .map(|[_, median, _]| median)
    }

    fn processors(&self) -> f64 {
        self.spread(|sample| sample.processors)
            .map_or(0.0, |[_, median, _]| median)
    }
}

enum Verdict {
    Yes,
    No,
    None(String),
}

impl Line {
    pub fn new(row: &'static Row, cells: Vec<Cell>) -> Self {
        Self { row, cells }
    }

    fn ours(&self) -> Option<f64> {
        self.cells.first()?.median()
    }

    fn of(&self, who: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.who == who)
    }

    /// How many times ours is as good as `other`.
    fn ratio(&self, other: f64) -> Option<f64> {
        let ours = self.ours()?;
        Some(match self.row.better {
            Better::Less => other / ours,
            Better::More => ours / other,
        })
    }

    /// Whether somebody else had the processors while that cell was measured.
    fn disturbed(&self, cell: &Cell) -> Option<Verdict> {
        let enough = BUSY * self.row.workers as f64;
        let used = cell.processors();
        (self.row.busy && used < enough).then(|| {
            Verdict::None(format!(
                "no verdict: {} used {used:.2} processors, {enough:.2} needed",
                cell.who
            ))
        })
    }

    fn holds(&self, wanted: &Wanted, all: &[Line]) -> Verdict {
        let judge = |ratio: Option<f64>, least: f64| match ratio {
            Some(ratio) if ratio >= least => Verdict::Yes,
            Some(_) => Verdict::No,
            None => Verdict::None("no verdict: nothing to compare with".into()),
        };
        match *wanted {
            Wanted::Bound(bound) => match self.ours() {
                // Both may be zero.
                Some(ours) if ours == bound => Verdict::Yes,
                _ => judge(self.ratio(bound), 1.0),
            },
            Wanted::Beats(who) => match self.of(who) {
                Some(cell) if cell.samples.is_empty() => Verdict::Yes,
                Some(cell) => match self.disturbed(cell) {
                    Some(none) => none,
                    None => judge(cell.median().and_then(|other| self.ratio(other)), 1.0),
                },
                None => Verdict::None("no verdict: not measured".into()),
            },
            Wanted::Scales(row, times) => {
                let other = all.iter().find(|line| line.row.name == row);
                match other.and_then(|line| Some((line, line.cells.first()?))) {
                    Some((line, cell)) => match line.disturbed(cell) {
                        Some(none) => none,
                        None => judge(cell.median().and_then(|other| self.ratio(other)), times),
                    },
                    None => Verdict::None(format!("no verdict: {row} was not measured")),
                }
            }
        }
    }

    fn verdict(&self, all: &[Line]) -> String {
        let Some(ours) = self.cells.first().filter(|cell| !cell.samples.is_empty()) else {
            return "NO: it crashed".into();
        };
        if let Some(Verdict::None(why)) = self.disturbed(ours) {
            return why;
        }
        let mut said = "";
        let mut open = None;
        for wanted in self.row.wanted {
            match self.holds(wanted, all) {
                Verdict::Yes => {}
                Verdict::No => return "NO".into(),
                Verdict::None(why) => open = Some(why),
            }
            said = "yes";
        }
        open.unwrap_or_else(|| said.into())
    }

    fn wanted(&self) -> String {
        let (bound, unit) = match self.row.better {
            Better::Less => ("at most", self.row.unit),
            Better::More => ("at least", self.row.unit),
        };
        let one = |wanted: &Wanted| match wanted {
            Wanted::Bound(value) => format!("{bound} {value} {unit}").trim_end().to_owned(),
            Wanted::Beats(who) => format!("beats {who}"),
            Wanted::Scales(row, times) => format!("{times} x {row}"),
        };
        let all: Vec<String> = self.row.wanted.iter().map(one).collect();
        all.join(", ")
    }
}

/// Three digits that count.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

fn figures(cell: &Cell) -> String {
    match cell.spread(|sample| sample.figure) {
        None => "crash".into(),
        Some([least, median, most]) => {
            format!("{} [{} {}]", short(median), short(least), short(most))
        }
    }
}

pub fn print(lines: &[Line], quick: bool) {
    if quick {
        println!("Quick: small sizes, whose figures say nothing.\n");
    }
    println!(
        "| row | workers | unit | tautline | peers: median [least most], how many times ours is as good | wanted | holds |"
    );
    println!("|---|---|---|---|---|---|---|");
    for line in lines {
        let Row {
            name,
            what,
            workers,
            unit,
            ..
        } = line.row;
        let Some((ours, peers)) = line.cells.split_first() else {
            continue;
        };
        let mut cells = String::new();
        for peer in peers {
            let ratio = peer.median().and_then(|median| line.ratio(median));
            let ratio = ratio.filter(|r| r.is_finite());
            let times = ratio.map_or(String::new(), |r| format!(" x{r:.2}"));
            let comma = if cells.is_empty() { "" } else { "; " };
            write!(cells, "{comma}{} {}{times}", peer.who, figures(peer)).expect("a string");
        }
        println!(
            "| {name}: {what} | {workers} | {unit} | **{}** | {cells} | {} | {} |",
            figures(ours),
            line.wanted(),
            line.verdict(lines)
        );
    }
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The version of a crate that this program was built with.
fn version(name: &str) -> &'static str {
    let lock = include_str!("../../../Cargo.lock");
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != format!("name = {name:?}"));
    let version = lines.nth(1).and_then(|line| line.split('"').nth(1));
    version.unwrap_or("of unknown version")
}

pub fn print_head(peers: &[Program], rounds: usize) {
    let machine = tautline::Machine::discover();
    let model = machine.model().unwrap_or("unknown processor");
    println!(
        "{model}, {} processors; load {}",
        machine.allowed().len(),
        load()
    );
    let crates = ["rayon", "chili", "crossbeam-deque", "st3"];
    let mut all: Vec<String> = crates
        .iter()
        .map(|name| format!("{name} {}", version(name)))
        .collect();
    all.extend(peers.iter().map(|peer| peer.who.clone()));
    all.dedup();
    println!("Peers: {}.", all.join(", "));
    println!("Medians of {rounds}, in turn, pinned, a process each.\n");
}

pub fn print_foot() {
    println!("\nLoad at the end: {}.", load());
}
