//! A count for each format.

use super::Count;
use serde_json::Value;
use std::collections::HashSet;

fn data<'a>(text: &'a str, comments: &'static [char]) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().map(str::trim);
    lines.filter(move |line| !line.is_empty() && !line.starts_with(comments))
}

/// Counts a list, by any separator that gives all lines the same number of columns.
pub(crate) fn list(text: &str) -> Option<Count> {
    if data(text, &['#', '%']).next().is_none() {
        return Some(Count {
            vertices: 0,
            edges: 0,
        });
    }
    let ways = [None, Some('\t'), Some(';'), Some(',')];
    ways.into_iter().find_map(|separator| rows(text, separator))
}

fn rows(text: &str, separator: Option<char>) -> Option<Count> {
    let split = |line| match separator {
        Some(separator) => outside_quotes(line, separator),
        None => words(line),
    };
    let rows: Vec<_> = data(text, &['#', '%']).map(split).collect();
    let is_number = |word: &&str| word.parse::<f64>().is_ok() && !word.contains(['n', 'N']);
    let columns = rows[0].len();
    let agree = rows.iter().all(|row| row.len() == columns);
    let rest = &rows[1..];
    let has_lengths = rest
        .iter()
        .all(|row| columns == 2 || row.get(2).is_some_and(is_number));
    if !(2..=3).contains(&columns) || !agree || !has_lengths {
        return None;
    }
    // A header has no number, and names columns, or numbers alone follow.
    let (head, is_last) = (&rows[0], rest.is_empty());
    let are_numbers = rest.iter().all(|row| row[..2].iter().all(is_number));
    // Those of the files.
    let lower = [head[0], head[1]].map(str::to_ascii_lowercase);
    let are_names = lower == ["source", "target"] || lower == ["fromnodeid", "tonodeid"];
    let has_word = columns == 3 && !is_number(&head[2]);
    let follows = !is_last && (are_numbers || has_word);
    let is_header = !head[..2].iter().any(is_number) && (are_names || follows);
    if has_word && !is_header {
        return None;
    }
    let rows = &rows[usize::from(is_header)..];
    let names: HashSet<_> = rows.iter().flat_map(|row| &row[..2]).collect();
    Some(Count {
        vertices: names.len(),
        edges: rows.len(),
    })
}

fn words(line: &str) -> Vec<&str> {
    let words = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    match words.iter().any(|word| word.starts_with('"')) {
        true => Vec::new(),
        false => words,
    }
}

/// Divides a line at separators outside of quotes.
fn outside_quotes(line: &str, separator: char) -> Vec<&str> {
    let (mut is_quoted, mut is_start) = (false, true);
    let fields = line.split(move |c: char| {
        is_quoted ^= c == '"' && (is_quoted || is_start);
        let is_end = c == separator && !is_quoted;
        // Two quotes in a quoted field are one of its characters.
        is_start = is_end || is_start && c.is_whitespace() || c == '"' && !is_quoted;
        is_end
    });
    let inner = |field: &'_ str| field.len() > 1 && field.starts_with('"') && field.ends_with('"');
    let fields: Vec<_> = fields.map(str::trim).collect();
    // A part of a quoted field, as another separator divides it, is no field.
    let marks = [',', ';', '"'];
    let is_part = |field: &&str| {
        field.is_empty() || !inner(field) && (field.starts_with(marks) || field.ends_with(marks))
    };
    if fields.iter().any(is_part) {
        return Vec::new();
    }
    fields
        .into_iter()
        .map(|field| {
            if inner(field) {
                &field[1..field.len() - 1]
            } else {
                field
            }
        })
        .collect()
}

/// An archive has a check sum: its members are unchanged.
pub(crate) fn members(text: &str) -> Option<Count> {
    if !text.starts_with("\u{1f}\u{8b}") {
        return list(text);
    }
    Some(Count {
        vertices: 8,
        edges: 12 * text.matches("\u{1f}\u{8b}\u{8}").count(),
    })
}

pub(crate) fn market(text: &str) -> Option<Count> {
    let mut rows = data(text, &['%']);
    let vertices = rows.next()?.split_whitespace().next()?.parse().ok()?;
    Some(Count {
        vertices,
        edges: rows.count(),
    })
}

pub(crate) fn metis(text: &str) -> Option<Count> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('%'));
    let mut lines = lines.skip_while(|line| line.trim().is_empty());
    let head: Vec<&str> = lines.next()?.split_whitespace().collect();
    let format: u32 = head.get(2).map_or(Some(0), |word| word.parse().ok())?;
    let weights: usize = head.get(3).map_or(Some(1), |word| word.parse().ok())?;
    let own = (format / 100 % 10) as usize + (format / 10 % 10) as usize * weights;
    let step = 1 + (format % 10) as usize;
    let (mut ends, mut loops) = (0, 0);
    for (number, line) in lines.enumerate() {
        let neighbours = line.split_whitespace().skip(own).step_by(step);
        for neighbour in neighbours {
            match neighbour.parse() == Ok(number + 1) {
                true => loops += 1,
                false => ends += 1,
            }
        }
    }
    Some(Count {
        vertices: head.first()?.parse().ok()?,
        edges: ends / 2 + loops,
    })
}

