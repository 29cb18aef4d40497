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
const BATCH: u32 = 64;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured("deque", |plan| stolen(plan, &GrowableDeque::new())),
        Kind::measured("deque, empty", |plan| empty(plan, &GrowableDeque::new())),
        Kind::measured("mutex of std", |plan| stolen(plan, &Locked::default())),
        Kind::measured("mutex of std, empty", |plan| {
            empty(plan, &Locked::default())
        }),
    ]
}

/// Items of one thread that others take.
trait Items: Sync {
    fn provide(&self, items: u32);
    fn steal(&self) -> Option<usize>;
}

impl Items for GrowableDeque<usize> {
    fn provide(&self, items: u32) {
        let owner = self.owner().expect("one thread provides");
        (0..items).for_each(|item| owner.push(item as usize));
    }

    fn steal(&self) -> Option<usize> {
        self.thief().steal().taken()
    }
}

/// The deque of a program without such a library.
type Locked = Mutex<VecDeque<usize>>;

impl Items for Locked {
    fn provide(&self, items: u32) {
        let mut all = self.lock().expect("held only to push");
        all.extend(0..items as usize);
    }

    fn steal(&self) -> Option<usize> {
        self.lock().expect("held only to pop").pop_front()
    }
}

/// The first thread steals, batch by batch, what the second one has provided.
fn stolen(plan: &Plan, items: &impl Items) -> io::Result<Sample> {
    let batches = plan.iterations.div_ceil(BATCH);
    let [provided, taken] = [AtomicU32::new(0), AtomicU32::new(0)];
    let thief = || {
        let (mut time, mut batch) = (Duration::ZERO, 0);
        // ORDERING: Acquire, pairs with Release below: the items are visible; no mutant: they are only counted.
        let is_next = |batch| await_that(plan, || provided.load(Ordering::Acquire) > batch);
        while batch < batches && !plan.stop.is_stopped() && is_next(batch) {
            let start = Instant::now();
            for _ in 0..BATCH {
                while black_box(items.steal()).is_none() {}
            }
            time += start.elapsed();
            batch += 1;
            // ORDERING: Release, pairs with Acquire below: the owner finds the deque empty; no mutant: it finds room anyway.
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
            items.provide(BATCH);
            // ORDERING: Release, pairs with Acquire above; no mutant: as there.
            provided.store(batch + 1, Ordering::Release);
        }
        0.0
    };
    threads(plan, vec![Box::new(thief), Box::new(owner)])
}

/// Steals that find nothing.
fn empty(plan: &Plan, items: &impl Items) -> io::Result<Sample> {
    let body = || each(plan, || _ = black_box(items.steal()));
    threads(plan, vec![Box::new(body)])
}
