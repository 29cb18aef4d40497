//! Cells that are written once, and what waits for their values.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample};
use super::observed::{CHUNK, await_that, each, task, threads};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tautline::prelude::{Cx, Ddf};

/// Tasks that wait at the same time, each for a cell.
const TASKS: u32 = 1_000;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured("put and get, two workers", there_and_back),
        Kind::measured("task that waits, one worker", waiting),
        Kind::measured("channel of std", by_channels),
    ]
}

/// A value goes to a worker that waits for it, and one returns.
fn there_and_back(plan: &Plan) -> io::Result<Sample> {
    task(plan, 2, |cx| {
        let mut all = |turns: u32| {
            let (mut done, mut time) = (0, Duration::ZERO);
            while done < turns && !plan.stop.is_stopped() {
                let next = CHUNK.min(turns - done);
                time += chunk(cx, plan, next);
                done += next;
            }
            time.as_nanos() as f64 / f64::from(done)
        };
        all(plan.iterations / 10 + 1);
        all(plan.iterations)
    })
}

/// Returns the time of this many round trips, each by new cells.
fn chunk(cx: &mut Cx<'_, '_>, plan: &Plan, turns: u32) -> Duration {
    let cells: Vec<[Ddf<u32>; 2]> = (0..turns).map(|_| Default::default()).collect();
    let runs = AtomicBool::new(false);
    let (time, ()) = cx.join(
        |cx| {
            // The other half must be on another worker: here, it would end after this one.
            // ORDERING: Relaxed: it publishes nothing.
            let is_stolen = await_that(plan, || runs.load(Ordering::Relaxed));
            let start = Instant::now();
            for [there, back] in &cells {
                there.put(1).expect("one thread puts it");
                if is_stolen {
                    black_box(cx.block_on(back.wait()));
                }
            }
            start.elapsed()
        },
        |cx| {
            // ORDERING: Relaxed: as above.
            runs.store(true, Ordering::Relaxed);
            for [there, back] in &cells {
                let value = *cx.block_on(there.wait());
                back.put(value).expect("one thread puts it");
            }
        },
    );
    time
}

/// Tasks that are spawned when the cell is full that each waits for.
fn waiting(plan: &Plan) -> io::Result<Sample> {
    let scopes = Plan {
        iterations: plan.iterations.div_ceil(TASKS),
        ..plan.clone()
    };
    task(plan, 1, |cx| {
        let ns = each(&scopes, || {
            let cells: Vec<Ddf<u32>> = (0..TASKS).map(|_| Ddf::new()).collect();
            cx.scope(|cx| {
                for cell in &cells {
                    cx.spawn_when(cell, |value, _| _ = black_box(*value));
                }
                for cell in &cells {
                    cell.put(1).expect("one thread puts it");
                }
            });
        });
        ns / f64::from(TASKS)
    })
}

/// The alternative without cells: a channel in each direction between two threads.
fn by_channels(plan: &Plan) -> io::Result<Sample> {
    let [(there, at), (back, here)] = [(); 2].map(|()| mpsc::channel::<u32>());
    let first = move || {
        each(plan, || {
            there.send(1).expect("the other thread receives");
            black_box(here.recv().expect("the other thread answers"));
        })
    };
    // Ends when the first thread drops its end.
    let second = move || {
        while let Ok(value) = at.recv() {
            back.send(value).expect("the first thread waits for it");
        }
        0.0
    };
    threads(plan, vec![Box::new(first), Box::new(second)])
}
