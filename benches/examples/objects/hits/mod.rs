//! Hits: accesses that find their copy current, beside the same work with other crates.

pub(super) mod change;
pub(super) mod read;
pub(super) mod write;

use super::Options;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tautline::globals::{Global, Object};
use tautline::prelude::*;
use tautline::world::{Rank, World};
use tautline_bench::samples::median;

/// Batches of which a figure is the median, beside one that is not counted.
const BATCHES: u64 = 51;

/// Calls of a measurement, with those that are not counted, and nanoseconds of one.
struct Hits {
    calls: u64,
    each: f64,
}

impl Options {
    /// Calls of a batch: more, if they are short.
    fn batch(&self, is_short: bool) -> u64 {
        self.launches.trips() / if is_short { 1 } else { 10 }
    }
}

/// Measures calls of `hit` in batches.
#[inline(always)]
fn measured(batch: u64, mut hit: impl FnMut()) -> Hits {
    let mut samples = Vec::with_capacity(BATCHES as usize + 1);
    for _ in 0..=BATCHES {
        let start = Instant::now();
        for _ in 0..batch {
            hit();
        }
        samples.push(start.elapsed().as_nanos() as f64 / batch as f64);
    }
    Hits {
        calls: (BATCHES + 1) * batch,
        each: median(&samples[1..]),
    }
}

/// Measures at rank 0, by a task, hits of an object whose home is the last rank.
fn at_copy<T: Object>(
    value: T,
    measure: impl FnOnce(&mut Cx<'_, '_>, &Global<T>) -> f64 + Send,
) -> Option<f64> {
    let world = World::join().expect("launched");
    let object = world
        .globals()
        .create(Rank(world.ranks() - 1), move || value);
    let rt = Runtime::builder().world(&world).workers(1).build();
    rt.expect("a worker").run(|cx| {
        let figure = world.is_home().then(|| measure(cx, &object));
        world.team().barrier().wait(cx).expect("all live");
        figure
    })
}

/// Measures by tasks on two workers of one rank at the same time. Returns the greater figure.
fn at_two_workers<T: Object>(
    value: T,
    measure: impl Fn(&mut Cx<'_, '_>, &Global<T>) -> f64 + Sync,
) -> Option<f64> {
    let world = World::join().expect("launched");
    let object = world.globals().create(Rank(0), move || value);
    let rt = Runtime::builder().world(&world).workers(2).build();
    let begun = AtomicU32::new(0);
    let one = |cx: &mut Cx<'_, '_>| {
        // ORDERING: Relaxed: a meeting that publishes nothing.
        begun.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
        while begun.load(Ordering::Relaxed) < 2 {
            spin_loop();
        }
        measure(cx, &object)
    };
    let [first, second] = rt.expect("two workers").run(|cx| cx.join(one, one)).into();
    Some(f64::max(first, second))
}

/// Measures without an object.
fn without_objects(measure: impl FnOnce() -> f64) -> Option<f64> {
    let world = World::join().expect("launched");
    let figure = world.is_home().then(measure);
    world.barrier().expect("all live");
    figure
}

/// As [`at_two_workers`], without an object.
fn without_objects_twice(measure: impl Fn() -> f64 + Sync) -> Option<f64> {
    at_two_workers((), |_, _| measure())
}
