//! Common to tests of programs over ranks.

use std::panic::resume_unwind;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use tautline::phaser::Mode;
use tautline::prelude::*;
use tautline::team::ThreadRegistration;
use tautline::world::World;

/// Returns a runtime whose workers communicate, and share the processors with those of other ranks.
#[allow(dead_code, reason = "some tests need no workers")]
pub(crate) fn runtime(world: &World, workers: usize) -> Runtime {
    let runtime = Runtime::builder().world(world).workers(workers);
    runtime.pinned(false).build().expect("a runtime")
}

/// Returns a number that looks random, the same for the same arguments.
#[allow(dead_code, reason = "some tests draw nothing")]
pub(crate) fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b) ^ 0x2545_f491;
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 27
}

/// Delays the calling thread now and then.
#[allow(dead_code, reason = "some tests delay nothing")]
pub(crate) fn delay(seed: u64) {
    match seed % 8 {
        // A sleep, for orders of signals that a free processor would not show.
        0 => thread::sleep(Duration::from_micros(seed % 200)),
        1..4 => thread::yield_now(),
        _ => {}
    }
}

#[allow(dead_code, reason = "some tests end")]
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Runs `act` on a thread of its own, as it may not end.
#[allow(dead_code, reason = "some tests end")]
pub(crate) fn in_time(act: impl FnOnce() + Send + 'static) {
    let (put, got) = channel();
    let runs = thread::spawn(move || {
        act();
        put.send(()).expect("the test waits");
    });
    if got.recv_timeout(LONG).is_err() {
        assert!(runs.is_finished(), "it does not end");
        runs.join().expect("no panic");
    }
}

/// Runs `run` in `threads` threads, each with a registration by `first`, which leaves.
#[allow(dead_code, reason = "some tests have tasks")]
pub(crate) fn in_threads<R: Send>(
    threads: u32,
    mut first: ThreadRegistration,
    run: impl Fn(u32, ThreadRegistration) -> R + Sync,
) -> Vec<R> {
    let own = (0..threads).map(|_| first.register(Mode::SignalWait).expect("signal-wait"));
    let own = own.collect::<Vec<_>>();
    drop(first);
    thread::scope(|scope| {
        let run = &run;
        let spawn = |(number, own)| scope.spawn(move || run(number, own));
        let spawned: Vec<_> = (0..).zip(own).map(spawn).collect();
        let joined = spawned.into_iter().map(|thread| thread.join());
        joined
            .map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}
