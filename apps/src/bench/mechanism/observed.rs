//! Threads that are observed while they measure.
#![forbid(unsafe_code)]

use super::super::team::{merged, together};
use super::super::watch::Own;
use super::super::{Plan, Sample};
use std::hint::spin_loop;
use std::io;
use std::thread::yield_now;
use tautline::pinning::{Bind, Pinning};
use tautline::prelude::{Cx, Runtime};

use tautline_node::Machine;
use tautline_node::machine::pin;

/// Failed polls after which the other thread may have no processor.
const POLLS: u32 = 1_000;
/// Turns between two checks whether the measurement is stopped.
pub(super) const CHUNK: u32 = 64;

/// The work of one thread, which returns nanoseconds; only the first thread's figure counts.
pub(super) type Body<'a> = Box<dyn FnOnce() -> f64 + Send + 'a>;

/// Runs each body on a new thread on the plan's processors.
pub(super) fn threads(plan: &Plan, bodies: Vec<Body<'_>>) -> io::Result<Sample> {
    let placed = bodies.into_iter().zip(&plan.cpus);
    let bodies = placed.map(|(body, &cpu)| move || here(cpu, body));
    Ok(merged(together(bodies.collect())?))
}

/// Runs the body on the calling thread, which is to stay on this processor.
pub(super) fn here(cpu: usize, body: impl FnOnce() -> f64) -> Sample {
    let pinned = pin(cpu);
    let watch = Own::start();
    let ns = body();
    Sample {
        ns,
        pinned,
        lost: watch.taken(),
    }
}

/// Measures on a thread that is not pinned.
pub(super) fn unpinned(body: impl FnOnce() -> io::Result<f64>) -> io::Result<Sample> {
    let watch = Own::start();
    let ns = body()?;
    Ok(Sample {
        ns,
        pinned: true,
        lost: watch.taken(),
    })
}

/// Returns nanoseconds of one of the plan's turns, as far as nothing is stopped, after a tenth that
/// warms up.
pub(super) fn each(plan: &Plan, mut turn: impl FnMut()) -> f64 {
    let mut all = |turns: u32| {
        let mut done = 0;
        while done < turns && !plan.stop.is_stopped() {
            let next = CHUNK.min(turns - done);
            (0..next).for_each(|_| turn());
            done += next;
        }
        done
    };
    all(plan.iterations / 10 + 1);
    let start = std::time::Instant::now();
    let done = all(plan.iterations);
    start.elapsed().as_nanos() as f64 / f64::from(done)
}

/// Polls until `is_so`; returns false once the measurement is stopped.
pub(super) fn await_that(plan: &Plan, mut is_so: impl FnMut() -> bool) -> bool {
    let mut polls = 0;
    while !is_so() {
        polls += 1;
        if polls < POLLS {
            spin_loop();
        } else if plan.stop.is_stopped() {
            return false;
        } else {
            yield_now();
        }
    }
    true
}

/// Measures in a task of a runtime with this many workers on the plan's processors.
pub(super) fn task(
    plan: &Plan,
    workers: usize,
    body: impl FnOnce(&mut Cx<'_, '_>) -> f64 + Send,
) -> io::Result<Sample> {
    let mut places: Vec<String> = Vec::new();
    for cpu in &plan.cpus[..workers] {
        let place = format!("{{{cpu}}}");
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let list = places.join(",").parse().map_err(io::Error::other)?;
    let pinning = Pinning::listed(&Machine::discover(), &list, Bind::Close);
    let runtime = Runtime::builder()
        .workers(workers)
        .pinning(pinning.map_err(io::Error::other)?)
        .build();
    let runtime = runtime.map_err(io::Error::other)?;
    // The calling thread is the first worker.
    threads(plan, vec![Box::new(|| runtime.run(body))])
}
