//! The rules against the best fixed grain, on 16 places of 64 workers.

use crate::sweep::{KINDS, Kind, manycore, walk};
use crate::tree::Tree;
use tautline::glb::{Grain, Rule, Tuning};

/// Split/merge takes every grain for too small if what was set aside is handed over whole.
#[test]
fn split_merge_is_misled() {
    let tree = Tree::new(13);
    let fixed = walk(Kind::Whole, &manycore(16), &tree).ns;
    let tuned = walk(
        Kind::Whole,
        &manycore(Tuning::thesis(Rule::SplitMerge)),
        &tree,
    )
    .ns;
    assert!(tuned > 2 * fixed, "{tuned} against {fixed}");
}

/// Prints the table of times and ratios; `DEPTH` is that of the tree.
#[test]
#[ignore = "minutes: a table, with --release and --nocapture"]
fn table() {
    let depth = std::env::var("DEPTH").map_or(13, |depth| depth.parse().expect("a depth"));
    let lowest = std::env::var("LOWEST").map_or(1, |grain| grain.parse().expect("a grain"));
    let tree = Tree::new(depth);
    let fixed = (0..9)
        .map(|power| 4usize.pow(power))
        .filter(|&grain| grain >= lowest);
    let mut grains: Vec<(String, Grain)> = fixed
        .map(|grain| (grain.to_string(), grain.into()))
        .collect();
    let rules = [Rule::MergeEmpty, Rule::SplitMerge].map(Tuning::thesis);
    for tuning in rules.into_iter().chain([Tuning::default()]) {
        grains.push((format!("{:?}", tuning.rule), tuning.into()));
    }
    for kind in KINDS {
        for (name, grain) in &grains {
            let run = walk(kind, &manycore(*grain), &tree);
            let last = run
                .grains
                .iter()
                .map(|place| place.last().map(|&(_, grain)| grain))
                .take(4);
            println!(
                "{kind:?} {name} tasks={} ms={:.1} efficiency={:.3} merge/empty={:.2} split/merge={:.2} {:?}",
                run.tasks,
                run.ns as f64 / 1e6,
                run.efficiency,
                run.merge_empty(),
                run.split_merge(),
                last.collect::<Vec<_>>()
            );
        }
    }
}
