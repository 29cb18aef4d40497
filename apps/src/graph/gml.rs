//! GML (Himsolt 1996): keys with values, of which lists in brackets.

use super::words::{Word, split};
use super::{Builder, Listed, Options, Ways};
use crate::text::Text;
use std::borrow::Cow;
use tautline::FileError;

const MARKS: &[char] = &['[', ']'];
/// Keys of a length, in the order of preference.
const LENGTHS: &[&str] = &["weight", "value", "length"];

/// Whether the text begins with keys of which one is `graph [`.
pub(super) fn begins(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines.by_ref().take(16) {
        let lower = line.to_ascii_lowercase();
        match lower.strip_prefix("graph").map(str::trim_start) {
            Some("") => return lines.next().is_some_and(|line| line.starts_with('[')),
            Some(rest) => return rest.starts_with('['),
            None if ["creator", "version", "comment"]
                .iter()
                .any(|key| lower.starts_with(key)) => {}
            None => return false,
        }
    }
    false
}

/// A list in brackets, whose keys are read in turn.
struct Keys<'t, 'w, 'a> {
    text: &'t Text,
    rest: &'w [Word<'a>],
}

/// A value of a key.
#[derive(Clone, Copy)]
enum Value<'w, 'a> {
    Word(Word<'a>),
    List(&'w [Word<'a>]),
}

impl<'w, 'a> Keys<'_, 'w, 'a> {
    fn error(&self, at: Option<&Word>, message: &str) -> FileError {
        let message = format!("GML: {message}");
        match at {
            Some(word) => self.text.error(word.text, message),
            None => self.text.error_at_end(message),
        }
    }

    /// Returns the next key and its value.
    fn next(&mut self) -> Result<Option<(Word<'a>, Value<'w, 'a>)>, FileError> {
        let Some((key, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        let is_key = key
            .text
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if key.is_quoted || !is_key {
            let message = format!("`{}`: expected a key", key.text);
            return Err(self.error(Some(key), &message));
        }
        let Some((value, rest)) = rest.split_first() else {
            return Err(self.error(None, "a key without a value"));
        };
        if value.is("]") {
            return Err(self.error(Some(value), "a key without a value"));
        }
        if !value.is("[") {
            let is_number = value
                .text
                .starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            let is_constant = ["nan", "inf", "true", "false"]
                .iter()
                .any(|word| value.is(word));
            if !value.is_quoted && !is_number && !is_constant {
                let message = format!("`{}`: a number, a quoted text or [", value.text);
                return Err(self.error(Some(value), &message));
            }
            self.rest = rest;
            return Ok(Some((*key, Value::Word(*value))));
        }
        let mut depth = 1;
        for (at, word) in rest.iter().enumerate() {
            depth += usize::from(word.is("["));
            depth -= usize::from(word.is("]"));
            if depth == 0 {
                self.rest = &rest[at + 1..];
                return Ok(Some((*key, Value::List(&rest[..at]))));
            }
        }
        Err(self.error(Some(value), "[ without ]"))
    }
}

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let mut words = Vec::new();
    // Quoted texts may have several lines: whole runs between comments are split.
    for part in parts(text.as_str()) {
        words.extend(split(text, part, MARKS)?);
    }
    let mut keys = Keys { text, rest: &words };
    let mut graph = None;
    while let Some((key, value)) = keys.next()? {
        if let (Value::List(list), true) = (value, key.is("graph"))
            && graph.replace(list).is_some()
        {
            return Err(keys.error(Some(&key), "a second graph: one is read"));
        }
    }
    if let Some(inner) = inner(&words) {
        return Err(keys.error(Some(inner), "a node or an edge in another list than graph"));
    }
    let Some(graph) = graph else {
        return Err(keys.error(None, "no graph: expected graph [ … ]"));
    };
    self::graph(text, graph, options)
}

/// Returns the key of a node or an edge that is in another list than that of the graph: a bracket
/// is missing before it.
fn inner<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w Word<'a>> {
    let mut open: Vec<&Word> = Vec::new();
    for (word, next) in words.iter().zip(words.iter().skip(1)) {
        if next.is("[") {
            let is_part = word.is("node") || word.is("edge");
            if is_part && !(open.len() == 1 && open[0].is("graph")) {
                return Some(word);
            }
            open.push(word);
        } else if next.is("]") {
            open.pop();
        }
    }
    None
}

