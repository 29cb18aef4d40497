//! Lists that are likely something else: to read them as edges would give another graph in silence.

use super::fields::fields;
use super::shape::{Shape, lines, whole};
use crate::text::Text;
use std::collections::HashSet;
use tautline::FileError;

/// Refuses a list that is more likely another format.
pub(super) fn check(text: &Text, shape: &Shape, has_answer: bool) -> Result<(), FileError> {
    if shape.first.is_empty() {
        return Ok(());
    }
    if !has_answer && shape.header.is_none() {
        sizes(text, shape)?;
    }
    if shape.columns == 3 {
        thirds(text, shape)?;
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
    let allowed = "; --format list reads it";
    let refuse = |message: String| Err(text.error(shape.first[0], message + allowed));
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
