//! Networks of Pajek (Batagelj, Mrvar 1998): sections that begin with `*`.

use super::words::{Word, split};
use super::{Builder, Listed, Options, VERTICES_MAX, Ways};
use crate::text::Text;
use tautline::FileError;

/// A section whose lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Vertices,
    /// Two vertices and perhaps a length a line.
    Pairs(Ways),
    /// A vertex and its neighbours a line.
    Lists(Ways),
}

const SECTIONS: &[(&str, Section)] = &[
    ("*vertices", Section::Vertices),
    ("*arcs", Section::Pairs(Ways::One)),
    ("*edges", Section::Pairs(Ways::Both)),
    ("*arcslist", Section::Lists(Ways::One)),
    ("*edgeslist", Section::Lists(Ways::Both)),
];

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let mut builder = Builder::new(text, options);
    let mut section = None;
    let mut names: Option<Vec<Option<&str>>> = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('%') || line.starts_with("/*") {
            continue;
        }
        let words = split(text, line, &[])?;
        if line.starts_with('*') {
            section = begun(text, line, &words)?;
            if section == Some(Section::Vertices) {
                let count = count(text, &words)?;
                if names.replace(vec![None; count]).is_some() {
                    let message = "Pajek: a second *Vertices: one network is read";
                    return Err(text.error(line, message));
                }
            }
            continue;
        }
        let Some(names) = &mut names else {
            let message = "Pajek: expected *Vertices and their number";
            return Err(text.error(line, message));
        };
        row(text, line, (section, &words), names, &mut builder)?;
    }
    let Some(names) = names else {
        return Err(text.error_at_end("Pajek: no *Vertices"));
    };
    builder.number(1..=names.len());
    for (number, name) in names.into_iter().enumerate() {
        builder.label(number as u32, name.unwrap_or(""));
    }
    builder.listed("Pajek".to_owned())
}

/// Reads a line of a section.
fn row<'a>(
    text: &Text,
    line: &str,
    (section, words): (Option<Section>, &[Word<'a>]),
    names: &mut [Option<&'a str>],
    builder: &mut Builder,
) -> Result<(), FileError> {
    let count = names.len();
    let vertex = |word: &Word| match word.text.parse().ok().filter(|n| (1..=count).contains(n)) {
        Some(number) if !word.is_quoted => Ok(number as u32 - 1),
        _ => {
            let message = format!("Pajek: vertex {}: from 1 to {count}", word.text);
            Err(text.error(word.text, message))
        }
    };
    match (section, words) {
        (Some(Section::Vertices), [first, rest @ ..]) => {
            let number = vertex(first)?;
            let name = rest.first().map_or("", |word| word.text);
            if names[number as usize].replace(name).is_some() {
                let message = format!("Pajek: a second vertex {}", first.text);
                return Err(text.error(line, message));
            }
            Ok(())
        }
        (Some(Section::Pairs(ways)), [from, to, rest @ ..]) => {
            let length = rest.first().map(|word| word.text);
            builder.edge((vertex(from)?, vertex(to)?), length, ways, line)
        }
        (Some(Section::Lists(ways)), [from, rest @ ..]) => {
            let from = vertex(from)?;
            rest.iter()
                .try_for_each(|to| builder.edge((from, vertex(to)?), None, ways, line))
        }
        _ => {
            let message = "Pajek: expected two vertices and perhaps a length";
            Err(text.error(line, message))
        }
    }
}

/// Returns the section that a line begins; `None`: its lines are passed over.
fn begun(text: &Text, line: &str, words: &[Word]) -> Result<Option<Section>, FileError> {
    // A relation may have a number and a name after a colon.
    let title = words.first().map_or("", |word| word.text);
    let title = title
        .split(':')
        .next()
        .unwrap_or(title)
        .to_ascii_lowercase();
    if let Some((_, section)) = SECTIONS.iter().find(|(name, _)| *name == title) {
        return Ok(Some(*section));
    }
    match &title[..] {
        "*network" | "*partition" | "*vector" | "*permutation" | "*cluster" => Ok(None),
        _ => {
            let names: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "Pajek: `{}`: sections are {}",
                words[0].text,
                names.join(", ")
            );
            Err(text.error(line, message))
        }
    }
}

/// Returns the number of vertices, of a network with one kind of them.
fn count(text: &Text, words: &[Word]) -> Result<usize, FileError> {
    let number = |word: &Word| word.text.parse().ok();
    match words {
        [_, all] => number(all),
        [_, all, first] => {
            number(all).filter(|all| number(first).is_some_and(|first| first <= *all))
        }
        _ => None,
    }
    .filter(|count| *count <= VERTICES_MAX)
    .ok_or_else(|| {
        let message = format!("Pajek: expected *Vertices and their number, at most {VERTICES_MAX}");
        text.error(words.first().map_or("", |word| word.text), message)
    })
}
