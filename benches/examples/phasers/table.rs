//! The tables, in Markdown: bounds by machines, then the figures of each machine.

use crate::Section;
use crate::membership::Bytes;
use std::fmt::Write;
use tautline_bench::figures::{Figures, Record, Value, digits};
use tautline_bench::markdown::{self, spread, verdict};
use tautline_bench::stored::Table;
use tautline_cli::bench::{Comparison, Row};

const HEAD: &str = "# Phasers beside what is used in their place

```sh
benches/peers.sh SOURCES OUT       # peers in C, C++ and Java; optional
cargo run --release -p tautline-bench --example phasers -- --peers OUT/peers.tsv --write
```

`--write` replaces what `benches/figures/MACHINE/phasers.tsv` holds for the sections that were measured, on the machine that it runs on,
and renders this file from the figures of all machines; `--render` only renders. Medians [least most], each sample by fresh threads or a
fresh process, all in turn; pinned, the n-th thread to the n-th processor in turn, unless the name of a peer states otherwise. After x: how
many round trips of a cache line between the processors, measured in the same rounds; among the bounds, how many times what ours is held
against. How: `tautline bench barrier --help`. † marks a revision after which more than a hundred commits have changed `core/src/phaser`,
`core/src/phased` or `core/src/task`: its figures are to be measured again.
";

/// A section, as it is rendered.
struct Title {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
}

const TITLES: [Title; 12] = [
    title("barrier", "Barrier, ns an episode", "threads"),
    title("ring", "Ring of neighbours, ns an episode", "threads"),
    title("sum", "Barrier with a sum, ns an episode", "threads"),
    title(
        "async",
        "Barrier of async tasks on all workers, ns an episode",
        "tasks",
    ),
    title(
        "register",
        "Registration and drop of one more, by one thread, ns",
        "live tasks",
    ),
    title(
        "churn",
        "Barrier in which each task registers and drops another, ns an episode",
        "threads",
    ),
    title("memory", "Memory, bytes a task", "tasks"),
    title(
        "hybrid-2",
        "Barrier over 2 ranks, ns an episode",
        "threads of all",
    ),
    title(
        "hybrid-4",
        "Barrier over 4 ranks, ns an episode",
        "threads of all",
    ),
    title(
        "hybrid-sum-2",
        "Barrier with a sum over 2 ranks, ns an episode",
        "threads of all",
    ),
    title(
        "hybrid-sum-4",
        "Barrier with a sum over 4 ranks, ns an episode",
        "threads of all",
    ),
    title(
        "hybrid-split",
        "Phase over 2 ranks beside work, ns",
        "threads of all",
    ),
];

const fn title(name: &'static str, title: &'static str, unit: &'static str) -> Title {
    Title { name, title, unit }
}

const ROUND_TRIP: &str = "round trip of a cache line";
const FASTEST: &str = "fastest";
/// The rest of the name of a contender whose signal is apart from its wait.
pub(crate) const AND_WORK: &str = ", 10 us of work and wait, less the work";
/// The contender that marks a row with more threads than processors.
const SHARED: &str = "threads share processors";

