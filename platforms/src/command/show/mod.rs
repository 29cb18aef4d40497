//! Output of commands: numbers, tables, progress, stories.

pub(super) mod number;
pub(super) mod place;
pub(super) mod progress;
pub(super) mod story;

use std::fmt::Write as _;

/// Formats names and values in two columns.
pub(super) fn table(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:<16}  {value}");
        text
    })
}
