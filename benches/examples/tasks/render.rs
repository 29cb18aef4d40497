//! The tables in Markdown: bounds by machines, then the figures of each machine.

use crate::measure::Better;
use crate::rows::{OURS, ROWS, Row, Wanted};
use crate::table::{judge, ratio};
use std::fmt::Write;
use tautline_bench::figures::{Figures, Record};
use tautline_bench::markdown::{self, spread};
use tautline_bench::stored::Table;

const HEAD: &str = "# Tasks beside the peers

```sh
benches/peers.sh SOURCES OUT                                    # peers in C and C++, and those of another Rust; optional
cargo run --release -p tautline-bench --example tasks -- --rounds 3 --peers OUT/peers.tsv --write
```

`--write` replaces what `benches/figures/MACHINE/tasks.tsv` holds for the rows that were measured, on the machine that it runs on, and
renders this file from the figures of all machines; `--render` only renders. Contenders are measured in turn, each in a process of its own,
with the n-th worker pinned to the n-th processor, peers in C and C++ too, unless the conditions of a run or the name of a peer state otherwise. One worker is
measured by processor time, several by wall time, and only runs in which all had their processors count. Peers in C and C++ are built with
`-O3 -march=native`, all Rust programs for the default target of the processor family; every node of a tree is hashed by itself, with the
same function, by all contenders. Medians [least most]. † marks a revision after which more than a hundred commits have changed
`core/src/task` or `core/src/deque`: its figures are to be measured again.
";

/// The whole of benches/TASKS.md.
pub(crate) struct Tasks;

impl Table for Tasks {
    const NAME: &'static str = "tasks";

    fn document(machines: &[&Figures], notes: &str) -> String {
        let mut out = format!("{HEAD}\n## Bounds\n\n");
        bounds(&mut out, machines);
        markdown::document(out, machines, notes, section)
    }
}

fn bounds(out: &mut String, machines: &[&Figures]) {
    let names: Vec<String> = machines.iter().map(|figures| figures.head()).collect();
    out.push_str(&markdown::head(&["row", "tautline"], &names));
    for row in ROWS {
        for (at, wanted) in row.wanted.iter().enumerate() {
            let verdict = |figures: &&Figures| judge(row, wanted, figures).to_string();
            let title = match at {
                0 => format!("{}: {}", row.name, row.what),
                _ => String::new(),
            };
            let verdicts: Vec<String> = machines.iter().map(verdict).collect();
            out.push_str(&markdown::row(&[&title, &said(row, wanted)], &verdicts));
        }
    }
}

/// A bound in words.
fn said(row: &Row, wanted: &Wanted) -> String {
    let bound = match row.better {
        Better::Less => "at most",
        Better::More => "at least",
    };
    match wanted {
        Wanted::Bound(value) => format!("{bound} {value} {}", row.unit)
            .trim_end()
            .to_owned(),
        Wanted::Beats(contender) => format!("beats {contender}"),
        Wanted::Within(contender, times) => format!("{bound} {times} x {contender}"),
        Wanted::Scales(row, times) => format!("{times} x {row}"),
    }
}

fn section(out: &mut String, figures: &Figures) {
    for (run, conditions) in &figures.runs {
        match figures.runs.len() {
            1 => _ = writeln!(out, "{conditions}\n"),
            _ => _ = writeln!(out, "{run}. {conditions}"),
        }
    }
    let several = figures.runs.len() > 1;
    out.push_str(if several { "\n" } else { "" });
    let peers = "peers: median [least most], how many times as good ours is".to_owned();
    let first: &[&str] = match several {
        true => &["row", "run", "unit", "tautline"],
        false => &["row", "unit", "tautline"],
    };
    out.push_str(&markdown::head(first, &[peers]));
    for row in ROWS {
        let Some(own) = figures.find(row.name, OURS) else {
            continue;
        };
        let peers = figures
            .of(row.name)
            .filter(|record| record.contender != OURS);
        let peers: Vec<String> = peers.map(|record| peer(row, own, record)).collect();
        let mut cells = Vec::from_iter(several.then(|| own.run.to_string()));
        let ours = format!("**{}**", spread(own));
        cells.extend([row.unit.to_owned(), ours, peers.join("; ")]);
        let title = format!("{}: {}", row.name, row.what);
        out.push_str(&markdown::row(&[&title], &cells));
    }
}

fn peer(row: &Row, own: &Record, record: &Record) -> String {
    let medians = own.median().zip(record.median());
    let times = medians.map(|(ours, theirs)| ratio(row.better, ours, theirs));
    let times = times.filter(|times| times.is_finite());
    let times = times.map_or(String::new(), |times| format!(" x{times:.2}"));
    format!("{} {}{times}", record.contender, spread(record))
}
