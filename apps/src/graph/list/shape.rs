//! The columns of a list.

use super::fields::{Field, Separator, fields};
use crate::graph::Options;
use crate::graph::decimal::is_number;
use crate::text::Text;
use tautline::FileError;

/// Names of the two columns of vertices that a first line may have.
pub(super) const HEADS: &[[&str; 2]] = &[
    ["source", "target"],
    ["from", "to"],
    ["src", "dst"],
    ["src", "dest"],
    ["start", "end"],
    ["node1", "node2"],
    ["vertex1", "vertex2"],
    ["id1", "id2"],
    ["id_1", "id_2"],
    ["node_1", "node_2"],
    ["fromnodeid", "tonodeid"],
    ["origin", "destination"],
];

/// A list whose lines agree.
#[derive(Debug)]
pub(super) struct Shape<'a> {
    pub(super) separator: Separator,
    pub(super) columns: usize,
    pub(super) header: Option<&'a str>,
    /// The first edge.
    pub(super) first: Vec<&'a str>,
    /// The number of edges.
    pub(super) rows: usize,
    /// The number of vertices alone in a line.
    pub(super) isolated: usize,
    /// Whether all vertices of all edges but the first are numbers.
    are_numbers: bool,
    /// The least and the largest vertex of all edges but the first, if all are whole numbers.
    pub(super) numbers: Option<(u64, u64)>,
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', '%'])
}

/// Returns the lines that are neither blank nor comments.
pub(super) fn lines(text: &Text) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !is_comment(line))
}

/// Returns the number of comments.
pub(super) fn comments(text: &Text) -> usize {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| is_comment(line)).count()
}

/// Refuses a name that is a sign between names, or begins a comment of another format.
pub(in super::super) fn named(text: &Text, word: &str) -> Result<(), FileError> {
    let is_open =
        |(open, close): (char, char)| word.matches(open).count() != word.matches(close).count();
    let brackets = [('(', ')'), ('[', ']'), ('{', '}')];
    let message = if word.bytes().all(|byte| byte.is_ascii_punctuation()) {
        "the name of a vertex has a letter or a digit"
    } else if word.ends_with(':') || word.contains("->") || brackets.into_iter().any(is_open) {
        "a colon, a bracket or an arrow at a name: expected names alone, or quoted between commas"
    } else {
        return Ok(());
    };
    Err(text.error(word, format!("`{word}`: {message}")))
}

/// Reads all lines, and returns what they agree in.
pub(super) fn of<'a>(
    text: &'a Text,
    separator: Separator,
    options: &Options,
) -> Result<Shape<'a>, FileError> {
    let mut shape = Shape {
        separator,
        columns: 0,
        header: None,
        first: Vec::new(),
        rows: 0,
        isolated: 0,
        are_numbers: true,
        numbers: Some((u64::MAX, 0)),
    };
    let mut row = Vec::new();
    // Of the first line: whether it is a header is known at the end.
    let mut head: Option<(&str, Result<(), FileError>)> = None;
    for line in lines(text) {
        if options.has_header == Some(true) && shape.header.is_none() {
            shape.header = Some(line);
            continue;
        }
        fields(line, separator, &mut row).map_err(|(at, what)| text.error(at, what))?;
        if row.len() == 1 {
            alone(text, &row, options)?;
            shape.isolated += 1;
            continue;
        }
        if shape.columns == 0 {
            two_or_three(text, &row)?;
            shape.columns = row.len();
            shape.first = row.iter().map(|field| field.text).collect();
            head = Some((line, pair(text, &row)));
            continue;
        }
        if row.len() != shape.columns {
            let (found, columns) = (row.len(), shape.columns);
            let sizes = match (shape.rows, columns) {
                (0, 2..) => ", which --header passes over",
                _ => "",
            };
            let message = format!("{found} columns: {columns}, as in the first line{sizes}");
            return Err(text.error(line, message));
        }
        pair(text, &row)?;
        shape.rows += 1;
        shape.are_numbers &= is_number(row[0].text) && is_number(row[1].text);
        shape.numbers = shape.numbers.and_then(|range| widened(range, &row));
    }
    if let Some((line, is_pair)) = head {
        if is_header(&shape, options) {
            shape.header = Some(line);
        } else {
            is_pair?;
            shape.rows += 1;
        }
    }
    Ok(shape)
}

fn widened((least, most): (u64, u64), row: &[Field]) -> Option<(u64, u64)> {
    let [from, to] = [whole(row[0].text)?, whole(row[1].text)?];
    Some((least.min(from).min(to), most.max(from).max(to)))
}

/// Returns the number that a name is.
pub(super) fn whole(name: &str) -> Option<u64> {
    name.parse().ok().filter(|_| !name.starts_with('+'))
}

fn alone(text: &Text, row: &[Field], options: &Options) -> Result<(), FileError> {
    if options.allows_isolated {
        return named(text, row[0].text);
    }
    let message = format!(
        "`{}` alone: two vertices and perhaps a length, separated by white space, commas or semicolons; \
         --isolated allows vertices without edges",
        row[0].text
    );
    Err(text.error(row[0].text, message))
}

fn two_or_three(text: &Text, row: &[Field]) -> Result<(), FileError> {
    match row.get(3) {
        Some(field) => {
            let message = format!(
                "`{}`: {} columns: two vertices and perhaps a length; {}",
                field.text,
                row.len(),
                crate::graph::format::allowed()
            );
            Err(text.error(field.text, message))
        }
        None => Ok(()),
    }
}

/// Checks two vertices and perhaps a length.
fn pair(text: &Text, row: &[Field]) -> Result<(), FileError> {
    for field in row.iter().take(2).filter(|field| !field.is_quoted) {
        named(text, field.text)?;
    }
    match row
        .get(2)
        .map(|field| field.text)
        .filter(|third| !is_number(third))
    {
        Some(third) => {
            let message =
                format!("`{third}`: the third column is a length, a number in every line");
            Err(text.error(third, message))
        }
        None => Ok(()),
    }
}

fn is_header(shape: &Shape, options: &Options) -> bool {
    if options.has_header.is_some() {
        return false;
    }
    let [from, to] = [&shape.first[0], &shape.first[1]];
    let are_words = !is_number(from) && !is_number(to);
    let are_known = HEADS
        .iter()
        .any(|head| head[0].eq_ignore_ascii_case(from) && head[1].eq_ignore_ascii_case(to));
    let others_are_numbers = shape.rows > 0 && shape.are_numbers;
    // A third word, where all others are numbers.
    let third = shape.first.get(2);
    let has_third = shape.rows > 0 && third.is_some_and(|third| !is_number(third));
    are_words && (are_known || others_are_numbers || has_third)
}