/// Returns the runs of lines between comments.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (mut end, mut is_open) = (0, false);
        for line in rest.split_inclusive('\n') {
            if !is_open && line.trim_start().starts_with('#') {
                let part = &rest[..end];
                rest = &rest[end + line.len()..];
                return Some(part);
            }
            is_open ^= line.matches('"').count() % 2 == 1;
            end += line.len();
        }
        let part = rest;
        rest = "";
        Some(part)
    })
}

fn graph(text: &Text, words: &[Word], options: &Options) -> Result<Listed, FileError> {
    let mut builder = Builder::new(text, options);
    let (mut ways, mut edges) = (Ways::Both, Vec::new());
    let mut keys = Keys { text, rest: words };
    while let Some((key, value)) = keys.next()? {
        match value {
            Value::Word(word) if key.is("directed") => match word.text {
                "0" => ways = Ways::Both,
                "1" => ways = Ways::One,
                other => {
                    let message = format!("directed {other}: 0 or 1");
                    return Err(keys.error(Some(&word), &message));
                }
            },
            Value::List(list) if key.is("node") => {
                let id = field(text, list, &["id"])?
                    .ok_or_else(|| keys.error(Some(&key), "a node without id"))?;
                if builder.known(id.text).is_some() {
                    return Err(keys.error(Some(&id), &format!("a second node {}", id.text)));
                }
                let number = builder.vertex(id.text);
                if let Some(label) = field(text, list, &["label", "name"])? {
                    builder.label(number, unescaped(label.text));
                }
            }
            Value::List(list) if key.is("edge") => edges.push((key, list)),
            _ if key.is("node") || key.is("edge") => {
                return Err(keys.error(Some(&key), "a node or an edge without ["));
            }
            // Others are passed over, as the format requires, unless they look like a misspelt one.
            Value::List(list) if field(text, list, &["id", "source", "target"])?.is_some() => {
                return Err(keys.error(Some(&key), &format!("`{}`: node or edge", key.text)));
            }
            _ => {}
        }
    }
    for (key, list) in edges {
        let vertex = |name| {
            let missing = || keys.error(Some(&key), &format!("an edge without {name}"));
            let id = field(text, list, &[name])?.ok_or_else(missing)?;
            let unknown = || keys.error(Some(&id), &format!("no node {}", id.text));
            builder.known(id.text).ok_or_else(unknown)
        };
        let ends = (vertex("source")?, vertex("target")?);
        let length = field(text, list, LENGTHS)?.map(|length| length.text);
        builder.edge(ends, length, ways, key.text)?;
    }
    builder.listed("GML".to_owned())
}

/// Returns a text with the characters that entities such as `&quot;` and `&#228;` stand for.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let (mut all, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('&') {
        all.push_str(before);
        let entity = after.split_once(';');
        let found = entity.and_then(|(name, after)| Some((character(name)?, after)));
        let (c, after) = found.unwrap_or(('&', after));
        all.push(c);
        rest = after;
    }
    all.push_str(rest);
    all.into()
}

/// Returns the character of an entity, if it is a known one that can be shown.
fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "lt" => Some('<'),
        "gt" => Some('>'),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|c| !c.is_control())
        }
    }
}

/// Returns the value of the first of these keys that a list has.
fn field<'a>(
    text: &Text,
    list: &[Word<'a>],
    names: &[&str],
) -> Result<Option<Word<'a>>, FileError> {
    let mut found = vec![None; names.len()];
    let mut keys = Keys { text, rest: list };
    while let Some((key, value)) = keys.next()? {
        let Some(at) = names.iter().position(|name| key.is(name)) else {
            continue;
        };
        let Value::Word(word) = value else {
            return Err(keys.error(Some(&key), &format!("{}: a number or a text", key.text)));
        };
        if found[at].replace(word).is_some() {
            return Err(keys.error(Some(&key), &format!("a second {}", key.text)));
        }
    }
    Ok(found.into_iter().flatten().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_in_labels_are_characters() {
        let text = r#"graph [ node [ id 1 label "&#228; &amp; &quot;b&quot; &#xe9;" ]
            node [ id 2 label "R&D; &#10; &copy; a & b" ] edge [ source 1 target 2 ] ]"#;
        let text = Text::new("g", text, |_| false).unwrap();
        let listed = read(&text, &Options::default()).unwrap();
        assert_eq!(listed.names, ["ä & \"b\" é", "R&D; &#10; &copy; a & b"]);
        assert_eq!(listed.edges, [(0, 1)]);
    }
}
