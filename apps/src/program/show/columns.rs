//! Tables with a row for each part of a run, and headings over groups of columns.

use super::WIDTH;
use std::fmt::Write as _;

/// Columns under a common heading, which is empty if each has its name only.
pub(super) type Group = (&'static str, &'static [&'static str]);

/// The spaces between two columns, and between two groups: the most that fit.
const GAPS: [(usize, usize); 3] = [(2, 2), (1, 2), (1, 1)];

/// Formats rows of cells, all aligned to the right.
pub(super) fn columns(groups: &[Group], rows: &[Vec<String>]) -> String {
    let names: Vec<&str> = groups
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    let wide = |(at, name): (usize, &&str)| {
        let cells = rows.iter().map(|row| row[at].len());
        cells.max().unwrap_or_default().max(name.len())
    };
    let widths: Vec<usize> = names.iter().enumerate().map(wide).collect();
    let gaps = |(inner, outer): (usize, usize)| {
        let gaps = groups.iter().enumerate().flat_map(move |(at, (_, names))| {
            let before = if at == 0 { 0 } else { outer };
            (0..names.len()).map(move |column| if column == 0 { before } else { inner })
        });
        let gaps = gaps.zip(&widths).map(|(gap, wide)| gap + wide);
        gaps.collect::<Vec<usize>>()
    };
    let fits = |fields: &Vec<usize>| fields.iter().sum::<usize>() <= WIDTH;
    let fields = GAPS.map(gaps).into_iter().find(fits);
    let fields = fields.unwrap_or_else(|| gaps((1, 1)));
    let mut text = String::new();
    let mut next = 0;
    for (heading, names) in groups {
        let wide: usize = fields[next..next + names.len()].iter().sum();
        let _ = write!(text, "{heading:>wide$}");
        next += names.len();
    }
    text.push('\n');
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for (cell, wide) in cells.zip(&fields) {
            let _ = write!(text, "{cell:>wide$}");
        }
        text.push('\n');
    };
    line(&mut names.into_iter());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}
