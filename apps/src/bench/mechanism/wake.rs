//! The time from waking a thread, whose processor sleeps, until it runs.
#![forbid(unsafe_code)]

use super::super::{Kind, Plan, Sample, Spread};
use super::observed::{await_that, unpinned};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Wake-ups of a sample, each after a sleep.
const WAKES: u32 = 20;
/// The sleep before a wake-up, so that the processor of the other thread sleeps, too.
const SLEEP: Duration = Duration::from_millis(1);

/// The figure of the runtime's own workers.
pub const PARKED_WORKER: &str = "parked worker";

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured(PARKED_WORKER, |plan| median(plan, tautline_node::wakes)),
        Kind::measured("park of std", |plan| {
            median(plan, |wakes| parked(plan, wakes))
        }),
    ]
}

fn median(plan: &Plan, wakes: impl Fn(usize) -> io::Result<Vec<Duration>>) -> io::Result<Sample> {
    unpinned(|| {
        let latencies = wakes(plan.iterations.min(WAKES) as usize)?;
        let ns: Vec<f64> = latencies.iter().map(|one| one.as_nanos() as f64).collect();
        Ok(Spread::of(&ns).map_or(f64::NAN, |spread| spread.median))
    })
}

/// Wakes a thread this many times that is parked by the standard library.
fn parked(plan: &Plan, wakes: usize) -> io::Result<Vec<Duration>> {
    let (called, woken) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(wakes)));
    let sleep = || {
        for round in 1..=wakes {
            // ORDERING: Relaxed: it publishes nothing.
            while called.load(Ordering::Relaxed) < round {
                thread::park();
            }
            woken
                .lock()
                .expect("held only to push")
                .push(Instant::now());
        }
    };
    thread::scope(|scope| {
        let sleeper = thread::Builder::new().spawn_scoped(scope, sleep)?;
        let mut latencies = Vec::with_capacity(wakes);
        for round in 1..=wakes {
            // A sleep, since the system reports no event once a parked thread's processor is idle.
            thread::sleep(SLEEP);
            let start = Instant::now();
            // ORDERING: Relaxed: as above.
            called.store(round, Ordering::Relaxed);
            sleeper.thread().unpark();
            let ran = || {
                woken
                    .lock()
                    .expect("held only to push")
                    .get(round - 1)
                    .copied()
            };
            while !await_that(plan, || ran().is_some()) && ran().is_none() {}
            latencies.extend(ran().map(|at| at.saturating_duration_since(start)));
        }
        Ok(latencies)
    })
}
