//! Output of commands: numbers, tables, progress, stories.

pub mod number;
pub mod place;
pub mod progress;
pub mod story;

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Formats names and values in two columns.
pub fn table(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:<16}  {value}");
        text
    })
}

/// Returns the JSON object of these keys. It is filled one by one: collecting sorts first, by another copy of the
/// sort for each kind of iterator.
pub fn object<K: Into<String>>(
    entries: impl IntoIterator<Item = (K, Value)>,
) -> Map<String, Value> {
    let mut object = Map::new();
    for (key, value) in entries {
        object.insert(key.into(), value);
    }
    object
}

/// The version of the keys of documents: another one if a key gets another meaning or is missing. `apps/JSON.md` lists them.
const SCHEMA: u32 = 1;

/// Returns the text of a JSON document, in which each object has the version of its keys.
pub fn document(content: impl Into<Value>) -> String {
    let mut content = content.into();
    let objects = match &mut content {
        Value::Array(all) => all.iter_mut().collect(),
        one => vec![one],
    };
    for object in objects {
        object["schema"] = SCHEMA.into();
    }
    format!("{content:#}\n")
}
