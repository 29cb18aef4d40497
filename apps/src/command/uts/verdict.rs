//! Comparison of counts with the published ones.

use crate::command::number::grouped;
use tautline_cli::uts::Counts;
use tautline_cli::uts::named::Named;

/// Returns whether the counts are the published ones, and if not, the difference.
pub(super) fn compare(counts: &Counts, known: &Named) -> Result<(), String> {
    let expected = [
        ("nodes", counts.nodes, Some(known.nodes)),
        ("leaves", counts.leaves, known.leaves),
        (
            "maximum depth",
            counts.max_depth.into(),
            known.depth.map(u64::from),
        ),
    ];
    let wrong = expected.iter().find_map(|&(what, counted, published)| {
        let published = published.filter(|&published| published != counted)?;
        let (counted, published) = (grouped(counted), grouped(published));
        Some(format!(
            "{}: {what} {counted}, published are {published}",
            known.name
        ))
    });
    wrong.map_or(Ok(()), Err)
}

/// Returns the counts as rows of a table.
pub(super) fn rows(counts: &Counts) -> [(&'static str, String); 3] {
    let Counts {
        nodes,
        leaves,
        max_depth,
        ..
    } = *counts;
    let counted = [grouped(nodes), grouped(leaves), grouped(max_depth.into())];
    let wide = counted.iter().map(String::len).max().unwrap_or_default();
    let [nodes, leaves, depth] = counted.map(|count| format!("{count:>wide$}"));
    [
        ("nodes", nodes),
        ("leaves", leaves),
        ("maximum depth", depth),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_cli::uts::named;

    #[test]
    fn everything_published_is_compared() {
        let t1 = named::find("T1").unwrap();
        let of = |nodes, leaves, max_depth| {
            let counts = Counts {
                nodes,
                leaves,
                max_depth,
            };
            compare(&counts, t1)
        };
        assert_eq!(of(4_130_071, 3_305_118, 10), Ok(()));
        let line = of(4_130_070, 3_305_118, 10).unwrap_err();
        assert_eq!(line, "T1: nodes 4 130 070, published are 4 130 071");
        assert!(of(4_130_071, 3_305_119, 10).is_err());
        assert!(of(4_130_071, 3_305_118, 11).is_err());
    }
}
