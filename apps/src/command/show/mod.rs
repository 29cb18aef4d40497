//! Output of commands: numbers, tables, progress, stories.

pub(super) mod number;
pub(super) mod place;
pub(super) mod progress;
pub(super) mod story;

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Formats names and values in two columns.
pub(super) fn table(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:<16}  {value}");
        text
    })
}

/// Returns the JSON object of these keys. It is filled one by one: collecting sorts first, by another copy of the
/// sort for each kind of iterator.
pub(super) fn object<K: Into<String>>(
    entries: impl IntoIterator<Item = (K, Value)>,
) -> Map<String, Value> {
    let mut object = Map::new();
    for (key, value) in entries {
        object.insert(key.into(), value);
    }
    object
}
