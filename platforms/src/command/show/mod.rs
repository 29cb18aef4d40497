//! How commands show what they have to say: numbers, tables, progress, stories.

pub mod number;
pub mod place;
pub mod progress;
pub mod story;

use std::fmt::Write as _;

/// Names and what they stand for, in two columns.
pub fn table(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:<16}  {value}");
        text
    })
}
