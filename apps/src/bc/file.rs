//! Graphs in files: lists of edges, and matrices of the Matrix Market exchange format (Boisvert, Pozo, Remington 1996).
//!
//! A list has an edge a line: two vertices, which may have any names, and perhaps a length, separated by white space, commas or
//! semicolons; a name alone is a vertex without edges. A line that begins with `#` or `%` is a comment.

use super::graph::{Edge, Form, Graph, GraphError};
use std::collections::HashMap;
use tautline::FileError;

/// A graph with the names of its vertices.
#[derive(Clone, Debug)]
pub struct Named {
    /// The graph.
    pub graph: Graph,
    /// The name of each vertex.
    pub names: Vec<String>,
}

/// Reads the content `text` of `file`. `seed` determines the order of the sources.
///
/// # Errors
/// A line that is no edge, a length that is not positive, or a graph that is too large, with file, line and column.
pub fn read(file: &str, text: &str, form: Form, seed: u64) -> Result<Named, FileError> {
    let lines = Lines { file, text };
    match text.get(..BANNER.len()) {
        Some(banner) if banner.eq_ignore_ascii_case(BANNER) => lines.matrix(form, seed),
        _ => lines.list(form, seed),
    }
}

const BANNER: &str = "%%MatrixMarket";

/// A length as in the file: a positive decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    /// Not divisible by ten.
    digits: u64,
    exponent: i32,
}

impl Decimal {
    const ONE: Self = Self {
        digits: 1,
        exponent: 0,
    };

    /// Parses `12`, `0.25` or `1.5e-3`. Returns `None` if it is not a number above 0 with at most 19 digits.
    fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i16>().ok()?),
            None => (text, 0),
        };
        let number = number.strip_prefix('+').unwrap_or(number);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let all = format!("{whole}{fraction}");
        if !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut digits: u64 = all.parse().ok().filter(|digits| *digits > 0)?;
        let mut exponent = i32::from(exponent) - fraction.len() as i32;
        while digits % 10 == 0 {
            (digits, exponent) = (digits / 10, exponent + 1);
        }
        Some(Self { digits, exponent })
    }

    /// Returns the number in units of 10^`unit`, if it is at most [`Graph::LENGTH_MAX`].
    fn scaled(self, unit: i32) -> Option<u64> {
        let factor = 10_u64.checked_pow(u32::try_from(self.exponent - unit).ok()?)?;
        let scaled = self.digits.checked_mul(factor)?;
        (scaled <= Graph::LENGTH_MAX).then_some(scaled)
    }
}

/// An edge of the file, and where its length is.
#[derive(Clone, Copy)]
struct Line {
    from: u32,
    to: u32,
    length: Decimal,
    at: usize,
}

