//! Matrices of the Matrix Market exchange format (Boisvert, Pozo, Remington 1996).

use super::{Builder, Listed, Options, VERTICES_MAX, Ways};
use crate::text::Text;
use tautline::FileError;

const BANNER: &str = "%%MatrixMarket";
const ALLOWED: &str = "matrix coordinate, then real, integer or pattern, then general or symmetric";

/// Whether the line is, or is meant to be, the first of a matrix.
pub(super) fn has_banner(line: &str) -> bool {
    line.starts_with('%') && line.to_ascii_lowercase().contains("matrixmarket")
}

/// The banner and the line of sizes.
struct Head {
    has_value: bool,
    is_symmetric: bool,
    vertices: usize,
    entries: usize,
}

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let banner = lines.next().unwrap_or("").trim();
    let (field, symmetry) = kinds(text, banner, options)?;
    let mut lines = lines.filter(|line| !line.trim_start().starts_with('%'));
    let Some(sizes) = lines.next() else {
        return Err(text.error_at_end("no size: rows, columns and entries"));
    };
    let (vertices, entries) = self::sizes(text, sizes)?;
    let head = Head {
        has_value: field != "pattern",
        is_symmetric: symmetry == "symmetric",
        vertices,
        entries,
    };
    let mut builder = Builder::new(text, options);
    builder.number(1..=vertices);
    for line in lines {
        entry(text, line, &head, &mut builder)?;
    }
    let found = builder.entries();
    if found != head.entries {
        let message = format!("{found} entries: {entries}, as the line of sizes states");
        return Err(text.error_at_end(message));
    }
    builder.listed(format!("Matrix Market, {field} {symmetry}"))
}

/// Returns the field and the symmetry of the banner.
fn kinds<'a>(
    text: &Text,
    banner: &'a str,
    options: &Options,
) -> Result<(&'a str, &'static str), FileError> {
    let mut words = banner.split_whitespace();
    let is_banner = words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case(BANNER));
    let rest: Vec<_> = words.collect();
    let is = |at: usize, word: &str| rest.get(at).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let fields = ["real", "integer", "pattern"];
    let field = fields.into_iter().find(|field| is(2, field));
    let symmetry = ["general", "symmetric"]
        .into_iter()
        .find(|word| is(3, word));
    let (true, true, true, Some(field), Some(symmetry), 4) = (
        is_banner,
        is(0, "matrix"),
        is(1, "coordinate"),
        field,
        symmetry,
        rest.len(),
    ) else {
        let message = format!("`{banner}`: {BANNER} {ALLOWED}");
        return Err(text.error(banner, message));
    };
    if options.is_weighted && field == "pattern" {
        return Err(text.error(banner, "a pattern has no lengths: real or integer"));
    }
    Ok((field, symmetry))
}

/// Returns the number of vertices and of entries.
fn sizes(text: &Text, line: &str) -> Result<(usize, usize), FileError> {
    let words: Vec<_> = line.split_whitespace().collect();
    let whole = |word: &str| word.parse::<usize>().ok();
    let &[rows, columns, entries] = &words[..] else {
        return Err(text.error(line.trim(), "no size: rows, columns and entries"));
    };
    match [rows, columns, entries].map(whole) {
        [Some(rows), Some(columns), Some(entries)] if rows == columns && rows <= VERTICES_MAX => {
            Ok((rows, entries))
        }
        _ => {
            let message = format!(
                "{rows} x {columns}, {entries} entries: a square matrix, at most {VERTICES_MAX} rows"
            );
            Err(text.error(rows, message))
        }
    }
}

/// Adds the edge that an entry is.
fn entry(text: &Text, line: &str, head: &Head, builder: &mut Builder) -> Result<(), FileError> {
    let mut words = line.split_whitespace();
    let [from, to, value] = [words.next(), words.next(), words.next()];
    let (Some(from), Some(to), None, true) =
        (from, to, words.next(), head.has_value == value.is_some())
    else {
        let (found, expected) = (
            line.split_whitespace().count(),
            2 + usize::from(head.has_value),
        );
        return Err(text.error(line.trim_start(), format!("{found} words: {expected}")));
    };
    let vertices = head.vertices;
    let vertex = |word: &str| match word.parse().ok().filter(|n| (1..=vertices).contains(n)) {
        Some(number) => Ok(number as u32 - 1),
        None => Err(text.error(word, format!("vertex {word}: from 1 to {vertices}"))),
    };
    let ways = match head.is_symmetric {
        true => Ways::Both,
        false => Ways::Unsaid,
    };
    builder.edge((vertex(from)?, vertex(to)?), value, ways, line.trim())
}
