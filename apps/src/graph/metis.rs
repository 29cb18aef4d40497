//! Graphs as METIS and Chaco read them (Karypis, Kumar 1998): a line of sizes, then a line of
//! neighbours for each vertex.

use super::{Builder, Listed, Options, VERTICES_MAX, Ways};
use crate::text::Text;
use std::cmp::Ordering;
use std::collections::HashMap;
use tautline::FileError;

const HEAD: &str = "vertices and edges, perhaps a format of three digits and a number of weights";

/// The line of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    vertices: usize,
    edges: usize,
    /// The number of words of a vertex before its neighbours.
    own: usize,
    has_lengths: bool,
}

impl Head {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let (&[vertices, edges], rest) = words.split_first_chunk()?;
        let count = |word: &str| word.parse().ok();
        let (format, weights) = match rest {
            [] => ("0", None),
            [format] => (*format, None),
            [format, weights] => (*format, Some(count(weights).filter(|n| *n <= 64)?)),
            _ => return None,
        };
        let flags: usize = format.parse().ok().filter(|n| *n <= 111)?;
        let flag = |place: usize| match flags / place % 10 {
            0 => Some(0),
            1 => Some(1),
            _ => None,
        };
        let (size, weight, length) = (flag(100)?, flag(10)?, flag(1)?);
        Some(Self {
            vertices: count(vertices).filter(|n| *n <= VERTICES_MAX)?,
            edges: count(edges)?,
            own: size + weight * weights.unwrap_or(1),
            has_lengths: length == 1,
        })
    }
}

/// Returns the lines that are no comments. A blank one is a vertex without neighbours.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_comment = |line: &&str| !line.trim_start().starts_with('%');
    let mut lines = text.lines().filter(is_comment).peekable();
    while lines.next_if(|line| line.trim().is_empty()).is_some() {}
    lines
}

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let mut lines = lines(text.as_str());
    let first = lines.next().unwrap_or("").trim();
    let Some(head) = Head::parse(first) else {
        let found = if first.is_empty() { "nothing" } else { first };
        return Err(text.error(first, format!("METIS: `{found}`: {HEAD}")));
    };
    if options.is_weighted && !head.has_lengths {
        let message = format!("METIS: `{first}`: edges have no weights, format 1 has them");
        return Err(text.error(first, message));
    }
    let mut builder = Builder::new(text, options);
    let mut open = Open::new();
    for vertex in 1..=head.vertices {
        // Blank lines at the end are dropped with the end of the file.
        let line = lines.next().unwrap_or("");
        row(text, &head, (vertex, line), &mut builder, &mut open)?;
    }
    if let Some(line) = lines.find(|line| !line.trim().is_empty()) {
        let message = format!(
            "METIS: more than {} vertices, as the first line states",
            head.vertices
        );
        return Err(text.error(line.trim_start(), message));
    }
    if let Some((from, to)) = open.keys().min() {
        let message =
            format!("METIS: vertex {from} is a neighbour of {to}, but not {to} of {from}");
        return Err(text.error_at_end(message));
    }
    let found = builder.entries();
    if found != head.edges {
        let message = format!(
            "METIS: {found} edges: {}, as the first line states",
            head.edges
        );
        return Err(text.error(first, message));
    }
    builder.number(1..=head.vertices);
    builder.listed("METIS".to_owned())
}

/// Edges seen from the smaller vertex, not yet from the larger, with their lengths.
type Open<'a> = HashMap<(usize, usize), Option<&'a str>>;

/// Reads the neighbours of a vertex. Every edge stands at both ends, and is taken at the second.
fn row<'a>(
    text: &Text,
    head: &Head,
    (vertex, line): (usize, &'a str),
    builder: &mut Builder,
    open: &mut Open<'a>,
) -> Result<(), FileError> {
    let mut words = line.split_whitespace();
    if words.by_ref().take(head.own).count() < head.own {
        let message = format!(
            "METIS: vertex {vertex} has {} weights, then neighbours",
            head.own
        );
        return Err(text.error(line, message));
    }
    while let Some(word) = words.next() {
        let refused = |message| Err(text.error(word, format!("METIS: neighbour {word}{message}")));
        let number = word.parse().ok();
        let Some(to) = number.filter(|to| (1..=head.vertices).contains(to)) else {
            return refused(format!(": from 1 to {}", head.vertices));
        };
        let length = if head.has_lengths { words.next() } else { None };
        if head.has_lengths && length.is_none() {
            return refused(" has no weight after it".to_owned());
        }
        match to.cmp(&vertex) {
            Ordering::Greater => {
                if open.insert((vertex, to), length).is_some() {
                    return refused(" stands twice".to_owned());
                }
            }
            // A loop stands once.
            Ordering::Equal => {
                builder.edge((to as u32 - 1, to as u32 - 1), length, Ways::Both, word)?
            }
            Ordering::Less => match open.remove(&(to, vertex)) {
                Some(other) if other == length => {
                    builder.edge((to as u32 - 1, vertex as u32 - 1), length, Ways::Both, word)?;
                }
                Some(_) => return refused(" has another weight here than there".to_owned()),
                None => return refused(format!(": it has no neighbour {vertex}")),
            },
        }
    }
    Ok(())
}