/// A file by lines.
struct Lines<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Lines<'a> {
    fn refused<T>(&self, at: usize, message: impl Into<String>) -> Result<T, FileError> {
        Err(FileError::malformed(self.file, self.text, at, message))
    }

    /// Returns the position of a part of the text.
    fn at(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// Returns the lines that are neither empty nor comments, as words.
    fn words(&self) -> impl Iterator<Item = Vec<&'a str>> {
        let is_separator = |c: char| c.is_whitespace() || c == ',' || c == ';';
        self.text.lines().filter_map(move |line| {
            let line = line.trim_start_matches(['\u{feff}', ' ', '\t']);
            if line.starts_with(['#', '%']) {
                return None;
            }
            let words: Vec<_> = line.split(is_separator).filter(|w| !w.is_empty()).collect();
            (!words.is_empty()).then_some(words)
        })
    }

    fn length(&self, word: &str) -> Result<Decimal, FileError> {
        match Decimal::parse(word) {
            Some(length) => Ok(length),
            None => self.refused(
                self.at(word),
                format!("length {word}: a decimal number above 0, of at most 19 digits"),
            ),
        }
    }

    fn list(&self, form: Form, seed: u64) -> Result<Named, FileError> {
        let (mut numbers, mut names) = (HashMap::new(), Vec::new());
        let mut lines = Vec::new();
        for words in self.words() {
            let mut number = |name: &'a str| {
                *numbers.entry(name).or_insert_with(|| {
                    names.push(name.to_owned());
                    names.len() as u32 - 1
                })
            };
            let (from, to, length) = match (&words[..], form.is_weighted) {
                ([alone], _) => {
                    number(alone);
                    continue;
                }
                ([from, to], false) => (from, to, Decimal::ONE),
                ([from, to, length], false) if length.parse::<f64>().is_ok() => {
                    (from, to, Decimal::ONE)
                }
                ([from, to, length], true) => (from, to, self.length(length)?),
                ([_, to], true) => {
                    let after = self.at(to) + to.len();
                    return self
                        .refused(after, "no length: two vertices and the length of the edge");
                }
                (words, _) => {
                    let extra = words[words.len().min(4) - 1];
                    let message =
                        format!("`{extra}`: two vertices, and at most a length after them");
                    return self.refused(self.at(extra), message);
                }
            };
            let at = self.at(words[words.len() - 1]);
            let (from, to) = (number(from), number(to));
            lines.push(Line {
                from,
                to,
                length,
                at,
            });
        }
        self.graph(names, &lines, form, seed)
    }

    fn matrix(&self, form: Form, seed: u64) -> Result<Named, FileError> {
        let banner = self.text.lines().next().unwrap_or(self.text);
        let lower = banner.to_ascii_lowercase();
        let kinds: Vec<_> = lower.split_whitespace().skip(1).collect();
        let [
            "matrix",
            "coordinate",
            field @ ("real" | "integer" | "pattern"),
            symmetry @ ("general" | "symmetric"),
        ] = kinds[..]
        else {
            let allowed =
                "matrix coordinate, then real, integer or pattern, then general or symmetric";
            return self.refused(0, format!("`{banner}`: {BANNER} {allowed}"));
        };
        if form.is_weighted && field == "pattern" {
            return self.refused(0, "a pattern has no lengths: real or integer");
        }
        let mut lines = self.words();
        let (vertices, entries) = self.sizes(&lines.next().unwrap_or_default())?;
        let is_doubled = symmetry == "symmetric" && form.is_directed;
        let mut edges = Vec::new();
        for words in lines {
            let edge = self.entry(&words, vertices, field != "pattern", form)?;
            if is_doubled {
                edges.push(Line {
                    from: edge.to,
                    to: edge.from,
                    ..edge
                });
            }
            edges.push(edge);
        }
        let found = edges.len() >> u32::from(is_doubled);
        if found != entries {
            let message = format!("{found} entries: {entries}, as the line of sizes states");
            return self.refused(self.text.len(), message);
        }
        let names = (1..=vertices).map(|number| number.to_string()).collect();
        self.graph(names, &edges, form, seed)
    }

    /// Returns the number of vertices and of entries of a matrix.
    fn sizes(&self, words: &[&str]) -> Result<(usize, usize), FileError> {
        let whole = |word: &str| word.parse().ok().filter(|n| *n <= Graph::EDGES_MAX);
        let &[rows, columns, entries] = words else {
            return self.refused(self.text.len(), "no size: rows, columns and entries");
        };
        match [rows, columns, entries].map(whole) {
            [Some(rows), Some(columns), Some(entries)] if rows == columns => Ok((rows, entries)),
            _ => {
                let message = format!("{rows} x {columns}, {entries} entries: a square matrix");
                self.refused(self.at(rows), message)
            }
        }
    }

    /// Returns the edge that an entry of a matrix is.
    fn entry(
        &self,
        words: &[&str],
        vertices: usize,
        has_value: bool,
        form: Form,
    ) -> Result<Line, FileError> {
        let expected = 2 + usize::from(has_value);
        if words.len() != expected {
            let message = format!("{} words: {expected}", words.len());
            return self.refused(self.at(words[0]), message);
        }
        let mut ends = [0; 2];
        for (end, word) in ends.iter_mut().zip(words) {
            match word.parse().ok().filter(|n| (1..=vertices).contains(n)) {
                Some(number) => *end = number as u32 - 1,
                None => {
                    let message = format!("vertex {word}: from 1 to {vertices}");
                    return self.refused(self.at(word), message);
                }
            }
        }
        let length = match form.is_weighted {
            true => self.length(words[2])?,
            false => Decimal::ONE,
        };
        let [from, to] = ends;
        Ok(Line {
            from,
            to,
            length,
            at: self.at(words[words.len() - 1]),
        })
    }

    fn graph(
        &self,
        names: Vec<String>,
        lines: &[Line],
        form: Form,
        seed: u64,
    ) -> Result<Named, FileError> {
        let unit = lines.iter().map(|line| line.length.exponent).min();
        let unit = unit.unwrap_or(0);
        let mut edges = Vec::with_capacity(lines.len());
        for line in lines {
            let Some(length) = line.length.scaled(unit) else {
                let most = Graph::LENGTH_MAX;
                let message = format!(
                    "too long: at most {most} times 10^{unit}, the last decimal of all lengths"
                );
                return self.refused(line.at, message);
            };
            edges.push(Edge {
                from: line.from,
                to: line.to,
                length,
            });
        }
        let refused =
            |error: GraphError| FileError::malformed(self.file, self.text, 0, error.to_string());
        let graph = Graph::of_form(names.len(), &edges, form, seed).map_err(refused)?;
        Ok(Named { graph, names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact() {
        let decimal = |digits, exponent| Some(Decimal { digits, exponent });
        for (text, expected) in [
            ("12", decimal(12, 0)),
            ("1200", decimal(12, 2)),
            ("0.250", decimal(25, -2)),
            ("+1.5e-3", decimal(15, -4)),
            (".5E2", decimal(5, 1)),
            ("0", None),
            ("-1", None),
            ("1e", None),
            ("nan", None),
            ("inf", None),
            ("", None),
            (".", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Decimal::parse(text), expected, "{text}");
        }
        // In floating point, 0.1 + 0.2 would be longer than 0.3.
        let weighted = Form {
            is_weighted: true,
            ..Form::default()
        };
        let read = read("g", "a b 0.1\nb c 0.2\na c 0.3\n", weighted, 1).unwrap();
        let found = super::super::brandes(&read.graph);
        assert_eq!(
            (found, read.names.join("")),
            (vec![0.0, 0.5, 0.0], "abc".into())
        );
    }

    #[test]
    fn both_formats_give_the_same_graph() {
        let list = "# a path\n1 2\n2,3\n\n3;4\n";
        let matrix =
            "%%MatrixMarket matrix coordinate pattern symmetric\n% a path\n4 4 3\n2 1\n3 2\n4 3\n";
        for text in [list, matrix] {
            let read = read("g", text, Form::default(), 1).unwrap();
            assert_eq!(super::super::brandes(&read.graph), [0.0, 2.0, 2.0, 0.0]);
            assert_eq!(read.names, ["1", "2", "3", "4"]);
        }
        let alone = read("g", "a\nb c\n", Form::default(), 1).unwrap();
        assert_eq!((alone.graph.vertices(), alone.graph.edges()), (3, 1));
        let none = read("g", "", Form::default(), 1).unwrap();
        assert_eq!(none.graph.vertices(), 0);
    }

    #[test]
    fn what_is_no_graph_is_refused_with_its_place() {
        let weighted = Form {
            is_weighted: true,
            ..Form::default()
        };
        let market = |kind: &str, rest: &str| format!("%%MatrixMarket matrix {kind}\n{rest}");
        for (text, form, line) in [
            (
                "a b\na b c d\n".to_owned(),
                Form::default(),
                "g:2:7: `d`: two vertices, and at most a length after them",
            ),
            (
                "the quick fox\n".to_owned(),
                Form::default(),
                "g:1:11: `fox`: two vertices, and at most a length after them",
            ),
            (
                "a b\n".to_owned(),
                weighted,
                "g:1:4: no length: two vertices and the length of the edge",
            ),
            (
                "a b -3\n".to_owned(),
                weighted,
                "g:1:5: length -3: a decimal number above 0, of at most 19 digits",
            ),
            (
                "a b 1\nb c 1e99\n".to_owned(),
                weighted,
                "g:2:5: too long: at most 137438953472 times 10^0, the last decimal of all lengths",
            ),
            (
                market("array real general", "1 1\n1\n"),
                Form::default(),
                "g:1:1: `%%MatrixMarket matrix array real general`: %%MatrixMarket matrix coordinate, then real, integer or pattern, then general or symmetric",
            ),
            (
                market("coordinate pattern general", "2 2 1\n1 2\n"),
                weighted,
                "g:1:1: a pattern has no lengths: real or integer",
            ),
            (
                market("coordinate pattern general", "2 3 1\n1 2\n"),
                Form::default(),
                "g:2:1: 2 x 3, 1 entries: a square matrix",
            ),
            (
                market("coordinate pattern general", ""),
                Form::default(),
                "g:2:1: no size: rows, columns and entries",
            ),
            (
                market("coordinate pattern general", "2 2 1\n1 3\n"),
                Form::default(),
                "g:3:3: vertex 3: from 1 to 2",
            ),
            (
                market("coordinate real general", "2 2 1\n1 2\n"),
                Form::default(),
                "g:3:1: 2 words: 3",
            ),
            (
                market("coordinate pattern general", "2 2 2\n1 2\n"),
                Form::default(),
                "g:4:1: 1 entries: 2, as the line of sizes states",
            ),
        ] {
            let error = read("g", &text, form, 1).unwrap_err();
            assert_eq!(error.to_string(), line);
        }
    }
}
