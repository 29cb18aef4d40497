//! A tuner that measures and judges, but may not change the grain.

use crate::sweep::{Kind, on, walk};
use crate::tree::Tree;
use std::time::Instant;
use tautline::glb::{Glb, Grain, Tuning};
use tautline::uts::{Counts, Tree as Uts, named};

/// In virtual time, where reading a clock is free, a frozen tuner changes nothing at all.
#[test]
fn a_frozen_tuner_changes_nothing() {
    let tree = Tree::new(11);
    let run = |grain: Grain| walk(Kind::Plain, &on("harp", 4, 6, grain), &tree);
    let (none, frozen) = (run(511.into()), run(Tuning::frozen(511).into()));
    assert_eq!(
        (none.ns, none.fed, none.split),
        (frozen.ns, frozen.fed, frozen.split)
    );
    assert!(frozen.grains.iter().all(Vec::is_empty));
}

/// Seconds for the tree with this grain.
fn seconds(grain: Grain) -> f64 {
    let params = named::find("D11").expect("a tree with a name").params;
    let tree = |_| Uts::new(params).expect("named trees are valid");
    let bag = tautline::uts::Uts::root(&tree(tautline::glb::PlaceId(0)));
    let began = Instant::now();
    let run = Glb::new()
        .workers(1)
        .grain(grain)
        .run(bag, tree, Counts::default());
    let seconds = began.elapsed().as_secs_f64();
    assert!(run.expect("a thread starts").complete);
    seconds
}

/// On threads: the shortest of many runs in turn, which is what they take when nobody disturbs them.
#[test]
#[ignore = "cargo ci deep: 0.7 thousand million nodes, with --release"]
fn a_frozen_tuner_costs_less_than_a_hundredth() {
    let mut shortest = [f64::INFINITY; 2];
    for pair in 1..=40 {
        for (shortest, grain) in shortest
            .iter_mut()
            .zip([511.into(), Tuning::frozen(511).into()])
        {
            *shortest = shortest.min(seconds(grain));
        }
        let ratio = shortest[1] / shortest[0];
        if pair >= 10 && (0.99..1.01).contains(&ratio) {
            println!("FROZEN ratio={ratio:.4} pairs={pair}");
            return;
        }
    }
    panic!("without, with a frozen tuner: {shortest:?} s");
}
