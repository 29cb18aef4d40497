//! The table in Markdown.

use super::judge::{Line, cell, lines};
use super::rows::{OURS, Row, sized};
use crate::figures::Figures;
use crate::markdown;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Renders machines after `head`, and the notes that end the table.
pub fn document<O>(head: &str, rows: &[Row<O>], machines: &[&Figures], notes: &str) -> String {
    let section = |out: &mut String, figures: &Figures| section(out, figures, rows);
    markdown::document(head.to_owned(), machines, notes, section)
}

fn section<O>(out: &mut String, figures: &Figures, rows: &[Row<O>]) {
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
    for row in rows {
        for size in sizes(figures, row) {
            of_row(out, figures, (rows, row), &size);
        }
    }
}

/// Returns the sizes that a row was measured with, from the least on; an empty one if it has none.
fn sizes<O>(figures: &Figures, row: &Row<O>) -> impl Iterator<Item = String> {
    let mut sizes = BTreeSet::new();
    for record in &figures.records {
        let (name, size) = record.row.split_once('/').unwrap_or((&record.row, ""));
        if name == row.name {
            sizes.insert((size.len(), size.to_owned()));
        }
    }
    sizes.into_iter().map(|(_, size)| size)
}

fn of_row<O>(out: &mut String, figures: &Figures, (rows, row): (&[Row<O>], &Row<O>), size: &str) {
    let mut lines = lines(figures, rows, row, size);
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
