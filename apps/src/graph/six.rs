//! graph6, sparse6 and digraph6 (McKay): a graph a line, six bits a printable character.

use super::{Builder, Listed, Options, VERTICES_MAX, Ways};
use crate::text::Text;
use tautline::FileError;

/// The character of six zero bits.
const ZERO: u8 = 63;
const HEADS: &[(&str, &str)] = &[
    (">>graph6<<", ""),
    (">>sparse6<<", ":"),
    (">>digraph6<<", "&"),
];

/// Whether the line begins with the head of one of the formats.
pub(super) fn has_head(line: &str) -> bool {
    HEADS.iter().any(|(head, _)| line.starts_with(head))
}

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    if options.is_weighted {
        return Err(text.error_at(0, "graph6: edges have no lengths"));
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or("");
    let head = HEADS.iter().find(|(head, _)| line.starts_with(head));
    let body = head.map_or(line, |(head, _)| &line[head.len()..]);
    if let Some((head, mark)) = head.filter(|(_, mark)| !body.starts_with(mark)) {
        let message = format!("`{mark}` is missing after {head}");
        return Err(text.error(line, message));
    }
    if let Some(next) = lines.next() {
        return Err(text.error(next, "graph6: a second graph: one is read"));
    }
    let mut builder = Builder::new(text, options);
    let name = match body.as_bytes() {
        [b':', ..] => {
            let (vertices, bits) = sizes(text, &body[1..])?;
            sparse(text, vertices, &bits, &mut builder)?;
            "sparse6"
        }
        [b'&', ..] => {
            let (vertices, bits) = sizes(text, &body[1..])?;
            let pairs = (0..vertices).flat_map(|from| (0..vertices).map(move |to| (from, to)));
            let size = (vertices, vertices * vertices);
            dense(text, &bits, size, pairs, Ways::One, &mut builder)?;
            "digraph6"
        }
        _ => {
            let (vertices, bits) = sizes(text, body)?;
            let pairs = (0..vertices).flat_map(|to| (0..to).map(move |from| (from, to)));
            let count = vertices * vertices.saturating_sub(1) / 2;
            dense(
                text,
                &bits,
                (vertices, count),
                pairs,
                Ways::Both,
                &mut builder,
            )?;
            "graph6"
        }
    };
    builder.listed(name.to_owned())
}

/// The bits after the number of vertices.
struct Bits<'a> {
    sixes: &'a str,
}

impl Bits<'_> {
    fn len(&self) -> usize {
        6 * self.sixes.len()
    }

    fn is_set(&self, at: usize) -> bool {
        (self.sixes.as_bytes()[at / 6] - ZERO) >> (5 - at % 6) & 1 == 1
    }

    fn number(&self, at: usize, bits: usize) -> usize {
        (at..at + bits).fold(0, |number, at| 2 * number + usize::from(self.is_set(at)))
    }
}

/// Returns the number of vertices, and the bits after it, all characters of which are valid.
fn sizes<'a>(text: &Text, body: &'a str) -> Result<(usize, Bits<'a>), FileError> {
    let is_valid = |c: char| c.is_ascii() && (ZERO..=126).contains(&(c as u8));
    if let Some(at) = body.find(|c| !is_valid(c)) {
        let found = body[at..].chars().next().unwrap_or(' ');
        let message = format!("graph6: `{found}`: characters from `?` to `~`");
        return Err(text.error(&body[at..], message));
    }
    let (skipped, sixes) = match body.as_bytes() {
        [126, 126, ..] => (2, 6),
        [126, ..] => (1, 3),
        _ => (0, 1),
    };
    if body.len() < skipped + sixes {
        return Err(text.error(body, "graph6: no number of vertices"));
    }
    let (number, rest) = body[skipped..].split_at(sixes);
    let number = Bits { sixes: number };
    let vertices = number.number(0, number.len());
    if vertices > VERTICES_MAX {
        let message = format!("graph6: {vertices} vertices: at most {VERTICES_MAX}");
        return Err(text.error(body, message));
    }
    Ok((vertices, Bits { sixes: rest }))
}

/// Adds the edges of a matrix, a bit each.
fn dense(
    text: &Text,
    bits: &Bits,
    (vertices, count): (usize, usize),
    pairs: impl Iterator<Item = (usize, usize)>,
    ways: Ways,
    builder: &mut Builder,
) -> Result<(), FileError> {
    let (found, expected) = (bits.sixes.len(), count.div_ceil(6));
    if found != expected {
        let message = format!("graph6: {found} characters: {expected} for {vertices} vertices");
        return Err(text.error(bits.sixes, message));
    }
    if (count..bits.len()).any(|at| bits.is_set(at)) {
        return Err(text.error(bits.sixes, "graph6: bits after the last edge are not zero"));
    }
    builder.number(0..vertices);
    for (at, (from, to)) in pairs.enumerate() {
        if bits.is_set(at) {
            builder.edge((from as u32, to as u32), None, ways, bits.sixes)?;
        }
    }
    Ok(())
}

/// Adds the edges of a list: of each a bit whether the vertex is the next one, and the other
/// vertex.
fn sparse(
    text: &Text,
    vertices: usize,
    bits: &Bits,
    builder: &mut Builder,
) -> Result<(), FileError> {
    builder.number(0..vertices);
    let width = (usize::BITS - vertices.saturating_sub(1).leading_zeros()) as usize;
    let (mut at, mut current) = (0, 0);
    while at + 1 + width <= bits.len() && bits.len() > at {
        let (is_next, other) = (bits.is_set(at), bits.number(at + 1, width));
        let next = current + usize::from(is_next);
        if next >= vertices || other >= vertices {
            break;
        }
        at += 1 + width;
        current = next.max(other);
        if other <= next {
            builder.edge((other as u32, next as u32), None, Ways::Both, bits.sixes)?;
        }
    }
    // The first bit of the rest is zero where ones would be an edge.
    let is_filled = (at + 1..bits.len()).all(|at| bits.is_set(at));
    if bits.len() - at >= 6 || !is_filled {
        return Err(text.error(bits.sixes, "sparse6: bits after the last edge are not ones"));
    }
    Ok(())
}
