//! What was counted, held against what is published.

use crate::command::number::grouped;
use tautline::uts::Counts;
use tautline::uts::named::Named;

/// How the counts of a run compare with the published ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They agree.
    Verified,
    /// Nothing was published.
    Unknown,
    /// The run was stopped: there is nothing to compare.
    Partial,
    /// They differ, and how.
    Wrong(String),
}

impl Verdict {
    /// Compares what was counted with what is known.
    pub fn of(counts: &Counts, known: Option<&Named>, complete: bool) -> Self {
        let Some(known) = known.filter(|_| complete) else {
            return if complete {
                Self::Unknown
            } else {
                Self::Partial
            };
        };
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
        wrong.map_or(Self::Verified, Self::Wrong)
    }

    /// True, false, or nothing to compare.
    pub fn json(&self) -> Option<bool> {
        match self {
            Self::Verified => Some(true),
            Self::Wrong(_) => Some(false),
            Self::Unknown | Self::Partial => None,
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Self::Verified => "   verified",
            Self::Unknown => "   no published count",
            Self::Partial => "   partial: interrupted",
            Self::Wrong(_) => "   WRONG",
        }
    }
}

/// The counts and how they compare, as rows of a table.
pub fn rows(counts: &Counts, verdict: &Verdict) -> [(&'static str, String); 3] {
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
        ("nodes", nodes + verdict.words()),
        ("leaves", leaves),
        ("maximum depth", depth),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline::uts::named;

    fn counts(nodes: u64, leaves: u64, max_depth: u32) -> Counts {
        Counts {
            nodes,
            leaves,
            max_depth,
        }
    }

    #[test]
    fn the_verdict_compares_everything_published() {
        let t1 = named::find("T1").ok();
        let of = |counts: &Counts| Verdict::of(counts, t1, true);
        assert_eq!(of(&counts(4_130_071, 3_305_118, 10)), Verdict::Verified);
        let Verdict::Wrong(line) = of(&counts(4_130_070, 3_305_118, 10)) else {
            panic!("a node too few was accepted");
        };
        assert_eq!(line, "T1: nodes 4 130 070, published are 4 130 071");
        assert!(matches!(
            of(&counts(4_130_071, 3_305_119, 10)),
            Verdict::Wrong(_)
        ));
        assert!(matches!(
            of(&counts(4_130_071, 3_305_118, 11)),
            Verdict::Wrong(_)
        ));
    }

    #[test]
    fn nothing_to_compare_is_not_verified() {
        let counts = counts(1, 1, 0);
        assert_eq!(Verdict::of(&counts, None, true), Verdict::Unknown);
        let partial = Verdict::of(&counts, named::find("T1").ok(), false);
        assert_eq!(partial, Verdict::Partial);
        assert_eq!(partial.json(), None);
    }
}
