//! The grain tuner in operation, in virtual time where many workers can be had.
//!
//! | fact | test |
//! |---|---|
//! | Finnerty, acceptance fact 14: a bound found on place 0 reaches every place | `bound.rs` |
//! | Finnerty, acceptance fact 17: places tune independently | `places_tune_independently` |
//! | Finnerty, acceptance fact 18: a frozen tuner costs nothing | `frozen.rs` |
//! | Finnerty, acceptance fact 19: without the race of the flag nothing is fed twice | `curves.rs` |
//! | Finnerty, acceptance fact 20: the curves of the three ways to divide | `curves.rs` |
//! | Finnerty, acceptance fact 21: the rules against the best fixed grain | `rules.rs` |
//! | Finnerty, acceptance fact 22: the known failure, and its end | `place_0_learns_late_from_its_reserve` |
//! | Finnerty, acceptance fact 23: one worker a place | `one_worker_learns_nothing_from_its_reserve` |

mod bound;
mod curves;
mod frozen;
mod rules;
mod sweep;
mod tree;

use std::collections::BTreeSet;
use sweep::{KINDS, Kind, on, walk};
use tautline::balance::{Rule, Tuning};
use tree::Tree;

#[test]
fn places_tune_independently() {
    for tuning in [Tuning::thesis(Rule::MergeEmpty), Tuning::default()] {
        let run = walk(Kind::Plain, &on("harp", 4, 6, tuning), &Tree::new(12));
        let histories: BTreeSet<_> = run.grains.iter().collect();
        assert_eq!(
            histories.len(),
            4,
            "each has a story of its own: {histories:?}"
        );
        let grains = |place: &Vec<(u64, usize)>| place.iter().map(|&(_, grain)| grain).collect();
        let ways: BTreeSet<Vec<usize>> = run.grains.iter().map(grains).collect();
        assert!(ways.len() > 1, "{ways:?}");
    }
}

/// Place 0 begins with all the work: its reserve is not emptied before the end is near, so the
/// thesis' rule keeps its grain of 10, while the others, which receive small parts, raise theirs.
#[test]
fn place_0_learns_late_from_its_reserve() {
    for kind in [Kind::Plain, Kind::Fragments] {
        let tree = Tree::new(12);
        let merge_empty = Tuning::thesis(Rule::MergeEmpty);
        let run = walk(kind, &on("harp", 4, 6, merge_empty), &tree);
        assert!(run.kept(0) > 0.8, "{kind:?} {}", run.kept(0));
        for place in 1..4 {
            assert!(run.kept(place) < 0.8, "{kind:?} {}", run.kept(place));
        }
        let direct = Tuning {
            initial: 10,
            ..Tuning::default()
        };
        let run = walk(kind, &on("harp", 4, 6, direct), &tree);
        for place in 0..4 {
            assert!(run.kept(place) < 0.1, "{kind:?} {}", run.kept(place));
        }
    }
}

/// One that is alone feeds a reserve at most once for each emptying, so the thesis' rules have no
/// sign to go by; a measured turn is one.
#[test]
fn one_worker_learns_nothing_from_its_reserve() {
    for kind in KINDS {
        for places in [1, 4] {
            let tree = Tree::new(9);
            let rule = |tuning| walk(kind, &on("harp", places, 1, tuning), &tree);
            let run = rule(Tuning::thesis(Rule::MergeEmpty));
            let grains = run.grains.iter().flatten().map(|&(_, grain)| grain);
            assert_eq!(grains.filter(|&grain| grain > 10).count(), 0, "{kind:?}");
            let run = rule(Tuning::default());
            for place in run.grains {
                assert!(
                    place.iter().any(|&(_, grain)| grain > 10),
                    "{kind:?} {place:?}"
                );
            }
        }
    }
}