pub(crate) fn dimacs(text: &str) -> Option<Count> {
    let words = |line: &'_ str| line.split_whitespace().next().unwrap_or("").to_owned();
    let lines: Vec<_> = data(text, &[]).filter(|line| words(line) != "c").collect();
    let head: Vec<&str> = lines.first()?.split_whitespace().collect();
    let edges = lines[1..]
        .iter()
        .filter(|line| match *head.get(1).unwrap_or(&"") {
            "tw" => true,
            "sp" | "max" => words(line) == "a",
            _ => words(line) == "e",
        });
    Some(Count {
        vertices: head.get(2)?.parse().ok()?,
        edges: edges.count(),
    })
}

/// Counts keys before a bracket, outside of quotes.
pub(crate) fn gml(text: &str) -> Option<Count> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let text: Vec<_> = lines.collect();
    let text = text.join("\n");
    let bare: String = text.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let spaced = bare.replace('[', " [ ").replace(']', " ] ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let count = |key: &str| {
        words
            .windows(2)
            .filter(|pair| pair[0].eq_ignore_ascii_case(key) && pair[1] == "[")
            .count()
    };
    Some(Count {
        vertices: count("node"),
        edges: count("edge"),
    })
}

pub(crate) fn xml(text: &str) -> Option<Count> {
    // A name may have an empty prefix.
    let text = text.replace("<:", "<");
    let count = |name: &str| {
        let parts = text.split(name).skip(1);
        parts
            .filter(|part| part.starts_with(|c: char| c.is_whitespace() || c == '/' || c == '>'))
            .count()
    };
    Some(Count {
        vertices: count("<node"),
        edges: count("<edge"),
    })
}

pub(crate) fn pajek(text: &str) -> Option<Count> {
    let (mut vertices, mut edges) = (None, 0);
    let mut section = String::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('%') && !line.starts_with("/*"))
    {
        let words: Vec<_> = line
            .split(|c: char| c.is_whitespace() || c == '"')
            .filter(|word| !word.is_empty())
            .collect();
        if line.starts_with('*') {
            section = words[0].split(':').next()?.to_ascii_lowercase();
            if section == "*vertices" {
                vertices = words[1].parse().ok();
            }
        } else if section.ends_with("list") {
            edges += words.len() - 1;
        } else if section != "*vertices" {
            edges += 1;
        }
    }
    Some(Count {
        vertices: vertices?,
        edges,
    })
}

pub(crate) fn adjacency(text: &str) -> Option<Count> {
    let rows: Vec<Vec<_>> = data(text, &['#', '%'])
        .map(|line| line.split_whitespace().collect())
        .collect();
    let names: HashSet<_> = rows.iter().flatten().collect();
    Some(Count {
        vertices: names.len(),
        edges: rows.iter().map(|row| row.len() - 1).sum(),
    })
}

/// Counts bits, or those of a list of edges read from a string of digits.
pub(crate) fn six(text: &str) -> Option<Count> {
    let line = text.trim();
    let line = line.rsplit_once("<<").map_or(line, |(_, line)| line);
    let mark = line.chars().next().filter(|c| matches!(c, ':' | '&'));
    let body = line.trim_start_matches([':', '&']);
    let bits: String = body
        .bytes()
        .map(|byte| format!("{:06b}", byte - 63))
        .collect();
    let number = |bits: &str| usize::from_str_radix(bits, 2).ok();
    let (vertices, bits) = match body.bytes().take_while(|byte| *byte == 126).count() {
        0 => (number(bits.get(..6)?)?, &bits[6..]),
        1 => (number(&bits[6..24])?, &bits[24..]),
        _ => (number(&bits[12..48])?, &bits[48..]),
    };
    if mark != Some(':') {
        let edges = bits.matches('1').count();
        return Some(Count { vertices, edges });
    }
    let width = (0..).find(|width| 1 << width >= vertices)?;
    let (mut rest, mut current, mut edges) = (bits, 0, 0);
    while rest.len() > width {
        current += usize::from(rest.starts_with('1'));
        let other = number(&format!("0{}", &rest[1..=width]))?;
        if current >= vertices || other >= vertices {
            break;
        }
        edges += usize::from(other <= current);
        current = current.max(other);
        rest = &rest[1 + width..];
    }
    Some(Count { vertices, edges })
}

pub(crate) fn json(text: &str) -> Option<Count> {
    let value: Value = serde_json::from_str(text).ok()?;
    let graph = ["elements", "graph"].into_iter().map(|key| &value[key]);
    let graph = [&value]
        .into_iter()
        .chain(graph)
        .find(|graph| !graph["nodes"].is_null())?;
    let len = |value: &Value| {
        value
            .as_array()
            .map(Vec::len)
            .or_else(|| value.as_object().map(|map| map.len()))
    };
    Some(Count {
        vertices: len(&graph["nodes"])?,
        edges: len(&graph["links"]).or_else(|| len(&graph["edges"]))?,
    })
}
