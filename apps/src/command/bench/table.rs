//! Tables of figures.

use crate::command::show::{WIDTH, lines, wrapped};
use std::fmt::Write as _;
use tautline::pinning::ranges;
use tautline_cli::bench::{Figure, Record, Spread};

/// The width of the names of rows.
pub(super) const NAME: usize = 30;
/// The width of each of the four figures.
const FIGURE: usize = 10;
/// The width of a remark, or of a fifth figure: the rest of that of a terminal.
pub(super) const REMARK: usize = WIDTH - NAME - 4 * FIGURE;

/// Returns the names of the columns of figures, after that of their rows, which have this width.
pub(super) fn head(name: &str, width: usize) -> String {
    let columns = ["min", "median", "max", "sd"];
    format!(
        "{name:<width$}{}",
        columns.map(|column| format!("{column:>FIGURE$}")).concat()
    )
}

/// Returns the spread of `samples` in four columns.
pub(super) fn figures(samples: &[f64]) -> String {
    let none = || "-".to_owned() + &" ".repeat(4 * FIGURE - 1);
    Spread::of(samples).map_or_else(none, |spread| {
        let all = [spread.least, spread.median, spread.most, spread.deviation];
        // On a busy machine they may have more digits than fit with a fraction.
        let digits = |ns: f64| usize::from(ns < 1e6);
        all.map(|ns| format!(" {ns:>0$.1$}", FIGURE - 1, digits(ns)))
            .concat()
    })
}

/// Returns all figures of a record, with its machine.
pub(super) fn of(record: &Record) -> String {
    let mut text = title(record);
    let mut rest = &record.figures[..];
    while let Some(first) = rest.first() {
        let count = rest
            .iter()
            .take_while(|one| one.bench == first.bench)
            .count();
        let (section, others) = rest.split_at(count);
        text.push_str(&part(&first.bench, section));
        rest = others;
    }
    text
}

/// Returns the line above all figures of a record.
pub(super) fn title(record: &Record) -> String {
    lines(&format!(
        "{}, on {}, ns",
        record.machine.title(),
        ranges(&record.processors)
    ))
}

/// Returns the figures of one benchmark, and why they get no verdict. Only round trips of a cache
/// line may be missing.
pub(super) fn part(bench: &str, section: &[Figure]) -> String {
    let names = section.iter().map(|figure| figure.figure.chars().count());
    let wide = names.max().unwrap_or(0).max(NAME - 2);
    let mut text = format!("\n{}\n", head(bench, wide + 2));
    if section.is_empty() {
        text.push_str("  none: there is one processor\n");
    }
    let mut doubts = Vec::new();
    for figure in section {
        let row = format!("  {:<wide$}{}", figure.figure, figures(&figure.samples_ns));
        let _ = writeln!(text, "{}", row.trim_end());
        for doubt in &figure.doubts {
            if !doubts.contains(doubt) {
                doubts.push(doubt.clone());
            }
        }
    }
    if !doubts.is_empty() {
        for line in wrapped(&format!("no verdict: {}", doubts.join("; ")), WIDTH - 2) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}
