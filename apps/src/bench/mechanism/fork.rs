//! Forks and spawned tasks.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::observed::{await_that, each, task, unpinned};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Tasks of a scope.
pub(super) const TASKS: u32 = 1_000;
/// Threads that a sample starts at most, one after the other.
const THREADS: u32 = 50;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured("fork and join", forked),
        Kind::measured("fork and join, stolen", stolen),
        Kind::measured("thread of std", started),
    ]
}

pub(super) fn spawns() -> Vec<Kind> {
    vec![
        Kind::measured("task, one worker", |plan| spawned(plan, 1)),
        Kind::measured("task, all workers", |plan| spawned(plan, plan.cpus.len())),
    ]
}

fn forked(plan: &Plan) -> io::Result<Sample> {
    task(plan, 1, |cx| {
        each(plan, || {
            _ = black_box(cx.join(|_| black_box(1), |_| black_box(2)))
        })
    })
}

/// Forks whose first half waits until the other one runs, which another worker must have stolen.
fn stolen(plan: &Plan) -> io::Result<Sample> {
    task(plan, 2, |cx| {
        each(plan, || {
            let runs = &AtomicBool::new(false);
            cx.join(
                // ORDERING: Relaxed: it publishes nothing.
                |_| await_that(plan, || runs.load(Ordering::Relaxed)),
                // ORDERING: Relaxed: as above.
                |_| runs.store(true, Ordering::Relaxed),
            );
        })
    })
}

fn started(plan: &Plan) -> io::Result<Sample> {
    let plan = &Plan {
        iterations: plan.iterations.min(THREADS),
        ..plan.clone()
    };
    unpinned(|| {
        let mut failed = None;
        let ns = each(plan, || match thread::Builder::new().spawn(|| ()) {
            Ok(thread) => thread.join().expect("it does nothing"),
            Err(error) => failed = Some(error),
        });
        failed.map_or(Ok(ns), Err)
    })
}

fn spawned(plan: &Plan, workers: usize) -> io::Result<Sample> {
    let scopes = Plan {
        iterations: plan.iterations.div_ceil(TASKS),
        ..plan.clone()
    };
    task(plan, workers, |cx| {
        let ns = each(&scopes, || {
            cx.scope(|cx| (0..TASKS).for_each(|at| cx.spawn(move |_| _ = black_box(at))));
        });
        ns / f64::from(TASKS)
    })
}