/// Whether the text is a graph of at least one edge, without loops, whose sizes and neighbours
/// agree.
pub(super) fn is_consistent(text: &str) -> bool {
    let mut rows = lines(text);
    let Some(head) = rows.next().and_then(Head::parse) else {
        return false;
    };
    let most = text.len();
    if head.edges == 0
        || head.vertices > most
        || head.edges > most
        || lines(text).count() > head.vertices + 1
    {
        return false;
    }
    let Ok(text) = Text::new("", text, |_| true) else {
        return false;
    };
    // A loop stands once, so that nothing confirms it.
    read(&text, &Options::default()).is_ok_and(|listed| listed.edges.iter().all(|(a, b)| a != b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, is_weighted: bool) -> Result<Listed, String> {
        let options = Options {
            is_weighted,
            ..Options::default()
        };
        let text = Text::new("g", text, |_| false).unwrap();
        super::read(&text, &options).map_err(|error| error.to_string())
    }

    #[test]
    fn weights_and_isolated_vertices_are_read() {
        let plain = read("% a path\n4 2\n2\n1 3\n2\n\n", false).unwrap();
        assert_eq!(
            (plain.names.len(), &plain.edges[..]),
            (4, &[(0, 1), (1, 2)][..])
        );
        let text = "3 2 011 2\n7 7 2 5\n7 7 1 5 3 0.5\n7 7 2 0.5\n";
        let weighted = read(text, true).unwrap();
        assert_eq!(weighted.lengths, Some(vec![50, 5]));
        assert_eq!(read("2 1 100\n9 2\n9 1\n", false).unwrap().edges, [(0, 1)]);
        assert_eq!(read("1 1\n1\n", false).unwrap().edges, [(0, 0)], "a loop");
    }

    #[test]
    fn what_does_not_agree_is_refused() {
        for (text, said) in [
            ("", "g:1:1: METIS: `nothing`: vertices and edges, perhaps"),
            ("3\n", "g:1:1: METIS: `3`: vertices and edges"),
            ("2 1 7\n", "g:1:1: METIS: `2 1 7`: "),
            ("2 1\n3\n1\n", "g:2:1: METIS: neighbour 3: from 1 to 2"),
            (
                "2 1\n2\n",
                "g:3:1: METIS: vertex 1 is a neighbour of 2, but not 2 of 1",
            ),
            (
                "2 1\n\n1\n",
                "g:3:1: METIS: neighbour 1: it has no neighbour 2",
            ),
            (
                "2 2\n2\n1\n",
                "g:1:1: METIS: 1 edges: 2, as the first line states",
            ),
            ("2 1\n2\n1\n2\n", "g:4:1: METIS: more than 2 vertices"),
            ("2 1 1\n2 5\n1\n", "g:3:1: METIS: neighbour 1 has no weight"),
            ("2 1 10\n\n\n", "g:2:1: METIS: vertex 1 has 1 weights"),
            (
                "2 1 1\n2 5\n1 6\n",
                "g:3:1: METIS: neighbour 1 has another weight here",
            ),
            ("2 2\n2 2\n1 1\n", "g:2:3: METIS: neighbour 2 stands twice"),
        ] {
            let line = read(text, false).unwrap_err();
            assert!(line.starts_with(said), "{text:?}: {line}");
        }
        let line = read("2 1\n2\n1\n", true).unwrap_err();
        assert!(line.contains("edges have no weights"), "{line}");
    }

    #[test]
    fn only_a_whole_graph_is_consistent() {
        assert!(is_consistent("4 4\n2 4\n1 3\n2 4\n1 3\n"));
        for text in [
            "",
            "1 2\n",
            "1 0\n",
            "4 4\n2 4\n1 3\n2 4\n1 2\n",
            "99999999999 1\n1 2\n",
            "1 2\n1 1\n",
        ] {
            assert!(!is_consistent(text), "{text}");
        }
    }
}
