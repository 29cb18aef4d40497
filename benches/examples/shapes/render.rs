//! The tables in Markdown.

use crate::WORKERS;
use crate::forks::{Rayon, Runtime, Tautline};
use crate::row;
use crate::shapes::SHAPES;
use std::fmt::Write;
use tautline_bench::figures::{Figures, Record, digits};
use tautline_bench::markdown::{self, verdict};
use tautline_bench::stored::Table;

/// The limit of our time as a multiple of rayon's.
const BOUND: f64 = 1.1;
/// The ideal counts as reached within this factor.
const REACHED: f64 = 1.05;

const HEAD: &str = "# Fork shapes with long leaves

```sh
cargo run --release -p tautline-bench --example shapes -- --write
```

`--write` replaces what `benches/figures/MACHINE/shapes.tsv` holds, on the machine that it runs on, and renders this file from the
figures of all machines. Milliseconds, medians: tautline, rayon, and how many times rayon's time ours takes. Wanted is at most 1.1 times,
in every cell. *ideal*: ours is within 5 % of a lower bound, the longest path or an equal share for each worker. Leaves that sleep leave
the processors free, so that more workers than processors are meaningful. † marks a revision after which more than a hundred commits have
changed `core/src/task` or `core/src/deque`: its figures are to be measured again.
";

/// The whole of benches/SHAPES.md.
pub(crate) struct Shapes;

impl Table for Shapes {
    const NAME: &'static str = "shapes";

    fn document(machines: &[&Figures], notes: &str) -> String {
        markdown::document(HEAD.to_owned(), machines, notes, section)
    }
}

fn section(out: &mut String, figures: &Figures) {
    for conditions in figures.runs.values() {
        _ = writeln!(out, "{conditions}\n");
    }
    let workers = WORKERS.map(|workers| match workers {
        1 => "1 worker".to_owned(),
        _ => format!("{workers} workers"),
    });
    out.push_str(&markdown::head(&["shape", "leaves"], &workers));
    let mut judged = [0, 0];
    for sleeps in [true, false] {
        for shape in &SHAPES {
            let cells = WORKERS.map(|workers| {
                let row = row(shape, sleeps, workers);
                let ours = figures.find(&row, Tautline::NAME);
                let pair = ours.zip(figures.find(&row, Rayon::NAME));
                pair.map_or("".into(), |(ours, rayon)| cell(ours, rayon, &mut judged))
            });
            if cells.iter().any(|cell| !cell.is_empty()) {
                let leaves = if sleeps { "sleep" } else { "compute" };
                out.push_str(&markdown::row(&[shape.name, leaves], &cells));
            }
        }
    }
    let [held, all] = judged;
    _ = writeln!(out, "\nHolds in {held} of {all} cells on this machine.");
}

fn cell(ours: &Record, rayon: &Record, [held, all]: &mut [u32; 2]) -> String {
    let Some((own, theirs)) = ours.median().zip(rayon.median()) else {
        return "not measured".into();
    };
    let times = own / theirs;
    let holds = times <= BOUND;
    *held += u32::from(holds);
    *all += 1;
    let ideal = ours.beside.is_some_and(|ideal| own <= REACHED * ideal);
    let mut text = format!("{}, {}, x{times:.2}", digits(own, 3), digits(theirs, 3));
    text.push_str(if ideal { ", *ideal*" } else { "" });
    match holds {
        true => text,
        false => format!("{text}, {}", verdict(false)),
    }
}
