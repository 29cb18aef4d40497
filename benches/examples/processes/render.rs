//! The table in Markdown: each row beside the figures that bound it, and those of other peers.

use super::rows::{Bound, Row, row};
use std::fmt::Write;
use tautline_bench::figures::{Figures, Record, digits, is_named};
use tautline_bench::markdown::{self, spread, verdict};
use tautline_bench::stored::Table;

const HEAD: &str = "# Ranks: processes of one machine

```sh
benches/peers.sh SOURCES OUT       # peers in C and C++; optional
cargo run --release -p tautline-bench --example processes -- --peers OUT/peers.tsv --write
```

`--write` replaces what `benches/figures/MACHINE/ranks.tsv` holds for the rows that were measured, on the machine that it runs on, and
renders this file from the figures of all machines; `--render` only renders. Medians [least most], each sample by processes of its own, all
in turn; each rank has one processor, ours one worker. A ratio is that of the medians. All programs verify what they compute: RandomAccess
applies HPCC's stream again, no word may be wrong; a breadth-first search validates each of 64 trees by Graph500's rules, and its figure is
the harmonic mean. Peers are built with `-O3 -march=native`, but for HPCC, which is Debian's package, and ours for any x86-64.
";

/// The whole of benches/RANKS.md.
pub(super) struct Ranks;

impl Table for Ranks {
    const NAME: &'static str = "ranks";

    fn document(machines: &[&Figures], notes: &str) -> String {
        markdown::document(HEAD.to_owned(), machines, notes, section)
    }
}

fn section(out: &mut String, figures: &Figures) {
    for conditions in figures.runs.values() {
        _ = writeln!(out, "- {conditions}");
    }
    let first = [
        "what",
        "Tautline",
        "beside",
        "its figure",
        "ratio",
        "bound",
        "met",
    ];
    _ = write!(out, "\n{}", markdown::head(&first, &[]));
    let mut done: Vec<&str> = Vec::new();
    for record in &figures.records {
        if done.contains(&&*record.row) {
            continue;
        }
        done.push(&record.row);
        let (name, size) = record.row.split_once('/').unwrap_or((&record.row, ""));
        if let Some(row) = row(name) {
            of_row(out, figures, row, size);
        }
    }
}

/// A figure beside ours: its contender, and whether it is met.
struct Line {
    beside: [String; 2],
    ratio: String,
    bound: String,
    met: &'static str,
}

/// The name of a row among the figures.
fn sized(name: &str, size: &str) -> String {
    match size {
        "" => name.to_owned(),
        size => format!("{name}/{size}"),
    }
}

fn of_row(out: &mut String, figures: &Figures, row: &Row, size: &str) {
    let name = sized(row.name, size);
    let ours = figures.find(&name, "Tautline");
    let bounds = row.bounds.iter();
    let mut lines = Vec::from_iter(bounds.filter_map(|bound| judged(figures, bound, &name, size)));
    let is_bound = |record: &&Record| {
        row.bounds.iter().any(|bound| match bound {
            Bound::LeastOf(_, peer) => is_named(&record.contender, peer),
            Bound::MostOf(_, of, peer) => *of == row.name && is_named(&record.contender, peer),
            _ => false,
        })
    };
    let others = figures.of(&name).filter(|record| !is_bound(record));
    let others = others.filter(|record| record.contender != "Tautline");
    lines.extend(others.map(|record| {
        let ratio = ours.and_then(Record::median).zip(record.median());
        Line {
            beside: [record.contender.clone(), spread(record)],
            ratio: ratio.map_or(String::new(), |(ours, its)| digits(ours / its, 3)),
            bound: String::new(),
            met: "",
        }
    }));
    if lines.is_empty() {
        lines.push(Line {
            beside: [String::new(), String::new()],
            ratio: String::new(),
            bound: String::new(),
            met: "",
        });
    }
    let mut what = [
        format!("{}{size}, {}", row.what, row.unit),
        ours.map_or(String::new(), spread),
    ];
    for Line {
        beside: [beside, its],
        ratio,
        bound,
        met,
    } in lines
    {
        let [name, ours] = std::mem::take(&mut what);
        let cells = [&*name, &ours, &beside, &its, &ratio, &bound, met];
        out.push_str(&markdown::row(&cells, &[]));
    }
}

/// Our figure of a row by that which bounds it; `None` if one of them was not measured.
fn judged(figures: &Figures, bound: &Bound, name: &str, size: &str) -> Option<Line> {
    let ours = figures.find(name, "Tautline")?.median()?;
    let (of, contender) = match *bound {
        Bound::Value(most) => {
            return Some(Line {
                beside: [String::new(), String::new()],
                ratio: String::new(),
                bound: format!("at most {most}"),
                met: verdict(ours <= most),
            });
        }
        Bound::Most(_, of) | Bound::Least(_, of) => (sized(of, size), "Tautline"),
        Bound::MostOf(_, of, peer) => (sized(of, size), peer),
        Bound::LeastOf(_, peer) => (name.to_owned(), peer),
    };
    let record = figures.find(&of, contender)?;
    let ratio = ours / record.median()?;
    let (bound, holds) = match *bound {
        Bound::Most(times, _) | Bound::MostOf(times, ..) => {
            (format!("at most {times}"), ratio <= times)
        }
        Bound::Least(times, _) | Bound::LeastOf(times, _) | Bound::Value(times) => {
            (format!("at least {times}"), ratio >= times)
        }
    };
    let (of, _) = of.split_once('/').unwrap_or((&of, ""));
    let beside = match of == name.split('/').next().unwrap_or_default() {
        true => record.contender.clone(),
        false => {
            let what = row(of).map_or(of, |row| row.what);
            let what = what.split(',').next().unwrap_or_default();
            match contender {
                "Tautline" if of == "bfs-1" => "one rank".to_owned(),
                "Tautline" => what.to_owned(),
                _ => format!("{what}, {}", record.contender),
            }
        }
    };
    Some(Line {
        beside: [beside, spread(record)],
        ratio: digits(ratio, 3),
        bound,
        met: verdict(holds),
    })
}
