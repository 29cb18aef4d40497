//! The rules against the best fixed grain, on 16 places of 64 workers.

use crate::sweep::{KINDS, Kind, manycore, on, walk, walk_uts};
use crate::tree::Tree;
use tautline::balance::{Grain, Rule, Tuning};

/// Split/merge takes every grain for too small if a reserve is taken whole.
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

/// The least time of these fixed grains.
fn best(kind: Kind, grains: &[usize], tree: &Tree) -> u64 {
    let times = grains
        .iter()
        .map(|&grain| walk(kind, &manycore(grain), tree).ns);
    times.min().expect("some grain")
}

/// The default against the best fixed grain, on a tree so large that the work, not its
/// distribution, takes most of the time.
#[test]
#[ignore = "cargo ci deep: 23 thousand million tasks, minutes: with --release"]
fn direct_is_near_the_best_large() {
    let tree = Tree::new(15);
    for kind in KINDS {
        let best = best(kind, &[16, 32, 64, 128], &tree);
        let tuned = walk(kind, &manycore(Tuning::default()), &tree).ns;
        println!("DIRECT {kind:?} ns={tuned} best={best}");
        assert!(
            tuned * 100 <= best * 105,
            "{kind:?}: {tuned} against {best}"
        );
    }
}

/// Merge/empty moves the grain to where the workers of a place seldom come between one another,
/// turns of some 0.4 ms here; a run must have ten thousands of those for a shorter turn to be no
/// better. Up to a grain of 128 the polls alone take one part in 200; larger ones are tried.
#[test]
#[ignore = "cargo ci deep: 96 thousand million tasks, minutes: with --release"]
fn merge_empty_is_near_the_best_large() {
    let tree = Tree::new(17);
    let tried = best(Kind::Plain, &[256, 1024, 4096], &tree);
    // 1024 workers at 625 ns a task and 400 ns a poll every 128 tasks, never idle.
    let looked = (tree.size() as f64 / 1024.0 * (625.0 + 400.0 / 128.0)) as u64;
    let best = tried.min(looked);
    let tuned = walk(
        Kind::Plain,
        &manycore(Tuning::thesis(Rule::MergeEmpty)),
        &tree,
    )
    .ns;
    println!("MERGE-EMPTY ns={tuned} tried={tried} looked={looked}");
    assert!(tuned * 100 <= best * 105, "{tuned} against {best}");
}

/// Finnerty, acceptance fact 21, on the benchmark's own tree, of 16 million nodes. **Not met**: by
/// merge/empty it takes more than 1.05 of the time of the best fixed grain, though less than 1.5,
/// and by split/merge less than twice as long on each kind.
#[test]
#[ignore = "cargo ci deep: 300 million nodes, with --release"]
fn rules_on_a_real_tree() {
    let time = |kind, grain: Grain| walk_uts(kind, &manycore(grain), "D11").ns as f64;
    let mut slower = Vec::new();
    for kind in KINDS {
        let fixed = [1, 4, 16, 64, 256].map(|grain| time(kind, grain.into()));
        let best = fixed.into_iter().fold(f64::INFINITY, f64::min);
        let rules = [Rule::MergeEmpty, Rule::SplitMerge];
        let [merge_empty, split_merge] = rules.map(|rule| time(kind, Tuning::thesis(rule).into()));
        let [merge_empty, split_merge] = [merge_empty / best, split_merge / best];
        println!(
            "RULES {kind:?} merge/empty x{merge_empty:.3} split/merge x{split_merge:.3} {fixed:?}"
        );
        slower.push((merge_empty, split_merge));
    }
    let (plain, _) = slower[0];
    assert!((1.05..1.5).contains(&plain), "{slower:?}");
    assert!(
        slower.iter().all(|(_, split_merge)| *split_merge < 2.0),
        "{slower:?}"
    );
}

/// A number of the environment.
fn given(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a whole number"))
}

/// Prints how the grain of place 0 and the median of the others' change in a run of `PLACES`
/// places.
#[test]
#[ignore = "by hand: a table, with --release and --nocapture"]
fn history() {
    let (places, tree) = (given("PLACES", 8) as u32, Tree::new(given("DEPTH", 14)));
    for kind in KINDS {
        for tuning in [Tuning::thesis(Rule::MergeEmpty), Tuning::default()] {
            let run = walk(kind, &on("oakforest-pacs", places, 64, tuning), &tree);
            let at = |place: usize, percent: u64| {
                let until = run.ns * percent / 100;
                let past = run.grains[place].iter().take_while(|&&(at, _)| at <= until);
                past.last().map_or(tuning.initial, |&(_, grain)| grain)
            };
            for percent in [1, 5, 10, 20, 40, 60, 80, 90, 95, 100] {
                let mut others: Vec<_> = (1..run.grains.len())
                    .map(|place| at(place, percent))
                    .collect();
                others.sort_unstable();
                let (first, median) = (at(0, percent), others[others.len() / 2]);
                println!(
                    "{kind:?} {:?} {percent} % of {} ms: place 0 {first}, others {median}",
                    tuning.rule,
                    run.ns / 1_000_000
                );
            }
        }
    }
}

/// Prints the table of times and ratios; `DEPTH` is that of the tree.
#[test]
#[ignore = "by hand: a table, minutes, with --release and --nocapture"]
fn table() {
    let (places, depth) = (given("PLACES", 16) as u32, given("DEPTH", 13));
    let lowest = given("LOWEST", 1);
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
            let run = walk(kind, &on("oakforest-pacs", places, 64, *grain), &tree);
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
