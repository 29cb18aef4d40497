//! Fences: of one thread, and of all threads of the process.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::observed::{await_that, each, threads};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use tautline_core::sync::{full_fence, light_fence};
use tautline_node::heavy_fence;

pub(super) fn kinds() -> Vec<Kind> {
    // Without the system's fence, the runtime has full ones on both sides.
    // ORDERING: SeqCst: whether the system has it; no mutant: nothing depends on it.
    let of_all = match heavy_fence() {
        true => Kind::measured("heavy, beside a busy thread", heavy),
        false => Kind::measured("full, as membarrier is refused", |plan| {
            alone(plan, full_fence)
        }),
    };
    vec![
        Kind::measured("light", |plan| alone(plan, light_fence)),
        Kind::measured("full", |plan| alone(plan, full_fence)),
        Kind::measured("SeqCst of std", |plan| {
            // ORDERING: SeqCst: its cost is measured; no mutant: nothing depends on it.
            alone(plan, || fence(Ordering::SeqCst))
        }),
        of_all,
    ]
}

/// A fence between a store and a load, as in the store-buffering pattern.
fn alone(plan: &Plan, fence: impl Fn() + Sync) -> io::Result<Sample> {
    let [word, other] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let body = || {
        each(plan, || {
            // ORDERING: Relaxed: one thread; the fence is what is measured.
            word.store(1, Ordering::Relaxed);
            fence();
            // ORDERING: Relaxed: as above.
            black_box(other.load(Ordering::Relaxed));
        })
    };
    threads(plan, vec![Box::new(body)])
}

/// A fence of all threads, of which one computes on the other processor.
fn heavy(plan: &Plan) -> io::Result<Sample> {
    let ended = AtomicBool::new(false);
    let first = || {
        // ORDERING: SeqCst: its cost is measured; no mutant: nothing depends on it.
        let ns = each(plan, || _ = heavy_fence());
        // ORDERING: Relaxed: it publishes nothing.
        ended.store(true, Ordering::Relaxed);
        ns
    };
    let second = || {
        // ORDERING: Relaxed: as above.
        await_that(plan, || ended.load(Ordering::Relaxed));
        0.0
    };
    threads(plan, vec![Box::new(first), Box::new(second)])
}
