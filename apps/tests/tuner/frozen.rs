//! A tuner that measures and judges, but may not change the grain.

use crate::sweep::{Kind, on, walk};
use crate::tree::Tree;
use std::time::Instant;
use tautline::Runtime;
use tautline::balance::{Grain, Tuning};
use tautline_cli::uts::{Counts, Tree as Uts, named};

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
    let bag = tautline_cli::uts::Uts::root(&tree(tautline::balance::PlaceId(0)));
    let began = Instant::now();
    let rt = Runtime::builder().workers(1).build().unwrap();
    let run = rt.balancer().grain(grain).run(bag, tree, Counts::default());
    let seconds = began.elapsed().as_secs_f64();
    assert!(run.expect("a thread starts").complete);
    seconds
}

/// Pairs of runs that are compared, all of them.
const PAIRS: usize = 61;

/// Finnerty, acceptance fact 18, on threads: the median of the ratios of `PAIRS` pairs of runs,
/// with a frozen tuner over without one, each pair in the other order than the one before. The sign
/// test gives the interval in which the true median lies with 95 %; all of it must be below the
/// bound, and a machine on which it is wider than the bound measures nothing.
#[test]
#[ignore = "cargo ci deep: 2 thousand million nodes, with --release"]
fn a_frozen_tuner_costs_less_than_a_hundredth() {
    const BOUND: f64 = 0.01;
    let plain = || seconds(511.into());
    let frozen = || seconds(Tuning::frozen(511).into());
    // The first runs touch the memory and raise the clock.
    _ = (plain(), frozen());
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|pair| match pair % 2 {
            0 => {
                let without = plain();
                frozen() / without
            }
            _ => frozen() / plain(),
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let half = 1.96 * (PAIRS as f64).sqrt() / 2.0;
    let low = (PAIRS as f64 / 2.0 - half).floor() as usize;
    let (median, low, high) = (ratios[PAIRS / 2], ratios[low], ratios[PAIRS - 1 - low]);
    println!("FROZEN median={median:.4} from {low:.4} to {high:.4}, {PAIRS} pairs");
    assert!(
        high - low < BOUND,
        "from {low:.4} to {high:.4}: too noisy a machine to tell a hundredth"
    );
    assert!(high < 1.0 + BOUND, "from {low:.4} to {high:.4}");
}
