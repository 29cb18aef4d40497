//! Tables and verdicts in Markdown.

use crate::figures::{Figures, Record, Value, digits};
use std::fmt::Write;

/// Adds a section for each machine to `out`, and the notes.
pub fn document(
    mut out: String,
    machines: &[&Figures],
    notes: &str,
    section: impl Fn(&mut String, &Figures),
) -> String {
    for figures in machines {
        _ = write!(out, "\n## {}\n\n", figures.machine);
        section(&mut out, figures);
    }
    if !notes.is_empty() {
        _ = write!(out, "\n{notes}");
    }
    out
}

/// A row of a table, of its `first` cells and the `rest`.
pub fn row(first: &[&str], rest: &[String]) -> String {
    let rest = rest.iter().map(String::as_str);
    let cells: Vec<&str> = first.iter().copied().chain(rest).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The head of a table, in which a column may have no name.
pub fn head(first: &[&str], rest: &[String]) -> String {
    let names = row(first, rest).replace("|  |", "| |");
    format!("{names}|{}\n", "---|".repeat(first.len() + rest.len()))
}

/// The median, and in brackets the least and the most; or a text.
pub fn spread(record: &Record) -> String {
    match &record.value {
        Value::Text(text) => text.clone(),
        Value::Spread(spread) => {
            let [least, median, most] = spread.map(|value| digits(value, 3));
            format!("{median} [{least} {most}]")
        }
    }
}

/// Whether a bound holds.
pub fn verdict(holds: bool) -> &'static str {
    if holds { "yes" } else { "**NO**" }
}