/// Bounds of each degree of ours.
enum Wanted {
    /// At most this number of round trips of a cache line.
    RoundTrips(f64),
    /// At most this value.
    Bound(f64),
    /// At most this value per task.
    EachTask(f64),
    /// At most this multiple of a peer.
    Within(&'static str, f64),
    /// At most this multiple of the best contender whose name begins so, where each thread has a
    /// processor.
    WithinBest(&'static str, f64),
}

/// A bound: rows, the contenders that it binds, and what is wanted.
struct Bound {
    section: &'static str,
    columns: &'static [usize],
    ours: &'static str,
    wanted: Wanted,
}

#[rustfmt::skip] // A table.
const BOUNDS: [Bound; 17] = [
    Bound { section: "barrier", columns: &[2], ours: "phaser, ", wanted: Wanted::RoundTrips(1.15) },
    Bound { section: "barrier", columns: &[2], ours: "phaser, ", wanted: Wanted::RoundTrips(1.3) },
    Bound { section: "barrier", columns: &[2, 4, 8], ours: "phaser, ", wanted: Wanted::Within("hurdles", 1.0) },
    Bound { section: "barrier", columns: &[4], ours: "phaser, ", wanted: Wanted::Bound(1100.0) },
    Bound { section: "barrier", columns: &[8], ours: "phaser, ", wanted: Wanted::Bound(2600.0) },
    Bound { section: "sum", columns: &[2, 4, 8], ours: "accumulator, ", wanted: Wanted::Within("central counter and a shared sum", 1.1) },
    Bound { section: "async", columns: &[64, 1000], ours: "phased tasks, ", wanted: Wanted::EachTask(60.0) },
    Bound { section: "async", columns: &[64, 1000], ours: "phased tasks, ", wanted: Wanted::Within("tokio::sync::Barrier", 1.0) },
    Bound { section: "async", columns: &[64, 1000], ours: "phased tasks, ", wanted: Wanted::Within("tokio::sync::Barrier, tokio's runtime", 1.0) },
    Bound { section: "register", columns: &[10_000], ours: "phaser, ", wanted: Wanted::Bound(1000.0) },
    Bound { section: "memory", columns: &[2, 4, 8, 1000], ours: "phaser, ", wanted: Wanted::Bound(192.0) },
    Bound { section: "hybrid-2", columns: &[2, 4, 8], ours: "phaser of ", wanted: Wanted::WithinBest("MPI", 0.9) },
    Bound { section: "hybrid-4", columns: &[4, 8, 16], ours: "phaser of ", wanted: Wanted::WithinBest("MPI", 0.9) },
    Bound { section: "hybrid-sum-2", columns: &[2, 4, 8], ours: "accumulator of ", wanted: Wanted::WithinBest("MPI", 0.9) },
    Bound { section: "hybrid-sum-4", columns: &[4, 8, 16], ours: "accumulator of ", wanted: Wanted::WithinBest("MPI", 0.9) },
    Bound { section: "hybrid-split", columns: &[2], ours: "threads: signal", wanted: Wanted::Within("threads: phase", 0.2) },
    Bound { section: "hybrid-split", columns: &[2], ours: "tasks: signal", wanted: Wanted::Within("tasks: phase", 0.2) },
];

/// The records of a section, one row a number of tasks.
pub(crate) fn records(section: &Section, comparisons: &[Comparison]) -> Vec<Record> {
    let mut all = Vec::new();
    for column in comparisons {
        let row = format!("{}/{}", section.name, column.tasks);
        let mut put = |contender: &str, value, beside| {
            all.push(Record {
                beside,
                ..Record::new(&row, contender, value)
            });
        };
        put(ROUND_TRIP, value(&column.round_trips), None);
        for one in &column.rows {
            let Row { name, samples, .. } = one;
            let ratio = column.ratio(one).filter(|_| section.threads);
            put(name, value(samples), ratio);
        }
        if column.rows.len() > 1 || !column.doubts.is_empty() {
            put(FASTEST, Value::Text(judged(column)), None);
        }
    }
    all
}

fn value(samples: &[f64]) -> Value {
    Value::of(samples).unwrap_or(Value::Text("-".into()))
}

fn judged(column: &Comparison) -> String {
    let name = |row: usize| column.rows[row].name.as_str();
    if let Some(verdict) = column.verdict() {
        let level = verdict.level.iter().map(|&row| format!(", {}", name(row)));
        return format!("{}{}", name(verdict.fastest), level.collect::<String>());
    }
    match column.doubts.is_empty() {
        true => "-".to_owned(),
        false => {
            let doubts: Vec<String> = column.doubts.iter().map(ToString::to_string).collect();
            format!("no verdict: {}", doubts.join("; "))
        }
    }
}

/// The records of the bytes of each contender.
pub(crate) fn byte_records(tasks: usize, bytes: Vec<Bytes>) -> impl Iterator<Item = Record> {
    bytes.into_iter().map(move |(contender, bytes)| {
        let value = Value::Spread([bytes; 3]);
        Record::new(&format!("memory/{tasks}"), &contender, value)
    })
}

/// Marks the rows of a section whose threads share processors.
pub(crate) fn shared_records(section: &Section, cpus: usize) -> impl Iterator<Item = Record> {
    let columns = section.columns.iter().filter(move |tasks| **tasks > cpus);
    columns.map(move |tasks| {
        let row = format!("{}/{tasks}", section.name);
        Record::new(&row, SHARED, Value::Text(format!("yes, {cpus}")))
    })
}

/// The whole of benches/PHASERS.md.
pub(crate) struct Phasers;

impl Table for Phasers {
    const NAME: &'static str = "phasers";

    fn document(machines: &[&Figures], notes: &str) -> String {
        let mut out = format!("{HEAD}\n## Bounds\n\n");
        bounds(&mut out, machines);
        markdown::document(out, machines, notes, |out, figures| {
            let several = figures.runs.len() > 1;
            let run = |(run, conditions): (&u32, &String)| match several {
                true => format!("Run {run}: {conditions}"),
                false => conditions.clone(),
            };
            let runs: Vec<String> = figures.runs.iter().map(run).collect();
            _ = writeln!(out, "{}", runs.join("\n\n"));
            for title in &TITLES {
                section(out, figures, title, several);
            }
        })
    }
}

fn bounds(out: &mut String, machines: &[&Figures]) {
    let names: Vec<String> = machines.iter().map(|figures| figures.head()).collect();
    out.push_str(&markdown::head(&["what", "wanted, by degree"], &names));
    for bound in &BOUNDS {
        for &tasks in bound.columns {
            let verdicts: Vec<String> = machines.iter().map(|m| bound.judge(m, tasks)).collect();
            let title = TITLES.iter().find(|title| title.name == bound.section);
            let (title, unit) = title.map_or((bound.section, ""), |t| (t.title, t.unit));
            let what = format!("{title}, {tasks} {unit}");
            out.push_str(&markdown::row(&[&what, &bound.said()], &verdicts));
        }
    }
}

impl Bound {
    fn said(&self) -> String {
        match self.wanted {
            Wanted::RoundTrips(times) => format!("at most {times} round trips of a line"),
            Wanted::Bound(most) if self.section == "memory" => format!("at most {most} bytes"),
            Wanted::Bound(most) => format!("at most {most} ns"),
            Wanted::EachTask(most) => format!("at most {most} ns a task"),
            Wanted::Within(contender, 1.0) => format!("ahead of {contender}"),
            Wanted::Within(contender, times) => format!("at most {times} x {contender}"),
            Wanted::WithinBest(name, times) => {
                format!("at most {times} x the best of {name}, a processor for each thread")
            }
        }
    }

    /// Each of ours against the bound.
    fn judge(&self, figures: &Figures, tasks: usize) -> String {
        let row = format!("{}/{tasks}", self.section);
        let peer = |contender: &str| {
            let mut all = figures.of(&row);
            all.find(|record| record.contender == contender)?.median()
        };
        let best = |name: &str| {
            let peers = figures
                .of(&row)
                .filter(|record| record.contender.starts_with(name));
            peers.filter_map(Record::median).reduce(f64::min)
        };
        let one = |record: &Record| {
            let (median, degree) = (record.median()?, &record.contender[self.ours.len()..]);
            let (got, most) = match self.wanted {
                Wanted::RoundTrips(most) => (record.beside?, most),
                Wanted::Bound(most) => (median, most),
                Wanted::EachTask(most) => (median / tasks as f64, most),
                Wanted::Within(contender, most) => (median / peer(contender)?, most),
                Wanted::WithinBest(name, most) => (median / best(name)?, most),
            };
            let verdict = match figures.find(&row, SHARED) {
                Some(_) => "shared processors, not judged",
                None => verdict(got <= most),
            };
            let times = match self.wanted {
                Wanted::RoundTrips(_) | Wanted::Within(..) | Wanted::WithinBest(..) => "x",
                _ => "",
            };
            let degree = match degree.strip_prefix(AND_WORK) {
                Some(_) => String::new(),
                None => format!("{}: ", degree.replace("degree ", "")),
            };
            Some(format!("{degree}{verdict} {times}{}", digits(got, 3)))
        };
        let ours = figures
            .of(&row)
            .filter(|r| r.contender.starts_with(self.ours));
        let all: Vec<String> = ours.filter_map(one).collect();
        match all.is_empty() {
            true => "not measured".into(),
            false => all.join("; "),
        }
    }
}

fn section(out: &mut String, figures: &Figures, title: &Title, several: bool) {
    let mut columns: Vec<(usize, &str, u32)> = Vec::new();
    let mut kinds: Vec<&str> = Vec::new();
    for record in &figures.records {
        let Some((name, tasks)) = record.row.split_once('/') else {
            continue;
        };
        if let Some(tasks) = tasks.parse().ok().filter(|_| name == title.name) {
            if !columns.iter().any(|column| column.0 == tasks) {
                columns.push((tasks, &record.row, record.run));
            }
            if !kinds.contains(&record.contender.as_str()) {
                kinds.push(&record.contender);
            }
        }
    }
    if columns.is_empty() {
        return;
    }
    columns.sort_unstable();
    // The verdict last, whichever column has more contenders.
    kinds.sort_by_key(|&kind| kind == FASTEST);
    let heads: Vec<String> = columns
        .iter()
        .map(|(tasks, _, run)| match several {
            true => format!("{tasks} {}, run {run}", title.unit),
            false => format!("{tasks} {}", title.unit),
        })
        .collect();
    _ = write!(out, "\n### {}\n\n", title.title);
    out.push_str(&markdown::head(&[""], &heads));
    for kind in kinds {
        let cell = |&(_, row, _): &(usize, &str, u32)| {
            let mut all = figures.of(row);
            all.find(|record| record.contender == kind)
                .map_or(String::new(), |record| {
                    shown(record, title.name == "memory")
                })
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        out.push_str(&markdown::row(&[kind], &cells));
    }
}

fn shown(record: &Record, alone: bool) -> String {
    match (record.median(), record.beside) {
        (Some(median), _) if alone => digits(median, 3),
        (Some(_), Some(times)) => format!("{} x{}", spread(record), digits(times, 3)),
        _ => spread(record),
    }
}
