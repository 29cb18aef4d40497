//! Items that a thread takes from the deque of another one.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::observed::{await_that, each, threads};
use std::collections::VecDeque;
use std::hint::black_box;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tautline_core::deque::GrowableDeque;

/// Items that the owner provides at once.
pub(super) const BATCH: u32 = 64;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured("deque", |plan| {
            let deque = GrowableDeque::new();
            let provide = |items| {
                let owner = deque.owner().expect("one thread provides");
                (0..items).for_each(|item| owner.push(item as usize));
            };
            stolen(plan, provide, || deque.thief().steal().taken())
        }),
        Kind::measured("deque, empty", |plan| {
            let deque = GrowableDeque::<usize>::new();
            empty(plan, || deque.thief().steal().taken())
        }),
        Kind::measured("mutex of std", |plan| {
            let deque = Locked::default();
            let provide = |items| {
                let mut all = deque.lock().expect("held only to push");
                all.extend(0..items as usize);
            };
            stolen(plan, provide, || pop(&deque))
        }),
        Kind::measured("mutex of std, empty", |plan| {
            let deque = Locked::default();
            empty(plan, || pop(&deque))
        }),
    ]
}

/// The deque of a program without such a library.
type Locked = Mutex<VecDeque<usize>>;

fn pop(deque: &Locked) -> Option<usize> {
    deque.lock().expect("held only to pop").pop_front()
}

/// The first thread steals, batch by batch, what the second one has provided.
pub(super) fn stolen(
    plan: &Plan,
    mut provide: impl FnMut(u32) + Send,
    mut steal: impl FnMut() -> Option<usize> + Send,
) -> io::Result<Sample> {
    let batches = plan.iterations.div_ceil(BATCH);
    let [provided, taken] = [AtomicU32::new(0), AtomicU32::new(0)];
    let thief = || {
        let (mut time, mut batch) = (Duration::ZERO, 0);
        // ORDERING: Acquire, pairs with Release below: the items are visible; no mutant: they are
        // only counted.
        let is_next = |batch| await_that(plan, || provided.load(Ordering::Acquire) > batch);
        while batch < batches && !plan.stop.is_stopped() && is_next(batch) {
            let start = Instant::now();
            for _ in 0..BATCH {
                while black_box(steal()).is_none() {}
            }
            time += start.elapsed();
            batch += 1;
            // ORDERING: Release, pairs with Acquire below: the owner finds the deque empty;
            // no mutant: it finds room anyway.
            taken.store(batch, Ordering::Release);
        }
        time.as_nanos() as f64 / f64::from(batch * BATCH)
    };
    let owner = || {
        for batch in 0..batches {
            // ORDERING: Acquire, pairs with Release above; no mutant: as there.
            let is_empty = await_that(plan, || taken.load(Ordering::Acquire) == batch);
            if !is_empty || plan.stop.is_stopped() {
                break;
            }
            provide(BATCH);
            // ORDERING: Release, pairs with Acquire above; no mutant: as there.
            provided.store(batch + 1, Ordering::Release);
        }
        0.0
    };
    threads(plan, vec![Box::new(thief), Box::new(owner)])
}

/// Steals that find nothing.
pub(super) fn empty(
    plan: &Plan,
    mut steal: impl FnMut() -> Option<usize> + Send,
) -> io::Result<Sample> {
    let body = || each(plan, || _ = black_box(steal()));
    threads(plan, vec![Box::new(body)])
}
