//! The table in Markdown.

use crate::bounds::{EFFICIENCY, NOISE, PUBLISHED, bound};
use std::fmt::Write;
use tautline_bench::figures::{Figures, Record, digits};
use tautline_bench::markdown;
use tautline_bench::stored::Table;

const HEAD: &str = "# Messages, operations and searches over MPI

```sh
benches/clusters.sh OUT --write
```

builds with each MPI library that is installed, launches everything in turn, replaces what `benches/figures/MACHINE/clusters.tsv` holds on
the machine that it runs on, and renders this file from the figures of all machines. Medians; a difference or a ratio is the median of
those of the rounds, each of which has both figures taken right after each other. Each rank has processors of its own: half of them, in a
search one for each worker. A search is judged by the sequential program alone, and by that on each of its processors at the same time, the
mean of the measurements before and after it. All this unless the conditions of a table state otherwise. No search can be faster than the
sequential program on each of its processors: beyond 1.02 the verdict is *baseline disturbed*.
";

/// The whole of benches/CLUSTERS.md.
pub(crate) struct Clusters;

impl Table for Clusters {
    const NAME: &'static str = "clusters";

    fn document(machines: &[&Figures], notes: &str) -> String {
        markdown::document(HEAD.to_owned(), machines, notes, |out, figures| {
            for conditions in figures.runs.values() {
                _ = writeln!(out, "- {conditions}");
            }
            pairs(out, figures);
            searches(out, figures);
        })
    }
}

/// Measurements with their machine, library and time.
fn source(figures: &Figures, record: &Record) -> String {
    let conditions = figures.runs.get(&record.run).map_or("", |text| text);
    let mut parts = conditions.split("; ");
    let (library, date) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let date = date.split(',').next().unwrap_or_default();
    let machine = figures.machine.split(',').next().unwrap_or_default();
    format!("{machine} | {library} | {date}")
}

fn verdict(holds: Option<bool>) -> &'static str {
    holds.map_or("", markdown::verdict)
}

/// The ranks and threads of a row, and what it measures.
fn parts(row: &str) -> (&str, &str) {
    let mut parts = row.splitn(3, '/').skip(1);
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

/// Rows with a figure of plain MPI.
fn pairs(out: &mut String, figures: &Figures) {
    _ = writeln!(
        out,
        "\n| what | ranks x threads | MPI | Tautline | judged by | bound | met | machine | library | date |"
    );
    _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|---|");
    for plain in figures
        .records
        .iter()
        .filter(|record| record.contender == "MPI")
    {
        let Some(ours) = figures.find(&plain.row, "Tautline") else {
            continue;
        };
        let (place, what) = parts(&plain.row);
        let threads = place
            .split('x')
            .nth(1)
            .and_then(|threads| threads.parse().ok())
            .unwrap_or(1);
        let bound = bound(what, threads);
        let judged = ours.beside.unwrap_or(f64::NAN);
        let [mpi, own] = [plain, ours].map(|record| digits(record.median().unwrap_or(f64::NAN), 3));
        let (limit, met) = (bound.text(), verdict(bound.holds(judged)));
        let (judged, source) = (digits(judged, 3), source(figures, ours));
        _ = writeln!(
            out,
            "| {what} | {place} | {mpi} | {own} | {judged} | {limit} | {met} | {source} |"
        );
    }
}

/// Rows of one tree.
fn searches(out: &mut String, figures: &Figures) {
    _ = writeln!(
        out,
        "\n| tree | ranks x workers | program | million nodes/s | by sequential on each processor | by processors x sequential alone | failed steals | overhead | search | bound | met | machine | library | date |"
    );
    _ = writeln!(
        out,
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let is_first = |record: &&Record| record.contender == "sequential";
    let rows = figures
        .records
        .iter()
        .filter(is_first)
        .map(|record| &record.row);
    for row in rows {
        let (place, tree) = parts(row);
        let ours = figures.find(row, "Tautline").and_then(Record::median);
        for record in figures.of(row) {
            let contender = &record.contender;
            let rate = record.median().unwrap_or(f64::NAN);
            let detail = |what: &str, times: f64, unit: &str| {
                let row = format!("{row}/{what}");
                let detail = figures.find(&row, contender).and_then(Record::median);
                detail.map_or(String::new(), |value| {
                    format!("{}{unit}", digits(times * value, 3))
                })
            };
            let by_alone = by_alone(figures, record, rate);
            let (limit, met) = judged(record, rate, ours, by_alone);
            let share = record
                .beside
                .map_or(String::new(), |share| format!("{share:.3}"));
            let by_alone = by_alone.map_or(String::new(), |share| format!("{share:.3}"));
            let rate = digits(rate / 1e6, 3);
            let [failed, overhead, search] = [
                detail("failed", 1.0, ""),
                detail("overhead", 100.0, " %"),
                detail("search", 100.0, " %"),
            ];
            let source = source(figures, record);
            _ = writeln!(
                out,
                "| {tree} | {place} | {contender} | {rate} | {share} | {by_alone} | {failed} | {overhead} | {search} | {limit} | {met} | {source} |"
            );
        }
    }
}

/// The limit of a search, and whether it is met; `ours` is our rate.
fn judged(
    record: &Record,
    rate: f64,
    ours: Option<f64>,
    by_alone: Option<f64>,
) -> (String, &'static str) {
    let (limit, holds) = match &*record.contender {
        "Tautline" => (
            format!("{EFFICIENCY} of both"),
            record
                .beside
                .zip(by_alone)
                .map(|(each, alone)| each.min(alone) >= EFFICIENCY),
        ),
        name if name.contains("UTS") => (
            format!("Tautline at {PUBLISHED} times"),
            ours.map(|ours| ours >= PUBLISHED * rate),
        ),
        _ => (String::new(), None),
    };
    match record.beside {
        Some(share) if share > NOISE => (limit, "baseline disturbed"),
        _ => (limit, verdict(holds)),
    }
}

/// The rate by that of the sequential program alone on one processor, for all processors of the
/// row: above 1 where processors are faster when all are busy, or were measured so.
fn by_alone(figures: &Figures, record: &Record, rate: f64) -> Option<f64> {
    let alone = figures.find(&record.row, "sequential");
    let (place, _) = parts(&record.row);
    let processors: Option<f64> = place
        .split('x')
        .map(|part| part.parse::<f64>().ok())
        .product();
    let (alone, processors) = alone.and_then(Record::median).zip(processors)?;
    (record.contender != "sequential").then(|| rate / (alone * processors))
}
