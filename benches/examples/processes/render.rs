//! The table in Markdown.

use super::judge::{Line, cell, lines};
use super::rows::{OURS, ROWS, Row, sized};
use std::collections::BTreeSet;
use std::fmt::Write;
use tautline_bench::figures::Figures;
use tautline_bench::markdown;
use tautline_bench::stored::{Replaces, Table};

const HEAD: &str = "# Ranks: processes of one machine

```sh
benches/peers.sh SOURCES OUT       # peers in C and C++; optional
cargo run --release -p tautline-bench --example processes -- --peers OUT/peers.tsv --write
```

`--write` replaces the figures that `benches/figures/MACHINE/ranks.tsv` holds of each row and contender that was measured, on the machine
that it runs on, and renders this file from the figures of all machines; `--render` only renders. Medians [least most], each sample by
processes of its own, all in turn; each rank has one processor, ours one worker. ↓: of times and memory, less is better; ↑: of rates, more
is. A ratio is our median by its, that of the figure beside. A bound is not decided by fewer than 5 rounds, or while others used the
processors, by more than a tenth of one (`/proc/stat` without the time of the measured programs): *preliminary*.

All programs verify their results: RandomAccess applies HPCC's stream again, after which no word may be wrong; a breadth-first search
validates each of 64 trees by Graph500's rules, and its figure is the harmonic mean; our tree search compares the number of nodes. Peers
that `peers.sh` builds have `-O3 -march=native`; HPCC and the libraries of MPI are the system's packages; ours is built with the `RUSTFLAGS`
of the command, by default without instructions beyond the baseline of the target.
";

/// The whole of benches/RANKS.md.
pub(super) struct Ranks;

impl Table for Ranks {
    const NAME: &'static str = "ranks";
    const REPLACES: Replaces = Replaces::Contenders;

    fn document(machines: &[&Figures], notes: &str) -> String {
        markdown::document(HEAD.to_owned(), machines, notes, section)
    }
}

fn section(out: &mut String, figures: &Figures) {
    for (run, conditions) in &figures.runs {
        _ = match figures.runs.len() {
            1 => writeln!(out, "- {conditions}"),
            _ => writeln!(out, "- run {run}: {conditions}"),
        };
    }
    let first = [
        "what",
        OURS,
        "beside",
        "its figure",
        "ratio, ours by its",
        "bound",
        "met",
    ];
    _ = write!(out, "\n{}", markdown::head(&first, &[]));
    for row in ROWS {
        for size in sizes(figures, row) {
            of_row(out, figures, row, &size);
        }
    }
}

/// Returns the sizes that a row was measured with, from the least on; an empty one if it has none.
fn sizes(figures: &Figures, row: &Row) -> impl Iterator<Item = String> {
    let mut sizes = BTreeSet::new();
    for record in &figures.records {
        let (name, size) = record.row.split_once('/').unwrap_or((&record.row, ""));
        if name == row.name {
            sizes.insert((size.len(), size.to_owned()));
        }
    }
    sizes.into_iter().map(|(_, size)| size)
}

fn of_row(out: &mut String, figures: &Figures, row: &Row, size: &str) {
    let mut lines = lines(figures, row, size);
    if lines.is_empty() {
        lines.push(Line::default());
    }
    let better = if row.unit.ends_with("/s") {
        '↑'
    } else {
        '↓'
    };
    let mut what = [
        format!("{}{size}, {} {better}", row.what, row.unit),
        cell(figures.find(&sized(row.name, size), OURS)),
    ];
    for line in lines {
        let [name, ours] = std::mem::take(&mut what);
        let Line {
            beside,
            its,
            ratio,
            bound,
            met,
        } = &line;
        let cells = [&name, &ours, beside, its, ratio, bound, met].map(String::as_str);
        out.push_str(&markdown::row(&cells, &[]));
    }
}
