//! Output of commands: numbers, tables, progress, stories.

pub mod colours;
mod columns;
pub mod number;
pub mod place;
pub mod progress;
pub mod story;
pub mod terminal;
pub mod worker;

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// The maximum width of lines, that of the narrowest terminals in use.
pub const WIDTH: usize = 80;

/// The width of the names of a table, and of the space that follows them.
const NAMES: usize = 18;

/// Formats names and values in two columns.
pub fn table(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let mut name = *name;
        for line in wrapped(value, WIDTH - NAMES) {
            let _ = writeln!(text, "{name:<16}  {line}");
            name = "";
        }
        text
    })
}

/// Returns a text as lines that fit a terminal.
pub fn lines(text: &str) -> String {
    wrapped(text, WIDTH).join("\n") + "\n"
}

/// Divides a text into lines of at most `width` characters: after a comma or a semicolon, or else
/// between words. The spaces within a number divide no words. A word that is longer has a line of
/// its own.
pub fn wrapped(text: &str, width: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(width) {
        // A space that follows the last character that fits ends the line as well.
        let is_digit = |at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let spaces = rest.match_indices(' ').map(|(at, _)| at);
        let spaces = spaces.filter(|&at| at > 0 && !(is_digit(at - 1) && is_digit(at + 1)));
        let ends_clause = |&at: &usize| rest[..at].ends_with([',', ';']);
        let fitting = || spaces.clone().filter(|&at| at <= end);
        // Few words on a line are worse than a clause that is divided.
        let mut clause = fitting().filter(ends_clause).filter(|&at| at > end / 2);
        let Some(at) = clause
            .next_back()
            .or(fitting().next_back())
            .or(spaces.clone().next())
        else {
            break;
        };
        lines.push(&rest[..at]);
        rest = rest[at..].trim_start();
    }
    lines.push(rest);
    lines
}

/// Returns the JSON object of these keys. It is filled one by one: collecting sorts first, by
/// another copy of the sort for each kind of iterator.
pub fn object<K: Into<String>>(
    entries: impl IntoIterator<Item = (K, Value)>,
) -> Map<String, Value> {
    let mut object = Map::new();
    for (key, value) in entries {
        object.insert(key.into(), value);
    }
    object
}

/// Returns the text of a JSON document, in which each object has the version of its keys.
pub fn document(content: impl Into<Value>) -> String {
    let mut content = content.into();
    let objects = match &mut content {
        Value::Array(all) => all.iter_mut().collect(),
        one => vec![one],
    };
    for object in objects {
        object["schema"] = crate::SCHEMA.into();
    }
    format!("{content:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_continue_on_the_next_line() {
        let value = "random steals 1, lifelines hypercube:2, steal half, grain auto, fairness inline, seed 1";
        let text = table(&[
            ("balancer", value.to_owned()),
            ("seconds", "1.5".to_owned()),
        ]);
        let expected = "\
balancer          random steals 1, lifelines hypercube:2, steal half,
                  grain auto, fairness inline, seed 1
seconds           1.5
";
        assert_eq!(text, expected);
    }

    #[test]
    fn lines_end_after_clauses_and_between_words_but_not_in_numbers() {
        for (text, lines) in [
            ("", &[""][..]),
            ("as wide as it", &["as wide as it"]),
            ("a clause, and one", &["a clause,", "and one"]),
            ("on, two words that", &["on, two words", "that"]),
            ("there are 1 234 567", &["there are", "1 234 567"]),
            ("/a/path/of/folders", &["/a/path/of/folders"]),
            ("in /a/path/of/folders", &["in", "/a/path/of/folders"]),
            ("/a/path/of/folders is", &["/a/path/of/folders", "is"]),
            ("σ σ σ σ σ σ σ", &["σ σ σ σ σ σ σ"]),
        ] {
            assert_eq!(wrapped(text, 13), lines, "{text}");
        }
    }
}
