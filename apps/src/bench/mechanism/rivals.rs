//! Other libraries in place of this one, under the same sampling and doubts. Feature `rivals`.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::fork::TASKS;
use super::observed::{await_that, each, here};
use super::steal::{BATCH, empty, stolen};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_node::machine::pin;

/// Returns the rivals of a mechanism.
pub(super) fn of(bench: &str) -> Vec<Kind> {
    match bench {
        "steal" => vec![
            Kind::measured("crossbeam-deque", |plan| {
                let owner = crossbeam_deque::Worker::new_lifo();
                let thief = owner.stealer();
                let provide = move |items| (0..items).for_each(|item| owner.push(item as usize));
                stolen(plan, provide, || thief.steal().success())
            }),
            Kind::measured("crossbeam-deque, empty", |plan| {
                let thief = crossbeam_deque::Worker::new_lifo().stealer();
                empty(plan, || thief.steal().success())
            }),
            Kind::measured("st3", |plan| {
                let [owner, own] = [(); 2].map(|()| st3::lifo::Worker::new(BATCH as usize));
                let thief = owner.stealer();
                let provide = move |items| {
                    (0..items).for_each(|item| owner.push(item as usize).expect("there is room"));
                };
                // Of its batches, the one item that is returned.
                stolen(plan, provide, move || {
                    thief.steal_and_pop(&own, |_| 1).ok().map(|(item, _)| item)
                })
            }),
        ],
        "fork" => vec![
            Kind::measured("rayon", |plan| {
                in_rayon(plan, 1, || {
                    each(plan, || {
                        _ = black_box(rayon::join(|| black_box(1), || black_box(2)));
                    })
                })
            }),
            Kind::measured("rayon, stolen", |plan| {
                in_rayon(plan, 2, || each(plan, || stolen_by_rayon(plan)))
            }),
        ],
        "spawn" => vec![
            Kind::measured("rayon, one worker", |plan| spawned(plan, 1)),
            Kind::measured("rayon, all workers", |plan| spawned(plan, plan.cpus.len())),
        ],
        _ => Vec::new(),
    }
}

/// Measures on a worker of a pool with this many, each on a processor of the plan.
fn in_rayon(plan: &Plan, workers: usize, body: impl FnOnce() -> f64 + Send) -> io::Result<Sample> {
    let cpus = plan.cpus.clone();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .start_handler(move |worker| _ = pin(cpus[worker]))
        .build()
        .map_err(io::Error::other)?;
    Ok(pool.install(|| {
        let worker = rayon::current_thread_index().expect("a worker");
        here(plan.cpus[worker], body)
    }))
}

/// A fork whose first half waits until another worker runs the second one.
fn stolen_by_rayon(plan: &Plan) {
    let runs = AtomicBool::new(false);
    rayon::join(
        // ORDERING: Relaxed: it publishes nothing.
        || await_that(plan, || runs.load(Ordering::Relaxed)),
        // ORDERING: Relaxed: as above.
        || runs.store(true, Ordering::Relaxed),
    );
}

fn spawned(plan: &Plan, workers: usize) -> io::Result<Sample> {
    let scopes = Plan {
        iterations: plan.iterations.div_ceil(TASKS),
        ..plan.clone()
    };
    in_rayon(plan, workers, || {
        let ns = each(&scopes, || {
            rayon::scope(|scope| {
                (0..TASKS).for_each(|at| scope.spawn(move |_| _ = black_box(at)));
            });
        });
        ns / f64::from(TASKS)
    })
}
