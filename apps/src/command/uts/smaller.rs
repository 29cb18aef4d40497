//! A small tree similar to a large one, for comparing rates.

use super::tree::Chosen;
use tautline_cli::uts::{Kind, Params, named};

/// The maximum size of small trees.
const SMALL: u64 = 8_000_000;
/// The approximate size of the sample trees.
const USUAL: u64 = 4_130_000;

/// Returns a known tree of the same type of at most some 4 million nodes, the most similar first.
pub(super) fn like(params: &Params) -> Option<(String, Chosen)> {
    if params.kind == Kind::Balanced {
        return Some(shallower(params).0);
    }
    let unlike = |tree: &&named::Named| {
        let other = &tree.params;
        let same_law = match params.kind {
            Kind::Binomial => other.arity == params.arity,
            _ => other.branching == params.branching,
        };
        (!same_law, tree.nodes.abs_diff(USUAL))
    };
    let known = named::TREES
        .iter()
        .filter(|tree| tree.params.kind == params.kind && tree.nodes <= SMALL)
        .filter(|tree| params.kind == Kind::Binomial || tree.params.shape == params.shape)
        .min_by_key(unlike)?;
    let chosen = Chosen {
        name: known.name,
        params: Params {
            granularity: params.granularity,
            count_last_level: params.count_last_level,
            ..known.params
        },
        known: Some(known),
    };
    Some((known.name.to_owned(), chosen))
}

/// Returns the balanced tree with fewer levels, and its number of nodes.
fn shallower(params: &Params) -> ((String, Chosen), u64) {
    let arity = params.branching as u64;
    let (mut nodes, mut level, mut depth) = (1, 1, 0);
    while depth < params.depth && nodes + level * arity <= SMALL {
        level *= arity;
        nodes += level;
        depth += 1;
    }
    let chosen = Chosen {
        name: "custom",
        params: Params { depth, ..*params },
        known: None,
    };
    ((format!("the one of depth {depth}"), chosen), nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> String {
        like(&named::find(name).unwrap().params).unwrap().0
    }

    #[test]
    fn siblings_are_small_and_alike() {
        for (tree, sibling) in [
            ("T1L", "T1"),
            ("D13", "T1"),
            ("T2L", "T2"),
            ("T3L", "T3"),
            ("T2XXL", "anl"),
            ("triloka", "anl"),
        ] {
            assert_eq!(of(tree), sibling);
        }
    }

    #[test]
    fn every_large_named_tree_has_a_sibling() {
        for tree in named::TREES {
            let (_, chosen) = like(&tree.params).unwrap();
            let nodes = chosen.known.expect("it has a name").nodes;
            assert!(nodes <= SMALL && chosen.params.kind == tree.params.kind);
        }
    }

    #[test]
    fn a_balanced_tree_loses_levels() {
        let params = Params {
            kind: Kind::Balanced,
            branching: 2.0,
            depth: 40,
            ..Params::default()
        };
        let ((_, smaller), nodes) = shallower(&params);
        assert_eq!(nodes, (1 << (smaller.params.depth + 1)) - 1);
        assert!((SMALL / 4..=SMALL).contains(&nodes));
    }
}
