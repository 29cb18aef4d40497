//! Formats of the DIMACS challenges: lines that begin with a letter, `p` with the problem and its
//! sizes. PACE has one of them.

use super::{Builder, Listed, Options, VERTICES_MAX, Ways};
use crate::text::Text;
use tautline::FileError;

/// A problem, and its lines.
struct Problem {
    name: &'static str,
    /// The letter of an edge; a PACE file has none.
    letter: Option<&'static str>,
    ways: Ways,
    /// Whether an edge has a third word.
    has_value: bool,
    /// Whether that is a length.
    has_length: bool,
    /// The letter of lines that are passed over.
    skipped: &'static str,
}

const PROBLEMS: &[Problem] = &[
    Problem {
        name: "sp",
        letter: Some("a"),
        ways: Ways::One,
        has_value: true,
        has_length: true,
        skipped: "c",
    },
    Problem {
        name: "edge",
        letter: Some("e"),
        ways: Ways::Both,
        has_value: false,
        has_length: false,
        skipped: "n",
    },
    Problem {
        name: "col",
        letter: Some("e"),
        ways: Ways::Both,
        has_value: false,
        has_length: false,
        skipped: "n",
    },
    Problem {
        name: "max",
        letter: Some("a"),
        ways: Ways::One,
        has_value: true,
        has_length: false,
        skipped: "n",
    },
    Problem {
        name: "tw",
        letter: None,
        ways: Ways::Both,
        has_value: false,
        has_length: false,
        skipped: "c",
    },
];

/// Whether, after comments, the first of these lines is that of a problem.
pub(super) fn begins<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let first = |line: &&str| line.split_whitespace().next() != Some("c");
    let words: Vec<_> = match lines.filter(|line| *line != "c").find(first) {
        Some(line) => line.split_whitespace().collect(),
        None => return false,
    };
    words.len() >= 3
        && words[0] == "p"
        && words[2..].iter().all(|word| word.parse::<u64>().is_ok())
        && (words.len() > 3 || PROBLEMS.iter().any(|problem| problem.name == words[1]))
}

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    let lines = text.lines().map(str::trim);
    let mut lines =
        lines.filter(|line| !line.is_empty() && line.split_whitespace().next() != Some("c"));
    let head = lines.next().unwrap_or("");
    let (problem, vertices, edges) = sizes(text, head)?;
    if options.is_weighted && !problem.has_length {
        let message = format!(
            "DIMACS: edges of `p {}` have no lengths, those of `p sp` have",
            problem.name
        );
        return Err(text.error(head, message));
    }
    let mut builder = Builder::new(text, options);
    builder.number(1..=vertices);
    for line in lines {
        row(text, line, problem, vertices, &mut builder)?;
    }
    let found = builder.entries();
    // Files of colouring count their edges once, or from either end.
    if found != edges && !(problem.letter == Some("e") && edges == 2 * found) {
        let message = format!("DIMACS: {found} edges: {edges}, as the line `{head}` states");
        return Err(text.error_at_end(message));
    }
    builder.listed(format!("DIMACS `p {}`", problem.name))
}

fn sizes(text: &Text, head: &str) -> Result<(&'static Problem, usize, usize), FileError> {
    let words: Vec<_> = head.split_whitespace().collect();
    let number = |word: &str| word.parse().ok();
    let found = match words[..] {
        ["p", name, vertices, edges] => {
            let problem = PROBLEMS.iter().find(|problem| problem.name == name);
            let vertices = number(vertices).filter(|n| *n <= VERTICES_MAX);
            problem.zip(vertices).zip(number(edges))
        }
        _ => None,
    };
    let Some(((problem, vertices), edges)) = found else {
        let names: Vec<_> = PROBLEMS.iter().map(|problem| problem.name).collect();
        let message = format!(
            "DIMACS: `{head}`: p, then {}, then the numbers of vertices and edges",
            names.join(", ")
        );
        return Err(text.error(head, message));
    };
    Ok((problem, vertices, edges))
}

fn row(
    text: &Text,
    line: &str,
    problem: &Problem,
    vertices: usize,
    builder: &mut Builder,
) -> Result<(), FileError> {
    let mut words = line.split_whitespace().peekable();
    if let Some(letter) = problem.letter {
        let found = words.next().unwrap_or("");
        if found == problem.skipped {
            return Ok(());
        }
        if found != letter {
            let message = format!(
                "DIMACS: `{found}`: a line begins with {letter}, or with c if it is a comment"
            );
            return Err(text.error(line, message));
        }
    }
    let words: Vec<_> = words.collect();
    let (from, to, value) = match words[..] {
        [from, to] if !problem.has_value => (from, to, None),
        [from, to, value] if problem.has_value => (from, to, Some(value)),
        _ => {
            let expected = 2 + usize::from(problem.has_value);
            let message = format!("DIMACS: {} numbers: {expected}", words.len());
            return Err(text.error(line, message));
        }
    };
    let vertex = |word: &str| match word.parse().ok().filter(|n| (1..=vertices).contains(n)) {
        Some(number) => Ok(number as u32 - 1),
        None => Err(text.error(word, format!("DIMACS: vertex {word}: from 1 to {vertices}"))),
    };
    let ends = (vertex(from)?, vertex(to)?);
    builder.edge(ends, value, problem.ways, line)
}
