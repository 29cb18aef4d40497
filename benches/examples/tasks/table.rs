//! The table, and whether what is wanted holds.

use crate::machine::{load, version};
use crate::measure::Sample;
use crate::programs::Program;
use crate::rows::{Better, Row, Wanted};
use std::fmt::Write;

/// What one contender gave in one row.
pub struct Cell {
    pub who: String,
    pub program: Option<String>,
    pub samples: Vec<Sample>,
    /// Those that do not count.
    pub disturbed: Vec<Sample>,
    pub crashes: usize,
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
            disturbed: Vec::new(),
            crashes: 0,
        }
    }

    /// What is shown: what counts, or else what there is.
    fn shown(&self) -> &[Sample] {
        if self.samples.is_empty() {
            &self.disturbed
        } else {
            &self.samples
        }
    }

    /// Least, median and most.
    fn spread(&self) -> Option<[f64; 3]> {
        let mut all: Vec<f64> = self.shown().iter().map(|sample| sample.figure).collect();
        all.sort_by(f64::total_cmp);
        Some([*all.first()?, all[all.len() / 2], *all.last()?])
    }

    fn median(&self) -> Option<f64> {
        self.spread().map(|[_, median, _]| median)
    }

    /// Why it cannot be judged by: more than half of the rounds were disturbed.
    fn is_in_doubt(&self, rounds: usize) -> Option<Verdict> {
        let enough = 2 * self.samples.len() >= rounds || self.crashes > 0;
        let most = self
            .disturbed
            .iter()
            .map(|s| s.processors)
            .fold(0.0, f64::max);
        let (who, count) = (&self.who, self.samples.len());
        let why = format!(
            "no verdict: {who} undisturbed {count} of {rounds} times, else at most {most:.2} processors"
        );
        (!enough).then_some(Verdict::None(why))
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

    /// Ours, not a peer's.
    pub fn has_crashed(&self) -> bool {
        self.cells.first().is_some_and(|cell| cell.crashes > 0)
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

    fn holds(&self, wanted: &Wanted, all: &[Line], rounds: usize) -> Verdict {
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
                Some(cell) if cell.crashes > 0 => Verdict::Yes,
                Some(cell) => match cell.is_in_doubt(rounds) {
                    Some(none) => none,
                    None => judge(cell.median().and_then(|other| self.ratio(other)), 1.0),
                },
                None => Verdict::None("no verdict: not measured".into()),
            },
            Wanted::Scales(row, times) => {
                let other = all.iter().find(|line| line.row.name == row);
                match other.and_then(|line| line.cells.first()) {
                    Some(cell) => match cell.is_in_doubt(rounds) {
                        Some(none) => none,
                        None => judge(cell.median().and_then(|other| self.ratio(other)), times),
                    },
                    None => Verdict::None(format!("no verdict: {row} was not measured")),
                }
            }
        }
    }

    fn verdict(&self, all: &[Line], rounds: usize) -> String {
        let Some(ours) = self.cells.first().filter(|cell| cell.crashes == 0) else {
            return "NO: it crashed".into();
        };
        if let Some(Verdict::None(why)) = ours.is_in_doubt(rounds) {
            return why;
        }
        let mut said = "";
        let mut open = None;
        for wanted in self.row.wanted {
            match self.holds(wanted, all, rounds) {
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
    match cell.spread().filter(|_| cell.crashes == 0) {
        None if cell.crashes == 0 => "not measured".into(),
        None => "crash".into(),
        Some([least, median, most]) => {
            format!("{} [{} {}]", short(median), short(least), short(most))
        }
    }
}

pub fn print(lines: &[Line], rounds: usize, quick: bool) {
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
            line.verdict(lines, rounds)
        );
    }
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
    println!(
        "Medians of {rounds} rounds, in turn, pinned, a process each. One worker is measured by processor time, more by wall time.\n"
    );
}

pub fn print_foot() {
    println!("\nLoad at the end: {}.", load());
}
