//! Forks with long leaves keep all workers busy, whatever the shape of the tree: a fork must not
//! stay private while another worker has nothing to do.
//!
//! Leaves sleep, so that eight workers are busy at once on any machine. The bound is generous and
//! the least of several runs counts, since other programs may delay a leaf but never hasten one.

use std::thread::sleep;
use std::time::{Duration, Instant};
use tautline::prelude::*;

/// The duration of a leaf: far more than waking a worker.
const LEAF: Duration = Duration::from_millis(20);
const LEAVES: u32 = 16;
/// The allowed multiple of the ideal time.
const BOUND: f64 = 1.25;
/// Runs until one is within the bound.
const RUNS: usize = 10;

fn leaf() {
    sleep(LEAF);
}

/// The fork that the first half pushes last is the innermost: nothing is pushed after it.
fn nested_first(cx: &mut Cx, leaves: u32) {
    if leaves > 0 {
        cx.join(|cx| nested_first(cx, leaves - 1), |_| leaf());
    }
}

fn leaf_first(cx: &mut Cx, leaves: u32) {
    if leaves > 0 {
        cx.join(|_| leaf(), |cx| leaf_first(cx, leaves - 1));
    }
}

fn balanced(cx: &mut Cx, leaves: u32) {
    match leaves {
        1 => leaf(),
        _ => {
            let half = leaves / 2;
            cx.join(|cx| balanced(cx, half), |cx| balanced(cx, leaves - half));
        }
    }
}

/// As [`nested_first`], but each leaf is forked once more, with nothing.
fn thin(cx: &mut Cx, leaves: u32) {
    if leaves > 0 {
        cx.join(
            |cx| thin(cx, leaves - 1),
            |cx| _ = cx.join(|_| leaf(), |_| ()),
        );
    }
}

fn spawned(cx: &mut Cx, leaves: u32) {
    cx.scope(|cx| (0..leaves).for_each(|_| cx.spawn(|_| leaf())));
}

/// Half of the leaves are forked in pairs, one pair a turn; twice as long in sum as a tree of them.
fn pairs(cx: &mut Cx, leaves: u32) {
    for _ in 0..leaves / 2 {
        cx.join(|_| leaf(), |_| leaf());
    }
}

/// Runs `shape` by this number of workers until it takes at most [`BOUND`] times `leaves` leaves
/// one after the other.
fn takes(name: &str, workers: usize, leaves: u32, shape: impl Fn(&mut Cx) + Sync) {
    let runtime = Runtime::builder().workers(workers).pinned(false).build();
    let runtime = runtime.expect("a few threads");
    let ideal = LEAF * leaves;
    let mut least = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        runtime.run(|cx| shape(cx));
        least = least.min(start.elapsed());
        if least <= ideal.mul_f64(BOUND) {
            return;
        }
    }
    panic!("{name} by {workers} workers: at least {least:?}, ideal are {ideal:?}");
}

#[test]
fn chains_and_trees_of_long_leaves_keep_all_workers_busy() {
    for workers in [2, 4, 8] {
        let leaves = LEAVES / workers as u32;
        takes("leaf first", workers, leaves, |cx| leaf_first(cx, LEAVES));
        takes("nested first", workers, leaves, |cx| {
            nested_first(cx, LEAVES)
        });
        takes("balanced", workers, leaves, |cx| balanced(cx, LEAVES));
        takes("thin", workers, leaves, |cx| thin(cx, LEAVES));
    }
}

#[test]
fn spawned_leaves_keep_all_workers_busy() {
    for workers in [2, 4, 8] {
        let leaves = LEAVES / workers as u32;
        takes("scope", workers, leaves, |cx| spawned(cx, LEAVES));
    }
}

#[test]
fn each_fork_of_a_loop_is_shared() {
    takes("loop", 2, LEAVES / 2, |cx| pairs(cx, LEAVES));
}
