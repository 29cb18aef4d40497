//! Lists that are likely something else: to read them as edges would give another graph in silence.

use super::fields::{Separator, fields};
use super::shape::{HEADS, Shape, lines, whole};
use crate::graph::decimal::is_number;
use crate::text::Text;
use std::collections::HashSet;
use tautline::FileError;

const ALLOWED: &str = "; --format list reads it";
/// The first two columns of tables of vertices.
const TABLES: &[[&str; 2]] = &[
    ["id", "label"],
    ["id", "name"],
    ["node", "label"],
    ["node", "name"],
    ["vertex", "label"],
];

/// Refuses a list that is more likely another format.
pub(super) fn check(text: &Text, shape: &Shape, has_answer: bool) -> Result<(), FileError> {
    if shape.first.is_empty() {
        return Ok(());
    }
    if !has_answer {
        columns(text, shape)?;
        if shape.header.is_none() {
            sizes(text, shape)?;
        }
    }
    names(text, shape)?;
    if shape.columns == 3 {
        thirds(text, shape)?;
    }
    Ok(())
}

/// The first line may name other columns than two vertices and a length.
fn columns(text: &Text, shape: &Shape) -> Result<(), FileError> {
    let mut row = Vec::new();
    let first: Vec<&str> = match shape.header {
        Some(header) if fields(header, shape.separator, &mut row).is_err() => return Ok(()),
        Some(_) => row.iter().map(|field| field.text).collect(),
        None => shape.first.clone(),
    };
    let is_one = |pairs: &[[&str; 2]], of: &[&str]| {
        let equal = |pair: &[&str; 2]| {
            let mut both = pair.iter().zip(of);
            both.all(|(known, word)| known.eq_ignore_ascii_case(word))
        };
        pairs.iter().any(equal)
    };
    let message = if first.windows(2).skip(1).any(|of| is_one(HEADS, of)) {
        "the vertices are not in the first two columns: leave out the column before them"
    } else if is_one(TABLES, &first) {
        "a table of vertices: expected one of edges"
    } else {
        return Ok(());
    };
    let message = format!("`{}`: {message}", first.join(","));
    Err(text.error(first[0], message + ALLOWED))
}

/// A name may have another separator inside: a list with two of them, or lengths with decimal
/// commas.
fn names(text: &Text, shape: &Shape) -> Result<(), FileError> {
    let Separator::One(separator) = shape.separator else {
        return Ok(());
    };
    let others: &[char] = match separator {
        ',' => &[';', '\t'],
        ';' => &['\t'],
        _ => &[],
    };
    let mut row = Vec::new();
    // Whether each line ends as `0,5` does.
    let mut are_decimal = separator == ',' && shape.columns == 2;
    for line in lines(text).filter(|line| Some(*line) != shape.header) {
        if fields(line, shape.separator, &mut row).is_err() || row.len() < 2 {
            continue;
        }
        for field in row.iter().take(2).filter(|field| !field.is_quoted) {
            let mut words = field.text.split_whitespace();
            let are_numbers = words.clone().nth(1).is_some() && words.all(is_number);
            if are_numbers || field.text.contains(others) {
                let message = format!(
                    "`{}`: a name with a separator inside? Quote names, and write lengths with a point",
                    field.text
                );
                return Err(text.error(field.text, message + ALLOWED));
            }
        }
        let whole_part = row[0].text.rsplit_once(char::is_whitespace);
        are_decimal &= !row[0].is_quoted
            && whole_part.is_some_and(|(_, last)| whole(last).is_some())
            && whole(row[1].text).is_some();
    }
    if are_decimal {
        let message = format!(
            "`{}`: a length with a decimal comma? Write a point",
            shape.first.join(",")
        );
        return Err(text.error(shape.first[0], message + ALLOWED));
    }
    Ok(())
}

/// The first line may be the numbers of vertices and edges.
fn sizes(text: &Text, shape: &Shape) -> Result<(), FileError> {
    let Some((_, most)) = shape.numbers.filter(|_| shape.rows > 1) else {
        return Ok(());
    };
    let numbers: Option<Vec<u64>> = shape.first.iter().map(|word| whole(word)).collect();
    let others = shape.rows as u64 - 1;
    let (vertices, edges) = match numbers.as_deref() {
        Some(&[vertices, edges]) => (vertices, edges),
        // As a matrix: rows, columns, entries.
        Some(&[rows, columns, entries]) if rows == columns => (rows, entries),
        // With a flag or a number of weights.
        Some(&[vertices, edges, _]) => (vertices, edges),
        _ => return Ok(()),
    };
    let is_count = edges == others || 2 * edges == others || edges == 2 * others;
    // Names that are larger than all others.
    let is_apart = others >= 4 && shape.columns == 2 && edges > most;
    if vertices < most || !(is_count || is_apart) {
        return Ok(());
    }
    let message = format!(
        "`{}`: the numbers of vertices and edges, or an edge? --header passes over this line, --header=no reads it",
        shape.first.join(" ")
    );
    Err(text.error(shape.first[0], message))
}

/// Three columns may be something else than two vertices and a length.
fn thirds(text: &Text, shape: &Shape) -> Result<(), FileError> {
    let mut row = Vec::new();
    let mut rows = 0;
    // The words of the first row of which each column has no other.
    let mut constant: [Option<&str>; 2] = [None; 2];
    let mut are_numbers = [true; 3];
    let mut firsts = HashSet::new();
    let (mut are_distinct, mut is_matrix) = (true, true);
    let edges = lines(text).filter(|line| Some(*line) != shape.header);
    for line in edges {
        if fields(line, shape.separator, &mut row).is_err() || row.len() != 3 {
            continue;
        }
        for (column, field) in row.iter().enumerate() {
            are_numbers[column] &= whole(field.text).is_some();
            is_matrix &= matches!(field.text, "0" | "1");
            if let Some(same) = constant.get_mut(column) {
                match *same {
                    _ if rows == 0 => *same = Some(field.text),
                    Some(word) if word != field.text => *same = None,
                    _ => {}
                }
            }
        }
        are_distinct = are_distinct && firsts.insert(row[0].text);
        if !are_distinct {
            firsts.clear();
        }
        rows += 1;
        if !are_distinct && !is_matrix && constant == [None; 2] {
            return Ok(());
        }
    }
    let refuse = |message: String| Err(text.error(shape.first[0], message + ALLOWED));
    for (column, other) in [(0, 1), (1, 0)] {
        if let (Some(word), true) = (
            constant[column],
            rows > 1 && are_numbers[other] && are_numbers[2],
        ) {
            if whole(word).is_none() {
                return refuse(format!(
                    "`{word}` in every line: a word between or before the vertices?"
                ));
            }
        }
    }
    if is_matrix && rows == 3 {
        return refuse(
            "0 and 1 in three lines and columns: a matrix, or edges with lengths?".to_owned(),
        );
    }
    let are_neighbours = are_distinct && are_numbers == [true; 3] && rows > 2;
    if are_neighbours && thirds_are_vertices(text, shape, &firsts) {
        return refuse(
            "a vertex and two neighbours, or two vertices and a length a line?".to_owned(),
        );
    }
    Ok(())
}

/// Whether every word of the third column begins a line.
fn thirds_are_vertices(text: &Text, shape: &Shape, firsts: &HashSet<&str>) -> bool {
    let mut row = Vec::new();
    let mut edges = lines(text).filter(|line| Some(*line) != shape.header);
    edges.all(|line| {
        fields(line, shape.separator, &mut row).is_err()
            || row.len() != 3
            || firsts.contains(row[2].text)
    })
}
